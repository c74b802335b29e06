//! `punctual report`: a recording, or what another program measured, rendered again.

use crate::cli::{ReportArgs, When};
use crate::commands::plot;
use crate::commands::session::{title, write_new};
use crate::commands::source::refuse_pipe;
use crate::exit::Exit;
use crate::render;
use anyhow::{Result, bail};
use punctual_hist::Nanos;
use punctual_linux::recording::read_stretch;
use punctual_linux::result_file::{ResultFile, read_result};
use punctual_numbers::foreign::ForeignRun;
use punctual_numbers::recording::{RecTime, Recording, Stretch};
use punctual_numbers::report::Report;
use std::io::Write;
use std::path::Path;

/// Reads, renders. A recording that was cut off is rendered up to its last good frame, and exits with 3.
pub fn run(args: &ReportArgs) -> Result<Exit> {
    refuse_pipe(&args.recording)?;
    let result = read_result(&args.recording, args.import.options())?;
    if matches!(result, ResultFile::Recording(_)) {
        args.import.refuse_beside_recording(&args.recording)?;
    }
    let result = part_of(result, &args.recording, args.between.between.as_deref())?;
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
    if let Some(path) = &args.html {
        let page = render::html::page(&report, &title(&args.recording), Some(&args.recording))?;
        write_new(path, |mut file| file.write_all(page.as_bytes()))?;
    }
    if args.json {
        render::print(&render::json::check(&report, Some(&args.recording)))?;
    }
    if args.text || (args.html.is_none() && !args.json) {
        render::print(&render::text::full(&report, Some(&args.recording), args.html.as_deref(), render::style()))?;
    }
    Ok(Exit::doubtful_if(report.cut_off.is_some()))
}

fn imported(args: &ReportArgs, run: &ForeignRun) -> Result<Exit> {
    if let Some(path) = &args.html {
        let page = render::html::imported_page(run, &title(&args.recording), &args.recording)?;
        write_new(path, |mut file| file.write_all(page.as_bytes()))?;
    }
    if args.json {
        render::print(&render::json::imported(run, &args.recording))?;
    }
    if args.text || (args.html.is_none() && !args.json) {
        render::print(&render::text::imported(run, &args.recording, render::style()))?;
    }
    Ok(Exit::Fine)
}

/// The result, or the stretch of it that was asked for.
pub(super) fn part_of(result: ResultFile, path: &Path, between: Option<&[When]>) -> Result<ResultFile> {
    let Some([from, to]) = between else { return Ok(result) };
    let ResultFile::Recording(whole) = result else {
        bail!("{} was measured by another program: --between is for recordings, which say when", path.display());
    };
    let moment = |when: &When| match when {
        When::IntoRun(length) => RecTime::after_epoch(*length),
        // Moments before the run are its beginning.
        When::Wall(ns) => into_run(&whole, *ns),
    };
    let stretch = Stretch::new(moment(from), moment(to));
    if stretch.from >= stretch.to {
        bail!("--between: the second moment is not after the first");
    }
    let recording = read_stretch(path, stretch)?;
    if recording.stretch.is_none_or(|stretch| stretch.edges.is_none()) {
        bail!("{}: {}", path.display(), render::words::runs::nothing_between(&stretch, &whole.runs));
    }
    Ok(ResultFile::Recording(Box::new(recording)))
}

/// A moment of the wall clock as one of the recording: by the clock of the run that had begun last. Runs lie in whole
/// seconds, so that it may be up to a second off by the clock of the first.
fn into_run(recording: &Recording, unix_ns: u64) -> RecTime {
    let begun = recording.runs.iter().rev().find(|run| run.header.started_unix_ns <= unix_ns);
    begun.map_or(RecTime::EPOCH, |run| run.at.plus(Nanos::from_ns(unix_ns.saturating_sub(run.header.started_unix_ns))))
}
