//! A machine that restarts by itself because of a campaign, watched boot by boot.
//!
//! A unit of the lab writes down the command line of each boot and the campaign's state at its beginning, before the
//! campaign goes on. So it does not matter how soon the host asks.

use super::super::bench::PROGRAM;
use super::super::machine::{Machine, Start};
use super::took;
use super::tuned::Unit;
use anyhow::{Context, Result};
use serde_json::Value;
use std::time::Duration;

/// The campaign's folder in the guest.
pub const FOLDER: &str = "/var/lib/campaign";
/// Paths that remain after a campaign: its folder and its content.
pub const STAYS: [(&str, &str); 2] =
    [(FOLDER, "the campaign's folder, which stays"), ("/var/lib/campaign/", "what is in the campaign's folder")];
/// The unit that writes down with what each boot began.
pub const WITNESS: Unit = ("lab-witness", include_str!("../guest/witness.service"));

/// A machine that restarts by itself, and the state of the campaign at the beginning of each boot.
pub struct Watched {
    pub machine: Machine,
    pub boots: Vec<Boot>,
}

#[derive(Debug)]
pub struct Boot {
    pub line: String,
    /// The campaign's state file.
    pub state: Value,
    pub panicked: bool,
}

impl Watched {
    pub fn look(&mut self, start: &Start) -> Result<()> {
        took("restart by itself", start);
        self.note("cat /run/lab-boot", start.panicked())
    }

    /// Notes how it stands now, as if a boot began. `state` is the name of the campaign's state file.
    pub fn look_now(&mut self, state: &str) -> Result<()> {
        self.note(&format!("cat /proc/cmdline {FOLDER}/{state}"), false)
    }

    /// Notes a boot. The command prints the command line, and then the campaign's state.
    pub fn note(&mut self, command: &str, panicked: bool) -> Result<()> {
        let text = self.machine.ask(command)?;
        let (line, state) = text.split_once('\n').with_context(|| format!("`{command}` printed nothing"))?;
        let state = serde_json::from_str(state).context("read the campaign's state")?;
        self.boots.push(Boot { line: line.to_owned(), state, panicked });
        Ok(())
    }
}

/// Number of boots that a kernel's panic preceded.
pub fn panics(boots: &[Boot]) -> usize {
    boots.iter().filter(|boot| boot.panicked).count()
}

impl Boot {
    /// The outcomes up to this boot, which the state has under this key.
    pub fn outcomes(&self, key: &str) -> Vec<Value> {
        self.state.get(key).and_then(Value::as_array).cloned().unwrap_or_default()
    }
}

/// Reverts a campaign between two of its boots, restarts the machine, and waits for twice the time that a measurement
/// and its restart take. Returns complaints if the campaign goes on. `is_plain` knows the machine's own command line.
pub fn reverted(machine: &mut Machine, is_plain: impl Fn(&str) -> bool) -> Result<Vec<String>> {
    let reverted = machine.run(&format!("{PROGRAM} revert --json"), Duration::from_secs(300))?;
    let mut complaints = Vec::new();
    if reverted.code != 0 {
        complaints.push(format!("`revert` ended with {}: {}", reverted.code, reverted.err.trim()));
    }
    took("restart after revert", &machine.reboot()?);
    let line = machine.ask("cat /proc/cmdline")?;
    if !is_plain(&line) {
        complaints.push(format!("the boot after it has words of the campaign: {}", line.trim()));
    }
    std::thread::sleep(Duration::from_secs(60));
    machine.ask("true").context("it restarts by itself, though it was ended")?;
    Ok(complaints)
}
