//! The cost of looking for causes: the same measurement with and without it, alternately, and then with more events
//! than usual.
//!
//! The times are only printed, because a machine is as fast as it is. What must be right on any machine is the account
//! of lost records. The product is used only as a program that is started.

use crate::explanation::{self, Explanation};
use crate::plant::pong;
use crate::run::Ours;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Cost {
    pub punctual: PathBuf,
    /// The CPU that is measured.
    pub cpu: u32,
    /// Length of each measurement, in seconds.
    pub seconds: u64,
    /// Number of measurements with and without looking for causes.
    pub rounds: u32,
    pub folder: PathBuf,
}

/// The part of a report that is used here.
#[derive(Debug, Deserialize)]
struct Report {
    cpus: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    latency_ns: Latency,
}

#[derive(Debug, Deserialize)]
struct Latency {
    p99: Option<u64>,
}

/// Time from the start of the measurement until it certainly runs, and from the end of the events to the end of the
/// measurement.
const AROUND_S: u64 = 3;

impl Cost {
    /// Measures alternately without and with looking for causes. Prints the 99th percentiles, their medians and the
    /// ratios.
    pub fn turns(&self) -> Result<()> {
        println!("{:<6} {:>12} {:>12} {:>7}", "round", "p99 without", "p99 with", "ratio");
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for round in 0..self.rounds {
            let [a, b] = [("without", None), ("with", Some("--explain"))].map(|(name, word)| {
                let recording = self.folder.join(format!("cost-{name}-{round}.punctual"));
                let words: Vec<&str> = word.into_iter().collect();
                self.measure(&recording, self.seconds, &words)?;
                self.p99(&recording)
            });
            let (a, b) = (a?, b?);
            println!("{round:<6} {:>9} us {:>9} us {:>7}", us(a), us(b), ratio(b, a));
            without.push(a);
            with.push(b);
        }
        let (a, b) = (median(&mut without), median(&mut with));
        println!("{:<6} {:>9} us {:>9} us {:>7}", "median", us(a), us(b), ratio(b, a));
        Ok(())
    }

    /// Lets two threads of the lowest real-time priority wake each other as fast as they can, first with the default
    /// trace buffer and then with one that is certainly too small. An error if the lost records do not match the marked
    /// windows.
    pub fn flood(&self) -> Result<()> {
        println!(
            "{:<8} {:>9} {:>12} {:>12} {:>10} {:>9} {:>8} {:>8}  account",
            "buffer", "events/s", "made", "recorded", "lost", "windows", "marked", "passed"
        );
        let mut wrong = Vec::new();
        for buffer in ["default", "64K"] {
            let recording = self.folder.join(format!("rate-{buffer}.punctual"));
            let (made, explanation) = self.flooded(&recording, buffer)?;
            let account = Account::of(&explanation);
            let said = account.complaint().unwrap_or_else(|| "fits".to_owned());
            println!(
                "{buffer:<8} {:>9} {made:>12} {:>12} {:>10} {:>9} {:>8} {:>8}  {said}",
                made / self.seconds.max(1),
                account.records,
                account.lost,
                account.windows,
                account.marked,
                account.passed_over
            );
            wrong.extend(account.complaint());
        }
        ensure!(wrong.is_empty(), "what was lost is not what is marked: {}", wrong.join("; "));
        Ok(())
    }

    fn flooded(&self, recording: &Path, buffer: &str) -> Result<(u64, Explanation)> {
        let words = if buffer == "default" { vec!["--explain"] } else { vec!["--explain", "--trace-buffer", buffer] };
        let mut measuring = self.start(recording, self.seconds + 2 * AROUND_S, &words)?;
        std::thread::sleep(Duration::from_secs(AROUND_S));
        let made = pong::run(self.cpu, self.seconds);
        measuring.wait(Duration::from_secs(self.seconds + 60))?;
        Ok((made?, self.explanation(recording)?))
    }

    fn start(&self, recording: &Path, seconds: u64, words: &[&str]) -> Result<Ours> {
        match std::fs::remove_file(recording) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("remove {}", recording.display()));
            }
            _ => {}
        }
        let mut command = Command::new(&self.punctual);
        command.args(["measure", "--quiet", "--priority", "90", "--period", "1ms"]).args(words);
        command
            .args(["--cpus", &self.cpu.to_string(), "--duration", &format!("{seconds}s")])
            .arg("--out")
            .arg(recording);
        Ours::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))
    }

    fn measure(&self, recording: &Path, seconds: u64, words: &[&str]) -> Result<()> {
        self.start(recording, seconds, words)?.wait(Duration::from_secs(seconds + 60)).map(drop)
    }

    fn said(&self, verb: &str, recording: &Path) -> Result<String> {
        let mut command = Command::new(&self.punctual);
        let output = command.arg(verb).arg(recording).arg("--json").stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("start `punctual {verb}`"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(!text.is_empty(), "`punctual {verb}` said: {}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(text)
    }

    fn p99(&self, recording: &Path) -> Result<u64> {
        let report: Report = serde_json::from_str(&self.said("report", recording)?).context("understand a report")?;
        let first = report.cpus.first().and_then(|row| row.latency_ns.p99);
        first.context("too few activations for a 99th percentile: measure for longer")
    }

    fn explanation(&self, recording: &Path) -> Result<Explanation> {
        explanation::parse(&self.said("explain", recording)?)
    }
}

/// The numbers of lost records and of windows that the product marks because of losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Account {
    records: u64,
    lost: u64,
    windows: u64,
    /// Windows that the product marks as incomplete because records were lost, or were overwritten before the window
    /// was cut.
    marked: u64,
    passed_over: u64,
    late: u64,
}

impl Account {
    fn of(explanation: &Explanation) -> Self {
        let of_loss = |why: &str| matches!(why, "lost" | "late");
        let marked = explanation.spikes.iter().filter(|spike| spike.incomplete.as_deref().is_some_and(of_loss));
        Self {
            records: explanation.traces.iter().map(|trace| trace.records).sum(),
            lost: explanation.traces.iter().map(|trace| trace.lost).sum(),
            windows: explanation.spikes.len() as u64,
            marked: marked.count() as u64,
            passed_over: explanation.late.passed_over,
            late: explanation.late.late,
        }
    }

    /// The contradiction in the numbers; `None` if they agree.
    fn complaint(self) -> Option<String> {
        let Self { records, lost, windows, marked, passed_over, late } = self;
        // Losses should hit about the same share of windows as of records. Less than a tenth of that is no chance.
        let due = u128::from(windows) * u128::from(lost) / u128::from(records + lost).max(1) / 10;
        match () {
            () if records == 0 => Some("nothing was recorded".to_owned()),
            () if lost == 0 && marked > 0 => Some(format!("{marked} windows are marked, and nothing was lost")),
            () if u128::from(marked) < due => Some(format!("{lost} records lost, and only {marked} windows marked")),
            () if windows + passed_over > late => Some("more windows than were late".to_owned()),
            () => None,
        }
    }
}

fn median(values: &mut [u64]) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

fn us(ns: u64) -> String {
    format!("{}.{}", ns / 1000, ns % 1000 / 100)
}

fn ratio(part: u64, whole: u64) -> String {
    (part * 1000).checked_div(whole).map_or_else(|| "-".to_owned(), |m| format!("{}.{:03}", m / 1000, m % 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_must_be_marked_and_nothing_else() {
        let fine = Account { records: 1_000_000, lost: 0, windows: 100, marked: 0, passed_over: 20, late: 120 };
        assert_eq!(fine.complaint(), None);
        assert_eq!(Account { lost: 500_000, marked: 40, ..fine }.complaint(), None);
        assert!(Account { marked: 1, ..fine }.complaint().is_some());
        assert!(Account { lost: 500_000, marked: 2, ..fine }.complaint().is_some());
        assert!(Account { late: 119, ..fine }.complaint().is_some());
        assert!(Account { records: 0, ..fine }.complaint().is_some());
    }

    #[test]
    fn figures_are_of_the_middle() {
        assert_eq!(median(&mut [5, 1, 9]), 5);
        assert_eq!((us(12_345), ratio(11, 10), ratio(1, 0)), ("12.3".to_owned(), "1.100".to_owned(), "-".to_owned()));
    }
}
