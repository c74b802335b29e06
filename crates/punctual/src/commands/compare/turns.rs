//! `punctual compare --interleave A B`: sets up A, measures, sets up B, measures, and so on; then compares the two
//! sides.
//!
//! `punctual_optimize::turns` determines the order. The state is saved after each measurement, so that an interruption
//! costs one measurement at most.

use crate::cli::{Cli, Command, CompareArgs, Loads, PRIORITY};
use crate::commands::here::{Here, typed};
use crate::commands::need::{Stated, Terms};
use crate::commands::optimize::kept::Folder;
use crate::commands::optimize::time::{WARM_UP, present, seed_of_the_clock};
use crate::commands::preconditions::none_under_way;
use crate::commands::session::{self, Outputs};
use crate::exit::Exit;
use crate::render::compare::turns::{TurnsPlan, name};
use crate::render::{self, units, words};
use anyhow::{Context, Result, bail};
use clap::Parser;
use punctual_hist::Nanos;
use punctual_linux::apply::Machine;
use punctual_linux::{interrupt, under_way};
use punctual_numbers::recording::EndReason;
use punctual_numbers::scenario::{Amount, Policy, Scenario};
use punctual_optimize::turns::{NextTurn, Turn, Turns, read, write};
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const FILE: &str = "turns.json";
/// Length of each measurement if `--duration` is missing.
const EACH: Nanos = Nanos::from_secs(30);
/// How often to check for an interruption while the machine settles.
const LOOK: Duration = Duration::from_millis(50);

/// Begins or resumes rounds, and compares the two sides when all rounds are measured.
pub fn run(args: &CompareArgs) -> Result<Exit> {
    let Some(path) = &args.turns.resume else { return begin(args) };
    let folder = Folder::open(path)?;
    let file = folder.path().join(FILE);
    let text =
        fs::read_to_string(&file).with_context(|| format!("read {}: no rounds were begun here", file.display()))?;
    let turns = read(&text).with_context(|| format!("read {}", file.display()))?;
    let typed = std::iter::once("punctual".to_owned()).chain(turns.arguments.clone());
    let Ok(Cli { command: Command::Compare(begun), .. }) = Cli::try_parse_from(typed) else {
        bail!(
            "{}: this version does not understand the options of these rounds, which another version began",
            folder.display()
        );
    };
    // The output format is that of this command line, not of the one that began the rounds.
    let begun = CompareArgs {
        json: args.json,
        full: args.full,
        html: args.html.clone(),
        junit: args.junit.clone(),
        fail_on: args.fail_on,
        ..*begun
    };
    go_on(&begun, &folder, turns)
}

fn begin(args: &CompareArgs) -> Result<Exit> {
    let [a, b] = args.turns.interleave.as_slice() else { bail!("--interleave takes two commands, A and B") };
    let turns = Turns {
        arguments: typed().collect(),
        commands: [a.clone(), b.clone()],
        seed: args.turns.seed.unwrap_or_else(seed_of_the_clock),
        rounds: args.turns.rounds,
        measured: 0,
        last: None,
    };
    let scenario = scenario(args)?;
    let plan = TurnsPlan::of(&turns, scenario.cpus(), length(args), WARM_UP.plus(args.turns.settle));
    if args.turns.dry_run {
        render::print(&if args.json { render::document(&plan)? } else { render::for_people(|| plan.to_string()) })?;
        return Ok(Exit::Fine);
    }
    render::say(&render::for_people(|| plan.to_string()));
    let default = || PathBuf::from(format!("punctual-compare-{}", units::file_stamp()));
    let folder = Folder::make(&args.turns.out.clone().unwrap_or_else(default))?;
    keep(&folder, &turns)?;
    go_on(args, &folder, turns)
}

fn length(args: &CompareArgs) -> Nanos {
    args.turns.duration.unwrap_or(EACH)
}

fn scenario(args: &CompareArgs) -> Result<Scenario> {
    let here = Here::read();
    let typed = Terms {
        period: args.import.period,
        budget: args.budget,
        cpus: args.turns.cpus.clone(),
        load: args.turns.load.clone(),
        ..Terms::default()
    };
    let Terms { period, budget, cpus, priority, load, .. } = Stated::read(&args.need, typed)?.terms;
    let period = period.unwrap_or(Nanos::from_ms(1));
    let cpus = cpus.unwrap_or_else(|| here.cpus.allowed.clone());
    let policy = Policy::Fifo(priority.unwrap_or(PRIORITY));
    let scenario = Scenario {
        warm_up: Amount::Time(WARM_UP),
        budget,
        load_phases: Loads::or_idle(load.as_ref()),
        ..Scenario::plain(cpus.iter(), period, policy, Amount::Time(length(args)))
    };
    scenario.checked(&here.cpus).map_err(words::scenario_error)
}

fn go_on(args: &CompareArgs, folder: &Folder, mut turns: Turns) -> Result<Exit> {
    none_under_way()?;
    let interrupted =
        interrupt::flag().context("signal handlers cannot be installed, and a signal could end this halfway")?;
    let scenario = scenario(args)?;
    session::check_loads(&scenario.load_phases, folder.path())?;
    let note = under_way::say_so(folder.path());
    if let Err(error) = &note {
        render::say(&format!("Other measurements on this machine are not warned of these rounds: {error}"));
    }
    let each = length(args).plus(WARM_UP).plus(args.turns.settle).times(2);
    turns.after(&present(&Machine::here())?, each);
    while let Some(next) = turns.next() {
        if !args.json {
            let what = format!("round {} of {}: {}", next.round + 1, turns.rounds, name(next.turn));
            render::say(&what);
        }
        set_up(&turns, next, folder)?;
        let is_measured = rests(args.turns.settle, &interrupted)
            && measured(&scenario, &recording(folder, next), &interrupted, folder)?;
        if !is_measured {
            render::say(&format!("Interrupted; to continue: {}", resume(folder)));
            return Ok(Exit::Doubtful);
        }
        turns.take(present(&Machine::here())?);
        keep(folder, &turns)?;
    }
    drop(note);
    let of = |turn| {
        let path = |round| recording(folder, NextTurn { round, turn, is_second: false });
        (0..turns.rounds).map(path).collect::<Vec<PathBuf>>()
    };
    super::sides(args, [&of(Turn::A), &of(Turn::B)], true)
}

/// Runs the command that sets up a side. Its output goes to standard error, because standard output is for the result.
fn set_up(turns: &Turns, next: NextTurn, folder: &Folder) -> Result<()> {
    let [a, b] = &turns.commands;
    let command = if next.turn == Turn::A { a } else { b };
    let out = std::io::stderr().as_fd().try_clone_to_owned().context("standard error cannot be shared")?;
    let ran = std::process::Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(out)
        .status()
        .with_context(|| format!("run sh -c '{command}'"))?;
    if !ran.success() {
        bail!(
            "the command that sets up {} failed ({ran}): {command}\nwhat was measured is kept; once it is mended: {}",
            name(next.turn),
            resume(folder)
        );
    }
    Ok(())
}

/// Waits for this time, so that the machine settles. Returns false if interrupted.
fn rests(time: Nanos, interrupted: &AtomicBool) -> bool {
    let (begun, time) = (Instant::now(), Duration::from_nanos(time.as_ns()));
    while !interrupted.load(Ordering::Relaxed) {
        let left = time.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(LOOK));
    }
    false
}

/// Measures once. Returns false if interrupted; the next run then repeats this measurement.
fn measured(scenario: &Scenario, recording: &Path, interrupted: &AtomicBool, folder: &Folder) -> Result<bool> {
    // A recording that an interruption cut off may exist; it is replaced.
    let _ = fs::remove_file(recording);
    let outputs = Outputs::recording(Some(recording));
    let setting = Here::read().setting(folder.path().to_path_buf(), Vec::new(), false);
    let finished = session::run_apart(scenario, &setting, outputs, interrupted)?;
    if let Some(error) = &finished.report.write_error {
        bail!("{error}\nwhat was measured before is kept: {}", resume(folder));
    }
    match finished.report.end {
        Some(EndReason::Completed) => Ok(true),
        Some(EndReason::Stalled) => bail!(
            "the measurement stalled: a measuring thread made no more progress\nwhat was measured before is kept: {}",
            resume(folder)
        ),
        Some(EndReason::CoreLost) => {
            bail!("the real-time core was stopped\nwhat was measured before is kept: {}", resume(folder))
        }
        Some(EndReason::SourceLost) => {
            bail!("what a measuring thread waits for failed\nwhat was measured before is kept: {}", resume(folder))
        }
        _ => Ok(false),
    }
}

fn recording(folder: &Folder, next: NextTurn) -> PathBuf {
    folder.path().join(format!("round-{:04}-{}.punctual", next.round + 1, name(next.turn).to_lowercase()))
}

fn keep(folder: &Folder, turns: &Turns) -> Result<()> {
    folder.write_result(FILE, &write(turns).context("rounds cannot be written as JSON")?)
}

fn resume(folder: &Folder) -> String {
    format!("punctual compare --resume {}", folder.display())
}
