//! The scenarios and their claims.
//!
//! A scenario boots a kernel once, reads its state, and checks several claims. Reading and checking are separate:
//! checks get only texts, and tests show that each check fails on bad texts.

mod campaigns;
mod causes;
mod facts;
mod guide;
mod kernels;
mod line;
mod look;
mod oracle;
mod ptp;
mod state;
mod tune;

use crate::guest::{Clock, Guest, Setup};
use crate::initramfs::{self, Luggage};
use crate::kernel::{Arch, KERNELS, Kernel, Spec};
use crate::packages::Shelf;
use crate::product::{self, Product};
use anyhow::{Context, Result, ensure};
use std::fmt::Write;
use std::fs;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A statement about the product that must be true on a real kernel.
#[derive(Debug)]
pub struct Claim {
    pub id: &'static str,
    /// The statement, in one sentence.
    pub says: &'static str,
}

/// The result of checking a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Held,
    /// The claim is false, for this reason.
    Failed(String),
    /// The claim could not be checked, for this reason.
    Skipped(String),
}

impl Verdict {
    /// The claim held if there are no complaints.
    pub fn of(complaints: &[String]) -> Self {
        if complaints.is_empty() { Self::Held } else { Self::Failed(complaints.join("\n")) }
    }
}

/// Names of claims, each with its verdict.
pub type Judged = Vec<(&'static str, Verdict)>;

/// A test that boots a kernel once and checks several claims.
pub struct Scenario {
    pub name: &'static str,
    /// The claims of the scenario, in the order in which they are printed.
    pub claims: &'static [Claim],
    /// Whether the scenario runs on a kernel.
    pub wants: fn(&Spec) -> bool,
    /// Runs the scenario on one kernel.
    pub run: fn(&Lab, &Kernel) -> Result<Judged>,
}

pub const SCENARIOS: &[&Scenario] = &[
    &guide::GUIDE,
    &guide::POLL,
    &oracle::ORACLE,
    &kernels::KERNELS,
    &ptp::PTP,
    &tune::TUNE,
    &tune::FAIR,
    &tune::KILLED,
    &tune::DAYS,
    &campaigns::CAMPAIGNS,
    &causes::CAUSES,
    &causes::RTLA,
    &causes::STOPPED,
    &causes::TIMERLAT,
];

/// Scenarios that take too long for every run. They run only if they are named.
pub const LONG: [&str; 5] = ["campaigns", "causes", "rtla", "stopped", "timerlat"];

/// Claims that may be skipped on a kernel, each with a reason. Any other skip is a failure.
const EXPECTED_SKIPS: &[(&str, &str, &str)] = &[
    // Each entry: claim or scenario, kernel, reason.
    ("guide", "12-rt-arm64", "a toolchain without a standard library for static programs builds none for arm64"),
    ("tune", "12-rt-arm64", "likewise"),
    ("ptp", "", "a toolchain without a standard library for static programs builds none for guests of `punctual-lab`"),
    ("kernels", "", "a toolchain without a standard library for static programs builds none for guests of `lab`"),
];

/// The verdict on a claim on one kernel.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub scenario: &'static str,
    pub claim: &'static str,
    pub kernel: &'static str,
    pub verdict: Verdict,
    /// How long the scenario took on this kernel.
    pub took: Duration,
}

impl Outcome {
    /// Whether the outcome is no failure: the claim held, or skipping it was expected.
    pub fn is_good(&self) -> bool {
        match &self.verdict {
            Verdict::Held => true,
            Verdict::Failed(_) => false,
            Verdict::Skipped(_) => EXPECTED_SKIPS.iter().any(|(what, kernel, _)| {
                (*what == self.scenario || *what == self.claim) && (kernel.is_empty() || *kernel == self.kernel)
            }),
        }
    }
}

/// The configuration of a guest.
#[derive(Clone, Copy, Debug)]
pub struct Outfit<'a> {
    /// Words of the kernel's command line.
    pub words: &'a str,
    pub memory_mib: u32,
    pub clock: Clock,
    /// Files that only this guest gets.
    pub luggage: Luggage<'a>,
}

impl Default for Outfit<'_> {
    fn default() -> Self {
        Self { words: "", memory_mib: 1024, clock: Clock::Host, luggage: Luggage::default() }
    }
}

/// The environment of all scenarios: packages, product, and a folder for results.
pub struct Lab {
    pub root: PathBuf,
    shelf: Shelf,
    /// The folder for logs and outputs.
    out: PathBuf,
    /// Names on the command line: scenarios, claims and kernels.
    names: Vec<String>,
    amd64: OnceLock<Option<Product>>,
    arm64: OnceLock<Option<Product>>,
    /// This lock is held while the product is built, so that two scenarios do not build it at once.
    building: Mutex<()>,
}

impl Lab {
    /// Makes a lab for the scenarios with these names. It leaves its logs below Cargo's target folder.
    pub fn open(root: &Path, shelf: Shelf, names: &[String]) -> Result<Self> {
        let out = product::target_folder(root)?.join("lab-out");
        fs::create_dir_all(&out).with_context(|| format!("create {}", out.display()))?;
        let (root, names) = (root.to_owned(), names.to_owned());
        Ok(Self { root, shelf, out, names, amd64: OnceLock::new(), arm64: OnceLock::new(), building: Mutex::new(()) })
    }

    /// The claims that are named on the command line, or all if none of them is.
    pub fn wanted(&self, claims: &'static [Claim]) -> Vec<&'static Claim> {
        wanted(claims, &self.names)
    }

    /// Unpacks the newest kernel of this kind.
    fn kernel(&self, spec: &'static Spec) -> Result<Kernel> {
        Ok(Kernel { spec, unpacked: self.shelf.kernel(spec.release, spec.arch, spec.is_rt)? })
    }

    /// The product for an architecture, built at the first call; `None` if it cannot be built.
    pub fn product(&self, arch: Arch) -> Result<Option<&Product>> {
        let cell = match arch {
            Arch::Amd64 => &self.amd64,
            Arch::Arm64 => &self.arm64,
        };
        let _building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(product) = cell.get() {
            return Ok(product.as_ref());
        }
        let built = product::build(&self.root, arch)?;
        Ok(cell.get_or_init(|| built).as_ref())
    }

    /// Boots a guest with this kernel and outfit; `name` is the name of its log.
    pub fn boot(&self, kernel: &Kernel, name: &str, outfit: Outfit<'_>) -> Result<Guest> {
        let product = self.product(kernel.spec.arch)?.context("there is no product for this architecture")?;
        let busybox = self.shelf.busybox(kernel.spec.arch)?;
        let folder = self.folder(name, kernel)?;
        let initramfs = folder.join("initramfs");
        let archive = initramfs::build(kernel, &busybox, product, outfit.luggage)?;
        fs::write(&initramfs, archive).with_context(|| format!("write {}", initramfs.display()))?;
        let log = folder.join("console.log");
        let Outfit { words, memory_mib, clock, .. } = outfit;
        let guest = Guest::boot(kernel, Setup { words, initramfs: &initramfs, memory_mib, clock, log: &log })?;
        // The guest has the file in its memory by now, so the file is not needed any more.
        fs::remove_file(&initramfs).with_context(|| format!("remove {}", initramfs.display()))?;
        Ok(guest)
    }

    /// Keeps a text in a file, which helps to find out why a claim failed.
    pub fn keep(&self, name: &str, kernel: &Kernel, what: &str, text: &str) -> Result<()> {
        let path = self.folder(name, kernel)?.join(what);
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))
    }

    fn folder(&self, name: &str, kernel: &Kernel) -> Result<PathBuf> {
        let folder = self.out.join(format!("{name}-{}", kernel.spec.id));
        fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
        Ok(folder)
    }
}

/// The claims that are named, or all if none of them is.
fn wanted(claims: &'static [Claim], names: &[String]) -> Vec<&'static Claim> {
    let is_named = |claim: &&Claim| names.iter().any(|name| name == claim.id);
    let asked: Vec<&Claim> = claims.iter().filter(is_named).collect();
    if asked.is_empty() { claims.iter().collect() } else { asked }
}

/// The scenarios and kernels to try: those that are named, or all if none is. Naming a claim selects its scenario.
fn chosen(names: &[String]) -> Vec<(&'static Scenario, &'static Spec)> {
    let is_one = |one: &str| names.iter().any(|name| name == one);
    let is_named = |one: &str| {
        let claims = || SCENARIOS.iter().filter(|scenario| scenario.name == one).flat_map(|scenario| scenario.claims);
        is_one(one) || claims().any(|claim| is_one(claim.id))
    };
    let by_scenario = SCENARIOS.iter().any(|scenario| is_named(scenario.name));
    let by_kernel = KERNELS.iter().any(|spec| is_named(spec.id));
    let specs = KERNELS.iter().filter(|spec| !by_kernel || is_named(spec.id));
    let pairs = specs.flat_map(|spec| SCENARIOS.iter().map(move |scenario| (*scenario, spec)));
    let is_chosen = |name| is_named(name) || (!by_scenario && !LONG.contains(&name));
    pairs.filter(|(scenario, spec)| is_chosen(scenario.name) && (scenario.wants)(spec)).collect()
}

/// Downloads all kernels and shells that the chosen scenarios need. This is done before several scenarios could ask for
/// the same package at once.
pub fn fetch(lab: &Lab) -> Result<()> {
    chosen(&lab.names).into_iter().try_for_each(|(_, spec)| {
        lab.kernel(spec)?;
        lab.shelf.busybox(spec.arch).map(|_| ())
    })
}

/// Runs all chosen scenarios, at most one per CPU at once. Long scenarios run one by one, because they hold what
/// happened in a guest against what was planted there at a certain time.
pub fn run_all(lab: &Lab) -> Vec<Outcome> {
    let chosen = chosen(&lab.names);
    let is_long = chosen.iter().any(|(scenario, _)| LONG.contains(&scenario.name));
    let at_once = if is_long { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) };
    let queue = Mutex::new(chosen.iter().enumerate());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || -> Vec<(usize, Vec<Outcome>)> {
        std::iter::from_fn(next).map(|(place, (scenario, spec))| (place, run_one(lab, scenario, spec))).collect()
    };
    let mut done: Vec<(usize, Vec<Outcome>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().flat_map(|(_, outcomes)| outcomes).collect()
}

fn run_one(lab: &Lab, scenario: &'static Scenario, spec: &'static Spec) -> Vec<Outcome> {
    crate::say_as(format!("{} on {}", scenario.name, spec.id));
    crate::say("begins");
    let start = Instant::now();
    let wanted: Vec<&str> = lab.wanted(scenario.claims).iter().map(|claim| claim.id).collect();
    let judged = lab.kernel(spec).and_then(|kernel| (scenario.run)(lab, &kernel)).and_then(|mut judged| {
        judged.retain(|(claim, _)| wanted.contains(claim));
        let same = judged.iter().map(|(claim, _)| claim).eq(&wanted);
        ensure!(same, "judged were {judged:?}, not the claims of {}", scenario.name);
        Ok(judged)
    });
    let judged = judged.unwrap_or_else(|error| {
        let why = format!("{error:#}");
        wanted.iter().map(|claim| (*claim, Verdict::Failed(why.clone()))).collect()
    });
    let took = start.elapsed();
    // All lines are printed by one call, because another scenario may end at the same time.
    print!("{}", told(scenario, spec, took, &judged));
    let outcome = |(claim, verdict)| Outcome { scenario: scenario.name, claim, kernel: spec.id, verdict, took };
    judged.into_iter().map(outcome).collect()
}

/// The verdicts of a scenario as text, one line per claim.
fn told(scenario: &Scenario, spec: &Spec, took: Duration, judged: &Judged) -> String {
    let mut text = format!("== {} on {}, {:.0} s ==\n", scenario.name, spec.id, took.as_secs_f64());
    for (claim, verdict) in judged {
        // Writing to a String cannot fail.
        let _ = match verdict {
            Verdict::Held => writeln!(text, "{claim}: held"),
            Verdict::Failed(why) => writeln!(text, "{claim}: FAILED\n{why}"),
            Verdict::Skipped(why) => writeln!(text, "{claim}: SKIPPED: {why}"),
        };
    }
    text
}

/// The verdicts of a scenario that cannot be tried: all its claims are skipped.
pub fn skip(claims: &[Claim], why: &str) -> Judged {
    claims.iter().map(|claim| (claim.id, Verdict::Skipped(why.to_owned()))).collect()
}

/// All outcomes as text, one per line.
pub fn table(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for outcome in outcomes {
        let (word, why) = match &outcome.verdict {
            Verdict::Held => ("held", ""),
            Verdict::Failed(why) => ("FAILED", why.lines().next().unwrap_or_default()),
            Verdict::Skipped(why) => (if outcome.is_good() { "skipped" } else { "SKIPPED, UNEXPECTED" }, why.as_str()),
        };
        let (claim, kernel, took) = (outcome.claim, outcome.kernel, outcome.took.as_secs_f64());
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", format!("  {claim:20} {kernel:14} {took:6.1} s  {word:8} {why}").trim_end());
    }
    text
}

/// The numbers of claims that held, failed and were skipped, as text.
pub fn count(outcomes: &[Outcome]) -> String {
    let number = |wanted: fn(&Verdict) -> bool| outcomes.iter().filter(|outcome| wanted(&outcome.verdict)).count();
    let held = number(|verdict| *verdict == Verdict::Held);
    let failed = number(|verdict| matches!(verdict, Verdict::Failed(_)));
    let skipped = number(|verdict| matches!(verdict, Verdict::Skipped(_)));
    format!("{held} held, {failed} failed, {skipped} skipped")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn outcome(scenario: &'static str, kernel: &'static str, verdict: Verdict) -> Outcome {
        Outcome { scenario, claim: "x", kernel, verdict, took: Duration::ZERO }
    }

    #[test]
    fn claims_have_names_of_their_own() {
        let all: Vec<&str> = SCENARIOS.iter().flat_map(|scenario| scenario.claims).map(|claim| claim.id).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }

    #[test]
    fn names_choose_scenarios_and_kernels() {
        let named = |names: &[&str]| chosen(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let pairs = |names: &[&str]| named(names).iter().map(|(s, spec)| (s.name, spec.id)).collect::<Vec<_>>();
        assert_eq!(pairs(&["guide", "13-amd64"]), [("guide", "13-amd64")]);
        assert_eq!(pairs(&["poll"]), [("poll", "12-amd64"), ("poll", "13-rt-amd64")]);
        assert_eq!(pairs(&["causes"]), [("causes", "12-rt-amd64"), ("causes", "13-rt-amd64")]);
        assert_eq!(pairs(&["13-arm64"]), [("oracle", "13-arm64")]);
        assert_eq!(pairs(&["causes.fault", "13-rt-amd64"]), [("causes", "13-rt-amd64")]);
        assert_eq!(named(&[]).len(), 5 + 2 + 5 + 2 + 2 + 4 + 1 + 1 + 1);
    }

    #[test]
    fn of_claims_those_that_are_named_are_wanted_or_all() {
        let ids = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            wanted(guide::GUIDE.claims, &names).iter().map(|claim| claim.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&["guide.table", "boots.state"]), ["boots.state", "guide.table"]);
        assert_eq!(ids(&["guide", "13-amd64"]), ids(&[]));
    }

    #[test]
    fn a_skip_that_nobody_expected_is_no_good() {
        let skipped = || Verdict::Skipped("why".to_owned());
        assert!(outcome("guide", "12-rt-arm64", skipped()).is_good());
        assert!(!outcome("guide", "12-amd64", skipped()).is_good());
        assert!(!outcome("guide", "12-rt-arm64", Verdict::Failed("why".to_owned())).is_good());
        assert!(table(&[outcome("guide", "12-amd64", skipped())]).contains("SKIPPED, UNEXPECTED"));
        assert_eq!(count(&[outcome("guide", "x", skipped())]), "0 held, 0 failed, 1 skipped");
    }

    #[test]
    fn every_expected_skip_is_of_something_that_there_is() {
        for (what, kernel, _) in EXPECTED_SKIPS {
            let is_known = |s: &&Scenario| s.name == *what || s.claims.iter().any(|claim| claim.id == *what);
            assert!(SCENARIOS.iter().any(is_known), "{what}");
            assert!(kernel.is_empty() || KERNELS.iter().any(|spec| spec.id == *kernel), "{kernel}");
        }
    }
}
