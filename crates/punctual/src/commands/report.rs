//! `punctual report`: a recording, or what another program measured, rendered again.

use crate::cli::ReportArgs;
use crate::commands::files::{title, write_new};
use crate::commands::here::reader;
use crate::commands::plot;
use crate::commands::session::told;
use crate::commands::source::{one_result, part_of};
use crate::exit::Exit;
use crate::render;
use anyhow::Result;
use punctual_linux::result_file::ResultFile;
use punctual_numbers::foreign::ForeignRun;
use punctual_numbers::recording::Recording;
use punctual_numbers::report::Report;

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
        || told(&report, args.form, &reader(), [path, args.html.as_deref()]),
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
    if args.form.json {
        render::print(&json())?;
    }
    if args.text || args.form.full || args.form.brief || (args.html.is_none() && !args.form.json) {
        render::print(&text())?;
    }
    Ok(())
}
