//! Two stories. In the first, a machine is tuned, starts with the tuned boot entry, stays tuned, and is reverted, after
//! which every byte is as before. In the second, the tuned boot entry fails, and the machine starts its previous entry
//! by itself.

use super::super::bench::{self, Bench, PROGRAM};
use super::super::findings;
use super::super::ledger::{Claim, Ledger};
use super::super::machine::Machine;
use super::super::reader::{Cpus, Seen};
use super::super::tree;
use super::untouched::{BY_ITSELF, told};
use super::{Given, took};
use anyhow::{Context, Result};
use serde_json::Value;
use std::time::Duration;

pub const CLAIMS: &[Claim] = &[
    ("tune.applies", "`tune --cpus 2-3 --profile poll --yes` ends well"),
    ("tune.trial", "the next start takes the tuned entry, and the reader finds its words on the command line"),
    ("tune.isolated", "the kernel says 2-3 are isolated, tick-free, and their RCU callbacks run elsewhere"),
    ("tune.kept-off", "interrupts, work queues and threads that can be moved are off 2-3"),
    ("tune.sysctls", "each sysctl that the files of `tune` name has its value"),
    ("tune.status", "`status` ends well and calls all that was asked for in force"),
    ("tune.confirmed", "after `status --confirm` the start after next is tuned too"),
    ("tune.reverts", "`revert` ends well"),
    ("revert.files", "after `revert` and a restart every file is what it was, but for what changes by itself"),
    ("revert.boot", "grub.cfg and grubenv are what they were, byte for byte"),
    ("revert.effective", "after `revert` and a restart no CPU is set apart"),
    ("revert.findings", "after `revert` and a restart the findings are what they were"),
];

pub const BAD_CLAIMS: &[Claim] = &[
    ("bad.falls-back", "a tuned entry whose kernel panics is followed by the old one, with nobody's help"),
    ("bad.status", "`status` then says that the trial failed"),
    ("bad.reverts", "`revert` then leaves every file as it was, but for what changes by itself"),
];

/// The files that determine what the boot loader starts.
const BOOT: [&str; 2] = ["/boot/grub/grub.cfg", "/boot/grub/grubenv"];

/// A unit that a story adds to the guest: its name and its text.
pub type Unit = (&'static str, &'static str);

/// A unit that makes the kernel panic if CPUs are isolated. So a trial boot fails although the product's files are
/// unchanged.
pub const TRAP: Unit = ("lab-trap", include_str!("../guest/trap.service"));

const TUNE: &str = "tune --cpus 2-3 --profile poll --blast any --yes --json";

/// Tunes, restarts, confirms, restarts, reverts, restarts, and compares.
pub fn tell(given: &Given, ledger: &mut Ledger) -> Result<()> {
    let bench = Bench::new(&given.cache, &given.image, "tuned", Some(&given.program))?;
    let before = settled(&bench, &[])?;
    let mut machine = before.machine;
    let tuned = product(&mut machine, TUNE)?;
    ledger.enter("tune.applies", &tuned.complaints)?;
    took("restart on trial", &machine.reboot()?);
    let seen = Seen::in_guest(&mut machine)?;
    ledger.enter("tune.trial", &words_missing(&seen))?;
    effective(&seen, ledger)?;
    ledger.enter("tune.status", &status(&mut machine)?)?;
    let confirmed = product(&mut machine, "status --confirm --json")?;
    took("restart after it was confirmed", &machine.reboot()?);
    let seen = Seen::in_guest(&mut machine)?;
    ledger.enter("tune.confirmed", &[confirmed.complaints, words_missing(&seen)].concat())?;
    effective(&seen, ledger)?;
    ledger.enter("tune.reverts", &product(&mut machine, "revert --json")?.complaints)?;
    took("restart after revert", &machine.reboot()?);
    let seen = Seen::in_guest(&mut machine)?;
    ledger.enter("revert.effective", &set_apart(&seen)?)?;
    let after = findings::in_guest(&mut machine)?;
    ledger.enter("revert.findings", &findings::differences(&before.findings, &after))?;
    machine.power_off()?;
    ledger.enter("revert.files", &told(&tree::differences(&before.files, &bench.files()?, BY_ITSELF)))?;
    ledger.enter("revert.boot", &before.boot.differences(&bench)?)
}

/// A machine whose kernel panics as soon as CPUs are isolated: tunes it, restarts, checks, reverts, and compares.
pub fn tell_badly(given: &Given, ledger: &mut Ledger) -> Result<()> {
    let bench = Bench::new(&given.cache, &given.image, "tuned-badly", Some(&given.program))?;
    let before = settled(&bench, &[TRAP])?;
    let mut machine = before.machine;
    product(&mut machine, TUNE)?;
    let start = machine.reboot()?;
    took("restart on trial", &start);
    let seen = Seen::in_guest(&mut machine)?;
    // Changes that need no boot entry may be in force on the previous entry too.
    let mut complaints = isolated_still(&seen)?;
    if !start.panicked() {
        complaints.push("no kernel panicked, so nothing was tried".to_owned());
    }
    ledger.enter("bad.falls-back", &complaints)?;
    let said = machine.run(&format!("{PROGRAM} status --json"), Duration::from_secs(120))?;
    let failed = said.out.contains("was tried and did not come up");
    ledger.enter("bad.status", &if failed { Vec::new() } else { vec![said.out] })?;
    let reverted = product(&mut machine, "revert --json")?;
    took("restart after revert", &machine.reboot()?);
    machine.power_off()?;
    let files = told(&tree::differences(&before.files, &bench.files()?, BY_ITSELF));
    ledger.enter("bad.reverts", &[reverted.complaints, files].concat())
}

/// A machine that was started again, and its state before it was tuned.
pub struct Before {
    pub machine: Machine,
    findings: findings::Findings,
    pub files: tree::Files,
    pub boot: BootFiles,
}

/// The contents of the files that determine what the boot loader starts.
pub struct BootFiles(Vec<Vec<u8>>);

impl BootFiles {
    fn of(bench: &Bench) -> Result<Self> {
        BOOT.iter().map(|path| bench.file(path)).collect::<Result<_>>().map(Self)
    }

    /// The files that are not what they were, byte for byte. The machine must be off.
    pub fn differences(&self, bench: &Bench) -> Result<Vec<String>> {
        let now = Self::of(bench)?;
        let differs =
            |((path, old), new): ((&&str, &Vec<u8>), &Vec<u8>)| (old != new).then(|| format!("{path} is another"));
        Ok(BOOT.iter().zip(&self.0).zip(&now.0).filter_map(differs).collect())
    }
}

/// Installs the product and these units, records the machine's state while it is off, and starts it again.
pub fn settled(bench: &Bench, units: &[Unit]) -> Result<Before> {
    let (mut machine, start) = bench.start()?;
    took("start", &start);
    bench::install(&mut machine)?;
    for (name, text) in units {
        let path = format!("/etc/systemd/system/{name}.service");
        machine.ask(&format!("cat >{path} <<'LAB_END'\n{text}LAB_END\nsystemctl enable {path} && sync"))?;
    }
    let findings = findings::in_guest(&mut machine)?;
    machine.power_off()?;
    let files = bench.files()?;
    let boot = BootFiles::of(bench)?;
    let (machine, start) = bench.start()?;
    took("start", &start);
    Ok(Before { machine, findings, files, boot })
}

/// The JSON that the product printed, and complaints about its exit code.
struct Said {
    said: Value,
    complaints: Vec<String>,
}

fn product(machine: &mut Machine, words: &str) -> Result<Said> {
    let output = machine.run(&format!("{PROGRAM} {words}"), Duration::from_secs(300))?;
    let mut complaints = Vec::new();
    if output.code != 0 {
        complaints.push(format!("`{words}` ended with {}: {}", output.code, output.err.trim()));
    }
    let said = serde_json::from_str(&output.out).unwrap_or_else(|error| {
        complaints.push(format!("`{words}` printed no JSON: {error}"));
        Value::Null
    });
    Ok(Said { said, complaints })
}

fn words_missing(seen: &Seen) -> Vec<String> {
    let words = seen.words();
    let lacks = |start: &&str| !words.iter().any(|word| word.starts_with(*start));
    let missing = ["isolcpus=", "nohz_full=", "irqaffinity="].into_iter().filter(lacks);
    missing.map(|word| format!("{word} is not in `{}`", words.join(" "))).collect()
}

fn wanted() -> Cpus {
    Cpus::from([2, 3])
}

/// Records whether the kernel did what the product requested.
fn effective(seen: &Seen, ledger: &mut Ledger) -> Result<()> {
    let mut complaints = Vec::new();
    let isolated = seen.list("/sys/devices/system/cpu/isolated")?;
    let tickless = seen.list("/sys/devices/system/cpu/nohz_full")?;
    for (what, cpus) in [("isolated", isolated), ("tick-free", tickless), ("offloaded", seen.offloaded()?)] {
        if cpus != wanted() {
            complaints.push(format!("{what}: {cpus:?}"));
        }
    }
    ledger.enter("tune.isolated", &complaints)?;
    ledger.enter("tune.kept-off", &seen.off(&wanted())?)?;
    let sysctls = seen.sysctls();
    let mut complaints = Vec::new();
    if sysctls.is_empty() {
        complaints.push("no file asks for a sysctl, so nothing was tried".to_owned());
    }
    let wrong = sysctls.iter().filter(|(_, asked, found)| asked != found);
    complaints.extend(wrong.map(|(name, asked, found)| format!("{name} is {found}, not {asked}")));
    ledger.enter("tune.sysctls", &complaints)
}

fn status(machine: &mut Machine) -> Result<Vec<String>> {
    let status = product(machine, "status --json")?;
    let mut complaints = status.complaints;
    let rows = status.said.get("rows").and_then(Value::as_array).context("`status --json` has no rows")?;
    if rows.is_empty() {
        complaints.push("`status` tells of nothing".to_owned());
    }
    for row in rows {
        let word = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or("nameless");
        // A change of ours that a later one replaced is no complaint.
        if !matches!(word("standing"), "in-force" | "waits-for-interrupt" | "gone") {
            complaints.push(format!("{} {}: {}", word("id"), word("standing"), row));
        }
    }
    Ok(complaints)
}

/// Complaints about CPUs that the kernel isolated at boot although it should not.
fn isolated_still(seen: &Seen) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for path in ["/sys/devices/system/cpu/isolated", "/sys/devices/system/cpu/nohz_full"] {
        let cpus = seen.list(path)?;
        if !cpus.is_empty() {
            complaints.push(format!("{path}: {cpus:?}"));
        }
    }
    Ok(complaints)
}

/// Complaints about everything that still keeps CPUs apart although nothing should.
fn set_apart(seen: &Seen) -> Result<Vec<String>> {
    let mut complaints = isolated_still(seen)?;
    let everywhere = Cpus::from([0, 1, 2, 3]);
    for path in ["/proc/irq/default_smp_affinity", "/sys/devices/virtual/workqueue/cpumask"] {
        let cpus = seen.mask(path)?;
        if cpus != everywhere {
            complaints.push(format!("{path}: {cpus:?}"));
        }
    }
    Ok(complaints)
}
