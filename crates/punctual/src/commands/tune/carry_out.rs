//! Applies a plan, either permanently or while a command runs.

use crate::cli::TuneArgs;
use crate::commands::here::typed;
use crate::exit::Exit;
use crate::render;
use crate::render::tune::TuneDocument;
use anyhow::{Context, Result, anyhow, bail};
use punctual_hist::Nanos;
use punctual_linux::apply::guard::{Program, revert_patiently, watch_deadline};
use punctual_linux::apply::supervise::{Supervised, supervise};
use punctual_linux::apply::{Applied, Extent, Fate, LatencyRequest, Machine, Request, Transaction};
use punctual_linux::interrupt;
use punctual_linux::journal::{KeptSetting, Purpose, TuningRequest};
use punctual_tuning::plan::lasting::Starts;
use punctual_tuning::plan::{Change, ENTRY, Keep, Plan, Wishes};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::Ordering;
use std::time::Duration;

pub const GUARD: &str = "__guard";

pub fn apply(args: &TuneArgs, plan: &Plan, wishes: &Wishes) -> Result<Exit> {
    let request = Request {
        kind: Purpose::Tuned,
        asked: asked(plan, wishes),
        confirm_within: args.confirm_within.map(|time| Duration::from_nanos(time.as_ns())),
    };
    if args.command.is_empty() {
        for_good(args, plan, wishes, &request)
    } else {
        for_command(args, plan, wishes, &request)
    }
}

fn asked(plan: &Plan, wishes: &Wishes) -> TuningRequest {
    let kept = |change: &Change, keep: &Keep| KeptSetting { knob: change.id.clone(), keep: keep.clone() };
    let keeps = plan.changes.iter().flat_map(|change| change.keeps.iter().map(move |keep| kept(change, keep)));
    TuningRequest {
        cpus: plan.choice.cpus.to_string(),
        profile: wishes.need.kind.name().to_owned(),
        arguments: typed().collect(),
        keeps: keeps.collect(),
    }
}

fn for_good(args: &TuneArgs, plan: &Plan, wishes: &Wishes, request: &Request) -> Result<Exit> {
    let hand = Machine::here();
    // A signal only sets a flag, which is checked between changes, so that no change is left half made.
    let interrupted =
        interrupt::flag().context("signal handlers cannot be installed, and a signal could end this halfway")?;
    let transaction = Transaction::begin(&hand, request)?;
    let number = transaction.number();
    if args.confirm_within.is_some() {
        let guard = Program::this(GUARD)
            .context("the path of this program cannot be found, so that no guard can be started")?;
        if let Err(error) = watch_deadline(&guard, transaction.number()) {
            transaction.cancel()?;
            return Err(error.into());
        }
    }
    let applied = transaction.apply(&plan.changes, wishes.blast)?;
    if interrupted.load(Ordering::Relaxed) {
        let reverted = revert_patiently(&hand, Extent::Only(number))?;
        bail!(
            "interrupted, so what had been changed was put back{}",
            if reverted.trouble.is_empty() { "" } else { ", but not completely: punctual revert shows what is left" }
        );
    }
    let text = if args.json {
        render::document(&TuneDocument::of(wishes.need.kind, plan, Some(&applied)))?
    } else {
        told(args, plan, &applied, &next(args, plan, &applied))
    };
    render::print(&text)?;
    Ok(outcome(&applied))
}

fn told(args: &TuneArgs, plan: &Plan, applied: &Applied, next: &[String]) -> String {
    if args.form.brief {
        render::brief::applied(applied, outcome(applied) == Exit::Fine)
    } else {
        render::for_people(|| render::tune::results(plan, applied, next, render::style()))
    }
}

fn next(args: &TuneArgs, plan: &Plan, applied: &Applied) -> Vec<String> {
    let mut next = Vec::new();
    if !applied.stands {
        return next;
    }
    if args.confirm_within.is_some() {
        next.push("Everything will be put back unless you run `punctual status --confirm` in time.".to_owned());
    }
    let has_entry = applied.changes.iter().any(|tried| tried.id == ENTRY && tried.fate == Fate::Done);
    if has_entry && plan.starts != Starts::NotNeeded {
        next.push(
            "Boot the machine to try the new command line; then `punctual status`, and `punctual status --confirm` to \
             keep it."
                .to_owned(),
        );
    }
    next.push("`punctual status` shows which changes are in force, `punctual revert` puts everything back.".to_owned());
    next
}

/// The exit code of an applied plan: doubtful if a planned change was not made.
pub fn outcome(applied: &Applied) -> Exit {
    let is_done = |fate: &Fate| matches!(fate, Fate::Done | Fate::Already | Fate::Waits | Fate::NextBoot | Fate::Gone);
    Exit::doubtful_if(applied.changes.iter().any(|tried| !is_done(&tried.fate)))
}

fn for_command(args: &TuneArgs, plan: &Plan, wishes: &Wishes, request: &Request) -> Result<Exit> {
    let hand = Machine::here();
    let guard =
        Program::this(GUARD).context("the path of this program cannot be found, so that no guard can be started")?;
    // The kernel drops the request when this process ends for any reason.
    let held = plan.wanted.hold_latency_us.map(|us| LatencyRequest::global(Nanos::from_us(us.into())));
    let _held = held.transpose().map_err(|error| {
        anyhow!("the limit on the CPUs' sleep cannot be held: {error}; --except pm.qos_global does without")
    })?;
    let mut ready = |applied: &Applied| {
        render::say(told(args, plan, applied, &[]).trim_end());
        true
    };
    let Supervised { status, reverted, .. } =
        supervise(&hand, &guard, request, (&plan.changes, wishes.blast), &args.command, &mut ready)?;
    for trouble in &reverted.trouble {
        render::say(&format!("not put back: {}", trouble.why));
    }
    let status = status.with_context(|| format!("cannot run {}", args.command[0].to_string_lossy()))?;
    Ok(if reverted.trouble.is_empty() { Exit::Passed(code(status)) } else { Exit::Error })
}

/// The exit code of a command in the manner of a shell: its own, or 128 plus the number of the signal that ended it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code & 0xff).unwrap_or(1)
}
