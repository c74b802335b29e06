//! Kernels side by side in words.

use super::{GuestClock, NotMeasured, RefusedMode, Shown};
use crate::render::clean::visible;
use crate::render::lang::{for_people, said, tr};
use crate::render::units;
use crate::render::words::{causes, compare as say};
use punctual_hist::Nanos;
use punctual_lab::run::Failure;
use punctual_numbers::compare::{Compared, RowResult};
use punctual_numbers::kernels::{Against, Cell, KernelRow, Path};

/// Number of parts of a path that are listed.
const PARTS_SHOWN: usize = 6;

/// One line that says what is being measured.
pub fn progress(name: &str, seed: u64, number: usize, of: usize) -> String {
    for_people(|| tr!("{number} of {of}: {name}, seed {seed}", number, of, name, seed))
}

pub fn not_measured(name: &str, failure: Failure) -> NotMeasured {
    let (why, last) = match failure {
        Failure::Refused { last } => ("QEMU did not accept the image", last),
        Failure::NoBoot { last } => ("the kernel did not start the first program", last),
        Failure::Died { last } => ("the guest ended before its measurement", last),
        Failure::TooLong { last } => ("the guest took longer than --limit", last),
        Failure::Interrupted => ("interrupted", Vec::new()),
    };
    let clean = |line: String| line.chars().map(visible).collect();
    NotMeasured { last_lines: last.into_iter().map(clean).collect(), ..NotMeasured::because(name, why) }
}

/// What was measured, in one sentence.
pub fn measured(shown: &Shown<'_>) -> String {
    let (kernels, seeds) = (shown.table.kernels.len(), shown.seeds.len());
    let loads: Vec<_> = shown.table.loads.iter().map(|load| said(load)).collect();
    tr!(
        "{kernels}; for each, {measurements} of {length}; a release every {period}; loads in turn: {loads}.",
        kernels = units::counted(kernels as u64, "kernel"),
        measurements = units::counted(seeds as u64, "measurement"),
        length = units::duration(shown.duration),
        period = units::period(shown.period),
        loads = loads.join(tr!(", "))
    )
}

/// What the numbers can say and what they cannot.
pub fn claims(clock: GuestClock) -> Vec<&'static str> {
    match clock {
        GuestClock::Virtual => vec![
            tr!(
                "Time counts instructions, 8 ns each, on one emulated CPU: a latency is the length of a path through the \
             kernel. The same files give the same numbers on any machine, to the bit."
            ),
            tr!(
                "Such a measurement shows differences in what kernels do: how long interrupts or pre-emption are held \
                off, what runs first."
            ),
            tr!("Such a measurement does not model caches, buses, the speed of memory or devices, firmware (SMI), \
                idle states or other CPUs; its latencies are not those of a real machine, nor a bound on them."),
        ],
        GuestClock::Host => vec![tr!(
            "These guests had several CPUs and ran by the host's clock, so everything that delayed the emulator is \
            part of the numbers. The numbers only show that everything works; they do not measure a kernel."
        )],
    }
}

/// The kernel and load with the largest latency.
pub fn worst(rows: &[KernelRow]) -> Option<(&KernelRow, &Cell)> {
    let cells = rows.iter().flat_map(|row| row.cells.iter().map(move |cell| (row, cell)));
    cells.max_by_key(|(_, cell)| cell.row.latency_due.max)
}

/// The first cause of a path: `interrupts off by kworker/0:1, 180 us of 217 us`.
pub fn cause(path: &Path) -> String {
    let all = units::latency(path.latency);
    match path.causes.first() {
        Some(blame) => {
            tr!("{cause}, {time} of {all}", cause = causes::cause(&blame.cause), time = units::latency(blame.time), all)
        }
        None => tr!("no cause found, {all}", all),
    }
}

/// The longest parts of a path in their order: `timer interrupt 3 us > waiting for the CPU 180 us: ...`.
pub fn parts(path: &Path) -> String {
    let mut longest: Vec<Nanos> = path.parts.iter().map(|part| part.length).collect();
    longest.sort_unstable_by_key(|length| std::cmp::Reverse(*length));
    let least = longest.get(PARTS_SHOWN - 1).copied().unwrap_or_default();
    let shown = path.parts.iter().filter(|part| part.length >= least && part.length > Nanos::ZERO).take(PARTS_SHOWN);
    let part = |part: &punctual_numbers::explain::Part| {
        format!("{}: {} {}", causes::stage(part.stage), causes::cause(&part.cause), units::latency(part.length))
    };
    shown.map(part).collect::<Vec<_>>().join(" > ")
}

/// The verdict on a kernel against the first kernel.
pub fn against(verdict: Option<Compared>) -> &'static str {
    match verdict {
        None => "",
        Some(Compared::Better) => tr!("better"),
        Some(Compared::Worse) => tr!("worse"),
        Some(Compared::Mixed) => tr!("better and worse"),
        Some(Compared::NoDifferenceShown) => tr!("the same"),
        Some(Compared::NotEnoughData) => tr!("undecided"),
    }
}

/// The verdict on a cell against that of the first kernel. If a number that is not decided moved the other way, the
/// decided numbers are named: a kernel whose median is better and whose tail seems worse must not read as better.
pub fn cell_against(against_first: Option<&Against>) -> String {
    let Some(found) = against_first else { return String::new() };
    let word = against(Some(found.verdict));
    let at = |wanted: Compared| {
        let numbers = found.numbers.iter().filter(|number| number.verdict == wanted);
        numbers.map(|number| say::what(&number.what)).collect::<Vec<_>>().join(", ")
    };
    match found.verdict {
        Compared::Mixed => {
            tr!("better at {good}, worse at {bad}", good = at(Compared::Better), bad = at(Compared::Worse))
        }
        Compared::Better | Compared::Worse if found.numbers.iter().any(|number| opposes(number, found.verdict)) => {
            tr!("{word} at {numbers} only", word, numbers = at(found.verdict))
        }
        _ => word.to_owned(),
    }
}

/// How far a number that is not decided must have moved against the verdict to be mentioned.
const OPPOSED_FROM: f64 = 1.1;

fn opposes(number: &RowResult, verdict: Compared) -> bool {
    let Some((first, second)) = number.first.zip(number.second) else { return false };
    let (low, high) = if verdict == Compared::Better { (first, second) } else { (second, first) };
    number.verdict != verdict && high > low * OPPOSED_FROM
}

/// The certain differences from the first kernel, the worse ones first, and under which loads there is none: `worse under
/// io-copy; better under idle, proc; not certain to differ under io-read`.
pub fn differences(row: &KernelRow) -> String {
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for cell in &row.cells {
        let Some(against) = &cell.against_first else { continue };
        let word = match against.verdict {
            Compared::NotEnoughData => tr!("not certain to differ").to_owned(),
            _ => cell_against(Some(against)),
        };
        match said.iter_mut().find(|(known, _)| *known == word) {
            Some((_, loads)) => loads.push(&cell.load),
            None => said.push((word, vec![&cell.load])),
        }
    }
    let certain = [tr!("worse"), tr!("better"), tr!("the same")];
    let rank = |word: &str| certain.iter().position(|known| word.contains(known)).unwrap_or(certain.len());
    said.sort_by_key(|(word, _)| rank(word));
    let loads =
        |loads: &[&str]| loads.iter().map(|load| crate::render::lang::said(load)).collect::<Vec<_>>().join(tr!(", "));
    let said: Vec<String> =
        said.iter().map(|(word, under)| tr!("{word} under {loads}", word, loads = loads(under))).collect();
    if said.is_empty() { tr!("not to be compared with the first kernel").to_owned() } else { said.join(tr!("; ")) }
}

/// The same, as a sentence about the kernel.
pub fn difference(row: &KernelRow) -> String {
    tr!("{kernel} is {what}", kernel = row.name, what = differences(row))
}

pub fn refused(mode: &RefusedMode) -> String {
    match &mode.in_force {
        Some(in_force) => {
            tr!(
                "{kernel}: this kernel does not support preempt={mode}; {in_force} is in force",
                kernel = mode.name,
                mode = mode.asked,
                in_force
            )
        }
        None => tr!(
            "{kernel}: this kernel does not show whether it supports preempt={mode} (no dynamic pre-emption?)",
            kernel = mode.name,
            mode = mode.asked
        ),
    }
}
