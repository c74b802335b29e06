//! `punctual inspect`: observes a program of the user, and tells what is in its cycles.

use crate::cli::InspectArgs;
use crate::commands::files::{check_new, write_new};
use crate::commands::here::{Here, reader, typed};
use crate::commands::of_whole_program;
use crate::exit::Exit;
use crate::render;
use crate::render::inspect::{InspectDocument, Intent, brief, dry_run, html, junit, sarif, text};
use crate::render::live::{InspectionView, Live};
use crate::render::words::command::Command;
use anyhow::{Context, Result, bail};
use punctual_linux::inspect::{self, Target, ThreadFilter, Wanted};
use punctual_linux::interrupt;
use punctual_numbers::inspect::{FailOn, Gate, Inspection, gate};
use std::env::current_dir;

pub fn run(args: &InspectArgs) -> Result<Exit> {
    let wanted = wanted(args)?;
    if args.dry_run {
        let pid = inspect::find(&wanted.target, wanted.thread.as_ref())?;
        let engine = inspect::engine(&wanted)?;
        render::print(&render::for_people(|| dry_run(&Intent { wanted: &wanted, pid, engine }, render::style())))?;
        return Ok(Exit::Fine);
    }
    let files = [&args.junit, &args.sarif, &args.html, &args.cycles];
    files.into_iter().flatten().try_for_each(|path| check_new(path))?;
    let inspection = if args.live {
        watched(&wanted)?
    } else {
        let interrupted = interrupt::flag().context("listen for Ctrl-C")?;
        inspect::run(&wanted, &interrupted, None)?
    };
    if let Some(path) = &args.junit {
        write_new(path, junit(&inspection, &args.fail_on)?)?;
    }
    if let Some(path) = &args.sarif {
        write_new(path, sarif(&inspection, &args.fail_on, &current_dir().unwrap_or_default()))?;
    }
    let again = Command::new(typed()).with_sudo(reader().is_root);
    if let Some(path) = &args.html {
        write_new(path, html(&inspection, &again)?)?;
    }
    render::print(&if args.json {
        render::document(&InspectDocument::new(&inspection))?
    } else if args.form.brief {
        brief(&inspection)
    } else {
        render::for_people(|| text(&inspection, &again, render::style()))
    })?;
    Ok(match gate(&inspection, &args.fail_on) {
        Gate::Passed => Exit::Fine,
        Gate::Failed => Exit::Exceeded,
        Gate::Unknown => Exit::Doubtful,
    })
}

/// Shows what is known while the program is observed.
fn watched(wanted: &Wanted) -> Result<Inspection> {
    of_whole_program("--live", "punctual inspect --live")?;
    let mut live = Live::<InspectionView>::open()?;
    let interrupted = live.interrupted();
    live.begin();
    let inspection = inspect::run(wanted, &interrupted, Some(&mut |inspection| live.show(inspection)));
    live.close();
    Ok(inspection?)
}

fn wanted(args: &InspectArgs) -> Result<Wanted> {
    let target = match (&args.program, args.command.as_slice()) {
        (Some(program), _) => program.parse().map_or_else(|_| Target::Named(program.clone()), Target::Process),
        (None, []) => bail!("name a running program, or a command after --"),
        (None, words) => Target::Command(words.to_vec()),
    };
    let late = args.fail_on.iter().find_map(|kind| match kind {
        FailOn::Late(limit) => Some(*limit),
        _ => None,
    });
    let thread = |text: &String| text.parse().map_or_else(|_| ThreadFilter::Name(text.clone()), ThreadFilter::Id);
    let here = Here::read();
    Ok(Wanted {
        children: args.children || matches!(target, Target::Command(_)),
        target,
        thread: args.thread.as_ref().map(thread),
        duration: args.duration,
        limit: args.budget.or(late),
        may_trace: !args.no_trace,
        cycles: args.cycles.clone(),
        engine: args.engine,
        allocations: !args.no_allocations,
        causes: !args.no_causes,
        machine: here.machine(),
        cpus: here.cpus.online,
        cost: args.cost,
    })
}
