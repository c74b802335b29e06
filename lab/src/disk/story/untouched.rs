//! The files that differ between two starts of a machine that nobody changes. The comparisons of all other stories rely
//! on this list.

use super::super::bench::{self, Bench};
use super::super::findings;
use super::super::ledger::{Claim, Ledger};
use super::super::tree::{self, Difference, Exceptions};
use super::{Given, took};
use anyhow::Result;

pub const CLAIMS: &[Claim] = &[
    ("disk.boots", "the disk starts through its own GRUB, and no service fails"),
    ("disk.files-rest", "two untouched starts leave every file as it was, but for the paths listed with reasons"),
    ("disk.findings-rest", "two untouched starts have the same findings, but for those listed with reasons"),
];

/// Files that change by themselves from one start to the next, as found by this story.
pub const BY_ITSELF: &Exceptions =
    &[("/var/log/", "logs"), ("/var/lib/systemd/random-seed", "a new seed at each shutdown")];

pub fn tell(given: &Given, ledger: &mut Ledger) -> Result<()> {
    let bench = Bench::new(&given.cache, &given.image, "untouched", Some(&given.program))?;
    let (mut machine, start) = bench.start()?;
    took("start", &start);
    bench::install(&mut machine)?;
    let first = findings::in_guest(&mut machine)?;
    machine.power_off()?;
    let before = bench.files()?;
    let (mut machine, start) = bench.start()?;
    took("start", &start);
    ledger.enter("disk.boots", &started_well(&mut machine)?)?;
    let second = findings::in_guest(&mut machine)?;
    took("restart", &machine.reboot()?);
    machine.power_off()?;
    ledger.enter("disk.files-rest", &told(&tree::differences(&before, &bench.files()?, BY_ITSELF)))?;
    ledger.enter("disk.findings-rest", &findings::differences(&first, &second))
}

pub fn told(differences: &[Difference]) -> Vec<String> {
    differences.iter().map(|difference| format!("{}: {}", difference.path, difference.what)).collect()
}

fn started_well(machine: &mut super::super::machine::Machine) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    let words = machine.ask("cat /proc/cmdline")?;
    if !words.starts_with("BOOT_IMAGE=/boot/vmlinuz-") {
        complaints.push(format!("GRUB did not start this kernel: {}", words.trim()));
    }
    let failed = machine.ask("systemctl --failed --plain --no-legend")?;
    if !failed.trim().is_empty() {
        complaints.push(failed);
    }
    Ok(complaints)
}
