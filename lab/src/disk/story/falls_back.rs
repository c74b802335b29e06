//! Checks what `tune` relies on: GRUB tries a boot entry once, and starts the previous entry after the tried one has
//! failed.
//!
//! The entries are made by hand, without the product. If this story fails, the lab's disk is wrong, and no verdict on
//! `tune` means anything.

use super::super::bench::Bench;
use super::super::ledger::{Claim, Ledger};
use super::super::machine::{Hang, Machine};
use super::{Given, took};
use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;
use std::time::Duration;

pub const CLAIMS: &[Claim] = &[
    (
        "grub.tried-once",
        "an entry chosen by grub-reboot is started once, and the start after it takes the default again",
    ),
    (
        "grub.panic-falls-back",
        "an entry tried once whose kernel panics with panic= is followed by the default entry, with nobody's help",
    ),
    ("grub.hang-falls-back", "an entry tried once that hangs is followed by the default entry after a power cycle"),
];

/// A machine hangs if it gives no sign of life for this time, which is twice the time of a start.
const HANG: Hang = Hang { mark: "lab.entry=hangs", silence: Duration::from_secs(120) };

/// Adds boot entries by hand and tries them.
pub fn tell(given: &Given, ledger: &mut Ledger) -> Result<()> {
    let bench = Bench::new(&given.cache, &given.image, "falls-back", None)?;
    let (mut machine, start) = bench.start()?;
    took("start", &start);
    add_entries(&mut machine)?;
    machine.ask("grub-reboot lab-good")?;
    let tried = restarted(&mut machine, "an entry that is good")?;
    let after = restarted(&mut machine, "after it")?;
    let mut complaints = Vec::new();
    if !tried.0.contains("lab.entry=good") {
        complaints.push(format!("the entry was not started: {}", tried.0));
    }
    if after.0.contains("lab.entry") {
        complaints.push(format!("the entry was started twice: {}", after.0));
    }
    ledger.enter("grub.tried-once", &complaints)?;
    machine.ask("grub-reboot lab-panics")?;
    let fallen = restarted(&mut machine, "an entry that panics")?;
    let mut complaints = Vec::new();
    if !fallen.1 {
        complaints.push("no kernel panicked, so nothing was tried".to_owned());
    }
    if fallen.0.contains("lab.entry") {
        complaints.push(format!("it runs on the entry that was tried: {}", fallen.0));
    }
    ledger.enter("grub.panic-falls-back", &complaints)?;
    machine.ask("grub-reboot lab-hangs")?;
    machine.reboot_to_hang(HANG)?;
    machine.cut_power();
    let (mut machine, start) = bench.start()?;
    took("a power cycle", &start);
    let words = machine.ask("cat /proc/cmdline")?;
    let complaints = if words.contains("lab.entry") { vec![words] } else { Vec::new() };
    ledger.enter("grub.hang-falls-back", &complaints)?;
    machine.power_off()?;
    Ok(())
}

/// Restarts the machine. Returns its command line, and whether a kernel panicked before it started.
fn restarted(machine: &mut Machine, what: &str) -> Result<(String, bool)> {
    let start = machine.reboot()?;
    took(what, &start);
    Ok((machine.ask("cat /proc/cmdline")?, start.panicked()))
}

/// Adds three copies of the default boot entry: a good one, one whose first process ends at once, and one that waits
/// for a disk that does not exist.
fn add_entries(machine: &mut Machine) -> Result<()> {
    let config = machine.ask("cat /boot/grub/grub.cfg")?;
    let entry = config.split("\nmenuentry ").nth(1).and_then(|rest| rest.split_once("\n}")).map(|(entry, _)| entry);
    let body =
        entry.and_then(|entry| entry.split_once("{\n")).map(|(_, body)| body).context("find GRUB's first entry")?;
    let mut custom = String::new();
    for (name, words) in [
        ("good", "lab.entry=good"),
        ("panics", "lab.entry=panics panic=5 init=/bin/false"),
        ("hangs", "lab.entry=hangs ignore_loglevel init=/bin/cat"),
    ] {
        let lines = body.lines().map(|line| {
            if line.trim_start().starts_with("linux") { format!("{line} {words}\n") } else { format!("{line}\n") }
        });
        let lines: String = lines.collect();
        let _ = write!(custom, "menuentry 'lab-{name}' --id lab-{name} {{\n{lines}}}\n");
    }
    ensure!(!custom.contains("LAB_END"), "GRUB's entry holds our own mark");
    machine.ask(&format!("cat >/boot/grub/custom.cfg <<'LAB_END'\n{custom}LAB_END\nsync"))?;
    Ok(())
}
