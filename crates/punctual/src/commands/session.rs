//! One measurement as a command runs it: result paths opened first, then the run, then the report.

use crate::render::{self, progress::ProgressLine};
use anyhow::{Context, Result};
use punctual_core::recording::{Frame, Recording};
use punctual_core::report::Report;
use punctual_core::scenario::Scenario;
use punctual_linux::interrupt;
use punctual_linux::measure::{MeasureError, Observer, Progress, Setting, measure};
use punctual_linux::recording::RecordingWriter;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Title of the page.
const TITLE: &str = "punctual";

/// Where results go.
pub struct Outputs {
    /// The recording.
    pub recording: PathBuf,
    /// The HTML report.
    pub html: Option<PathBuf>,
    /// Draw progress on standard error, if that is a terminal.
    pub progress: bool,
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
}

/// Runs `scenario`. The report is made from what was recorded, whether or not it could all be written.
pub fn run(scenario: &Scenario, setting: &Setting, outputs: &Outputs) -> Result<Report> {
    let writer = RecordingWriter::create(&outputs.recording)?;
    let html = outputs.html.as_deref().map(create_new).transpose()?;
    let interrupted = interrupt::flag().context("install signal handlers")?;
    let mut keeper = Keeper { writer, recording: None, progress: ProgressLine::new(outputs.progress), failure: None };
    let measured = measure(scenario, setting, &interrupted, &mut keeper);
    keeper.progress.clear();
    if let Err(error) = measured {
        discard(outputs);
        return Err(explained(error));
    }
    let finished = keeper.writer.finish();
    keeper.note_failure(finished);
    let recording = keeper.recording.context("the measurement handed out no recording")?;
    let report = Report::of(&recording);
    if let (Some(mut file), Some(path)) = (html, outputs.html.as_deref()) {
        file.write_all(render::html::page(&report, TITLE, Some(&outputs.recording))?.as_bytes())
            .with_context(|| format!("write {}", path.display()))?;
    }
    Ok(report)
}

/// Makes a file that must not exist yet, so that no result is ever overwritten.
pub fn create_new(path: &Path) -> Result<File> {
    let remedy = || format!("create {}: choose another path, or remove what is there", path.display());
    File::options().write(true).create_new(true).open(path).with_context(remedy)
}

/// Nothing was measured, so the files made for it are in nobody's way.
fn discard(outputs: &Outputs) {
    let _ = std::fs::remove_file(&outputs.recording);
    if let Some(html) = &outputs.html {
        let _ = std::fs::remove_file(html);
    }
}

fn explained(error: MeasureError) -> anyhow::Error {
    let remedy = error.remedy();
    let error = anyhow::Error::new(error);
    match remedy {
        Some(remedy) => anyhow::anyhow!("{error}\n{remedy}"),
        None => error,
    }
}

/// Writes frames down, folds them, and shows progress.
struct Keeper {
    writer: RecordingWriter,
    recording: Option<Recording>,
    progress: ProgressLine,
    /// The first thing that could not be written.
    failure: Option<String>,
}

impl Keeper {
    fn note_failure(&mut self, written: Result<(), punctual_linux::recording::RecordingError>) {
        if let Err(error) = written {
            let text = error.to_string();
            self.progress.say(&format!("error: {text}; the measurement goes on, what is on disk is readable"));
            self.failure.get_or_insert(text);
        }
    }
}

impl Observer for Keeper {
    fn frame(&mut self, frame: Frame) {
        let written = self.writer.append(&frame);
        self.note_failure(written);
        match (&mut self.recording, frame) {
            (Some(recording), frame) => recording.add(frame),
            (empty, Frame::Header(header)) => *empty = Some(Recording::new(*header)),
            (None, _) => {}
        }
    }

    fn checkpoint(&mut self) {
        let written = self.writer.checkpoint();
        self.note_failure(written);
    }

    fn progress(&mut self, progress: &Progress) {
        self.progress.show(progress);
    }

    fn write_error(&self) -> Option<String> {
        self.failure.clone()
    }
}
