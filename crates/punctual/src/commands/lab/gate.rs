//! `punctual lab gate`: holds a kernel against a baseline.

use super::baseline::{Baseline, save};
use super::bench::{Bench, Measured};
use super::build::Builder;
use super::compare::shown;
use crate::cli::{GuestArgs, LabGateArgs};
use crate::commands::files::{check_new, write_new};
use crate::exit::Exit;
use crate::render::{self, lab};
use anyhow::{Context, Result, anyhow, bail, ensure};
use punctual_lab::config::{lines, unmet};
use punctual_linux::interrupt;
use punctual_numbers::compare::Compared;
use std::fs;
use std::path::{Path, PathBuf};

/// Measures, compares, prints. Exits with 2 if the kernel is worse, with 3 if that is not certain.
pub fn run(args: &LabGateArgs) -> Result<Exit> {
    [&args.save, &args.junit, &args.html].into_iter().flatten().try_for_each(|path| check_new(path))?;
    let Some(path) = &args.baseline else {
        let to = args.save.as_deref().context("neither --baseline nor --save is given")?;
        return begin(args, to);
    };
    let baseline = Baseline::open(path)?;
    let guest = baseline.guest(&args.guest)?;
    let seeds = baseline.other_seeds(args.seeds);
    let measured = [baseline.measured, measure(args, &guest, &seeds)?];
    let shown = shown(&guest, &measured, &seeds, args.margin);
    if let Some(path) = &args.junit {
        write_new(path, lab::gate_junit(&shown)?)?;
    }
    if let Some(path) = &args.html {
        write_new(path, lab::html(&shown)?)?;
    }
    render::print(&match (args.json, args.form.brief) {
        (true, _) => lab::json(&shown)?,
        (_, true) => lab::gate_brief(&shown),
        _ => lab::gate_text(&shown, render::style()),
    })?;
    let verdict = shown.table.kernels.get(1).and_then(|kernel| kernel.against_first);
    Ok(match verdict {
        Some(Compared::Worse | Compared::Mixed) => Exit::Exceeded,
        Some(Compared::Better | Compared::NoDifferenceShown | Compared::NotEnoughData) => Exit::Fine,
        None => Exit::Doubtful,
    })
}

/// Measures the first kernel, and writes the baseline.
fn begin(args: &LabGateArgs, to: &Path) -> Result<Exit> {
    let seeds: Vec<u64> = (1..=args.seeds).collect();
    let measured = measure(args, &args.guest, &seeds)?;
    save(to, &measured, &args.guest, &seeds)?;
    render::print(&lab::saved(&measured.name, to))?;
    Ok(Exit::Fine)
}

fn measure(args: &LabGateArgs, guest: &GuestArgs, seeds: &[u64]) -> Result<Measured> {
    let interrupted = interrupt::flag().context("listen for Ctrl-C")?;
    let bench = Bench::open(guest, false, true, interrupted)?;
    let read = |path: &PathBuf| fs::read_to_string(path).with_context(|| format!("read {}", path.display()));
    let config = args.config.as_ref().map(read).transpose()?;
    let kernel = match (&args.kernel, &args.build, &config) {
        (None, Some(command), Some(config)) => {
            let builder = Builder { command, folder: &guest.out, keeps: false, interrupted: &bench.interrupted };
            builder.build(config)?.map_err(|missing| anyhow!(lab::missing(&missing)))?
        }
        (kernel, ..) => kernel.clone().context("neither --kernel nor --build is given")?,
    };
    let measured = bench.measure(&bench.get([&kernel]), seeds)?.pop().context("nothing was measured")?;
    if let Some(missing) = &measured.failure {
        bail!(lab::missing(missing));
    }
    match (config, &measured.config) {
        (None, _) => {}
        (Some(asked), Some(built)) => {
            let unmet = unmet(&lines(&asked), built);
            ensure!(unmet.is_empty(), lab::not_as_asked(&measured.name, &unmet));
        }
        // What was just built from the file is measured anyway.
        (Some(_), None) if args.build.is_some() => render::say(&lab::does_not_tell(&measured.name)),
        (Some(_), None) => bail!(lab::does_not_tell(&measured.name)),
    }
    Ok(measured)
}
