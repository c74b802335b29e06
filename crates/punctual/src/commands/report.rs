//! `punctual report`: shows a recording, or the result of another program.

use crate::cli::ReportArgs;
use crate::commands::files::{title, write_new};
use crate::commands::here::reader;
use crate::commands::session::told;
use crate::commands::source::{named_or_newest, one_result, part_of};
use crate::commands::watched::{bytes, day, history};
use crate::commands::{of_whole_program, plot};
use crate::exit::Exit;
use crate::render;
use crate::render::watch::WatchDocument;
use crate::render::words::next::Wording;
use anyhow::{Result, bail};
use punctual_linux::result_file::ResultFile;
use punctual_numbers::foreign::ForeignRun;
use punctual_numbers::recording::Recording;
use punctual_numbers::report::Report;
use std::path::{Path, PathBuf};

/// Reads, prints. A recording that was cut off is shown up to its last good frame, and the command exits with 3.
pub fn run(args: &ReportArgs) -> Result<Exit> {
    let (typed, plot) = swapped(args);
    if let Some(folder) = typed.filter(|path| path.is_dir()) {
        return watched(args, folder, plot);
    }
    if args.day.day.is_some() {
        bail!("--day is for the folder of a watch, which has days; name that folder");
    }
    let path = &named_or_newest(typed)?;
    let result = part_of(one_result(path, args.import)?, path, args.between.between.as_deref())?;
    if let Some(file) = plot {
        return plot::run(args, path, file, result);
    }
    match result {
        ResultFile::Recording(recording) => recorded(args, path, &recording),
        ResultFile::Foreign(run) => imported(args, path, &run),
    }
}

/// Shows the store of a watch, or one day of it as the recording that it is.
#[allow(clippy::option_option, reason = "not asked for, asked for without a file, and with one")]
fn watched(args: &ReportArgs, folder: &Path, plot: Option<Option<&Path>>) -> Result<Exit> {
    of_whole_program("the folder of a watch", "punctual report")?;
    let history = history(folder)?;
    if let Some(wanted) = args.day.day {
        let (recording, path) = day(folder, &history, Some(wanted))?;
        if let Some(file) = plot {
            return plot::run(args, &path, file, ResultFile::Recording(Box::new(recording)));
        }
        return recorded(args, &path, &recording);
    }
    if plot.is_some() || args.html.is_some() || args.between.between.is_some() {
        bail!("a chart, a page or a part is of one day: name the day with --day, as in --day 1");
    }
    let bytes = bytes(folder);
    render::print(&if args.form.json {
        let document = WatchDocument { store: folder.display().to_string(), bytes, history: &history };
        render::document(&document)?
    } else if args.form.brief {
        render::watch::brief(&history, folder)
    } else {
        render::for_people(|| render::watch::text(&history, folder, bytes, args.form.full, render::style()))
    })?;
    Ok(Exit::doubtful_if(!history.damaged.is_empty()))
}

/// The named result and the requested chart. `--plot RESULT` is accepted: if the word after `--plot` does not end like
/// a picture's name, it is the result, and the chart goes to the terminal.
#[allow(clippy::option_option, reason = "not asked for, asked for without a file, and with one")]
fn swapped(args: &ReportArgs) -> (Option<&PathBuf>, Option<Option<&Path>>) {
    let is_picture = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "svg" || ending == "png");
    match (&args.recording, &args.plot.plot) {
        (None, Some(Some(file))) if !is_picture(file) => (Some(file), Some(None)),
        (recording, plot) => (recording.as_ref(), plot.as_ref().map(Option::as_deref)),
    }
}

fn recorded(args: &ReportArgs, path: &Path, recording: &Recording) -> Result<Exit> {
    let (report, reader) = (Report::of(recording), reader());
    let of = Wording { report: &report, reader: &reader, recording: Some(path) };
    in_forms(
        args,
        || render::for_people(|| render::html::page(of, &title(path))),
        || render::json::check(of),
        || told(&report, args.form, &reader, [Some(path), args.html.as_deref()]),
    )?;
    Ok(Exit::doubtful_if(report.cut_off.is_some()))
}

fn imported(args: &ReportArgs, path: &Path, run: &ForeignRun) -> Result<Exit> {
    of_whole_program("a result of another program", "punctual report")?;
    in_forms(
        args,
        || render::for_people(|| render::html::imported_page(run, &title(path), path)),
        || render::json::imported(run, path),
        || render::for_people(|| render::text::imported(run, path, render::style())),
    )?;
    Ok(Exit::Fine)
}

fn in_forms<E: std::error::Error + Send + Sync + 'static>(
    args: &ReportArgs,
    html: impl FnOnce() -> Result<String, E>,
    json: impl FnOnce() -> serde_json::Result<String>,
    text: impl FnOnce() -> String,
) -> Result<()> {
    if let Some(path) = &args.html {
        of_whole_program("--html", "punctual report --html")?;
        write_new(path, html()?)?;
    }
    if args.form.json {
        render::print(&json()?)?;
    }
    if args.text || args.form.full || args.form.brief || (args.html.is_none() && !args.form.json) {
        render::print(&text())?;
    }
    Ok(())
}
