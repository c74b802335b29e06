//! Runs `punctual lab compare` on a real kernel, as a user does, and holds its numbers against those of a second run.

use super::{Claim, Judged, Lab, Scenario, Verdict, skip};
use crate::kernel::{Arch, Kernel};
use crate::program;
use anyhow::{Context, Error, Result};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// One kernel of each architecture is enough: that the others boot is tried by the other scenarios.
pub const KERNELS: Scenario =
    Scenario { name: "kernels", claims: CLAIMS, wants: |spec| ["12-rt-amd64", "12-rt-arm64"].contains(&spec.id), run };

const CLAIMS: &[Claim] = &[
    Claim { id: "kernels.same", says: "`lab compare`, run twice in empty folders, prints the same bytes" },
    Claim {
        id: "kernels.due",
        says: "every release of every load is accounted for, and every largest latency is below 10 ms",
    },
];

fn run(lab: &Lab, kernel: &Kernel) -> Result<Judged> {
    let static_one = |arch| Ok::<_, Error>(lab.product(arch)?.filter(|product| product.libraries.is_empty()));
    let (Some(host), Some(guest)) = (static_one(Arch::of_host()?)?, static_one(kernel.spec.arch)?) else {
        return Ok(skip(CLAIMS, "guests of `lab` run a static program, which this toolchain cannot build"));
    };
    let once = |name: &str| -> Result<String> {
        let out = lab.folder(name, kernel)?;
        // A result that is there would not be measured again.
        fs::remove_dir_all(&out).with_context(|| format!("remove {}", out.display()))?;
        let mut command = Command::new(&host.program);
        command.args(["lab", "compare", "--json", "--no-explain", "--seeds", "1", "--load", "idle,io-write"]);
        command.args(["--duration", "600ms", "--kernel"]).arg(&kernel.image).arg("--out").arg(&out);
        command.arg("--binary").arg(&guest.program);
        program::read(&mut command)
    };
    let [first, second] = [once("kernels")?, once("kernels-again")?];
    lab.keep("kernels", kernel, "first.json", &first)?;
    lab.keep("kernels", kernel, "second.json", &second)?;
    let differences = differ(&first, &second);
    Ok(vec![("kernels.same", Verdict::of(&differences)), ("kernels.due", Verdict::of(&unaccounted(&first)?))])
}

fn differ(first: &str, second: &str) -> Vec<String> {
    let lines = first.lines().zip(second.lines()).filter(|(a, b)| a != b);
    let mut found: Vec<String> = lines.take(5).map(|(a, b)| format!("{} and {}", a.trim(), b.trim())).collect();
    if found.is_empty() && first != second {
        found.push("one of the documents is longer".to_owned());
    }
    found
}

/// Complaints about a document of one kernel with two loads of 300 ms each, a release every millisecond.
fn unaccounted(text: &str) -> Result<Vec<String>> {
    const LEAST: u64 = 290;
    const LATEST_NS: u64 = 10_000_000;
    let document: Value = serde_json::from_str(text).context("read what `lab compare` printed")?;
    let cells = document.pointer("/kernels/0/cells").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut found: Vec<String> =
        if cells.len() == 2 { Vec::new() } else { vec![format!("{} loads instead of 2", cells.len())] };
    for cell in &cells {
        let number = |path: &str| cell.pointer(path).and_then(Value::as_u64);
        let load = cell.get("load").and_then(Value::as_str).unwrap_or("a load without a name");
        let (due, ran, skipped) = (number("/due"), number("/ran"), number("/skipped"));
        if due.is_none_or(|due| due < LEAST) || due != ran.zip(skipped).map(|(ran, skipped)| ran + skipped) {
            found.push(format!("{load}: {due:?} due, {ran:?} ran, {skipped:?} skipped"));
        }
        let largest = number("/latency_due_ns/max");
        if largest.is_none_or(|largest| largest > LATEST_NS) {
            found.push(format!("{load}: the largest latency is {largest:?} ns"));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_shown() {
        assert_eq!(differ("a\nb\n", "a\nb\n"), Vec::<String>::new());
        assert_eq!(differ("a\nb\n", "a\nc\n"), ["b and c"]);
        assert_eq!(differ("a\n", "a\nb\n").len(), 1);
    }

    #[test]
    fn releases_that_are_missing_are_told() {
        let cell = |due: u64, max: u64| serde_json::json!({ "load": "idle", "due": due, "ran": 298, "skipped": 2, "latency_due_ns": { "max": max } });
        let of =
            |cells: &[Value]| unaccounted(&serde_json::json!({ "kernels": [{ "cells": cells }] }).to_string()).unwrap();
        assert_eq!(of(&[cell(300, 40_000), cell(300, 40_000)]), Vec::<String>::new());
        assert_eq!(of(&[cell(301, 40_000), cell(300, 40_000_000)]).len(), 2);
        assert_eq!(of(&[]).len(), 1);
        assert!(unaccounted("x").is_err());
    }
}
