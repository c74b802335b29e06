//! `punctual report`: a recording, rendered again.

use crate::cli::ReportArgs;
use crate::commands::session::{title, write_new};
use crate::commands::source::refuse_pipe;
use crate::exit::Exit;
use crate::render;
use anyhow::Result;
use punctual_core::report::Report;
use punctual_linux::recording::read_file;
use std::io::Write;

/// Reads, renders. A recording that was cut off is rendered up to its last good frame, and exits with 3.
pub fn run(args: &ReportArgs) -> Result<Exit> {
    refuse_pipe(&args.recording)?;
    let recording = read_file(&args.recording)?;
    let report = Report::of(&recording);
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
