//! A machine that runs in QEMU and executes one command after the other. It is emulated, so no virtualization is
//! needed.
//!
//! This module does not know what the commands test. The machine ends when its value is dropped, and no wait lasts
//! forever.

use crate::kernel::Kernel;
use crate::wire::{Frame, Output, READY};
use anyhow::{Context, Result, anyhow, bail};
pub use punctual_lab::qemu::Clock;
use punctual_lab::qemu::{Computer, Line};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long a guest may take to boot.
const BOOT_TIME: Duration = Duration::from_secs(300);
/// How long a command in a guest may take by default.
const COMMAND_TIME: Duration = Duration::from_secs(300);
/// How often a boot is tried. Early in boot, an emulated x86 kernel that patches its own code sometimes fails, which is
/// an error of the emulator.
const TRIES: u32 = 3;

/// The configuration of a guest.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// Words of the kernel's command line, without the console.
    pub words: &'a str,
    /// The file with the guest's root file system.
    pub initramfs: &'a Path,
    pub memory_mib: u32,
    pub clock: Clock,
    /// The file to which all output of the guest is written.
    pub log: &'a Path,
}

/// A running guest that accepts commands.
pub struct Guest {
    qemu: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    log: PathBuf,
    /// Number of attempts until the guest started.
    pub tries: u32,
    /// How long the boot that succeeded took.
    pub boot_time: Duration,
}

impl Guest {
    /// Starts a guest, and waits until it accepts commands.
    pub fn boot(kernel: &Kernel, setup: Setup<'_>) -> Result<Self> {
        let mut last = anyhow!("never started");
        for tries in 1..=TRIES {
            let start = Instant::now();
            let mut guest = Self::start(kernel, setup)?;
            match guest.wait_for(BOOT_TIME, |line| line == READY) {
                Ok(()) => {
                    guest.tries = tries;
                    guest.boot_time = start.elapsed();
                    return Ok(guest);
                }
                Err(error) => {
                    crate::say(&format!("{}: boot {tries} of {TRIES} failed: {error:#}", kernel.spec.id));
                    last = error;
                }
            }
        }
        Err(last).with_context(|| format!("boot {} with '{}'", kernel.spec.id, setup.words))
    }

    /// Runs one line of the guest's shell, within [`COMMAND_TIME`].
    pub fn command(&mut self, command: &str) -> Result<Output> {
        self.command_within(command, COMMAND_TIME)
    }

    /// Runs one line of the guest's shell, within the given time.
    pub fn command_within(&mut self, command: &str, time: Duration) -> Result<Output> {
        // A terminal accepts at most 4095 bytes as one line.
        if command.len() > 4000 || command.contains('\n') {
            bail!("a command for a guest is one line of up to 4000 bytes, not '{command}'");
        }
        writeln!(self.input, "{command}").and_then(|()| self.input.flush()).context("send a command to the guest")?;
        let mut frame = Frame::default();
        let mut answer = None;
        self.wait_for(time, |line| {
            answer = frame.take(line);
            answer.is_some()
        })
        .with_context(|| format!("wait for the answer to '{command}'"))?;
        answer.context("no answer")?.with_context(|| format!("read the answer to '{command}'"))
    }

    /// Id of QEMU's process, which ends when this value is dropped.
    pub fn process(&self) -> u32 {
        self.qemu.id()
    }

    fn start(kernel: &Kernel, setup: Setup<'_>) -> Result<Self> {
        let mut log = File::create(setup.log).with_context(|| format!("create {}", setup.log.display()))?;
        let errors = log.try_clone().context("write to the log twice")?;
        let computer = Computer {
            arch: kernel.spec.arch,
            image: &kernel.image,
            initramfs: setup.initramfs,
            words: &format!("quiet {}", setup.words),
            memory_mib: setup.memory_mib,
            clock: setup.clock,
            line: Line::Stdio,
        };
        let mut command = computer.command()?;
        let mut qemu = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .with_context(|| format!("start {}", command.get_program().to_string_lossy()))?;
        let (input, output) = qemu.stdin.take().zip(qemu.stdout.take()).context("no line to the guest")?;
        let (sender, lines) = channel();
        // The thread ends when QEMU closes its output.
        std::thread::spawn(move || {
            let mut reader = BufReader::new(output);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                // An error is ignored, because the guest works without its log.
                let _ = writeln!(log, "{text}");
                if sender.send(text).is_err() {
                    break;
                }
                line.clear();
            }
        });
        Ok(Self { qemu, input, lines, log: setup.log.to_owned(), tries: 0, boot_time: Duration::ZERO })
    }

    fn wait_for(&mut self, time: Duration, mut done: impl FnMut(&str) -> bool) -> Result<()> {
        let until = Instant::now() + time;
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) if done(&line) => return Ok(()),
                Ok(line) if line.contains("Kernel panic") => bail!("{line} (log: {})", self.log.display()),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => {
                    bail!("nothing within {} s (log: {})", time.as_secs(), self.log.display())
                }
                Err(RecvTimeoutError::Disconnected) => bail!("the guest ended (log: {})", self.log.display()),
            }
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // Fails if QEMU has ended by itself.
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}
