//! The tables of the tests. Rows that do not fit a screen are counted.

use crate::render::lang::tr;
use crate::render::sheet::{Sheet, table::Table};
use crate::render::units::{column_us, count, counted};
use punctual_hist::Nanos;
use punctual_linux::torture::{
    ChainRow, Findings, HeapRow, Integrity, IntegrityRow, Kind, Mutexes, Outcome, TimerKind, TimerRow,
};

/// Number of rows of one table, so that text and answer fit a screen of 24 lines.
const ROWS: usize = 7;

pub fn rows(sheet: &mut Sheet, outcome: &Outcome) {
    match &outcome.findings {
        Findings::Switches(integrity) | Findings::Fpu(integrity) => registers(sheet, integrity, outcome.took),
        Findings::Mutex(mutexes) => chains(sheet, mutexes),
        Findings::Heap(heap) => {
            let mut table = Table::new(&[
                tr!(">CPU"),
                tr!("<thread"),
                tr!(">blocks"),
                tr!(">p50 us"),
                tr!(">p99 us"),
                tr!(">max us"),
                tr!(">faults"),
                tr!(">disk"),
                tr!(">gone"),
            ]);
            let mut rows: Vec<&HeapRow> = heap.rows.iter().collect();
            rows.sort_by_key(|row| (row.pages_gone == 0, std::cmp::Reverse(row.allocation.max), row.cpu));
            show(sheet, &mut table, &rows, |row| {
                let times = [row.allocation.p50, row.allocation.p99, row.allocation.max].map(column_us);
                let counts = [row.minor_faults, row.major_faults, row.pages_gone as u64].map(count);
                let first = [row.cpu.to_string(), kind(row.kind).to_owned(), count(row.allocations)];
                first.into_iter().chain(times).chain(counts).collect()
            });
        }
        Findings::Timers(timers) => {
            let mut table = Table::new(&[
                tr!(">CPU"),
                tr!("<timers"),
                tr!(">expiries"),
                tr!(">early"),
                tr!(">lost"),
                tr!(">overruns"),
                tr!(">p50 us"),
                tr!(">p99 us"),
                tr!(">max us"),
            ]);
            let mut rows: Vec<&TimerRow> = timers.rows.iter().collect();
            rows.sort_by_key(|row| (row.early + row.lost == 0, row.cpu, row.timer));
            show(sheet, &mut table, &rows, |row| {
                let points = [row.late.p50, row.late.p99, row.late.max].map(column_us);
                let counts = [row.expiries, row.early, row.lost, row.overruns].map(count);
                let timers = format!("{} {}", row.timers, timer(row.timer));
                let first = [row.cpu.to_string(), timers];
                first.into_iter().chain(counts).chain(points).collect()
            });
        }
    }
}

fn registers(sheet: &mut Sheet, integrity: &Integrity, took: Nanos) {
    // There is room for one of the two.
    let has_core = integrity.cpus.iter().any(|row| row.out_of_band > 0);
    let mut table = Table::new(&[
        tr!(">CPU"),
        tr!(">plain"),
        tr!(">real-time"),
        if has_core { tr!(">out-of-band") } else { tr!(">page faults") },
        tr!(">switches/s"),
        tr!(">checks"),
        tr!(">corruptions"),
    ]);
    let mut rows: Vec<&IntegrityRow> = integrity.cpus.iter().collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.corruptions), row.cpu));
    show(sheet, &mut table, &rows, |row| {
        let per_second = u128::from(row.switches) * 1_000_000_000 / u128::from(took.as_ns().max(1));
        let per_second = u64::try_from(per_second).unwrap_or(u64::MAX);
        let threads = [row.cpu, row.plain, row.real_time].map(|n| n.to_string());
        let either = if has_core { row.out_of_band.into() } else { row.faults };
        threads.into_iter().chain([either, per_second, row.checks, row.corruptions].map(count)).collect()
    });
}

/// One row for each length of chain, on the CPU where the slowest hand-over with inheritance was seen on Linux.
fn chains(sheet: &mut Sheet, mutexes: &Mutexes) {
    let of_linux = || mutexes.chains.iter().filter(|row| row.inheritance && !row.out_of_band);
    let Some(slowest) = of_linux().max_by_key(|row| row.hand_over.max) else { return };
    let shown = |row: &&ChainRow| row.cpu == slowest.cpu;
    // There is room for one of the two. The sentence above tells the other.
    let has_core = mutexes.chains.iter().any(|row| row.out_of_band);
    let mut table = Table::new(&[
        tr!(">locks"),
        tr!(">p50 us"),
        ">p99",
        tr!(">max"),
        tr!(">waited"),
        tr!(">inverted"),
        if has_core { tr!(">core: waited") } else { tr!(">plain: waited") },
        tr!(">inverted"),
    ]);
    for row in of_linux().filter(shown) {
        let is_other = |other: &&ChainRow| if has_core { other.out_of_band } else { !other.inheritance };
        let mut others = mutexes.chains.iter().filter(is_other);
        let other = others.find(|other| (other.cpu, other.locks) == (row.cpu, row.locks));
        let inverted = |row: &ChainRow| {
            tr!("{inversions} of {rounds}", inversions = count(row.inversions), rounds = count(row.rounds))
        };
        let times = [row.hand_over.p50, row.hand_over.p99, row.hand_over.max, row.waited.max].map(column_us);
        let other = [column_us(other.and_then(|row| row.waited.max)), other.map(inverted).unwrap_or_default()];
        table.row([row.locks.to_string()].into_iter().chain(times).chain([inverted(row)]).chain(other));
    }
    sheet.table(&table);
    let cpus: std::collections::BTreeSet<u32> = of_linux().map(|row| row.cpu).collect();
    if let Some(more) = cpus.len().checked_sub(1).filter(|more| *more > 0) {
        sheet.paragraph(
            2,
            &tr!(
                "This table is for CPU {cpu}; {more} more in --json",
                cpu = slowest.cpu,
                more = counted(more as u64, "CPU")
            ),
        );
    }
}

fn show<T>(sheet: &mut Sheet, table: &mut Table, rows: &[T], cells: impl Fn(&T) -> Vec<String>) {
    rows.iter().take(ROWS).for_each(|row| table.row(cells(row)));
    sheet.table(table);
    if let Some(more) = rows.len().checked_sub(ROWS).filter(|more| *more > 0) {
        sheet.paragraph(2, &tr!("and {more_rows} in --json", more_rows = counted(more as u64, "more row")));
    }
}

pub fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Plain => tr!("plain"),
        Kind::RealTime => tr!("real-time"),
        Kind::OutOfBand => tr!("out-of-band"),
    }
}

fn timer(timer: TimerKind) -> &'static str {
    match timer {
        TimerKind::Timerfd => "timerfd",
        TimerKind::Posix => "POSIX",
        TimerKind::Sleep => tr!("sleepers"),
    }
}
