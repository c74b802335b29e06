//! `punctual lab compare`: measures kernels under the same loads and shows them side by side.

use super::bench::{Bench, Measured};
use crate::cli::{GuestArgs, LabCompareArgs};
use crate::commands::files::{check_new, write_new};
use crate::exit::Exit;
use crate::render;
use crate::render::lab::{self, GuestClock, RefusedMode, Shown};
use anyhow::{Context, Result, bail};
use punctual_lab::choice::Choice;
use punctual_linux::interrupt;
use punctual_numbers::compare::Options;
use punctual_numbers::kernels::{KernelRuns, SideBySide};
use std::collections::BTreeSet;

/// Measures, compares, prints. Exits with 3 if a kernel is missing or its mode of pre-emption is not the one asked for.
pub fn run(args: &LabCompareArgs) -> Result<Exit> {
    let mut names = BTreeSet::new();
    if let Some(twice) = args.kernel.iter().flatten().find(|choice| !names.insert(&choice.name)) {
        bail!("{} is named twice", twice.name);
    }
    args.html.as_deref().map_or(Ok(()), check_new)?;
    let interrupted = interrupt::flag().context("listen for Ctrl-C")?;
    let bench = Bench::open(&args.guest, args.real, !args.no_explain, interrupted)?;
    let seeds: Vec<u64> = (1..=args.seeds).collect();
    let measured = bench.measure(&bench.get(args.kernel.iter().flatten()), &seeds)?;
    let refused = args.kernel.iter().flatten().zip(&measured).filter_map(|(choice, one)| refused(choice, one));
    let shown = Shown {
        clock: if args.real { GuestClock::Host } else { GuestClock::Virtual },
        refused: refused.collect(),
        ..shown(&args.guest, &measured, &seeds, args.margin)
    };
    if shown.table.kernels.is_empty() {
        let why: Vec<String> = shown.not_measured.iter().map(|one| lab::missing(one)).collect();
        bail!("no kernel was measured: {}", why.join("\n"));
    }
    if let Some(path) = &args.html {
        write_new(path, lab::html(&shown)?)?;
    }
    render::print(&match (args.json, args.form.brief) {
        (true, _) => lab::json(&shown)?,
        (_, true) => lab::brief(&shown),
        _ => lab::text(&shown, args.full, args.html.as_deref(), render::style()),
    })?;
    Ok(Exit::doubtful_if(!shown.not_measured.is_empty() || !shown.refused.is_empty()))
}

/// The table of what was measured, with what it was measured by.
pub fn shown<'a>(guest: &GuestArgs, measured: &'a [Measured], seeds: &'a [u64], margin: f64) -> Shown<'a> {
    let runs: Vec<KernelRuns<'_>> = measured.iter().map(Measured::runs).collect();
    Shown {
        clock: GuestClock::Virtual,
        load: guest.load.to_string(),
        period: guest.period,
        duration: guest.duration,
        seeds,
        // Kernels may read other clocks of the emulated machine. All of them count the same instructions.
        table: SideBySide::of(&runs, Options { margin, anyway: true, ..Options::default() }),
        not_measured: measured.iter().filter_map(|one| one.failure.as_ref()).collect(),
        refused: Vec::new(),
    }
}

/// A mode of pre-emption that was asked for and is not in force: the kernel does not know it.
fn refused(choice: &Choice, measured: &Measured) -> Option<RefusedMode> {
    let asked = choice.mode().filter(|_| !measured.runs.is_empty())?;
    let in_force = measured.mode.clone();
    (in_force.as_deref() != Some(asked)).then(|| RefusedMode {
        name: choice.name.clone(),
        asked: asked.to_owned(),
        in_force,
    })
}
