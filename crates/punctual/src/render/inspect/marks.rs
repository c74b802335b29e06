//! Marks in the program's own code, and the cycles that they show.

use crate::render::clean::shortened;
use crate::render::lang::tr;
use crate::render::sheet::Sheet;
use crate::render::sheet::table::Table;
use crate::render::units::{ABSENT, column_us, count, counted};
use minijinja::{Value, context};
use punctual_numbers::inspect::{MarkReport, MarkedStage, MarkedThread, OtherMarks, Quantiles, ThreadReport};

/// Number of threads and of stages that are told.
const THREADS: usize = 2;
const STAGES: usize = 6;
/// Largest width of a thread's or a stage's name.
const NAME: usize = 32;

pub fn section(sheet: &mut Sheet, found: &MarkReport, threads: &[ThreadReport]) {
    sheet.heading(tr!("Marks in the program"));
    let rows: Vec<[String; 5]> = found.threads.iter().take(THREADS).flat_map(|of| rows(of, threads)).collect();
    if !rows.is_empty() {
        let mut table = Table::new(&[tr!("<thread, stage"), tr!(">times"), ">p50 us", ">p99 us", ">max us"]);
        for row in rows {
            table.row(row);
        }
        sheet.table(&table);
    }
    for line in notes(found) {
        sheet.paragraph(2, &line);
    }
}

/// What the page shows: all threads, and the same notes.
pub fn page(found: &MarkReport, threads: &[ThreadReport]) -> Value {
    let rows: Vec<_> = found.threads.iter().flat_map(|thread| rows(thread, threads)).collect();
    context! { rows, notes => notes(found) }
}

/// The cycle, the distance between two of them, and the stages; each with how often it was seen and how long it took.
fn rows(thread: &MarkedThread, threads: &[ThreadReport]) -> Vec<[String; 5]> {
    let MarkedThread { tid, cycles } = thread;
    let row = |what: String, times: u64, length: &Quantiles| {
        [what, count(times), column_us(length.p50), column_us(length.p99), column_us(length.max)]
    };
    let known = threads.iter().find(|thread| thread.tid == *tid);
    let name = known.map_or_else(|| tr!("a thread").to_owned(), |thread| shortened(&thread.name, NAME));
    // With probes of other providers only, nothing says what a cycle is.
    let is_marked = cycles.cycles > 0 || cycles.begun_apart > 0 || cycles.stages.is_empty();
    let mut rows = if is_marked {
        vec![row(tr!("{name} ({tid}): cycle", name, tid), cycles.cycles, &cycles.length)]
    } else {
        let mut row = row(format!("{name} ({tid})"), 0, &Quantiles::default());
        ABSENT.clone_into(&mut row[1]);
        vec![row]
    };
    if cycles.apart.max.is_some() {
        rows.push(row(tr!("  from one beginning to the next").to_owned(), cycles.begun_apart, &cycles.apart));
    }
    let stage = |stage: &MarkedStage| row(format!("  {}", shortened(&stage.name, NAME)), stage.times, &stage.length);
    rows.extend(cycles.stages.iter().take(STAGES).map(stage));
    rows
}

fn notes(found: &MarkReport) -> Vec<String> {
    let mut notes = Vec::new();
    let marks = counted(found.places, "mark");
    if let Some(why) = &found.refused {
        notes.push(tr!("{marks} could not be followed: {why}.", marks, why));
    } else if found.places > 0 && found.threads.is_empty() {
        notes.push(tr!("{marks} in the program's code, but no thread passed one.", marks));
    }
    let unpaired: u64 = found.threads.iter().map(|thread| thread.cycles.unpaired).sum();
    if unpaired > 0 {
        notes.push(tr!(
            "{marks} without a partner: a beginning without an end, or an end without a beginning.",
            marks = counted(unpaired, "mark")
        ));
    }
    if found.lost > 0 {
        notes.push(tr!(
            "{marks} came too fast to be kept, so cycles may be missing.",
            marks = counted(found.lost, "mark")
        ));
    }
    if found.unfollowed_places > 0 {
        let more = counted(found.unfollowed_places, "more mark");
        notes.push(tr!("{more} in the program's code, too many to be followed.", more));
    }
    if !found.unfollowed.is_empty() {
        let threads = counted(found.unfollowed.len() as u64, "thread");
        notes.push(tr!("{threads} of a lower priority not followed.", threads));
    }
    notes.extend(found.others.iter().map(other));
    notes
}

fn other(other: &OtherMarks) -> String {
    match other {
        OtherMarks::LttngUst => tr!(
            "LTTng-UST is loaded: the kernel sees its tracepoints only in a program that is built with \
             -DLTTNG_UST_HAVE_SDT_INTEGRATION; record the others with lttng."
        )
        .to_owned(),
        OtherMarks::Ros2 => tr!(
            "ROS 2 is loaded without functions that tell when a callback begins and ends, so callbacks are not seen here; \
             record them with ros2 trace."
        )
        .to_owned(),
        OtherMarks::Perfetto => {
            tr!("Perfetto's client library is loaded: its events go to its own daemon and are not seen here.").to_owned()
        }
        OtherMarks::Usdt { provider } => {
            tr!(
                "The program has USDT probes of {provider} that do not mark a beginning and an end, or that are off; \
                perf and bpftrace can read them.",
                provider
            )
        }
    }
}
