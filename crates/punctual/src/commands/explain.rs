//! `punctual explain`: ranks the causes of latency in a recording.

use crate::cli::ExplainArgs;
use crate::commands::files::{refuse_pipe, title, write_new, write_new_with};
use crate::commands::here::reader;
use crate::commands::source::named_or_newest;
use crate::commands::watched::{day, history};
use crate::exit::Exit;
use crate::render::{self, explain};
use anyhow::{Context, Result, bail};
use punctual_linux::recording::read_file;
use punctual_numbers::recording::Recording;
use punctual_numbers::report::Report;
use std::io::BufWriter;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// The recording, and the path that names it or the part of it with the largest latency.
fn recording(args: &ExplainArgs) -> Result<(Recording, PathBuf)> {
    let path = named_or_newest(args.recording.as_ref())?;
    refuse_pipe(&path)?;
    if path.is_dir() {
        return day(&path, &history(&path)?, args.day.day);
    }
    if args.day.day.is_some() {
        bail!("--day is for the folder of a watch, which has days; name that folder");
    }
    Ok((read_file(&path)?, path))
}

/// Reads, ranks, prints. Exits with 3 if the recording was cut off or if more than a fifth of the latency has no cause.
pub fn run(args: &ExplainArgs) -> Result<Exit> {
    let (recording, path) = &recording(args)?;
    let report = Report::of(recording);
    let name = path.display();
    let untraced = || format!("{name} contains no causes; record them with punctual measure --explain (best as root)");
    let kept = report.causes.as_ref().with_context(untraced)?.spikes.len();
    if let Some(number) = args.spike.filter(|number| number.get() > kept) {
        bail!("{name} has {kept} late activations, so --spike takes a number from 1 to {kept}, not {number}");
    }
    if args.html.is_some() && args.html == args.perfetto {
        bail!("--html and --perfetto cannot both be the same file: name two");
    }
    let top = if args.full { usize::MAX } else { args.top.get() };
    let show = explain::Show { top, full: args.full, spike: args.spike.map(NonZeroUsize::get) };
    if let Some(html) = &args.html {
        let page = render::for_people(|| render::html::causes_page(&report, &title(path), Some(path)))?;
        write_new(html, &page)?;
    }
    if let Some(trace) = &args.perfetto {
        write_new_with(trace, |file| explain::perfetto(&report, &recording.causes.windows, BufWriter::new(file)))?;
    }
    let paths = [Some(path.as_path()), args.html.as_deref(), args.perfetto.as_deref()];
    let text = if args.json {
        explain::json::document(&report, Some(path), args.full)?
    } else if args.form.brief {
        render::brief::explain(&report, path)
    } else {
        Some(render::for_people(|| explain::explain(&report, show, &reader(), paths, render::style())))
    };
    render::print(&text.with_context(untraced)?)?;
    Ok(Exit::doubtful_if(report.cut_off.is_some() || report.causes_doubt().is_some()))
}
