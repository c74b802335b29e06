//! A simulated fleet: the recordings of many machines with planted configurations, as files that `fleet pack` reads.
//!
//! One machine in five has the planted culprit, which makes it late; 40 other findings are good or bad by chance. On
//! half of the machines a kernel update comes halfway, which is harmless unless it is planted.

use super::dice::Dice;
use anyhow::{Context, Result, bail};
use punctual_facts::finding::{Confidence, Finding, Severity, State};
use punctual_hist::{Counts, MonoTime, Nanos};
use punctual_numbers::placement::Placement;
use punctual_numbers::recording::{
    Clock, CpuInterval, End, EndReason, Frame, Header, InForce, Interval, Moment, RecTime, encode, encode_preamble,
};
use punctual_numbers::scenario::{Amount, LoadPhase, Policy, Scenario};
use std::path::Path;

pub const USAGE: &str = "\
usage: cargo xtask truth fleet FOLDER [--machines N] [--runs N] [--seconds N] [--seed N] [--innocent] [--kernel]

  write the recordings of a simulated fleet: 200 machines, 25 runs of 30 s each
  --innocent  the culprit does nothing
  --kernel    the kernel update that half of the machines get halfway makes them late";

/// Latency that the need allows.
const BUDGET: Nanos = Nanos::from_us(50);
const CPUS: u32 = 4;
/// Activations of each CPU in a second.
const EACH: u32 = 1_000;
const PHASES: [&[&str]; 2] = [&[], &["cpu", "memory"]];
const OTHERS: usize = 40;
/// Start of the first run: 1 January 2026.
const FIRST_NS: u64 = 1_767_225_600_000_000_000;
const DAY_NS: u64 = 86_400_000_000_000;

#[derive(Clone, Copy, Debug)]
struct Wish {
    machines: u64,
    runs: u64,
    seconds: u64,
    seed: u64,
    is_innocent: bool,
    kernel_is_late: bool,
}

pub fn run(words: &[String]) -> Result<()> {
    let mut wish = Wish { machines: 200, runs: 25, seconds: 30, seed: 1, is_innocent: false, kernel_is_late: false };
    let mut folder = None;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut number = || -> Result<u64> {
            let value = words.next().with_context(|| format!("{word} wants a number\n{USAGE}"))?;
            value.parse().with_context(|| format!("{word} {value}"))
        };
        match word.as_str() {
            "--machines" => wish.machines = number()?,
            "--runs" => wish.runs = number()?,
            "--seconds" => wish.seconds = number()?,
            "--seed" => wish.seed = number()?,
            "--innocent" => wish.is_innocent = true,
            "--kernel" => wish.kernel_is_late = true,
            path if !path.starts_with('-') && folder.is_none() => folder = Some(Path::new(path)),
            other => bail!("unknown word `{other}`\n{USAGE}"),
        }
    }
    let folder = folder.with_context(|| format!("no folder was given\n{USAGE}"))?;
    for number in 0..wish.machines {
        let machine = Machine::new(number, &wish);
        let own = folder.join(format!("node-{number:05}"));
        std::fs::create_dir_all(&own).with_context(|| format!("make {}", own.display()))?;
        for run in 0..wish.runs {
            let path = own.join(format!("night-{run:03}.punctual"));
            std::fs::write(&path, machine.file(run, &wish)?).with_context(|| format!("write {}", path.display()))?;
        }
    }
    println!("{} recordings below {}", wish.machines * wish.runs, folder.display());
    Ok(())
}

/// A machine with its configuration, which stays the same but for the kernel.
struct Machine {
    number: u64,
    has_culprit: bool,
    others: Vec<bool>,
    is_updated: bool,
    /// Mean of the exponential part of a latency, in nanoseconds.
    tail: f64,
}

impl Machine {
    fn new(number: u64, wish: &Wish) -> Self {
        let mut dice = Dice::new("machine", number.wrapping_add(wish.seed << 32));
        Self {
            number,
            has_culprit: dice.unit() < 0.2,
            others: (0..OTHERS).map(|_| dice.unit() < 0.5).collect(),
            is_updated: dice.unit() < 0.5,
            tail: 1_500.0 * (0.8 + 0.4 * dice.unit()),
        }
    }

    /// The bytes of one recording.
    fn file(&self, run: u64, wish: &Wish) -> Result<Vec<u8>> {
        let mut dice =
            Dice::new("run", self.number.wrapping_mul(1_000).wrapping_add(run).wrapping_add(wish.seed << 32));
        let is_new = self.is_updated && run >= wish.runs / 2;
        let is_late = self.has_culprit && !wish.is_innocent || is_new && wish.kernel_is_late;
        // An ordinary machine is late now and then, so that bad machines are not bad by definition.
        let spikes = if is_late { 2e-4 } else { 2e-7 };
        let mood = 0.95 + 0.1 * dice.unit();
        let mut bytes = Vec::new();
        encode_preamble(&mut bytes);
        let mut add = |frame: &Frame| encode(frame, &mut bytes).context("encode a frame");
        add(&Frame::Header(Box::new(self.header(run, is_new, wish))))?;
        add(&Frame::Findings(self.findings()))?;
        add(&Frame::InForce(in_force()))?;
        let mut extremes = [(None::<Nanos>, None::<Nanos>); CPUS as usize];
        for second in 0..wish.seconds {
            let phase = u16::from(second * 2 >= wish.seconds);
            let cpus = extremes.iter_mut().zip(0..CPUS).map(|(extremes, cpu)| {
                let mut counts = Counts::new();
                let mut over_budget = 0;
                for _ in 0..EACH {
                    let spike = if dice.unit() < spikes { 60_000.0 + 40_000.0 * dice.exponential() } else { 0.0 };
                    let load = if phase == 0 { 1.0 } else { 1.4 };
                    let value = 3_000.0 + self.tail * mood * load * dice.exponential() + spike;
                    let value = Nanos::from_ns(value as u64);
                    over_budget += u64::from(value > BUDGET);
                    counts.record(value);
                }
                extremes.0 = Some(extremes.0.map_or(Nanos::MAX, |min| min).min(counts.min().unwrap_or(Nanos::MAX)));
                extremes.1 = extremes.1.max(counts.max());
                CpuInterval {
                    ran_min: extremes.0,
                    ran_max: extremes.1,
                    over_budget,
                    ..CpuInterval::of(cpu, &counts, &Counts::new())
                }
            });
            let cpus = cpus.collect();
            let start = RecTime::from_secs(second);
            add(&Frame::Interval(Interval { start, length: Nanos::from_secs(1), phase, cpus }))?;
        }
        let at = RecTime::from_secs(wish.seconds);
        add(&Frame::End(End { at, reason: EndReason::Completed, write_error: None }))?;
        Ok(bytes)
    }

    fn header(&self, run: u64, is_new: bool, wish: &Wish) -> Header {
        let phase =
            |loads: &&[&str]| LoadPhase { loads: loads.iter().map(|&load| load.to_owned()).collect(), parts: 1 };
        let kernel = if is_new { "6.12.48" } else { "6.12.43" };
        let length = Amount::Time(Nanos::from_secs(wish.seconds));
        let machine = [
            ("model", "Simulated board".to_owned()),
            ("kernel", format!("{kernel}, stock (PREEMPT_DYNAMIC), x86-64")),
            ("cpus", "0-3 online, isolated none, tick-free none, no SMT, clock tsc".to_owned()),
            ("virtualisation", "none".to_owned()),
        ];
        Header {
            tool_version: "0.1.0".to_owned(),
            // Machines begin at different times of the day.
            started_unix_ns: FIRST_NS + run * DAY_NS + self.number * 7_000_000_000,
            epoch: MonoTime::from_ns(1_000_000_000 + self.number),
            scenario: Scenario {
                budget: Some(BUDGET),
                load_phases: PHASES.iter().map(phase).collect(),
                ..Scenario::plain(0..CPUS, Nanos::from_ms(1), Policy::Fifo(90), length)
            },
            machine: machine.into_iter().map(Into::into).collect(),
            placement: Placement::default(),
            clock: Clock::default(),
            checkpoint: Nanos::from_secs(1),
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let others = self.others.iter().enumerate().map(|(n, bad)| finding(format!("chance.n{n:02}"), *bad));
        std::iter::once(finding("planted.culprit".to_owned(), self.has_culprit)).chain(others).collect()
    }
}

fn finding(id: String, is_bad: bool) -> Finding {
    Finding {
        title: format!("{id} is good"),
        id,
        severity: Severity::High,
        state: if is_bad { State::Bad } else { State::Good },
        evidence: Vec::new(),
        why: String::new(),
        fix: String::new(),
        cost: String::new(),
        confidence: Confidence::High,
    }
}

/// The settings that a real recording holds, with their usual values.
fn in_force() -> InForce {
    let wide = [
        ("sched_rt_runtime_us", "950000"),
        ("sched_rt_period_us", "1000000"),
        ("timer_migration", "1"),
        ("nmi_watchdog", "1"),
    ];
    let wide = wide.map(|(name, value)| (format!("kernel/{name}"), value));
    let own = [("cpufreq/scaling_governor", "schedutil"), ("power/pm_qos_resume_latency_us", "0")];
    let each = (0..CPUS).flat_map(|cpu| own.map(|(name, value)| (format!("cpu{cpu}/{name}"), value)));
    InForce { moment: Moment::Before, values: wide.into_iter().chain(each).map(Into::into).collect() }
}
