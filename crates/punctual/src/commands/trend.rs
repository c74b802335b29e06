//! `punctual trend`: reads a series of recordings and tells where it shifted.

use crate::cli::{TrendArgs, TrendLevel};
use crate::commands::files::{of_file, refuse_pipe, write_new};
use crate::exit::Exit;
use crate::render::{self, trend::Told};
use anyhow::{Context, Result, bail};
use punctual_facts::machine::MachineLine;
use punctual_linux::recording::read_file;
use punctual_numbers::fleet::of_recording;
use punctual_numbers::recording::Recording;
use punctual_numbers::scenario::LoadPhase;
use punctual_numbers::trend::{Options, Run, Trend, Verdict};
use std::path::{Path, PathBuf};

/// What must be alike in all runs of a series, or their numbers mean different things.
type Alike = (String, String);

pub fn run(args: &TrendArgs) -> Result<Exit> {
    if !(args.false_alarms > 0.0 && args.false_alarms <= 100.0) {
        bail!("--false-alarms is a number of runs in a thousand, above 0 and up to 100");
    }
    let mut left_out = Vec::new();
    let mut read: Vec<(Alike, Run)> = Vec::new();
    for path in paths(&args.recordings)? {
        match one(&path) {
            Ok(found) => read.push(found),
            Err(error) => left_out.push(of_file(&path, &error)),
        }
    }
    let Some((newest, _)) = read.iter().max_by_key(|(_, run)| run.started_unix_ns) else {
        let why = left_out.first().map_or_else(String::new, |why| format!(": {why}"));
        bail!("none of these is a recording that can be read{why}");
    };
    let newest = newest.clone();
    let (same, others): (Vec<_>, Vec<_>) = read.into_iter().partition(|(alike, _)| *alike == newest);
    left_out.extend(
        others
            .into_iter()
            .map(|(_, run)| format!("{}: it is of another machine or another scenario than the newest run", run.name)),
    );
    let options = Options { margin: args.margin, false_alarms_per_1000: args.false_alarms };
    let trend = Trend::of(same.into_iter().map(|(_, run)| run).collect(), options);
    if let Some(path) = &args.html {
        write_new(path, render::trend::html(&trend).context("make the page")?)?;
    }
    let told = Told { trend: &trend, left_out: &left_out, page: args.html.as_deref() };
    render::print(&if args.json {
        render::trend::json(&told)?
    } else if args.csv {
        render::trend::csv(&trend)
    } else if args.form.brief {
        render::trend::brief(&trend)
    } else {
        render::trend::text(&told, render::style())
    })?;
    let fails = match args.fail_on {
        TrendLevel::Worse => trend.verdict == Verdict::Worse,
        TrendLevel::Shift => matches!(trend.verdict, Verdict::Worse | Verdict::Better),
        TrendLevel::Never => false,
    };
    Ok(Exit::exceeded_if(fails).and(Exit::doubtful_if(trend.verdict == Verdict::TooFew)))
}

/// The files that were named, and the recordings in folders that were named.
fn paths(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for path in named {
        refuse_pipe(path)?;
        if !path.is_dir() {
            paths.push(path.clone());
            continue;
        }
        let entries = std::fs::read_dir(path).with_context(|| format!("list {}", path.display()))?;
        let found = entries.flatten().map(|entry| entry.path());
        paths.extend(found.filter(|path| path.extension().is_some_and(|end| end == "punctual")));
    }
    Ok(paths)
}

/// One run, with what must be alike in all runs.
fn one(path: &Path) -> Result<(Alike, Run)> {
    let recording = read_file(path)?;
    let packed = of_recording(&recording, String::new(), 0);
    Ok((alike(&recording), packed.as_run(path.display().to_string(), &recording)))
}

fn alike(recording: &Recording) -> Alike {
    let header = &recording.header;
    let scenario = &header.scenario;
    let threads = scenario.threads.iter().map(|thread| format!("{} {}", thread.cpu, thread.period.as_ns()));
    let loads = scenario.load_phases.iter().map(LoadPhase::name);
    let scenario = format!(
        "{:?} {:?} {} {}",
        scenario.policy,
        scenario.mechanism,
        threads.collect::<Vec<_>>().join(","),
        loads.collect::<Vec<_>>().join(",")
    );
    (MachineLine::of(&header.machine, "model").unwrap_or_default().to_owned(), scenario)
}
