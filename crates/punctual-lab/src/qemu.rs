//! The command that starts QEMU with a kernel and an archive of files. The computer is emulated, so no virtualization is
//! needed.
//!
//! This module does not know what runs in the computer.

use crate::kernel::Arch;
use crate::program;
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// The source of time in a guest, and its number of CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// The host's time and four CPUs: whatever delays the host also delays the guest.
    #[default]
    Host,
    /// The number of executed instructions, two nanoseconds each; while all CPUs of the guest are idle, the host's
    /// time. So nothing outside can delay a guest that works. The guest's two CPUs run in turn.
    Instructions,
    /// The number of executed instructions, eight nanoseconds each. While the guest's only CPU is idle, time jumps to
    /// its next timer. Nothing of the host is in this time: the same files and the same seed give the same run, see
    /// [`VIRTUAL`].
    Virtual {
        /// Seed of everything in the guest that is random.
        seed: u64,
    },
}

/// The connection of the guest's serial line.
#[derive(Clone, Copy, Debug)]
pub enum Line<'a> {
    /// Standard input and output of QEMU.
    Stdio,
    /// A file to which the guest writes. It never makes the guest wait, which would depend on the host.
    File(&'a Path),
}

/// A computer that is switched off.
#[derive(Clone, Copy, Debug)]
pub struct Computer<'a> {
    pub arch: Arch,
    /// The kernel's image, which QEMU starts without a boot loader.
    pub image: &'a Path,
    /// The file with the guest's root file system.
    pub initramfs: &'a Path,
    /// Words of the kernel's command line, without the console.
    pub words: &'a str,
    pub memory_mib: u32,
    pub clock: Clock,
    pub line: Line<'a>,
}

/// The option of [`Clock::Virtual`]: eight nanoseconds each instruction, and no waiting.
///
/// The run is recorded, and the record thrown away, because only then do QEMU's two threads take turns. Else the main
/// thread sometimes lets time jump to the next timer in the moment between the guest's instruction that halts the CPU and
/// the count of the instructions before it. Then time jumps too far by these, and the run differs from all others.
const VIRTUAL: &str = "shift=3,sleep=off,rr=record,rrfile=/dev/null";

/// The time on the guest's clock when it is switched on, with [`Clock::Virtual`].
const SWITCHED_ON: &str = "base=2026-01-01T00:00:00,clock=vm";

impl Computer<'_> {
    /// The command that switches the computer on. QEMU ends when the guest switches off or restarts, and at the latest
    /// when the calling process ends.
    pub fn command(&self) -> Result<Command> {
        let (machine, console) = match self.arch {
            Arch::Amd64 => (["-M", "q35", "-cpu", "max"], "ttyS0"),
            Arch::Arm64 => (["-M", "virt", "-cpu", "max,pauth-impdef=on"], "ttyAMA0"),
        };
        let qemu = program::find(self.arch.qemu())?;
        // The kernel kills the guest when this process ends, however it ends.
        let mut command = program::find("setpriv")?;
        command.args(["--pdeathsig", "KILL"]).arg(qemu.get_program());
        command.args(machine).args(["-m", &self.memory_mib.to_string()]);
        match self.clock {
            Clock::Host => command.args(["-accel", "tcg,thread=multi", "-smp", "4"]),
            Clock::Instructions => command.args(["-accel", "tcg,thread=single", "-icount", "shift=1", "-smp", "2"]),
            Clock::Virtual { seed } => command
                .args(["-accel", "tcg,thread=single", "-icount", VIRTUAL, "-smp", "1"])
                .args(["-rtc", SWITCHED_ON, "-seed", &seed.to_string()]),
        };
        command.args(["-nodefaults", "-display", "none", "-no-reboot"]);
        match self.line {
            Line::Stdio => command.args(["-chardev", "stdio,id=line,signal=off", "-serial", "chardev:line"]),
            // A comma in a value is written twice.
            Line::File(path) => command.arg("-serial").arg(format!("file:{}", path.display()).replace(',', ",,")),
        };
        command.arg("-kernel").arg(self.image).arg("-initrd").arg(self.initramfs);
        command.arg("-append").arg(format!("console={console} {}", self.words));
        Ok(command)
    }
}
