//! `punctual report`: a recording, or what another program measured, rendered again.

use crate::cli::{ReportArgs, When};
use crate::commands::files::{title, write_new};
use crate::commands::plot;
use crate::commands::source::one_result;
use crate::exit::Exit;
use crate::render;
use anyhow::{Result, bail};
use punctual_hist::Nanos;
use punctual_linux::recording::read_stretch;
use punctual_linux::result_file::ResultFile;
use punctual_numbers::foreign::ForeignRun;
use punctual_numbers::recording::{Recording, Stretch};
use punctual_numbers::report::Report;
use std::path::Path;

/// Reads, renders. A recording that was cut off is rendered up to its last good frame, and exits with 3.
pub fn run(args: &ReportArgs) -> Result<Exit> {
    let result = part_of(one_result(&args.recording, args.import)?, &args.recording, args.between.between.as_deref())?;
    if let Some(file) = &args.plot.plot {
        return plot::run(args, file.as_deref(), result);
    }
    match result {
        ResultFile::Recording(recording) => recorded(args, &recording),
        ResultFile::Foreign(run) => imported(args, &run),
    }
}

fn recorded(args: &ReportArgs, recording: &Recording) -> Result<Exit> {
    let report = Report::of(recording);
    let path = Some(args.recording.as_path());
    in_forms(
        args,
        || render::html::page(&report, &title(&args.recording), path),
        || render::json::check(&report, path),
        || render::text::full(&report, path, args.html.as_deref(), render::style()),
    )?;
    Ok(Exit::doubtful_if(report.cut_off.is_some()))
}

fn imported(args: &ReportArgs, run: &ForeignRun) -> Result<Exit> {
    let path = &args.recording;
    in_forms(
        args,
        || render::html::imported_page(run, &title(path), path),
        || render::json::imported(run, path),
        || render::text::imported(run, path, render::style()),
    )?;
    Ok(Exit::Fine)
}

/// In each form that was asked for; as text where none was.
fn in_forms<E: std::error::Error + Send + Sync + 'static>(
    args: &ReportArgs,
    html: impl FnOnce() -> Result<String, E>,
    json: impl FnOnce() -> String,
    text: impl FnOnce() -> String,
) -> Result<()> {
    if let Some(path) = &args.html {
        write_new(path, html()?)?;
    }
    if args.json {
        render::print(&json())?;
    }
    if args.text || (args.html.is_none() && !args.json) {
        render::print(&text())?;
    }
    Ok(())
}

/// The result, or the stretch of it that was asked for.
pub(super) fn part_of(result: ResultFile, path: &Path, between: Option<&[When]>) -> Result<ResultFile> {
    let Some([from, to]) = between else { return Ok(result) };
    let ResultFile::Recording(whole) = result else {
        bail!("{} was measured by another program: --between is for recordings, which say when", path.display());
    };
    let moment = |when: &When| match when {
        When::IntoRun(length) => *length,
        // Moments before the run are its beginning.
        When::Wall(ns) => into_run(&whole, *ns),
    };
    let stretch = Stretch::new(moment(from), moment(to));
    if stretch.from >= stretch.to {
        bail!("--between: the second moment is not after the first");
    }
    let recording = read_stretch(path, stretch)?;
    if recording.stretch.is_none_or(|stretch| stretch.told.is_none()) {
        bail!("{}: {}", path.display(), render::words::runs::nothing_between(&stretch, &whole.runs));
    }
    Ok(ResultFile::Recording(Box::new(recording)))
}

/// A moment of the wall clock as one of the recording: by the clock of the run that had begun last. Runs lie in whole
/// seconds, so that it may be up to a second off by the clock of the first.
fn into_run(recording: &Recording, unix_ns: u64) -> Nanos {
    let begun = recording.runs.iter().rev().find(|run| run.header.started_unix_ns <= unix_ns);
    begun.map_or(Nanos::ZERO, |run| run.at.plus(Nanos::from_ns(unix_ns.saturating_sub(run.header.started_unix_ns))))
}
