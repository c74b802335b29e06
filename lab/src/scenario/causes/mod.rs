//! Plants delays of known cause on real-time kernels, and compares what `punctual explain` reports with the truth, and
//! with rtla's analysis on the same kernel.
//!
//! While a CPU of the guest works, the guest's time is the number of executed instructions, so that a busy host cannot
//! add delays. Only the scenario in which a machine is stopped from outside needs the host's time.

mod luggage;
mod planter;
mod rtla;
mod stopped;
mod timerlat;

pub use luggage::module;
pub use rtla::RTLA;
pub use stopped::STOPPED;
pub use timerlat::TIMERLAT;

use super::{Claim, Judged, Lab, Outfit, Scenario, Verdict};
use crate::guest::{Clock, Guest};
use crate::initramfs::Luggage;
use crate::kernel::Kernel;
use crate::product;
use crate::wire::Output;
use anyhow::{Context, Result, ensure};
use base64::Engine;
use planter::{KINDS, Planter, TURNS};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The scenario runs on kernels with the tracers that rtla needs.
pub const CAUSES: Scenario =
    Scenario { name: "causes", claims: CLAIMS, wants: |spec| ["12-rt-amd64", "13-rt-amd64"].contains(&spec.id), run };

const CLAIMS: &[Claim] = &[
    Claim {
        id: "causes.irqoff",
        says: "a thread that holds interrupts off is named, by class and name, in 95 % of 200 late activations or more",
    },
    Claim { id: "causes.preemptoff", says: "likewise a thread of low priority that holds pre-emption off" },
    Claim { id: "causes.irq", says: "likewise a timer's function in hard interrupt, from a module" },
    Claim { id: "causes.ipi", says: "likewise a function that another CPU calls here" },
    Claim { id: "causes.stopper", says: "likewise the thread that stops CPUs" },
    Claim { id: "causes.kworker", says: "likewise a worker that was given a real-time priority, by its function" },
    Claim { id: "causes.softirq", says: "likewise a timer's function in softirq, which is a thread here" },
    Claim { id: "causes.hog", says: "likewise a thread of higher priority" },
    Claim { id: "causes.rr", says: "likewise a thread of the same priority that does not yield" },
    Claim {
        id: "causes.fault",
        says: "likewise page faults of the measured thread, whose stack was swapped out to a slow disk",
    },
    Claim {
        id: "causes.throttle",
        says: "likewise that real-time threads were kept from the CPU for ordinary ones: by their limit, or since 6.12 by the server for the others",
    },
];

/// Exit code of the judge if there was nothing to judge.
const NOT_RUN: i32 = 3;
/// Planted sections should take 2 ms. In a longer one, something else took a part of the time.
const LONGEST_NS: u64 = 2_200_000;
/// Words of the guest's command line. `tsc=reliable`: the clock does not pass evenly, and the kernel must not compare
/// it with others. `maxcpus=1`: where time is counted in instructions, Linux 6.1 would wait forever for a second CPU
/// early in boot, so that CPU is started later. `noirqdebug`: without it, the kernel would disable the serial line, which
/// interrupts very often.
const WORDS: &str = "tsc=reliable maxcpus=1 noirqdebug";

fn run(lab: &Lab, kernel: &Kernel) -> Result<Judged> {
    let files = luggage::files(lab, kernel)?;
    let mut bench = Bench::by_instructions(lab, kernel, "causes", &files)?;
    let mut judged = Judged::new();
    for claim in lab.wanted(CLAIMS) {
        let known = KINDS.into_iter().find(|(kind, _)| claim.id.strip_prefix("causes.") == Some(kind));
        let (kind, planter) = known.with_context(|| format!("nothing is planted for {}", claim.id))?;
        let verdict = try_kind(&mut bench, kind, planter, planter.seconds()).unwrap_or_else(|error| {
            crate::say(&format!("{kind}: {error:#}"));
            Verdict::Failed(format!("{error:#}"))
        });
        judged.push((claim.id, verdict));
    }
    Ok(judged)
}

/// Plants delays of a kind during a measurement in the guest. The recording is explained and judged on this machine,
/// which is faster than in the guest; a recording can be explained on any machine.
fn try_kind(bench: &mut Bench<'_>, kind: &str, planter: Planter, seconds: u32) -> Result<Verdict> {
    let command = planter.command(kind, seconds);
    let measured = bench.output(&format!("{kind}-measured"), &command)?;
    ensure!(measured.err.is_empty() || measured.code == 0, "{}", measured.err.trim());
    let truth = bench.output(&format!("{kind}-truth"), "cat /tmp/truth")?.out;
    let truth = if planter.has_length() { undisturbed(&truth) } else { truth };
    let recording = bench.fetch("/tmp/recording", &format!("{kind}.punctual"))?;
    let explained = bench.product("explain", &recording)?;
    let [truth_file, explanation_file] = [("truth", &truth), ("json", &explained)].map(|(ending, text)| {
        let path = recording.with_extension(ending);
        fs::write(&path, text).with_context(|| format!("write {}", path.display())).map(|()| path)
    });
    let planter = product::build_package(&bench.lab.root, bench.kernel.spec.arch, "causes")?.context("no judge")?;
    let mut judge = Command::new(planter.program);
    judge.args(["judge", kind, "--cpu", "0", "--least", "200", "--threshold-us", "900"]);
    let output = judge.arg("--truth").arg(truth_file?).arg("--explanation").arg(explanation_file?).output();
    let output = output.context("start the judge")?;
    Ok(verdict(output.status.code().unwrap_or(1), &text(&output.stdout), &text(&output.stderr)))
}

/// Keeps the lines of planted sections that have about the requested length. During a longer section, the emulator ran
/// the other CPU, which is another cause, so the section is not counted.
fn undisturbed(truth: &str) -> String {
    let length = |line: &str| {
        let mut times = line.split_whitespace().skip(2).map_while(|word| word.parse::<u64>().ok());
        times.next().zip(times.next()).map(|(start, end)| end.saturating_sub(start))
    };
    let kept: Vec<&str> =
        truth.lines().filter(|line| length(line).is_some_and(|length| length <= LONGEST_NS)).collect();
    crate::say(&format!("{} of {} sections were undisturbed", kept.len(), truth.lines().count()));
    kept.iter().flat_map(|line| [*line, "\n"]).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Converts the judge's exit code and output to a verdict.
fn verdict(code: i32, out: &str, err: &str) -> Verdict {
    let said = format!("{out}{err}");
    crate::say(out.lines().nth(1).unwrap_or_default());
    match code {
        0 => Verdict::Held,
        NOT_RUN => Verdict::Skipped(said.trim().to_owned()),
        _ => Verdict::Failed(said.trim().to_owned()),
    }
}

/// A guest in which delays are planted. The outputs of its commands are kept in files.
struct Bench<'a> {
    lab: &'a Lab,
    kernel: &'a Kernel,
    name: &'static str,
    guest: Guest,
}

impl<'a> Bench<'a> {
    fn boot(lab: &'a Lab, kernel: &'a Kernel, name: &'static str, outfit: Outfit<'_>) -> Result<Self> {
        let guest = lab.boot(kernel, name, outfit)?;
        crate::say(&format!("up after {:.0} s, try {}", guest.boot_time.as_secs_f64(), guest.tries));
        Ok(Self { lab, kernel, name, guest })
    }

    /// Starts a guest with two CPUs, whose time is counted in instructions.
    fn by_instructions(
        lab: &'a Lab,
        kernel: &'a Kernel,
        name: &'static str,
        files: &[(String, PathBuf)],
    ) -> Result<Self> {
        let modules = ["configfs", "null_blk"].map(str::to_owned);
        let luggage = Luggage { files, modules: &modules };
        let outfit = Outfit { words: WORDS, clock: Clock::Instructions, luggage, ..Outfit::default() };
        let mut bench = Self::boot(lab, kernel, name, outfit)?;
        bench.output("second-cpu", "echo 1 >/sys/devices/system/cpu/cpu1/online && sleep 2")?;
        Ok(bench)
    }

    /// Runs a command in the guest, and keeps its output in a file.
    fn output(&mut self, what: &str, command: &str) -> Result<Output> {
        let output = self.guest.command(command)?;
        let text = format!("$ {command}\n{}{}ended with {}\n", output.out, output.err, output.code);
        self.lab.keep(self.name, self.kernel, what, &text)?;
        Ok(output)
    }

    /// Copies a file of the guest byte for byte to this machine.
    fn fetch(&mut self, path: &str, name: &str) -> Result<PathBuf> {
        let output = self.guest.command(&format!("base64 {path}"))?;
        ensure!(output.code == 0, "{}", output.err.trim());
        let letters: String = output.out.split_whitespace().collect();
        let bytes = base64::engine::general_purpose::STANDARD.decode(letters).context("read what the guest sent")?;
        let kept = self.lab.folder(self.name, self.kernel)?.join(name);
        fs::write(&kept, bytes).with_context(|| format!("write {}", kept.display()))?;
        Ok(kept)
    }

    /// Reads a file that was kept under this name.
    fn kept(&self, name: &str) -> Result<String> {
        let path = self.lab.folder(self.name, self.kernel)?.join(name);
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    }

    /// The JSON that a subcommand of the product prints about a recording.
    fn product(&self, verb: &str, recording: &Path) -> Result<String> {
        let product = self.lab.product(self.kernel.spec.arch)?.context("there is no product for this architecture")?;
        let mut command = Command::new(&product.program);
        command.arg(verb).arg(recording).arg("--json").args((verb == "explain").then_some("--full"));
        let output = command.output();
        let output = output.with_context(|| format!("start {}", product.program.display()))?;
        let said = text(&output.stderr);
        // Exit codes 2 and 3 are answers as well: the product found something, or could not find out.
        let answered = output.status.code().is_some_and(|code| [0, 2, 3].contains(&code));
        ensure!(
            answered && !output.stdout.is_empty(),
            "`punctual {verb}` ended with {}: {}",
            output.status,
            said.trim()
        );
        Ok(text(&output.stdout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_claim_in_the_same_place() {
        for ((kind, _), claim) in KINDS.iter().zip(CLAIMS) {
            assert_eq!(format!("causes.{kind}"), claim.id);
        }
    }

    #[test]
    fn sections_that_others_took_a_part_of_are_left_out() {
        let truth =
            "irq x 1000 2001000\nirq x 5000000 9000000\nrr x 1000 2001000 7\nrr x 5000000 9000000 7\nnonsense\n";
        assert_eq!(undisturbed(truth), "irq x 1000 2001000\nrr x 1000 2001000 7\n");
    }

    #[test]
    fn what_was_not_judged_is_not_held() {
        let verdict = |code| verdict(code, "hog\n", "NOT RUN: why\n");
        assert_eq!(verdict(0), Verdict::Held);
        assert!(matches!(verdict(3), Verdict::Skipped(why) if why.contains("why")));
        assert!(matches!(verdict(1), Verdict::Failed(_)));
    }
}
