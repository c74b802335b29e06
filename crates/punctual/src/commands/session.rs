//! One measurement from start to end: result files are created, the scenario runs, the report is printed.

use super::files::{check_new, remove, title, unused, write_new};
use super::of_whole_program;
use super::preconditions::none_under_way;
use super::quiet::IdleWatch;
use crate::cli::Form;
use crate::exit::Exit;
use crate::render::live::Live;
use crate::render::words::next::{Reader, Wording};
use crate::render::{self, progress::ProgressLine};
use anyhow::{Context, Result, anyhow, bail};
use punctual_linux::interrupt;
use punctual_linux::keeper::RecordingKeeper;
use punctual_linux::load::LoadSpec;
use punctual_linux::measure::{Observer, Progress, Setting, measure};
use punctual_linux::recording::RecordingError;
use punctual_numbers::explain::primary_cause;
use punctual_numbers::recording::{EndReason, Frame, Recording};
use punctual_numbers::report::Report;
use punctual_numbers::scenario::{LoadPhase, Scenario};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[derive(Clone)]
pub struct Outputs {
    pub recording: PathBuf,
    /// Path without its ending, if the name was made from the date. If that file exists, the next free name is taken
    /// instead.
    pub stem: Option<PathBuf>,
    pub html: Option<PathBuf>,
    /// Whether to draw progress on standard error, if that is a terminal.
    pub progress: bool,
    /// Whether to show the running measurement on the terminal.
    pub live: bool,
}

impl Outputs {
    /// A recording at the path `asked` or, without one, with a name made from the date. Nothing else is written or
    /// shown.
    pub fn recording(asked: Option<&Path>) -> Self {
        match asked {
            Some(path) => Self { recording: path.to_path_buf(), stem: None, html: None, progress: false, live: false },
            None => Self::named(PathBuf::from(format!("punctual-{}", render::units::file_stamp()))),
        }
    }

    fn named(stem: PathBuf) -> Self {
        let recording = unused(&stem, ".punctual");
        Self { recording, stem: Some(stem), html: None, progress: false, live: false }
    }

    /// Creates the recording. If two runs begin in the same second, one of them takes the next name.
    fn create(&mut self) -> Result<RecordingKeeper, RecordingError> {
        loop {
            match (RecordingKeeper::create(&self.recording), &self.stem) {
                (Err(RecordingError::Exists { .. }), Some(stem)) => {
                    let next = unused(stem, ".punctual");
                    let is_beside = self.html.as_deref() == Some(&self.recording.with_extension("html"));
                    self.html = if is_beside { Some(next.with_extension("html")) } else { self.html.take() };
                    self.recording = next;
                }
                (keeper, _) => return keeper,
            }
        }
    }

    /// Default folder for the files of I/O loads: that of the recording, because a temporary directory is often memory.
    pub fn load_dir(&self) -> PathBuf {
        let parent = self.recording.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.unwrap_or(Path::new(".")).to_path_buf()
    }
}

pub enum Telling {
    /// The whole text or document in this format, for this reader.
    Form(Form, Reader),
    /// The short text without its opening, which was printed before the measurement.
    Opened(Reader),
}

pub fn told(report: &Report, form: Form, reader: &Reader, paths: [Option<&Path>; 2]) -> String {
    match form {
        Form { brief: true, .. } => render::words::answer::brief(report, paths[0]),
        Form { full: true, .. } => render::for_people(|| render::text::full(report, reader, paths, render::style())),
        _ => render::text::short(report, reader, paths, render::style()),
    }
}

pub struct Finished {
    /// The report of all that was measured, even if not all of it could be written to the file.
    pub report: Report,
    pub outputs: Outputs,
}

impl Finished {
    /// Writes the page, prints the numbers and reports failures. Returns exit code 1 if something failed, 2 if the stop
    /// limit was exceeded or the need was not held, and 3 if the verdict is inconclusive or the run stalled.
    pub fn tell(&mut self, telling: &Telling) -> Result<Exit> {
        let (Telling::Form(_, reader) | Telling::Opened(reader)) = telling;
        let Self { report, outputs } = self;
        let of = Wording { report, reader, recording: Some(&outputs.recording) };
        let page = outputs.html.as_deref();
        let failure = page.and_then(|path| write_page(of, &title(&outputs.recording), path).err());
        // A page that could not be written is not listed.
        let html = outputs.html.as_deref().filter(|_| failure.is_none());
        let paths = [Some(outputs.recording.as_path()), html];
        render::print(&match telling {
            Telling::Form(Form { json: true, .. }, _) => render::json::check(of)?,
            Telling::Form(form, reader) => told(report, *form, reader, paths),
            Telling::Opened(reader) => format!("\n{}", render::text::results(report, reader, paths, render::style())),
        })?;
        if let Some(failure) = &failure {
            render::error(failure);
        }
        let is_incomplete = failure.is_some() || report.write_error.is_some();
        Ok(if is_incomplete { Exit::Error } else { Exit::Fine }
            .and(Exit::exceeded_if(report.end == Some(EndReason::LimitExceeded)))
            .and(Exit::doubtful_if(report.end.is_some_and(EndReason::is_failure)))
            .and(Exit::from(&report.verdict)))
    }
}

/// Runs a scenario and records it in a new file. With `former`, which is the recording at the path of `outputs`, the
/// run is appended to that file.
pub fn run(scenario: &Scenario, setting: &Setting, outputs: Outputs, former: Option<Recording>) -> Result<Finished> {
    none_under_way()?;
    let (display, interrupted) = Display::new(&outputs)?;
    session(scenario, setting, outputs, former, display, &interrupted)
}

/// Runs a scenario in a thread of its own, for callers that run several. The measuring thread moves to the housekeeping
/// CPUs for good, and programs started by the caller inherit the caller's CPUs. The caller owns the flag that
/// interrupts the run.
pub fn run_apart(
    scenario: &Scenario,
    setting: &Setting,
    outputs: Outputs,
    interrupted: &AtomicBool,
) -> Result<Finished> {
    let run = || {
        let display = Display::Line(ProgressLine::new(outputs.progress));
        session(scenario, setting, outputs, None, display, interrupted)
    };
    std::thread::scope(|scope| scope.spawn(run).join())
        .map_err(|_| anyhow!("the measurement ended in a panic, which is a defect: please report it"))?
}

fn session(
    scenario: &Scenario,
    setting: &Setting,
    mut outputs: Outputs,
    former: Option<Recording>,
    display: Display,
    interrupted: &AtomicBool,
) -> Result<Finished> {
    if outputs.html.as_ref() == Some(&outputs.recording) {
        bail!("the recording and its page cannot both be {}: name another --out", outputs.recording.display());
    }
    let is_new = former.is_none();
    let keeper = match former {
        None => outputs.create()?,
        Some(former) => RecordingKeeper::resume(&outputs.recording, former)?,
    };
    // A recording that existed before must not be removed.
    let undo = || {
        if is_new {
            remove(&outputs.recording);
        }
    };
    // The page is written last. If it were created now, a run that is killed would leave an empty one.
    outputs.html.as_deref().map_or(Ok(()), check_new).inspect_err(|_| undo())?;
    let mut session = Measuring { keeper, display, others: IdleWatch::default() };
    let measured = measure(scenario, setting, interrupted, &mut session);
    session.display.clear();
    if let Err(error) = measured {
        // Nothing was measured, so the file created for the run is removed.
        undo();
        return Err(render::words::measure_error(error));
    }
    let finished = session.keeper.finish();
    session.say_failure(finished);
    let recording = session.keeper.into_recording().context("the measurement handed out no recording")?;
    Ok(Finished { report: Report::of(&recording), outputs })
}

fn write_page(of: Wording<'_>, title: &str, path: &Path) -> Result<()> {
    of_whole_program("--html", "punctual report --html")?;
    let page = render::for_people(|| render::html::page(of, title))?;
    write_new(path, page)
        .context("the recording is complete, but has no HTML page; create one later with punctual report --html")
}

/// Refuses loads that are misspelt or not available here, before anything is measured.
pub fn check_loads(phases: &[LoadPhase], dir: &Path) -> Result<()> {
    for name in phases.iter().flat_map(|phase| &phase.loads) {
        let spec = LoadSpec::parse(name)?;
        if let Some(why) = spec.unavailable() {
            bail!("load {name}: {why}");
        }
        if spec.needs_dir() && !dir.is_dir() {
            bail!("load {name}: {} is not a directory: name another --load-dir", dir.display());
        }
    }
    Ok(())
}

enum Display {
    Line(ProgressLine),
    Live(Box<Live>),
}

impl Display {
    /// The requested display, and the flag that interrupts the run. If the terminal cannot be used, the error comes
    /// before anything is measured.
    fn new(outputs: &Outputs) -> Result<(Self, Arc<AtomicBool>)> {
        if outputs.live {
            of_whole_program("--live", "punctual measure --live")?;
            let live = Live::open()?;
            let interrupted = live.interrupted();
            return Ok((Self::Live(Box::new(live)), interrupted));
        }
        let interrupted = interrupt::flag().context("install signal handlers")?;
        Ok((Self::Line(ProgressLine::new(outputs.progress)), interrupted))
    }

    fn show(&self, progress: &Progress) {
        match self {
            Self::Line(line) => line.show(progress),
            Self::Live(live) => live.show(progress),
        }
    }

    fn say(&mut self, text: &str) {
        match self {
            Self::Line(line) => line.say(text),
            Self::Live(live) => live.say(text),
        }
    }

    fn clear(&mut self) {
        match self {
            Self::Line(line) => line.clear(),
            Self::Live(live) => live.close(),
        }
    }
}

/// Passes measured data to the recording and to the display.
struct Measuring {
    keeper: RecordingKeeper,
    display: Display,
    others: IdleWatch,
}

impl Measuring {
    fn say_failure(&mut self, written: Result<(), RecordingError>) {
        if let Err(error) = written {
            self.display.say(&format!("error: {error}; the measurement goes on, what is on disk is readable"));
        }
    }

    /// Adds the cause of each CPU's last spike to the progress, if the trace around the spike was kept.
    fn with_causes(&self, progress: &Progress) -> Progress {
        let (mut progress, growing) = (progress.clone(), self.keeper.growing());
        let Some(recording) = growing.recording() else { return progress };
        for spike in progress.latencies.iter_mut().filter_map(|cpu| cpu.last_spike.as_mut()) {
            let cause = primary_cause(recording, growing.moved(spike.woke));
            spike.cause = cause.map(|cause| render::words::causes::cause(&cause));
        }
        progress
    }

    fn note_others(&mut self, told: Option<String>) {
        if let Some(text) = told {
            let written = self.keeper.note(punctual_linux::measure::now(), text);
            self.say_failure(written);
        }
    }

    /// Writes the user's notes (made by keys of the live view) into the recording, with their times.
    fn write_notes(&mut self) {
        let (Display::Live(live), Some(_)) = (&self.display, self.keeper.growing().recording()) else { return };
        for (at, text) in live.notes() {
            let into_the_run = render::units::moment(self.keeper.growing().since_epoch(at));
            let written = self.keeper.note(at, format!("{text}, {into_the_run} into the run"));
            self.say_failure(written);
        }
    }
}

impl Observer for Measuring {
    fn frame(&mut self, frame: Frame) {
        match (&frame, &mut self.display) {
            // At this point this thread has moved to the housekeeping CPUs, and nothing has been counted yet.
            (Frame::Header(_), Display::Live(live)) => live.begin(),
            (Frame::End(_), _) => {
                self.write_notes();
                let told = self.others.end();
                self.note_others(told);
            }
            _ => {}
        }
        let written = self.keeper.keep(frame);
        self.say_failure(written);
    }

    fn checkpoint(&mut self) {
        let written = self.keeper.checkpoint();
        self.say_failure(written);
    }

    fn progress(&mut self, progress: &Progress) {
        self.write_notes();
        let told = self.others.see(progress);
        self.note_others(told);
        if self.looks_closely() {
            return self.display.show(&self.with_causes(progress));
        }
        self.display.show(progress);
    }

    fn looks_closely(&self) -> bool {
        matches!(self.display, Display::Live(_))
    }

    fn write_error(&self) -> Option<String> {
        self.keeper.failure().map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn runs_that_begin_in_one_second_take_different_names() {
        let dir = tempfile::tempdir().unwrap();
        let stem = || dir.path().join("punctual-20261123-094500");
        std::fs::write(dir.path().join("punctual-20261123-094500-3.html"), "of a recording that was removed").unwrap();
        // All names are chosen before the first file is created.
        let chosen: Vec<Outputs> = (0..8).map(|_| Outputs::named(stem())).collect();
        let made = chosen.into_iter().map(|mut outputs| {
            outputs.html = Some(outputs.recording.with_extension("html"));
            outputs.create().unwrap();
            assert_eq!(outputs.html, Some(outputs.recording.with_extension("html")));
            outputs.recording.file_name().unwrap().to_string_lossy().into_owned()
        });
        let made: BTreeSet<String> = made.collect();
        assert_eq!(made.len(), 8, "{made:?}");
        assert!(made.contains("punctual-20261123-094500.punctual"), "{made:?}");
        assert!(made.contains("punctual-20261123-094500-2.punctual"), "{made:?}");
        assert!(!made.contains("punctual-20261123-094500-3.punctual"), "its page would not be free: {made:?}");
    }

    #[test]
    fn a_name_that_was_asked_for_does_not_give_way() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.punctual");
        std::fs::write(&path, "precious").unwrap();
        assert!(matches!(Outputs::recording(Some(&path)).create(), Err(RecordingError::Exists { .. })));
    }
}
