//! Compares ways to wait for a release: all in one run, in alternating rounds, on the same CPU.
//!
//! `cargo xtask bench waits [--seconds N] [--json]`. This is a benchmark, not a test: it reports which claims hold
//! on this machine, and does not fail if one does not.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its figures")]

mod figures;
mod foreign;
mod machine;
mod pace;
mod reader;
mod round;
mod show;
mod strategy;
mod verdict;

use anyhow::{Context, Result, bail, ensure};
use foreign::Cpp;
use machine::Machine;
use punctual_rt::setup::{granted, pin_current, set_policy};
use punctual_rt::{Nanos, Policy, kernel, lock_memory, phase};
use round::{Plan, Taken};
use serde::Serialize;
use show::Outcome;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use strategy::{ALL, Setting, Strategy, Way};

const PERIOD: Nanos = Nanos::from_ms(1);
const PRIORITY: u8 = 90;
/// Number of releases at the start of each round that are not counted, because the automatic margin shrinks slowly.
const SETTLING: u64 = 500;
/// How long the program polls the clock to find the phase of the kernel's tick.
const SCAN: Nanos = Nanos::from_ms(400);
/// Default number of rounds. It is odd, so that the median over the rounds is a measured value.
const ROUNDS: u64 = 9;
const USAGE: &str = "usage: cargo xtask bench waits [--seconds N] [--rounds N] [--only NAME,NAME...] [--json]";

/// The conditions under which every strategy was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Conditions {
    period_ns: u64,
    /// Seconds for which each strategy is measured, over all its rounds.
    seconds: u64,
    rounds: u64,
    /// Number of releases at the start of each round that were not counted.
    settling: u64,
    cpu: u32,
    /// The scheduling policy, except for strategies that measure an ordinary policy or user.
    policy: String,
    memory: String,
    /// Phase of the releases within the period, and their phase for strategies that release on the tick.
    offset_ns: u64,
    tick_offset_ns: Option<u64>,
}

/// The options of the command line.
struct Options {
    seconds: u64,
    rounds: u64,
    only: Vec<String>,
    json: bool,
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [first, name, plan @ ..] = words.as_slice() {
        if first == foreign::ONE_ROUND {
            return one_round(name, plan);
        }
    }
    let options = Options::of(&words)?;
    let outcome = run(&options)?;
    if options.json {
        println!("{}", outcome.json()?);
    } else {
        println!("{}", outcome.text());
    }
    Ok(())
}

/// Runs one round on behalf of the process that started this one, and prints the result for that process.
fn one_round(name: &str, plan: &[String]) -> Result<()> {
    let strategy = Strategy::named(name).with_context(|| format!("no strategy `{name}`"))?;
    // Most ordinary users may not lock memory. The round runs without it.
    let _ = lock_memory();
    let taken = round::here(&foreign::plan_of(plan)?, strategy)?;
    print!("{}", taken.to_lines());
    Ok(())
}

impl Options {
    fn of(words: &[String]) -> Result<Self> {
        let mut options = Self { seconds: 10, rounds: ROUNDS, only: Vec::new(), json: false };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--json" => options.json = true,
                "--seconds" => options.seconds = number(word, words.next())?,
                "--rounds" => options.rounds = number(word, words.next())?,
                "--only" => {
                    let names = words.next().context("--only needs names")?;
                    options.only = names.split(',').map(str::to_owned).collect();
                }
                // Cargo passes this argument to every benchmark.
                "--bench" => {}
                other => bail!("unknown word `{other}`\n{USAGE}"),
            }
        }
        ensure!((1..=3_600).contains(&options.seconds), "--seconds is not within 1..=3600");
        ensure!((1..=99).contains(&options.rounds), "--rounds is not within 1..=99");
        if let Some(name) = options.only.iter().find(|name| Strategy::named(name).is_none()) {
            let known: Vec<&str> = ALL.iter().map(|strategy| strategy.name).collect();
            bail!("no strategy `{name}`; there are {}", known.join(", "));
        }
        Ok(options)
    }

    fn wants(&self, strategy: &Strategy) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == strategy.name)
    }
}

fn number(option: &str, word: Option<&String>) -> Result<u64> {
    let word = word.with_context(|| format!("{option} needs a number"))?;
    word.parse().with_context(|| format!("{option} {word}"))
}

fn run(options: &Options) -> Result<Outcome> {
    let machine = Machine::here();
    let cpu = granted()?.cpus.last().copied().context("no CPU to run on")?;
    let memory = lock_memory().map_or_else(|refused| refused.to_string(), |()| "locked".to_owned());
    let found = std::thread::spawn(move || look_around(cpu)).join().ok().context("looking for the tick panicked")??;
    let conditions = Conditions {
        period_ns: PERIOD.as_ns(),
        seconds: options.seconds,
        rounds: options.rounds,
        settling: SETTLING,
        cpu,
        policy: found
            .refusal
            .as_ref()
            .map_or_else(|| format!("SCHED_FIFO {PRIORITY}"), |why| format!("SCHED_OTHER ({why})")),
        memory,
        offset_ns: found.choice.offset.as_ns(),
        tick_offset_ns: found.choice.tick_phase.map(Nanos::as_ns),
    };
    let plan = Plan {
        cpu,
        priority: found.refusal.is_none().then_some(PRIORITY),
        period: PERIOD,
        offset: found.choice.offset,
        settling: SETTLING,
        cycles: options.seconds * Nanos::from_secs(1).whole(PERIOD) / options.rounds,
    };
    let mut bench = Bench {
        plan,
        on_tick: found.choice.tick_phase,
        cpp: Cpp::build(&std::env::temp_dir()),
        not_run: BTreeMap::new(),
    };
    let taken = bench.rounds(options);
    let table = taken.iter().map(|(name, rounds)| (*name, figures::of(rounds))).collect();
    let mut verdicts = verdict::all(&table);
    if !options.only.is_empty() {
        // Claims about strategies that `--only` left out are not shown.
        verdicts.retain(|verdict| verdict.reached.is_some());
    }
    Ok(Outcome { machine, conditions, table, not_run: bench.not_run, verdicts })
}

/// Facts found out before the rounds, on the CPU and with the policy of the loops.
struct Found {
    choice: phase::Choice,
    /// Why the kernel refused the real-time policy; `None` if it was granted.
    refusal: Option<punctual_rt::Error>,
}

fn look_around(cpu: u32) -> Result<Found> {
    pin_current(&[cpu])?;
    let refusal = set_policy(Policy::Fifo(PRIORITY)).err();
    Ok(Found { choice: phase::choose(&phase::scan(SCAN), PERIOD, kernel::tick_length()), refusal })
}

struct Bench {
    plan: Plan,
    on_tick: Option<Nanos>,
    cpp: Result<Cpp>,
    not_run: BTreeMap<&'static str, String>,
}

impl Bench {
    /// Runs the rounds: in each round, every strategy once.
    fn rounds(&mut self, options: &Options) -> BTreeMap<&'static str, Vec<Taken>> {
        let mut taken: BTreeMap<&'static str, Vec<Taken>> = BTreeMap::new();
        let watched = std::io::stderr().is_terminal();
        for round in 1..=options.rounds {
            for strategy in ALL.iter().filter(|strategy| options.wants(strategy)) {
                if self.not_run.contains_key(strategy.name) {
                    continue;
                }
                if watched {
                    eprint!("\rround {round} of {}: {:<30}", options.rounds, strategy.name);
                }
                match self.round(strategy) {
                    Ok(round) => taken.entry(strategy.name).or_default().push(round),
                    Err(error) => {
                        // Figures from fewer rounds cannot be compared with those of the other strategies.
                        taken.remove(strategy.name);
                        self.not_run.insert(strategy.name, format!("{error:#}"));
                    }
                }
            }
        }
        if watched {
            eprint!("\r{:<60}\r", "");
        }
        taken
    }

    fn round(&self, strategy: &Strategy) -> Result<Taken> {
        if let Way::Cpp = strategy.way {
            return match &self.cpp {
                Ok(cpp) => cpp.round(&self.plan),
                Err(error) => bail!("no C++ program: {error:#}"),
            };
        }
        match strategy.setting {
            Setting::Usual | Setting::NoIdle | Setting::Ordinary | Setting::OrdinaryExact => {
                round::on_thread(self.plan, strategy)
            }
            Setting::Unprivileged => foreign::unprivileged(&self.plan, strategy.name),
            Setting::OnTick => {
                let offset = self.on_tick.context("no tick was found on this CPU")?;
                round::on_thread(Plan { offset, ..self.plan }, strategy)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Result<Options> {
        Options::of(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_understood_or_refused() {
        let some = options("--seconds 3 --json --only spin,sleep").unwrap();
        assert!(some.json && some.seconds == 3 && some.only == ["spin", "sleep"]);
        for wrong in ["--seconds", "--seconds x", "--seconds 0", "--rounds 100", "--only nothing", "--fast"] {
            assert!(options(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = ALL.iter().map(|strategy| strategy.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}
