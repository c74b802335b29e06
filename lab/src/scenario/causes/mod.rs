//! Causes: delays of known cause are planted on real-time kernels, and what `punctual explain` makes of them is held
//! against the truth, and against what rtla says on the same kernel.
//!
//! The guest's time is counted in instructions, so that a busy host plants nothing of its own. Only the claim about a
//! machine that is stopped from outside needs the host's time, and a second boot.

mod luggage;
mod rtla;
mod stopped;

use super::{Claim, Judged, Lab, Outfit, Scenario, Verdict};
use crate::guest::{Clock, Guest};
use crate::initramfs::Luggage;
use crate::kernel::Kernel;
use crate::wire::Output;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;

/// On kernels that have the tracers which rtla needs.
pub const CAUSES: Scenario =
    Scenario { name: "causes", claims: CLAIMS, wants: |spec| ["12-rt-amd64", "13-rt-amd64"].contains(&spec.id), run };

const CLAIMS: &[Claim] = &[
    Claim { id: "causes.hog", says: "a thread of higher priority is named, in 95 % of 200 late activations or more" },
    Claim { id: "causes.rr", says: "likewise a thread of the same priority that does not yield" },
    Claim { id: "causes.fault", says: "likewise page faults of a measuring thread whose memory is not locked" },
    Claim { id: "causes.throttle", says: "likewise real-time throttling" },
    Claim { id: "causes.irq", says: "likewise a timer's function in hard interrupt, by its name, from a module" },
    Claim { id: "causes.softirq", says: "likewise a timer's function in softirq, which is a thread here" },
    Claim { id: "causes.kworker", says: "likewise a worker that was given a real-time priority, by its function" },
    Claim { id: "causes.stopper", says: "likewise the thread that stops CPUs" },
    Claim { id: "causes.ipi", says: "likewise a function that another CPU calls here" },
    Claim { id: "causes.preemptoff", says: "likewise a thread of low priority that holds pre-emption off" },
    Claim { id: "causes.irqoff", says: "likewise a thread that holds interrupts off" },
    Claim {
        id: "causes.rtla",
        says: "what rtla's auto-analysis names at 20 stops or more, `punctual explain` names for the same kind, in 90 % of them",
    },
    Claim {
        id: "causes.stopped",
        says: "a machine stopped from outside 20 times is explained as such, each time in order and to 10 % of the time",
    },
];

/// How a kind is planted.
#[derive(Clone, Copy, Debug)]
enum Planter {
    /// By the program, which measures, plants, explains and judges.
    Program,
    /// By the module, beside a measurement of that priority.
    Module(u32),
}

/// Kinds, in the order of the claims.
const KINDS: [(&str, Planter); 11] = [
    ("hog", Planter::Program),
    ("rr", Planter::Program),
    ("fault", Planter::Program),
    ("throttle", Planter::Program),
    ("irq", Planter::Module(90)),
    // The thread that runs softirqs of timers has priority 1.
    ("softirq", Planter::Module(1)),
    // The module gives its worker priority 50.
    ("kworker", Planter::Module(40)),
    ("stopper", Planter::Module(90)),
    ("ipi", Planter::Module(90)),
    ("preemptoff", Planter::Module(90)),
    ("irqoff", Planter::Module(90)),
];
/// How the judge ends when nothing could be judged.
const NOT_RUN: i32 = 3;

fn run(lab: &Lab, kernel: &Kernel) -> Result<Judged> {
    let files = luggage::files(lab, kernel)?;
    let luggage = Luggage { files: &files, ..Luggage::default() };
    let mut bench =
        Bench::boot(lab, kernel, "causes", Outfit { clock: Clock::Instructions, luggage, ..Outfit::default() })?;
    // Before that the kernel changes its clock.
    bench.output("settled", "sleep 3")?;
    let mut judged = Judged::new();
    for (place, (kind, planter)) in KINDS.into_iter().enumerate() {
        let verdict = match planter {
            Planter::Program => by_program(&mut bench, kind),
            Planter::Module(priority) => by_module(&mut bench, kind, priority),
        };
        let claim = CLAIMS.get(place).context("a kind without a claim")?;
        judged.push((claim.id, verdict.unwrap_or_else(|error| Verdict::Failed(format!("{error:#}")))));
    }
    let verdict = rtla::agrees(&mut bench);
    judged.push(("causes.rtla", verdict.unwrap_or_else(|error| Verdict::Failed(format!("{error:#}")))));
    drop(bench);
    let verdict = stopped::explained(lab, kernel, luggage);
    judged.push(("causes.stopped", verdict.unwrap_or_else(|error| Verdict::Failed(format!("{error:#}")))));
    Ok(judged)
}

fn by_program(bench: &mut Bench<'_>, kind: &str) -> Result<Verdict> {
    let run = format!("causes run --punctual /usr/bin/punctual --cpu 1 --kind {kind} --folder /tmp/{kind}");
    let output = bench.output(kind, &run)?;
    Ok(verdict(&output))
}

fn by_module(bench: &mut Bench<'_>, kind: &str, priority: u32) -> Result<Verdict> {
    let plant = format!("insmod {} kind={kind} cpu=1 length_us=2000 every_us=20000 count=300", luggage::MODULE);
    let measure = format!(
        "punctual measure --quiet --explain --windows 4096 --explain-threshold 500us --warm-up 100ms --cpus 1 \
         --priority {priority} --period 997us --duration 8s --out /tmp/{kind}.rec"
    );
    let truth = format!("cat /sys/kernel/debug/lab_plant >/tmp/{kind}.truth; rmmod lab_plant");
    bench.output(&format!("{kind}-measured"), &format!("{plant} && {measure}; {truth}"))?;
    let explained = bench.output(&format!("{kind}.json"), &format!("punctual explain /tmp/{kind}.rec --json"))?;
    let explanation = serde_json::from_str(&explained.out).context("read the explanation")?;
    bench.explained.insert(kind.to_owned(), explanation);
    let again = format!("punctual explain /tmp/{kind}.rec --json >/tmp/{kind}.json; rm /tmp/{kind}.rec");
    let judge = format!(
        "causes judge {kind} --cpu 1 --truth /tmp/{kind}.truth --explanation /tmp/{kind}.json --least 200 --threshold-us 500"
    );
    Ok(verdict(&bench.output(kind, &format!("{again}; {judge}"))?))
}

/// What the judge said.
fn verdict(output: &Output) -> Verdict {
    let said = format!("{}{}", output.out, output.err);
    crate::say(output.out.lines().last().unwrap_or_default());
    match output.code {
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
    /// What the product made of each kind.
    explained: BTreeMap<String, Value>,
}

impl<'a> Bench<'a> {
    fn boot(lab: &'a Lab, kernel: &'a Kernel, name: &'static str, outfit: Outfit<'_>) -> Result<Self> {
        let guest = lab.boot(kernel, name, outfit)?;
        crate::say(&format!("up after {:.0} s, try {}", guest.boot_time.as_secs_f64(), guest.tries));
        Ok(Self { lab, kernel, name, guest, explained: BTreeMap::new() })
    }

    /// What a command came to, kept.
    fn output(&mut self, what: &str, command: &str) -> Result<Output> {
        let output = self.guest.command(command)?;
        let text = format!("$ {command}\n{}{}ended with {}\n", output.out, output.err, output.code);
        self.lab.keep(self.name, self.kernel, what, &text)?;
        Ok(output)
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
    fn what_was_not_judged_is_not_held() {
        let output = |code| Output { code, out: "hog\n".to_owned(), err: "NOT RUN: why\n".to_owned() };
        assert_eq!(verdict(&output(0)), Verdict::Held);
        assert!(matches!(verdict(&output(3)), Verdict::Skipped(why) if why.contains("why")));
        assert!(matches!(verdict(&output(1)), Verdict::Failed(_)));
    }
}
