//! What an inspection of a program came to, as text of at most 60 lines, as a page, and as JSON.

mod html;
mod junit;
mod marks;
mod sarif;
mod thread;
mod words;

#[cfg(test)]
pub(in crate::render) mod tests;

pub use html::html;
pub use junit::junit;
pub use sarif::sarif;

use super::document::Published;
use super::lang::tr;
use super::sheet::{Sheet, Style, Tone};
use super::units::{self, THIN, counted};
use super::words::command::Command;
use punctual_linux::inspect::{Target, Wanted};
use punctual_numbers::inspect::{Answer, Engine, Inspection, Pace, ThreadReport};
use serde::Serialize;

/// Number of threads that are told in full. `--thread` names another.
const FULL: usize = 1;
/// Number of other threads that are told in one line each.
const LINES: usize = 3;

/// The document of `punctual inspect --json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InspectDocument<'a> {
    /// What it says as a whole.
    answer: Answer,
    #[serde(flatten)]
    inspection: &'a Inspection,
}

impl<'a> InspectDocument<'a> {
    pub fn new(inspection: &'a Inspection) -> Self {
        Self { answer: Answer::of(inspection), inspection }
    }
}

impl Published for InspectDocument<'_> {
    const SCHEMA: &'static str = "punctual/inspect/1";
}

/// What would be inspected.
pub struct Intent<'a> {
    pub wanted: &'a Wanted,
    /// The process; `None` if it is to be started.
    pub pid: Option<u32>,
    pub engine: Engine,
}

pub fn dry_run(intent: &Intent<'_>, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    let program = match (&intent.wanted.target, intent.pid) {
        (Target::Command(words), _) => {
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            tr!("Would start and observe {words}", words = words.join(" "))
        }
        (_, Some(pid)) => tr!("Would observe process {pid}", pid),
        (_, None) => tr!("Would observe nothing").to_owned(),
    };
    sheet.paragraph(0, &tr!("{program} for {time}.", program, time = units::duration(intent.wanted.duration)));
    sheet.paragraph(0, words::would_use(intent.engine));
    sheet.finish()
}

fn verdict(answer: Answer) -> (Tone, &'static str) {
    match answer {
        Answer::Clean => (Tone::Good, tr!("CLEAN:")),
        Answer::SetUpWrong => (Tone::Doubt, tr!("SET UP WRONG:")),
        Answer::Disturbed => (Tone::Bad, tr!("DISTURBED:")),
        Answer::NoTimer => (Tone::Doubt, tr!("NO TIMER:")),
        Answer::NotSeen => (Tone::Doubt, tr!("NOT SEEN:")),
    }
}

/// The answer in one line, for scripts and CI logs.
pub fn brief(inspection: &Inspection) -> String {
    let (_, word) = verdict(Answer::of(inspection));
    format!("{word} {}", words::seen(inspection)).replace(THIN, " ")
}

/// The threads, and the answer in the last lines. `again` is the command line that was typed.
pub fn text(inspection: &Inspection, again: &Command, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    body(&mut sheet, inspection);
    answer(&mut sheet, inspection, again);
    sheet.finish()
}

/// What is known of the threads while the inspection goes on.
pub fn so_far(inspection: &Inspection, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    body(&mut sheet, inspection);
    sheet.finish()
}

fn body(sheet: &mut Sheet, inspection: &Inspection) {
    let program = &inspection.program;
    sheet.heading(&tr!(
        "{name} (process {pid}): {threads}, observed for {time}",
        name = program.name,
        pid = program.pid,
        threads = threads_of(inspection),
        time = units::duration(inspection.observed)
    ));
    if let Some(start_up) = &inspection.start_up {
        sheet.paragraph(2, &words::start_up(start_up, inspection.engine));
    }
    for report in inspection.threads.iter().filter(|thread| is_told_in_full(inspection, thread)).take(FULL) {
        thread::in_full(sheet, report, inspection);
    }
    let rest = rest(inspection, FULL);
    if !rest.is_empty() {
        sheet.gap();
    }
    for report in rest.iter().take(LINES) {
        sheet.point(0, &thread::in_a_line(report, inspection));
    }
    if let Some(more) = rest.len().checked_sub(LINES).filter(|more| *more > 0) {
        sheet.paragraph(2, &tr!("and {more} in --json", more = counted(more as u64, "more thread")));
    }
    if let Some(found) = &inspection.marks {
        marks::section(sheet, found, &inspection.threads);
    }
}

/// The number of threads, and of those of other processes.
fn threads_of(inspection: &Inspection) -> String {
    let own = counted(inspection.program.threads, "thread");
    let others = inspection.children.len() as u64;
    if others == 0 {
        return own;
    }
    let threads: u64 = inspection.children.iter().map(|child| child.threads).sum();
    tr!(
        "{own}, and {threads} in {processes} that it started",
        own,
        threads = counted(threads, "thread"),
        processes = counted(others, "process")
    )
}

fn is_told_in_full(inspection: &Inspection, thread: &ThreadReport) -> bool {
    thread.cycles.is_some() || inspection.engine == Engine::Counters
}

/// The threads that are told in one line each, if `full` threads are told in full.
fn rest(inspection: &Inspection, full: usize) -> Vec<&ThreadReport> {
    let (of_full, others): (Vec<&ThreadReport>, Vec<&ThreadReport>) =
        inspection.threads.iter().partition(|thread| is_told_in_full(inspection, thread));
    of_full.into_iter().skip(full).chain(others.into_iter().filter(|thread| thread.pace != Pace::Idle)).collect()
}

fn answer(sheet: &mut Sheet, inspection: &Inspection, again: &Command) {
    sheet.gap();
    let (tone, word) = verdict(Answer::of(inspection));
    sheet.hanging_paragraph(0, 2, tone, word, &words::seen(inspection));
    sheet.answer(tr!("Trust"), &words::trust(inspection));
    let unseen = words::unseen(inspection);
    if !unseen.is_empty() {
        sheet.answer(tr!("Unseen"), &unseen);
    }
    sheet.answer(tr!("Cost"), &words::cost(inspection));
    let (why, command) = words::next(inspection, again);
    sheet.answer_next(&why, &command, None);
}
