//! One measurement as a command runs it: result paths opened first, then the run, then the report.

use super::campaign::none_under_way;
use crate::exit::Exit;
use crate::render::live::Live;
use crate::render::{self, progress::ProgressLine};
use anyhow::{Context, Result, bail};
use punctual_hist::MonoTime;
use punctual_linux::interrupt;
use punctual_linux::load::LoadSpec;
use punctual_linux::measure::{MeasureError, Observer, Progress, Setting, measure};
use punctual_linux::recording::RecordingWriter;
use punctual_numbers::explain::primary_cause;
use punctual_numbers::recording::{Frame, Mark, MarkKind, RecTime, Recording, Shift};
use punctual_numbers::report::Report;
use punctual_numbers::scenario::{LoadPhase, Scenario};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Where results go.
pub struct Outputs {
    /// The recording.
    pub recording: PathBuf,
    /// The HTML report.
    pub html: Option<PathBuf>,
    /// Draw progress on standard error, if that is a terminal.
    pub progress: bool,
    /// Show the running measurement on the terminal.
    pub live: bool,
}

impl Outputs {
    /// The recording's path as asked for, or made from the date; numbered where another run began in the same second.
    pub fn recording_path(asked: Option<&Path>) -> PathBuf {
        let stamp = render::units::file_stamp();
        let first = PathBuf::from(format!("punctual-{stamp}.punctual"));
        let numbered = || (2..100).map(|n| PathBuf::from(format!("punctual-{stamp}-{n}.punctual")));
        let free = || std::iter::once(first.clone()).chain(numbered()).find(|path| !path.exists());
        asked.map(Path::to_path_buf).or_else(free).unwrap_or(first)
    }

    /// Where I/O loads work unless told otherwise: on the disk the recording goes to. A temporary directory is often
    /// memory.
    pub fn load_dir(&self) -> PathBuf {
        let parent = self.recording.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.unwrap_or(Path::new(".")).to_path_buf()
    }
}

/// What came of a measurement.
pub struct Finished {
    /// The numbers, made from what was recorded whether or not it could all be written.
    pub report: Report,
    /// What else failed afterwards; the numbers stand.
    pub failure: Option<anyhow::Error>,
}

impl Finished {
    /// Tells what failed, and lets it show in the exit code.
    pub fn exit(&self, exit: Exit) -> Exit {
        let Some(failure) = &self.failure else { return exit };
        render::error(failure);
        exit.and(Exit::Error)
    }
}

/// Runs `scenario` into a recording of its own.
pub fn run(scenario: &Scenario, setting: &Setting, outputs: &Outputs) -> Result<Finished> {
    none_under_way()?;
    let (display, interrupted) = Display::new(outputs)?;
    session(scenario, setting, outputs, None, (display, &interrupted))
}

/// Runs `scenario` as one of many, which this flag ends.
pub fn run_until(
    scenario: &Scenario,
    setting: &Setting,
    outputs: &Outputs,
    interrupted: &AtomicBool,
) -> Result<Finished> {
    let display = Display::Line(ProgressLine::new(outputs.progress));
    session(scenario, setting, outputs, None, (display, interrupted))
}

/// Runs `scenario` as a further run of this recording, which stands at the path of the outputs.
pub fn go_on(scenario: &Scenario, setting: &Setting, outputs: &Outputs, with: Recording) -> Result<Finished> {
    none_under_way()?;
    let (display, interrupted) = Display::new(outputs)?;
    session(scenario, setting, outputs, Some(with), (display, &interrupted))
}

fn session(
    scenario: &Scenario,
    setting: &Setting,
    outputs: &Outputs,
    former: Option<Recording>,
    (display, interrupted): (Display, &AtomicBool),
) -> Result<Finished> {
    if outputs.html.as_ref() == Some(&outputs.recording) {
        bail!("the recording and its page cannot both be {}: name another --out", outputs.recording.display());
    }
    let is_new = former.is_none();
    // A recording that was there before is nobody's to remove.
    let undo = || {
        if is_new {
            remove(&outputs.recording);
        }
    };
    let writer = match &former {
        None => RecordingWriter::create(&outputs.recording)?,
        Some(former) => RecordingWriter::resume(&outputs.recording, former.cut_off.as_ref())?,
    };
    let html = outputs.html.as_deref().map(create_new).transpose().inspect_err(|_| undo())?;
    let mut keeper = Keeper::new(writer, former, display);
    let measured = measure(scenario, setting, interrupted, &mut keeper);
    keeper.display.clear();
    if let Err(error) = measured {
        // Nothing was measured, so the files made for it are in nobody's way.
        undo();
        outputs.html.as_deref().into_iter().for_each(remove);
        return Err(explained(error));
    }
    let finished = keeper.writer.finish();
    keeper.note_failure(finished);
    let mut recording = keeper.recording.context("the measurement handed out no recording")?;
    if let Some(end) = &mut recording.end {
        // The last frames may be what could not be written.
        end.write_error = keeper.failure;
    }
    let report = Report::of(&recording);
    let page = outputs.html.as_deref().zip(html).map(|(path, file)| write_page(&report, outputs, path, file));
    Ok(Finished { report, failure: page.and_then(Result::err) })
}

/// Writes a file that must not exist yet; half of it would look like a whole one, so it is removed.
pub fn write_new(path: &Path, write: impl FnOnce(File) -> std::io::Result<()>) -> Result<()> {
    write(create_new(path)?).inspect_err(|_| remove(path)).with_context(|| format!("write {}", path.display()))
}

/// A half page would look like a whole one: it is removed.
fn write_page(report: &Report, outputs: &Outputs, path: &Path, mut file: File) -> Result<()> {
    let page = render::html::page(report, &title(&outputs.recording), Some(&outputs.recording))?;
    let written = file.write_all(page.as_bytes()).inspect_err(|_| remove(path));
    written.with_context(|| format!("write {}: make room and render it again with punctual report", path.display()))
}

/// What a reader calls a recording: the name of its file.
pub fn title(recording: &Path) -> String {
    recording.file_stem().map_or_else(|| "recording".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// Loads that are misspelt, or are not to be had here, are found before anything is measured.
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

/// Makes a file that must not exist yet, so that no result is ever overwritten.
pub fn create_new(path: &Path) -> Result<File> {
    File::options().write(true).create_new(true).open(path).map_err(|error| {
        let remedy = match error.kind() {
            ErrorKind::AlreadyExists => "choose another path, or remove what is there",
            ErrorKind::NotFound => "make its folder, or choose another path",
            ErrorKind::PermissionDenied => "choose a folder you may write to",
            _ => "choose another path",
        };
        anyhow::Error::new(error).context(format!("create {}: {remedy}", path.display()))
    })
}

fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}

fn explained(error: MeasureError) -> anyhow::Error {
    let remedy = error.remedy();
    let error = anyhow::Error::new(error);
    match remedy {
        Some(remedy) => anyhow::anyhow!("{error}\n{remedy}"),
        None => error,
    }
}

/// Who shows how far a measurement is.
enum Display {
    Line(ProgressLine),
    Live(Box<Live>),
}

impl Display {
    /// The one asked for, and the flag that ends the run. A terminal that cannot be used is found before anything is
    /// measured.
    fn new(outputs: &Outputs) -> Result<(Self, Arc<AtomicBool>)> {
        if outputs.live {
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

/// Writes frames down, folds them, and shows progress.
struct Keeper {
    writer: RecordingWriter,
    recording: Option<Recording>,
    /// Where frames go behind those of former runs; known when the measurement has its epoch.
    place: Option<Shift>,
    /// The epoch of the measurement that is under way.
    epoch: MonoTime,
    display: Display,
    /// The first thing that could not be written.
    failure: Option<String>,
}

impl Keeper {
    fn new(writer: RecordingWriter, mut recording: Option<Recording>, display: Display) -> Self {
        // What a former run left unfinished is told of that run.
        if let Some(recording) = &mut recording {
            recording.cut_off = None;
        }
        Self { writer, recording, place: None, epoch: MonoTime::default(), display, failure: None }
    }

    /// A frame of this measurement as the recording has it.
    fn placed(&mut self, frame: Frame) -> Frame {
        if let Frame::Header(header) = &frame {
            self.epoch = header.epoch;
            let behind = |former: &Recording| {
                let until = former.runs.last().map_or(RecTime::EPOCH, |run| run.until);
                Shift::behind(&former.header, header, until, former.causes.windows.next_slot())
            };
            self.place = self.recording.as_ref().map(behind);
        }
        match self.place {
            Some(place) => place.put(frame),
            None => frame,
        }
    }

    fn note_failure(&mut self, written: Result<(), punctual_linux::recording::RecordingError>) {
        if let Err(error) = written {
            let text = error.to_string();
            self.display.say(&format!("error: {text}; the measurement goes on, what is on disk is readable"));
            self.failure.get_or_insert(text);
        }
    }

    fn keep(&mut self, frame: Frame) {
        let frame = self.placed(frame);
        let written = self.writer.append(&frame);
        self.note_failure(written);
        match (&mut self.recording, frame) {
            (Some(recording), frame) => recording.add(frame),
            (empty, Frame::Header(header)) => *empty = Some(Recording::new(*header)),
            (None, _) => {}
        }
    }

    /// With the cause of each CPU's last spike, where a window of it was kept.
    fn with_causes(&self, progress: &Progress) -> Progress {
        let mut progress = progress.clone();
        let Some(recording) = &self.recording else { return progress };
        for spike in progress.latencies.iter_mut().filter_map(|cpu| cpu.last_spike.as_mut()) {
            let woke = self.place.map_or(spike.woke, |place| place.moved(spike.woke));
            spike.cause = primary_cause(recording, woke).map(|cause| render::words::causes::cause(&cause));
        }
        progress
    }

    /// What was noted by hand goes into the recording with its time.
    fn write_notes(&mut self) {
        let (Display::Live(live), Some(_)) = (&self.display, &self.recording) else { return };
        for (at, text) in live.notes() {
            let at = at.since(self.epoch);
            let text = format!("{text}, {} into the run", render::units::moment(RecTime::after_epoch(at)));
            self.keep(Frame::Mark(Mark { at: RecTime::after_epoch(at), kind: MarkKind::Note(text) }));
        }
    }
}

impl Observer for Keeper {
    fn frame(&mut self, frame: Frame) {
        match (&frame, &mut self.display) {
            // From here on this thread keeps to the CPUs of housekeeping, and nothing is counted yet.
            (Frame::Header(_), Display::Live(live)) => live.begin(),
            (Frame::End(_), _) => self.write_notes(),
            _ => {}
        }
        self.keep(frame);
    }

    fn checkpoint(&mut self) {
        let written = self.writer.checkpoint();
        self.note_failure(written);
    }

    fn progress(&mut self, progress: &Progress) {
        self.write_notes();
        if self.looks_closely() {
            return self.display.show(&self.with_causes(progress));
        }
        self.display.show(progress);
    }

    fn looks_closely(&self) -> bool {
        matches!(self.display, Display::Live(_))
    }

    fn write_error(&self) -> Option<String> {
        self.failure.clone()
    }
}
