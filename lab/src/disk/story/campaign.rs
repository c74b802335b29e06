//! A campaign across boots: it continues by itself, even if a kernel panics or the power fails, and can be reverted at
//! any point.

use super::super::bench::{Bench, PROGRAM};
use super::super::ledger::{Claim, Ledger};
use super::super::machine::{Machine, Start};
use super::super::tree;
use super::tuned::{BOOT, settled};
use super::untouched::{BY_ITSELF, told};
use super::{Given, took};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::time::Duration;

pub const CLAIMS: &[Claim] = &[
    ("campaign.goes-on", "begun once, it goes on by itself, boot after boot, one measurement each"),
    ("campaign.words", "what was measured is what the boot's command line says, and the machine as it was in between"),
    ("campaign.refuses", "words with which the kernel panics get two boots, are left out, and the campaign goes on"),
    ("campaign.plug", "after the plug was pulled it goes on by itself, and nothing that was measured is lost"),
    ("campaign.reverts", "`revert` in its middle ends it: the next boot is the old one, and none comes by itself"),
    ("campaign.files", "then every file is what it was, but for the campaign's folder and what changes by itself"),
    ("campaign.boot", "and grub.cfg and grubenv are what they were, byte for byte"),
];

/// A unit that makes the kernel panic if CPUs are isolated.
const TRAP: &str = include_str!("../guest/trap.service");
const FOLDER: &str = "/var/lib/campaign";
/// Paths that remain after reverting: the campaign's folder and its content.
const STAYS: [(&str, &str); 2] =
    [(FOLDER, "the campaign's folder, which stays"), ("/var/lib/campaign/", "what is in the campaign's folder")];
/// A knob with which the kernel panics, and the beginning of its word on the command line.
const BAD: (&str, &str) = ("iso.domain", "isolcpus=");
/// A harmless knob, and its word on the command line.
const GOOD: (&str, &str) = ("tick.skew", "skew_tick=1");
/// Limit on the number of boots, which no random order exceeds: a round has four measurements, and one of them takes
/// four boots.
const BOOTS_MAX: usize = 14;

/// Begins a campaign, watches it, cuts the power, watches it again, and reverts.
pub fn tell(given: &Given, ledger: &mut Ledger) -> Result<()> {
    let bench = Bench::new(&given.cache, &given.image, "campaign", Some(&given.program))?;
    let before = settled(&bench, Some(TRAP))?;
    let mut watched = Watched { machine: before.machine, boots: Vec::new() };
    let knobs = [BAD.0, GOOD.0].join(",");
    let begin = format!(
        "{PROGRAM} optimize --boots --cpus 2-3 --knobs {knobs} --run 2s --time 24h --settle 0s --margin 50 --seed 1 \
         --yes --out {FOLDER}"
    );
    let start = watched.machine.restart_by(&begin)?;
    watched.look(&start)?;
    // Waits until the campaign has excluded the knob that makes the kernel panic and has measured something after that.
    while !watched.is_after_refusal() {
        ensure!(
            watched.boots.len() < BOOTS_MAX,
            "{BOOTS_MAX} boots, and nothing was refused: {:?}",
            watched.boots.last()
        );
        let start = watched.machine.restarted()?;
        watched.look(&start)?;
    }
    ledger.enter("campaign.goes-on", &watched.going_on())?;
    ledger.enter("campaign.words", &watched.words())?;
    ledger.enter("campaign.refuses", &watched.refusal())?;
    let known = watched.runs();
    watched.machine.cut_power();
    let (machine, start) = bench.start()?;
    took("start after the plug was pulled", &start);
    let mut watched = Watched { machine, boots: Vec::new() };
    watched.look(&start)?;
    let start = watched.machine.restarted()?;
    watched.look(&start)?;
    let mut complaints = watched.going_on();
    let now = watched.runs();
    if now.len() <= known.len() || now.get(..known.len()) != Some(&known) {
        complaints.push(format!("{} measurements before, {} after", known.len(), now.len()));
    }
    ledger.enter("campaign.plug", &complaints)?;
    let mut machine = watched.machine;
    let reverted = machine.run(&format!("{PROGRAM} revert --json"), Duration::from_secs(300))?;
    let mut complaints = Vec::new();
    if reverted.code != 0 {
        complaints.push(format!("`revert` ended with {}: {}", reverted.code, reverted.err.trim()));
    }
    took("restart after revert", &machine.reboot()?);
    if machine.ask("cat /proc/cmdline")?.contains(GOOD.1) {
        complaints.push("the boot after it has words of the campaign".to_owned());
    }
    // Waits for twice the time that a measurement and its restart take.
    std::thread::sleep(Duration::from_secs(60));
    machine.ask("true").context("it restarts by itself, though it was ended")?;
    ledger.enter("campaign.reverts", &complaints)?;
    machine.power_off()?;
    let exceptions: Vec<(&str, &str)> = BY_ITSELF.iter().chain(&STAYS).copied().collect();
    ledger.enter("campaign.files", &told(&tree::differences(&before.files, &bench.files()?, &exceptions)))?;
    let mut complaints = Vec::new();
    for (path, old) in BOOT.iter().zip(before.boot) {
        if bench.file(path)? != old {
            complaints.push(format!("{path} is another"));
        }
    }
    ledger.enter("campaign.boot", &complaints)
}

/// A machine that restarts by itself, and the state of the campaign at the beginning of each boot.
struct Watched {
    machine: Machine,
    boots: Vec<Boot>,
}

#[derive(Debug)]
struct Boot {
    line: String,
    campaign: Value,
    panicked: bool,
}

impl Watched {
    fn look(&mut self, start: &Start) -> Result<()> {
        took("restart by itself", start);
        // The files are read at once, before the campaign continues.
        let text = self.machine.ask(&format!("cat /proc/cmdline {FOLDER}/campaign.json"))?;
        let (line, campaign) = text.split_once('\n').context("the campaign's file is empty")?;
        let campaign = serde_json::from_str(campaign).context("read the campaign's file")?;
        self.boots.push(Boot { line: line.to_owned(), campaign, panicked: start.panicked() });
        Ok(())
    }

    fn runs(&self) -> Vec<Value> {
        self.boots.last().map(Boot::runs).unwrap_or_default()
    }

    fn is_after_refusal(&self) -> bool {
        let runs = self.runs();
        let refused = runs.iter().position(|run| run.get("refused").is_some());
        refused.is_some_and(|at| at + 1 < runs.len()) && runs.iter().any(|run| set(run) == [1])
    }

    /// Complaints if a boot measures more than once or loses earlier measurements, or if no boot measures.
    fn going_on(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        for pair in self.boots.windows(2) {
            let (before, after) = (pair[0].runs(), pair[1].runs());
            let measured = after.iter().skip(before.len()).filter(|run| run.get("measured").is_some()).count();
            if after.get(..before.len()) != Some(&before) || measured > 1 {
                complaints.push(format!("{} runs, then {}", before.len(), after.len()));
            }
        }
        let (first, last) = (self.boots.first().map(Boot::runs), self.runs());
        if first.is_none_or(|first| last.len() <= first.len()) {
            complaints.push("nothing was measured".to_owned());
        }
        complaints
    }

    /// Compares the knobs that were measured in each boot with the command line of that boot.
    fn words(&self) -> Vec<String> {
        let (mut complaints, mut tried) = (Vec::new(), 0);
        for pair in self.boots.windows(2) {
            let after = pair[1].runs();
            let Some(run) = after.get(pair[0].runs().len()).filter(|run| run.get("measured").is_some()) else {
                continue;
            };
            let (set, line) = (set(run), &pair[0].line);
            tried += usize::from(!set.is_empty());
            for (place, word) in [(0, BAD.1), (1, GOOD.1)] {
                if line.contains(word) != set.contains(&place) {
                    complaints.push(format!("measured as {set:?} on `{}`", line.trim()));
                }
            }
        }
        if tried == 0 {
            complaints.push("no words were tried".to_owned());
        }
        complaints
    }

    fn refusal(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        let panics = self.boots.iter().filter(|boot| boot.panicked).count();
        if panics != 2 {
            complaints.push(format!("the kernel panicked in {panics} boots, not in 2"));
        }
        let refused: Vec<Value> = self.runs().into_iter().filter(|run| run.get("refused").is_some()).collect();
        if refused.len() != 1 || refused.iter().any(|run| set(run) != [0]) {
            complaints.push(format!("refused: {refused:?}"));
        }
        complaints
    }
}

impl Boot {
    fn runs(&self) -> Vec<Value> {
        self.campaign.get("runs").and_then(Value::as_array).cloned().unwrap_or_default()
    }
}

fn set(run: &Value) -> Vec<u64> {
    run.get("set").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_u64).collect()
}
