//! Boots a published command line of 38 words, and compares what the product says about each word and about the machine
//! with what the kernel says.
//!
//! One boot serves all claims. On x86 the command line is booted here without `idle=poll`, and with it in [`POLL`] on
//! fewer kernels: emulated CPUs that never sleep take the host's CPUs from each other, so that everything takes three
//! times as long.

use super::facts::{self, Word};
use super::look::{self, Look};
use super::{Claim, Judged, Lab, Outfit, Scenario, Verdict, line, skip, state};
use crate::initramfs::Luggage;
use crate::kernel::{Arch, Kernel};
use crate::program;
use anyhow::{Context, Result};
use std::fs;

/// The command line without `idle=poll`, the one word that slows an emulated machine down.
pub const GUIDE: Scenario = Scenario { name: "guide", claims: GUIDE_CLAIMS, wants: |spec| spec.boots, run: run_guide };

/// The whole command line, on one kernel of each release.
pub const POLL: Scenario = Scenario {
    name: "poll",
    claims: POLL_CLAIMS,
    wants: |spec| ["12-amd64", "13-rt-amd64"].contains(&spec.id),
    run: run_poll,
};

const GUIDE_CLAIMS: &[Claim] = &[
    Claim { id: "boots.values", says: "values that the audit shows as evidence are what the guest's files say" },
    Claim {
        id: "boots.state",
        says: "the audit's verdicts on isolated CPUs, stopped ticks, the default of interrupts and the NMI watchdog follow \
               from the guest's files",
    },
    Claim {
        id: "boots.capture",
        says: "a snapshot taken in the guest gets the findings and the words' verdicts of the guest",
    },
    Claim {
        id: "guide.live",
        says: "the linter in the guest agrees, word by word, with the kernel's log and with its lists of parameters",
    },
    Claim {
        id: "guide.offline",
        says: "the linter told only version, flavour and architecture agrees with the same, and a look at the machine only \
               adds to it",
    },
    Claim {
        id: "guide.effects",
        says: "what the linter calls accepted or effective has had its effect, wherever one can be seen",
    },
    Claim {
        id: "guide.table",
        says: "for the published line, word by word, the linter says what the truth table says",
    },
];

const POLL_CLAIMS: &[Claim] = &[
    Claim { id: "poll.live", says: "with idle=poll too, the linter in the guest agrees with the kernel, word by word" },
    Claim {
        id: "poll.offline",
        says: "with idle=poll too, the linter told only what kernel it is agrees with the same",
    },
];

fn run_guide(lab: &Lab, kernel: &Kernel) -> Result<Judged> {
    if lab.product(kernel.spec.arch)?.is_none() {
        return Ok(skip(GUIDE_CLAIMS, "this toolchain builds no program for that architecture"));
    }
    let published = published(lab)?;
    let booted = published.split(' ').filter(|word| kernel.spec.arch != Arch::Amd64 || *word != "idle=poll");
    let mut look = boot(lab, kernel, "guide", &booted.collect::<Vec<_>>().join(" "))?;
    let heard = hear(&mut look)?;
    let findings = facts::findings(&look.unhurried("audit.json", "punctual audit --json")?)?;
    let files = look.files(look::paths(&findings).iter().map(String::as_str))?;
    look.unhurried("machine", "rm -f /tmp/machine; punctual snapshot -o /tmp/machine && cat /tmp/machine")?;
    let captured = facts::findings(&look.answer("captured.json", "punctual audit --json --machine /tmp/machine")?)?;
    let captured_words =
        facts::words(&look.answer("captured-lint.json", "punctual lint --json --machine /tmp/machine")?)?;
    let mut captured = state::against_capture(&findings, &captured);
    if captured_words != heard.live {
        captured.push(format!("words live: {:?}; from the capture: {captured_words:?}", heard.live));
    }
    let (seen, effects) = line::against_effects(&heard.live, &files);
    let few = (seen < 5).then(|| format!("only {seen} effects could be looked at"));
    let table =
        fs::read_to_string(lab.root.join("fixtures/cmdlines/truth-table.txt")).context("read the truth table")?;
    let spec = kernel.spec;
    let letters = facts::letters(&table, spec.series, spec.arch == Arch::Arm64, spec.is_rt)?;
    Ok(vec![
        ("boots.values", Verdict::of(&state::against_files(&findings, &files))),
        ("boots.state", Verdict::of(&state::against_state(&findings, &files))),
        ("boots.capture", Verdict::of(&captured)),
        ("guide.live", heard.live_verdict()),
        ("guide.offline", heard.offline_verdict()),
        ("guide.effects", Verdict::of(&effects.into_iter().chain(few).collect::<Vec<_>>())),
        ("guide.table", Verdict::of(&line::against_table(&offline(lab, kernel, &published)?, &letters))),
    ])
}

fn run_poll(lab: &Lab, kernel: &Kernel) -> Result<Judged> {
    let mut look = boot(lab, kernel, "poll", &published(lab)?)?;
    let heard = hear(&mut look)?;
    Ok(vec![("poll.live", heard.live_verdict()), ("poll.offline", heard.offline_verdict())])
}

fn published(lab: &Lab) -> Result<String> {
    let path = lab.root.join("fixtures/cmdlines/guide-2025.txt");
    Ok(fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?.trim().to_owned())
}

fn boot<'a>(lab: &'a Lab, kernel: &'a Kernel, name: &'static str, words: &str) -> Result<Look<'a>> {
    // The guest gets more memory, because the command line requests 2 GiB of huge pages.
    let luggage = Luggage { modules: &["i915".to_owned()], ..Luggage::default() };
    let guest = lab.boot(kernel, name, Outfit { words, memory_mib: 3072, luggage, ..Outfit::default() })?;
    crate::say(&format!("up after {:.0} s, try {}", guest.boot_time.as_secs_f64(), guest.tries));
    Ok(Look { lab, kernel, name, guest })
}

/// The words of the command line, as judged by the linter in the guest (`live`) and on the host (`offline`), and what
/// the kernel reports about them.
struct Heard {
    live: Vec<Word>,
    offline: Vec<Word>,
    kernel: facts::Kernels,
}

fn hear(look: &mut Look<'_>) -> Result<Heard> {
    let booted = look.answer("cmdline", "cat /proc/cmdline")?;
    let live = facts::words(&look.unhurried("lint.json", "punctual lint --json")?)?;
    let names: Vec<String> =
        booted.split_whitespace().map(|word| word.split('=').next().unwrap_or(word).to_owned()).collect();
    let kernel = look.kernel_on(&names)?;
    let offline = offline(look.lab, look.kernel, booted.trim())?;
    Ok(Heard { live, offline, kernel })
}

impl Heard {
    fn live_verdict(&self) -> Verdict {
        Verdict::of(&line::against_kernel(&self.live, &self.kernel))
    }

    fn offline_verdict(&self) -> Verdict {
        let mut complaints = line::against_kernel(&self.offline, &self.kernel);
        complaints.extend(line::refined(&self.live, &self.offline));
        Verdict::of(&complaints)
    }
}

/// The linter's verdicts on the host, where it knows only for which kernel the command line is.
fn offline(lab: &Lab, kernel: &Kernel, line: &str) -> Result<Vec<Word>> {
    let product = lab.product(Arch::of_host()?)?.context("there is no product for the host")?;
    let spec = kernel.spec;
    let mut command = std::process::Command::new(&product.program);
    command.args(["lint", "--json", "--cmdline", line, "--kernel", spec.series, "--flavour", spec.flavour()]);
    command.args(["--arch", spec.arch.machine(), "--cpus", "4"]);
    facts::words(&program::read(&mut command)?)
}
