//! `cargo xtask lab waits`: the ways to wait of `benches/waits` in virtual time, so that their table in the book depends on
//! no host.
//!
//! Each kernel is booted twice, and both runs must print the same bytes.

use crate::twice;
use anyhow::{Context, Error, Result, ensure};
use punctual_lab::inside::Job;
use punctual_lab::packages::Shelf;
use punctual_lab::run::PROGRAM;
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const KERNELS: [&str; 2] = ["debian:12-amd64", "debian:12-rt-amd64"];
/// Loads that run beside the loops, on the same CPU.
const LOADS: [(&str, &[&str]); 2] = [("idle", &[]), ("loaded", &["io-write", "proc", "switch"])];
/// The strategies of the table. Those that need a second CPU, a C++ compiler or an idle state make no sense in a guest.
const STRATEGIES: [&str; 11] = [
    "sleep_absolute",
    "sleep",
    "anticipate",
    "hybrid_50us",
    "hybrid_100us",
    "hybrid_auto",
    "spin_sleep",
    "spin_sleep_100us",
    "spin_sleep_50us",
    "spin_sleep_25us",
    "spin",
];
/// The strategy that the library advises, which is to be ahead of all that poll no more.
const OURS: &str = "hybrid_auto";
const SECONDS: &str = "3";
const ROUNDS: &str = "3";
/// Path of the benchmark in a guest.
const WAITS: &str = "/usr/bin/waits";
/// The page with the table, and the lines around it.
const PAGE: &str = "book/src/punctual-rt.md";
const BEGIN: &str = "<!-- waits in virtual time: written by `cargo xtask lab waits` -->\n";
const END: &str = "<!-- end of waits in virtual time -->\n";

/// The figures of one strategy under one kernel and load.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figures {
    p50_ns: u64,
    p99_ns: u64,
    /// Share of releases that were run more than 10 us off, or not at all.
    off: f64,
    /// Share of time spent polling. Where the benchmark does not know it, it is the CPU time beyond that of a bare sleep.
    polled: f64,
}

/// A kernel and load with the figures of all strategies, in the order of [`STRATEGIES`].
type Column = (String, Vec<Figures>);

/// Measures, and writes the table into the book. Returns whether the library's wait is ahead everywhere.
pub fn tell(root: &Path, shelf: impl Fn() -> Result<Shelf>) -> Result<bool> {
    twice::release(root, &["punctual", "waits"])?;
    let luggage = [(WAITS.to_owned(), twice::program_of(root, "waits")?)];
    let jobs: Vec<Job> = LOADS.iter().map(|(_, loads)| job(loads)).collect();
    let mut columns = Vec::new();
    for name in KERNELS {
        let answers = twice::answers(root, name, &shelf, &luggage, &jobs)?;
        for ((load, _), answer) in LOADS.iter().zip(&answers) {
            ensure!(answer.code == 0, "{name}: {}", answer.err.trim());
            columns.push((format!("{}, {load}", name.trim_end_matches("-amd64")), read(&answer.out)?));
        }
    }
    let table = table(&columns);
    write(root, &table)?;
    crate::say(&table);
    let behind = behind(&columns);
    for line in &behind {
        crate::say(line);
    }
    Ok(behind.is_empty())
}

fn job(loads: &[&str]) -> Job {
    let words = [WAITS, "--seconds", SECONDS, "--rounds", ROUNDS, "--json", "--only", &STRATEGIES.join(",")];
    let load = |name: &&str| {
        [PROGRAM, "__load", name, "--on", "0", "--dir", "/tmp", "--seconds", "3600"].map(str::to_owned).to_vec()
    };
    Job { words: words.map(str::to_owned).to_vec(), files: Vec::new(), beside: loads.iter().map(load).collect() }
}

fn read(text: &str) -> Result<Vec<Figures>> {
    let document: Value = serde_json::from_str(text).context("read what waits printed")?;
    let number = |part: &str, name: &str, key: &str| {
        let of = document.get(part).and_then(|all| all.get(name)).with_context(|| format!("{name} did not run"))?;
        of.get(key).with_context(|| format!("{name} without {key}"))
    };
    let share = |part: &str, name: &str, key: &str| Ok::<_, Error>(number(part, name, key)?.as_f64().unwrap_or(0.0));
    let sleeping = share("details", STRATEGIES[0], "cpu_share")?;
    let one = |name: &&str| {
        let whole = |key: &str| Ok::<_, Error>(number("strategies", name, key)?.as_u64().unwrap_or(0));
        let polled = share("strategies", name, "spin_share")?;
        Ok(Figures {
            p50_ns: whole("p50_ns")?,
            p99_ns: whole("p99_ns")?,
            off: share("strategies", name, "off_by_10us_share")?,
            polled: if name.starts_with("spin_sleep") { (polled - sleeping).max(0.0) } else { polled },
        })
    };
    STRATEGIES.iter().map(one).collect()
}

/// The table, one row for each strategy, with four figures for each kernel and load.
fn table(columns: &[Column]) -> String {
    let mut text = String::from("| strategy |");
    let mut line = String::from("|---|");
    for (name, _) in columns {
        // Writing to a String cannot fail.
        let _ = write!(text, " {name} |");
        line.push_str("--:|");
    }
    let _ = write!(text, "\n{line}\n");
    let us = |ns: u64| format!("{}.{:02}", ns / 1_000, ns % 1_000 / 10);
    for (place, name) in STRATEGIES.iter().enumerate() {
        let _ = write!(text, "| `{name}` |");
        for figures in columns.iter().filter_map(|(_, all)| all.get(place)) {
            let Figures { p50_ns, p99_ns, off, polled } = figures;
            let _ =
                write!(text, " {} / {} / {:.1} % / {:.1} % |", us(*p50_ns), us(*p99_ns), off * 100.0, polled * 100.0);
        }
        text.push('\n');
    }
    text
}

/// Where another way to wait that polls no more than ours has a smaller figure. Two waits that poll differ by chance by up
/// to one reading of the clock, which is what a wait that only polls shows at p99.
fn behind(columns: &[Column]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, all) in columns {
        let named = || STRATEGIES.iter().zip(all);
        let of = |wanted: &str| named().find(|(strategy, _)| **strategy == wanted).map(|(_, figures)| *figures);
        let Some((ours, reading)) = of(OURS).zip(of("spin").map(|spin| spin.p99_ns)) else { continue };
        // Hybrid waits with a fixed margin are ours as well.
        let others = named().filter(|(other, figures)| !other.starts_with("hybrid") && figures.polled <= ours.polled);
        for (other, figures) in others {
            let ahead = [
                ("p50", figures.p50_ns + reading < ours.p50_ns),
                ("p99", figures.p99_ns + reading < ours.p99_ns),
                ("share off by > 10 us", figures.off < ours.off),
            ];
            let ahead: Vec<&str> = ahead.iter().filter(|(_, is)| *is).map(|(what, _)| *what).collect();
            if !ahead.is_empty() {
                found.push(format!("{name}: {other} polls no more and is ahead in {}", ahead.join(", ")));
            }
        }
    }
    found
}

fn write(root: &Path, table: &str) -> Result<()> {
    let path = root.join(PAGE);
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let (before, rest) = text.split_once(BEGIN).with_context(|| format!("find the marks of the table in {PAGE}"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("find the end of the table in {PAGE}"))?;
    fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).with_context(|| format!("write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(p50_ns: u64, p99_ns: u64, off: f64, polled: f64) -> Figures {
        Figures { p50_ns, p99_ns, off, polled }
    }

    fn column() -> Column {
        let mut all = vec![figures(30_000, 60_000, 1.0, 0.0); STRATEGIES.len()];
        all[5] = figures(70, 50_000, 0.2, 0.05);
        ("12, idle".to_owned(), all)
    }

    #[test]
    fn who_polls_more_is_not_held_against_us() {
        let mut column = column();
        column.1[10] = figures(40, 1_600, 0.0, 1.0);
        column.1[6] = figures(60, 100, 0.0, 0.1);
        assert_eq!(behind(&[column.clone()]), Vec::<String>::new());
        column.1[7] = figures(80, 100, 0.2, 0.05);
        assert_eq!(behind(&[column]), ["12, idle: spin_sleep_100us polls no more and is ahead in p99"]);
    }

    #[test]
    fn what_the_benchmark_prints_becomes_a_row() {
        let one = r#"{"p50_ns":71,"p99_ns":381245,"max_ns":1,"off_by_10us_share":0.25,"spin_share":0.05,"cycles":1}"#;
        let all = |one: &str| STRATEGIES.iter().map(|name| format!("\"{name}\":{one}")).collect::<Vec<_>>().join(",");
        let (strategies, details) = (all(one), all(r#"{"cpu_share":0.04}"#));
        let read = read(&format!("{{\"strategies\":{{{strategies}}},\"details\":{{{details}}}}}")).unwrap();
        let text = table(&[("x".to_owned(), read)]);
        assert!(text.contains("| `hybrid_auto` | 0.07 / 381.24 / 25.0 % / 5.0 % |"), "{text}");
        assert!(text.contains("| `spin_sleep` | 0.07 / 381.24 / 25.0 % / 1.0 % |"), "{text}");
        assert!(super::read("{}").unwrap_err().to_string().contains("did not run"));
    }
}
