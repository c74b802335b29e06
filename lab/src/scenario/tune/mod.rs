//! Runs `tune`, `status` and `revert` on a running machine, and compares their output with what a script reads in the
//! guest.

mod days;
mod fair;
mod judge;
mod killed;
mod seen;

pub use days::DAYS;
pub use fair::FAIR;
pub use killed::KILLED;

use super::{Claim, Judged, Lab, Outfit, Scenario, Verdict, skip};
use crate::guest::Guest;
use crate::kernel::Kernel;
use crate::wire::Output;
use anyhow::{Result, ensure};
use seen::Seen;

/// Tunes and reverts, on only as many kernels as a quick run has time for.
pub const TUNE: Scenario = Scenario {
    name: "tune",
    claims: CLAIMS,
    wants: |spec| ["12-amd64", "12-rt-amd64", "13-rt-amd64", "12-rt-arm64"].contains(&spec.id),
    run,
};

const CLAIMS: &[Claim] = &[
    Claim {
        id: "tune.applied",
        says: "after `tune --cpus 2-3` no queue, interrupt, watchdog or movable thread of the kernel may use CPUs 2-3, and \
               settings are what was said to be done",
    },
    Claim {
        id: "tune.status",
        says: "`status` says of everything that it is in force, but for words that wait for a boot and interrupts that have \
               yet to come",
    },
    Claim {
        id: "tune.check",
        says: "`check` on the tuned machine ends with a verdict, and every release of CPUs 2-3 is accounted for",
    },
    Claim {
        id: "tune.reverted",
        says: "`revert` leaves every value, thread, mask and file as it was, and nothing of its own",
    },
];

const TUNE_NOW: &str = "punctual tune --cpus 2-3 --yes --json";

/// A hundred releases, with a budget that shows whether an emulated machine works, and nothing else.
const CHECK_NOW: &str = "punctual check --cpus 2-3 --period 20ms --budget 10ms --duration 2s --load idle --no-explain --json \
                         --out /dev/shm/check.punctual; code=$?; rm -f /dev/shm/check.*; (exit $code)";

fn run(lab: &Lab, kernel: &Kernel) -> Result<Judged> {
    if lab.product(kernel.spec.arch)?.is_none() {
        return Ok(skip(CLAIMS, "this toolchain builds no program for that architecture"));
    }
    let mut bench = Bench::boot(lab, kernel, "tune")?;
    let before = bench.seen("before")?;
    let applied = bench.output("applied.json", TUNE_NOW)?;
    let tuned = bench.seen("tuned")?;
    let status = bench.output("status.json", "punctual status --json")?;
    let checked = bench.output("checked.json", CHECK_NOW)?;
    let reverted = bench.output("reverted.json", "punctual revert --json")?;
    let after = bench.seen("after")?;
    let mut complaints = judge::ended(&reverted, &[0]);
    complaints.extend(after.differences(&before));
    Ok(vec![
        ("tune.applied", Verdict::of(&judge::applied(&applied, &before, &tuned))),
        ("tune.status", Verdict::of(&judge::status(&status))),
        ("tune.check", Verdict::of(&judge::checked(&checked))),
        ("tune.reverted", Verdict::of(&complaints)),
    ])
}

/// A guest whose settings are changed. The outputs of its commands are kept in files.
struct Bench<'a> {
    lab: &'a Lab,
    kernel: &'a Kernel,
    name: &'static str,
    guest: Guest,
}

impl<'a> Bench<'a> {
    /// Boots an unprepared machine, with a boot loader whose file can be edited.
    fn boot(lab: &'a Lab, kernel: &'a Kernel, name: &'static str) -> Result<Self> {
        let guest = lab.boot(kernel, name, Outfit::default())?;
        crate::say(&format!("up after {:.0} s, try {}", guest.boot_time.as_secs_f64(), guest.tries));
        let mut bench = Self { lab, kernel, name, guest };
        let lines = r"DEFAULT linux\nTIMEOUT 10\nLABEL linux\n  KERNEL /boot/vmlinuz\n  APPEND quiet\n";
        bench.must(&format!("mkdir -p /boot/extlinux && printf '{lines}' >/boot/extlinux/extlinux.conf"))?;
        Ok(bench)
    }

    /// Runs a command in the guest, and keeps its output in a file.
    fn output(&mut self, what: &str, command: &str) -> Result<Output> {
        let output = self.guest.command(command)?;
        let text = format!("$ {command}\n{}{}ended with {}\n", output.out, output.err, output.code);
        self.lab.keep(self.name, self.kernel, what, &text)?;
        Ok(output)
    }

    /// The standard output of a command that must succeed.
    fn must(&mut self, command: &str) -> Result<String> {
        let output = self.guest.command(command)?;
        ensure!(output.code == 0, "`{command}` ended with {}: {}", output.code, output.err.trim());
        Ok(output.out)
    }

    /// Reads the present state of the guest.
    fn seen(&mut self, what: &str) -> Result<Seen> {
        let text = self.must("sh /usr/lib/lab/read")?;
        self.lab.keep(self.name, self.kernel, what, &text)?;
        Ok(Seen::of(&text))
    }
}
