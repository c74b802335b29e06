//! Runs for each kind a measurement with a trace, plants delays meanwhile, and judges the explanation.
//!
//! The product is used only as a program that is started. A kind that cannot be tried here is reported as not run, and
//! never as passed.

use crate::explanation::{self, Explanation, Tracing};
use crate::judge::{Case, Tally, judge};
use crate::kind::{Kind, Sight};
use crate::truth;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A run of all kinds or of some.
#[derive(Clone, Debug)]
pub struct Run {
    pub punctual: PathBuf,
    /// The CPU that is measured.
    pub cpu: u32,
    pub kinds: Vec<Kind>,
    /// Seconds for which delays are caused on purpose in each round.
    pub seconds: u64,
    /// Number of late activations that a verdict needs.
    pub least: u64,
    /// Largest number of rounds until the verdict is good.
    pub rounds: u32,
    /// The folder for recordings and truths.
    pub folder: PathBuf,
}

/// The result for one kind.
#[derive(Clone, Debug)]
pub enum Outcome {
    Judged(Tally),
    /// The kind could not be tried, for this reason.
    NotRun(String),
    /// Something failed that should have worked.
    Broken(String),
}

/// Activations with a smaller latency are not judged, whatever their cause.
const THRESHOLD_US: u64 = 100;
/// A period that does not keep step with any tick.
const PERIOD_US: u64 = 997;
/// The priority of the measuring thread, and the priority of threads above it.
const PRIORITY: u8 = 90;
const ABOVE: u8 = 95;
/// Number of additional rounds if the trace has holes, which on some virtual machines lasts for a while.
const HOLES_MAX: u32 = 3;
const BURST_US: u64 = 300;
const EVERY_US: u64 = 7000;
/// Time that the measurement needs to start (`BEFORE`), and for which it continues after the planter has ended
/// (`AFTER_S`).
const BEFORE: Duration = Duration::from_secs(2);
const AFTER_S: u64 = 2;

impl Run {
    /// Runs one kind, round after round, until the sum of all rounds is good enough or the limit on rounds is reached.
    /// A host that has other work to do spoils some rounds.
    pub fn kind(&self, kind: Kind) -> Outcome {
        let mut rounds = Rounds { kind, least: self.least, most: self.rounds, ..Rounds::default() };
        let mut number = 0;
        while rounds.take(self.round(kind, number)) {
            number += 1;
        }
        rounds.outcome()
    }

    fn round(&self, kind: Kind, round: u32) -> Result<Round> {
        let path = |ending: &str| self.folder.join(format!("{}-{round}.{ending}", kind.name()));
        let (recording, plants) = (path("punctual"), path("truth"));
        // An earlier run may have left the recording, and the product never overwrites one.
        match std::fs::remove_file(&recording) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("remove {}", recording.display()));
            }
            _ => {}
        }
        let stolen_before_ns = crate::sys::stolen_ns(self.cpu)?;
        let mut measuring = self.measure(kind, &recording)?;
        std::thread::sleep(BEFORE);
        if let Some(status) = measuring.0.try_wait().context("look after the measurement")? {
            bail!("the measurement ended too early, with {status}; it said: {}", said(&path("log")));
        }
        let planted = self.plant(kind, measuring.0.id(), &plants)?;
        let limit = Duration::from_secs(self.seconds + AFTER_S + 30);
        ensure!(measuring.wait(limit)?, "the measurement failed; it said: {}", said(&path("log")));
        let stolen_ns = crate::sys::stolen_ns(self.cpu)?.saturating_sub(stolen_before_ns);
        if let Some(why) = planted {
            return Ok(Round::NotRun(why));
        }
        let plants = truth::read(&plants)?;
        if plants.is_empty() {
            return Ok(Round::NotRun("nothing of it could be planted on this CPU".to_owned()));
        }
        let explanation = self.explain(&recording, &path("json"))?;
        match explanation.tracing.as_ref().map(|tracing| tracing.rung.to_lowercase()) {
            Some(rung) if ["trace", "timerlat", "bpf"].iter().any(|known| rung.contains(known)) => {}
            Some(rung) => return Ok(Round::NotRun(format!("no trace here: causes were looked for by {rung}"))),
            None => return Ok(Round::NotRun("no trace here".to_owned())),
        }
        let case = Case { kind, sight: Sight::here(), cpu: self.cpu, least_ns: THRESHOLD_US * 1000, stolen_ns };
        let tally = judge(case, &plants, &explanation.spikes);
        let holes = explanation.tracing.as_ref().is_some_and(Tracing::has_holes);
        Ok(if holes && tally.mostly_incomplete() { Round::Holes } else { Round::Judged(tally) })
    }

    fn measure(&self, kind: Kind, recording: &Path) -> Result<Ours> {
        let seconds = self.seconds + BEFORE.as_secs() + AFTER_S;
        let log = recording.with_extension("log");
        let log = std::fs::File::create(&log).with_context(|| format!("write {}", log.display()))?;
        let mut command = Command::new(&self.punctual);
        command.args(["measure", "--quiet", "--explain", "--windows", "4096", "--warm-up", "100ms"]);
        command.args(["--cpus", &self.cpu.to_string(), "--priority", &PRIORITY.to_string()]);
        command.args(["--period", &format!("{PERIOD_US}us"), "--explain-threshold", &format!("{THRESHOLD_US}us")]);
        command.args(["--duration", &format!("{seconds}s")]).arg("--out").arg(recording);
        command.stdin(Stdio::null()).stdout(log.try_clone().context("write to a log")?).stderr(log);
        if kind == Kind::Fault {
            crate::sys::without_locked_memory(&mut command);
        }
        Ours::start(&mut command)
    }

    /// Runs the planter. Returns the reason if nothing could be planted.
    fn plant(&self, kind: Kind, victim: u32, out: &Path) -> Result<Option<String>> {
        let priority = if kind == Kind::Rr { PRIORITY } else { ABOVE };
        let mut command = Command::new(std::env::current_exe().context("find our own program")?);
        command.args(["plant", &kind.name(), "--cpu", &self.cpu.to_string(), "--for", &self.seconds.to_string()]);
        command.args(["--burst-us", &BURST_US.to_string(), "--every-us", &EVERY_US.to_string()]);
        command.args(["--priority", &priority.to_string(), "--name", &format!("planted-{}", name(kind))]);
        command.args(["--victim", &victim.to_string()]).arg("--out").arg(out);
        let output = command.stdin(Stdio::null()).output().context("start the planter")?;
        if output.status.success() {
            return Ok(None);
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " | ");
        ensure!(output.status.code().is_some(), "the planter was ended ({}) {said}", output.status);
        Ok(Some(said))
    }

    fn explain(&self, recording: &Path, json: &Path) -> Result<Explanation> {
        let mut command = Command::new(&self.punctual);
        command.arg("explain").arg(recording).args(["--json", "--full"]).stdin(Stdio::null());
        let output = command.output().context("start `punctual explain`")?;
        let text = String::from_utf8_lossy(&output.stdout);
        ensure!(!text.is_empty(), "`punctual explain` said nothing, but: {}", String::from_utf8_lossy(&output.stderr));
        std::fs::write(json, text.as_bytes()).with_context(|| format!("write {}", json.display()))?;
        explanation::parse(&text)
    }

    /// The reason why delays cannot be planted on this machine; `None` if they can.
    pub fn possible(&self) -> Result<Option<String>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Some("not root".to_owned()));
        }
        if std::thread::available_parallelism().map_or(1, std::num::NonZero::get) < 2 {
            return Ok(Some("one CPU only, and somebody must plant".to_owned()));
        }
        std::fs::create_dir_all(&self.folder).with_context(|| format!("make {}", self.folder.display()))?;
        Ok(None)
    }
}

/// A short name of a kind, so that the name of a thread with this ending is not cut off.
fn name(kind: Kind) -> String {
    kind.name().chars().take(7).collect()
}

enum Round {
    Judged(Tally),
    /// The trace had holes and cannot be judged.
    Holes,
    NotRun(String),
}

/// The sum of all rounds of a kind so far.
#[derive(Default)]
struct Rounds {
    kind: Kind,
    least: u64,
    most: u32,
    tally: Tally,
    judged: u32,
    holes: u32,
    /// The outcome if the rounds ended early.
    ended: Option<Outcome>,
}

impl Rounds {
    /// Adds a round. Returns whether another round is needed.
    fn take(&mut self, round: Result<Round>) -> bool {
        match round {
            Ok(Round::Judged(of)) => {
                self.tally += of;
                self.judged += 1;
                self.judged < self.most && self.tally.verdict(self.kind, self.least).is_err()
            }
            Ok(Round::Holes) => {
                self.holes += 1;
                self.holes <= HOLES_MAX
            }
            Ok(Round::NotRun(why)) => {
                self.ended = Some(Outcome::NotRun(why));
                false
            }
            Err(error) => {
                self.ended = Some(Outcome::Broken(format!("{error:#}")));
                false
            }
        }
    }

    /// The outcome of all rounds. Only an error takes precedence over rounds that were judged.
    fn outcome(self) -> Outcome {
        match self.ended {
            Some(broken @ Outcome::Broken(_)) => broken,
            Some(not_run) if self.judged == 0 => not_run,
            None if self.judged == 0 => {
                Outcome::NotRun("the kernel's trace has holes here that it does not report".to_owned())
            }
            _ => Outcome::Judged(self.tally),
        }
    }
}

fn said(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.trim().replace('\n', " | ")
}

/// A program that this process started. It is killed when this value is dropped.
pub struct Ours(Child);

impl Ours {
    pub fn start(command: &mut Command) -> Result<Self> {
        Ok(Self(command.spawn().with_context(|| format!("start {:?}", command.get_program()))?))
    }

    /// Waits for the program's end. Returns whether it ended without a signal. An error if it takes too long.
    pub fn wait(&mut self, limit: Duration) -> Result<bool> {
        let until = Instant::now() + limit;
        loop {
            if let Some(status) = self.0.try_wait().context("wait for a program")? {
                // Exit codes report exceeded limits and doubtful results, but in either case there is a recording.
                return Ok(status.code().is_some());
            }
            ensure!(Instant::now() < until, "a program takes longer than {} s", limit.as_secs());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        if self.0.try_wait().is_ok_and(|ended| ended.is_none()) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plant::Planting;
    use clap::ValueEnum;

    fn judged(planted: u64, right: u64) -> Round {
        Round::Judged(Tally { planted, right, timed: right, ..Tally::default() })
    }

    /// The outcome of these rounds, and how many of them were run.
    fn of(rounds: Vec<Result<Round>>) -> (Outcome, usize) {
        let mut all = Rounds { kind: Kind::Hog, least: 20, most: 3, ..Rounds::default() };
        let mut taken = 0;
        for round in rounds {
            taken += 1;
            if !all.take(round) {
                break;
            }
        }
        (all.outcome(), taken)
    }

    #[test]
    fn rounds_go_on_until_all_together_are_good() {
        assert!(
            matches!(of(vec![Ok(judged(100, 99)), Ok(judged(1, 0))]), (Outcome::Judged(tally), 1) if tally.right == 99)
        );
        let spoilt = of(vec![Ok(judged(100, 90)), Ok(judged(100, 100)), Ok(judged(1, 0))]);
        assert!(matches!(spoilt, (Outcome::Judged(tally), 2) if tally.planted == 200));
        let wrong = of(vec![Ok(judged(100, 80)), Ok(judged(100, 80)), Ok(judged(100, 80)), Ok(judged(100, 100))]);
        assert!(matches!(wrong, (Outcome::Judged(tally), 3) if tally.verdict(Kind::Hog, 20).is_err()));
    }

    #[test]
    fn what_was_judged_wrong_stays_so_whatever_comes_later() {
        let not_run = || Ok(Round::NotRun("no".to_owned()));
        assert!(matches!(of(vec![Ok(judged(100, 80)), not_run()]), (Outcome::Judged(tally), 2) if tally.right == 80));
        assert!(matches!(of(vec![Ok(Round::Holes), not_run()]), (Outcome::NotRun(why), 2) if why == "no"));
        assert!(matches!(of(vec![Ok(judged(100, 80)), Err(anyhow::anyhow!("broke"))]), (Outcome::Broken(_), 2)));
        let holes = || (0..=HOLES_MAX + 1).map(|_| Ok(Round::Holes));
        assert!(matches!(of(holes().collect()), (Outcome::NotRun(_), 4)));
        let wrong: Vec<Result<Round>> = [Ok(judged(100, 80))].into_iter().chain(holes()).collect();
        assert!(matches!(of(wrong), (Outcome::Judged(_), 5)));
    }

    #[test]
    fn every_kind_makes_a_planting_that_is_allowed() {
        for kind in Kind::value_variants() {
            let planting = Planting {
                kind: *kind,
                cpu: 1,
                seconds: 4,
                burst_ns: BURST_US * 1000,
                every_ns: EVERY_US * 1000,
                priority: ABOVE,
                name: format!("planted-{}", name(*kind)),
                victim: None,
            };
            planting.check().unwrap();
        }
    }
}
