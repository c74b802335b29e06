//! Causes: delays of known cause are planted on real-time kernels, and what `punctual explain` makes of them is held
//! against the truth, and against what rtla says on the same kernel.
//!
//! The guest's time is counted in instructions where it has something to do, so that a busy host adds nothing to what is
//! planted. Only a machine that is stopped from outside needs the host's time.

mod luggage;
mod planter;
mod rtla;
mod stopped;
mod timerlat;

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

/// On kernels that have the tracers which rtla needs.
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

/// How the judge ends when nothing could be judged.
const NOT_RUN: i32 = 3;
/// Sections are to take 2 ms; of a longer one than this, others have taken a part.
const LONGEST_NS: u64 = 2_200_000;
/// The clock is held good without a look at others, as it does not pass evenly; and 6.1, where time is counted in
/// instructions, waits for ever for a second CPU that is to start early in boot: it starts later. The serial line
/// interrupts more often than a kernel believes.
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

/// Plants a kind while it is measured, and has the recording explained and judged, here: a guest takes longer for it, and
/// a recording is to be understood on any machine.
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

/// Of what was planted, the lines whose section was about as long as asked for. In a longer one the emulator has given the
/// other CPU its turn, which is another cause: such a section is not counted, whatever is said of it.
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

/// What the judge's exit code and words mean.
fn verdict(code: i32, out: &str, err: &str) -> Verdict {
    let said = format!("{out}{err}");
    crate::say(out.lines().nth(1).unwrap_or_default());
    match code {
        0 => Verdict::Held,
        NOT_RUN => Verdict::Skipped(said.trim().to_owned()),
        _ => Verdict::Failed(said.trim().to_owned()),
    }
}

/// A guest in which things are planted, and which writes down what it says.
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

    /// With time that is counted in instructions, and two CPUs.
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

    /// What a command came to, kept.
    fn output(&mut self, what: &str, command: &str) -> Result<Output> {
        let output = self.guest.command(command)?;
        let text = format!("$ {command}\n{}{}ended with {}\n", output.out, output.err, output.code);
        self.lab.keep(self.name, self.kernel, what, &text)?;
        Ok(output)
    }

    /// A file of the guest, byte for byte, kept here.
    fn fetch(&mut self, path: &str, name: &str) -> Result<PathBuf> {
        let output = self.guest.command(&format!("base64 {path}"))?;
        ensure!(output.code == 0, "{}", output.err.trim());
        let letters: String = output.out.split_whitespace().collect();
        let bytes = base64::engine::general_purpose::STANDARD.decode(letters).context("read what the guest sent")?;
        let kept = self.lab.folder(self.name, self.kernel)?.join(name);
        fs::write(&kept, bytes).with_context(|| format!("write {}", kept.display()))?;
        Ok(kept)
    }

    /// What was kept under that name.
    fn kept(&self, name: &str) -> Result<String> {
        let path = self.lab.folder(self.name, self.kernel)?.join(name);
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    }

    /// What the product says of a recording, asked by a verb of its.
    fn product(&self, verb: &str, recording: &Path) -> Result<String> {
        let product = self.lab.product(self.kernel.spec.arch)?.context("there is no product for this architecture")?;
        let mut command = Command::new(&product.program);
        command.arg(verb).arg(recording).arg("--json").args((verb == "explain").then_some("--full"));
        let output = command.output();
        let output = output.with_context(|| format!("start {}", product.program.display()))?;
        let said = text(&output.stderr);
        // What it finds, or cannot find, is told by 2 and 3: an answer it is.
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
