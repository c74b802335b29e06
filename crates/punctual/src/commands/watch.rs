//! `punctual watch`: measures for months beside other work, and keeps what it saw.

mod unit;

use super::check::cpus_worth_checking;
use super::here::{Here, typed};
use super::need::{Stated, Terms};
use super::preconditions::none_measures;
use crate::cli::{PRIORITY, WatchArgs};
use crate::exit::Exit;
use crate::render;
use crate::render::words::command::Command;
use anyhow::{Context, Result, bail};
use punctual_facts::tree::masked;
use punctual_hist::Nanos;
use punctual_linux::inspect::{Target, ThreadFilter};
use punctual_linux::measure::{Explain, Setting};
use punctual_linux::watch::{self, BUFFER_BYTES, RAREST, Subject, WINDOWS_EACH, Wanted, WatchError, What};
use punctual_linux::{interrupt, live};
use punctual_numbers::recording::EndReason;
use punctual_numbers::scenario::{Amount, LONGEST, Policy, Scenario};
use punctual_tuning::capture::capture;
use std::path::PathBuf;
use std::rc::Rc;

const PERIOD: Nanos = Nanos::from_ms(1);
/// Each run begins with activations that do not count, while caches warm up.
const WARM_UP: Amount = Amount::Time(Nanos::from_ms(100));

pub fn run(args: &WatchArgs) -> Result<Exit> {
    if args.uninstall {
        return unit::uninstall(args.dry_run);
    }
    if !args.install {
        none_measures()?;
    }
    let here = Here::read();
    let what = match &args.program {
        Some(program) => What::Program(subject(args, program)?),
        None => What::Own(scenario(args, &here)?),
    };
    let store = args.store.clone().map_or_else(default_store, Ok)?;
    if args.install {
        return unit::install(&what, &store, args);
    }
    let explain = (!args.no_trace).then(|| explain(&what));
    let load_dir = store.clone();
    let setting = Setting { explain, ..here.setting(load_dir, Vec::new(), true) };
    let interrupted = interrupt::flag().context("listen for Ctrl-C")?;
    let again = Command::new(typed());
    let is_quiet = args.form.quiet;
    let begun = render::watch::begun(&what, &store, args);
    let wanted = Wanted {
        store: store.clone(),
        bytes_max: args.keep,
        what,
        setting,
        share: args.cost,
        actions: args.on_late.clone(),
        snapshot: Rc::new(|| Ok(render::snapshot(&masked(&capture(&live::LiveTree::here())), false))),
        metrics: args.metrics.clone(),
        duration: args.duration,
    };
    if !is_quiet {
        render::say_wrapped(&begun);
    }
    let mut say = |said: &watch::Said| {
        if !is_quiet || !matches!(said, watch::Said::Late(_)) {
            render::say_wrapped(&render::watch::said(said));
        }
    };
    let ended = watch::run(&wanted, &interrupted, &mut say).map_err(worded)?;
    if !is_quiet {
        render::say_wrapped(&render::watch::ended(ended, &store, &again));
    }
    Ok(match ended {
        EndReason::LimitExceeded => Exit::Exceeded,
        _ => Exit::Fine,
    })
}

fn worded(error: WatchError) -> anyhow::Error {
    match error {
        WatchError::Measure(error) => render::words::measure_error(error),
        error => error.into(),
    }
}

fn scenario(args: &WatchArgs, here: &Here) -> Result<Scenario> {
    let typed = Terms {
        period: args.period,
        budget: args.budget,
        cpus: args.cpus.clone(),
        priority: args.priority,
        load: None,
        duration: None,
    };
    let terms = Stated::read(&args.need, typed)?.terms;
    let cpus = terms.cpus.unwrap_or_else(|| cpus_worth_checking(&here.cpus));
    let policy = Policy::Fifo(terms.priority.unwrap_or(PRIORITY));
    let length = Amount::Time(LONGEST);
    let stops = args.on_late.contains(&watch::Action::Stop);
    let scenario = Scenario {
        warm_up: WARM_UP,
        budget: terms.budget,
        limit: terms.budget.filter(|_| stops),
        ..Scenario::plain(cpus.iter(), terms.period.unwrap_or(PERIOD), policy, length)
    };
    scenario.checked(&here.cpus).map_err(render::words::scenario_error)
}

/// The program whose threads are to be watched.
fn subject(args: &WatchArgs, program: &str) -> Result<Subject> {
    let typed = Terms { budget: args.budget, ..Terms::default() };
    let terms = Stated::read(&args.need, typed)?.terms;
    let target = program.parse().map_or_else(|_| Target::Named(program.to_owned()), Target::Process);
    if args.install && matches!(target, Target::Process(_)) {
        bail!("{program} is the number of a process, which is another one after the next boot: name the program");
    }
    let thread = |text: &String| text.parse().map_or_else(|_| ThreadFilter::Name(text.clone()), ThreadFilter::Id);
    let (thread, waits) = (args.thread.as_ref().map(thread), args.wait || args.install);
    Ok(Subject { target, thread, waits, budget: terms.budget })
}

fn explain(what: &What) -> Explain {
    let cpus = match what {
        What::Own(scenario) => u32::try_from(scenario.threads.len()).unwrap_or(u32::MAX),
        // The CPUs of a program are known later.
        What::Program(_) => 1,
    };
    Explain {
        rarest: Some(RAREST),
        windows_max: WINDOWS_EACH.saturating_mul(cpus),
        buffer_bytes: Some(BUFFER_BYTES),
        ..Explain::default()
    }
}

/// Where a watch keeps what it saw, unless the user names another folder.
pub fn default_store() -> Result<PathBuf> {
    if rustix::process::geteuid().is_root() {
        return Ok(PathBuf::from(watch::STORE));
    }
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")));
    Ok(state.context("there is no HOME to keep the store in: name a folder with --store")?.join("punctual/watch"))
}
