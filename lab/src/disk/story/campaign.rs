//! A campaign across boots: it continues by itself, even if a kernel panics or the power fails, and can be reverted at
//! any point.

use super::super::bench::{Bench, PROGRAM};
use super::super::ledger::{Claim, Ledger};
use super::super::tree;
use super::boots::{Boot, FOLDER, STAYS, WITNESS, Watched, panics, reverted};
use super::tuned::{TRAP, settled};
use super::untouched::{BY_ITSELF, told};
use super::{Given, took};
use anyhow::{Result, ensure};
use serde_json::Value;

pub const CLAIMS: &[Claim] = &[
    ("campaign.goes-on", "begun once, it goes on by itself, boot after boot, one measurement each"),
    ("campaign.words", "what was measured is what the boot's command line says, and the machine as it was in between"),
    ("campaign.refuses", "words with which the kernel panics get two boots, are left out, and the campaign goes on"),
    ("campaign.plug", "after the plug was pulled it goes on by itself, and nothing that was measured is lost"),
    ("campaign.reverts", "`revert` in its middle ends it: the next boot is the old one, and none comes by itself"),
    ("campaign.files", "then every file is what it was, but for the campaign's folder and what changes by itself"),
    ("campaign.boot", "and grub.cfg and grubenv are what they were, byte for byte"),
];

/// The campaign's list of measurements in its state.
const RUNS: &str = "runs";
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
    let before = settled(&bench, &[TRAP, WITNESS])?;
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
    ledger.enter("campaign.reverts", &reverted(&mut machine, |line| !line.contains(GOOD.1))?)?;
    machine.power_off()?;
    let exceptions: Vec<(&str, &str)> = BY_ITSELF.iter().chain(&STAYS).copied().collect();
    ledger.enter("campaign.files", &told(&tree::differences(&before.files, &bench.files()?, &exceptions)))?;
    ledger.enter("campaign.boot", &before.boot.differences(&bench)?)
}

impl Watched {
    fn runs(&self) -> Vec<Value> {
        self.boots.last().map(runs).unwrap_or_default()
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
            let (before, after) = (runs(&pair[0]), runs(&pair[1]));
            let measured = after.iter().skip(before.len()).filter(|run| run.get("measured").is_some()).count();
            if after.get(..before.len()) != Some(&before) || measured > 1 {
                complaints.push(format!("{} runs, then {}", before.len(), after.len()));
            }
        }
        let (first, last) = (self.boots.first().map(runs), self.runs());
        if first.is_none_or(|first| last.len() <= first.len()) {
            complaints.push("nothing was measured".to_owned());
        }
        complaints
    }

    /// Compares the knobs that were measured in each boot with the command line of that boot.
    fn words(&self) -> Vec<String> {
        let (mut complaints, mut tried) = (Vec::new(), 0);
        for pair in self.boots.windows(2) {
            let after = runs(&pair[1]);
            let Some(run) = after.get(runs(&pair[0]).len()).filter(|run| run.get("measured").is_some()) else {
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
        let panics = panics(&self.boots);
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

fn runs(boot: &Boot) -> Vec<Value> {
    boot.outcomes(RUNS)
}

fn set(run: &Value) -> Vec<u64> {
    run.get("set").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_u64).collect()
}
