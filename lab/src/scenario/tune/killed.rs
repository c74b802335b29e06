//! Kills `tune` and `revert` while they work.
//!
//! A script in the guest starts the program, waits some milliseconds after the program's folder has appeared, and kills
//! the program. The time of a whole run is measured first, and the moments of killing are spread evenly over it.

use super::super::{Claim, Judged, Lab, Scenario, Verdict};
use super::seen::Seen;
use super::{Bench, judge};
use crate::kernel::Kernel;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The scenario runs on one kernel, because the program and not the kernel determines the results.
pub const KILLED: Scenario = Scenario { name: "killed", claims: CLAIMS, wants: |spec| spec.id == "12-amd64", run };

const CLAIMS: &[Claim] = &[
    Claim {
        id: "killed.tune",
        says: "killed at 12 moments of applying, `tune` leaves nothing that `revert` does not put back: every value, thread, \
               mask and file is as it was",
    },
    Claim { id: "killed.revert", says: "killed in the middle as well, `revert` is finished by the next one" },
];

const RUNS: u32 = 12;
/// Limit on the number of runs. A run does not count if the program ended before it was killed, which happens if the
/// host is less busy than before.
const MOST_RUNS: u32 = 20;
/// Smallest number of different lengths of the journal. With fewer, the moments were not spread.
const PLACES: usize = 5;
/// Makes changes of all kinds that work without systemd: values, masks, threads, interrupts, a file. `dyn.preempt` is
/// left out: it patches the emulated kernel for seconds, so nearly all moments would fall on it.
const TUNE: &str = "punctual tune --cpus 2-3 --yes --except dyn.preempt";

fn run(lab: &Lab, kernel: &Kernel) -> Result<Judged> {
    let mut bench = Bench::boot(lab, kernel, "killed")?;
    let before = bench.seen("before")?;
    // The first runs are not killed and show how long a run takes.
    let mut tune_ms = bench.kill(None, TUNE)?.ms;
    let mut revert_ms = bench.kill(None, "punctual revert")?.ms;
    let mut record = Record::default();
    record.tune.extend(bench.seen("after")?.differences(&before));
    for number in 0..MOST_RUNS {
        if record.killed >= RUNS {
            break;
        }
        let tune = bench.kill(Some(part(tune_ms, number)), TUNE)?;
        if tune.is_killed() {
            record.killed += 1;
            record.places.insert(tune.lines);
        } else {
            tune_ms = tune.ms;
        }
        // In every second run, `revert` is killed too; in the others it runs to its end.
        let revert = (number % 2 == 1).then(|| bench.kill(Some(part(revert_ms, number / 2)), "punctual revert"));
        if let Some(revert) = revert.transpose()? {
            if revert.is_killed() {
                record.reverts_killed += 1;
            } else {
                revert_ms = revert.ms;
            }
        }
        let into = if number % 2 == 1 { &mut record.revert } else { &mut record.tune };
        into.extend(bench.put_back(&before, &format!("run {number}, killed after {} lines", tune.lines))?);
        let complaints = record.tune.len() + record.revert.len();
        // Writing into a string cannot fail.
        let _ = writeln!(record.told, "{number}: {tune:?}, {complaints} complaints");
        lab.keep("killed", kernel, "runs", &record.told)?;
    }
    crate::say(&record.summary());
    Ok(record.verdicts())
}

/// The moment of killing in a run of `ms` milliseconds, so that the moments of any number of runs are spread evenly.
fn part(ms: u64, number: u32) -> u64 {
    // The fraction is that of the golden section, in thousandths.
    ms * (u64::from(number) * 618 % 1000) / 1000
}

/// The results of all runs.
#[derive(Debug, Default)]
struct Record {
    killed: u32,
    reverts_killed: u32,
    places: BTreeSet<u64>,
    tune: Vec<String>,
    revert: Vec<String>,
    told: String,
}

impl Record {
    fn summary(&self) -> String {
        let (places, killed, reverts) = (self.places.len(), self.killed, self.reverts_killed);
        format!("tune was killed {killed} times at {places} places of the journal, revert {reverts} times")
    }

    fn verdicts(mut self) -> Judged {
        if self.killed < RUNS || self.places.len() < PLACES {
            self.tune.push(self.summary());
        }
        if self.reverts_killed < RUNS / 6 {
            self.revert.push(self.summary());
        }
        vec![("killed.tune", Verdict::of(&self.tune)), ("killed.revert", Verdict::of(&self.revert))]
    }
}

/// How far a program came before it ended or was killed.
#[derive(Debug, PartialEq, Eq)]
struct Far {
    ms: u64,
    code: i32,
    lines: u64,
}

impl Far {
    /// Parses the output of the script.
    fn of(text: &str) -> Option<Self> {
        let number = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        let code = i32::try_from(number("code ")?).ok()?;
        Some(Self { ms: number("ms ")?, code, lines: number("lines ")? })
    }

    fn is_killed(&self) -> bool {
        self.code == 128 + 9
    }
}

impl Bench<'_> {
    /// Starts a command, and kills it after `ms` milliseconds; `None` lets it run to its end.
    fn kill(&mut self, ms: Option<u64>, command: &str) -> Result<Far> {
        let ms = ms.map_or("all".to_owned(), |ms| ms.to_string());
        let said = self.must(&format!("sh /usr/lib/lab/kill {ms} {command}"))?;
        Far::of(&said).with_context(|| format!("how far `{command}` came is not told in '{said}'"))
    }

    /// Reverts completely. Returns differences from the state before, after a heading.
    fn put_back(&mut self, before: &Seen, heading: &str) -> Result<Vec<String>> {
        let reverted = self.output("reverted", "punctual revert")?;
        let mut complaints = judge::ended(&reverted, &[0]);
        complaints.extend(self.seen("after")?.differences(before));
        Ok(complaints.into_iter().map(|complaint| format!("{heading}: {complaint}")).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_it_came_is_read() {
        assert_eq!(Far::of("ms 17\ncode 137\nlines 9\n"), Some(Far { ms: 17, code: 137, lines: 9 }));
        assert_eq!(Far::of("ms 17\n"), None);
    }

    #[test]
    fn moments_are_spread_and_too_few_are_no_proof() {
        let moments: BTreeSet<u64> = (0..RUNS).map(|number| part(1000, number)).collect();
        assert!(moments.len() == RUNS as usize && moments.iter().all(|moment| *moment < 1000));
        let whole = || Record { killed: RUNS, reverts_killed: RUNS, places: (0..20).collect(), ..Record::default() };
        let held = |record: Record| record.verdicts().into_iter().map(|(_, v)| v == Verdict::Held).collect::<Vec<_>>();
        assert_eq!(held(whole()), [true, true]);
        assert_eq!(held(Record { killed: RUNS - 1, ..whole() }), [false, true]);
        assert_eq!(held(Record { places: BTreeSet::new(), ..whole() }), [false, true]);
        assert_eq!(held(Record { reverts_killed: 0, ..whole() }), [true, false]);
        assert_eq!(held(Record { tune: vec![String::new()], ..whole() }), [false, true]);
    }
}
