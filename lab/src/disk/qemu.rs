//! The emulated computer: one process of QEMU, which never outlives this process.
//!
//! This module does not know what runs inside. The emulation needs no hardware support, so it works everywhere. The
//! computer has four CPUs, because with fewer there would be nothing to isolate.

use anyhow::{Context, Result};
use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The time on a guest's clock when it is switched on. It is the same for all guests, so that no daily job becomes due
/// between two starts.
const SWITCHED_ON: &str = "2026-07-01T12:00:00";

/// The parts of a computer that is switched off.
#[derive(Clone, Debug)]
pub struct Computer {
    /// The first disk, to which the guest writes.
    pub disk: PathBuf,
    /// A second disk, which is read-only.
    pub second_disk: Option<PathBuf>,
    /// A kernel to start instead of the one that the disk's boot loader chooses.
    pub kernel: Option<Kernel>,
    /// The folder for sockets and for the console's log.
    pub folder: PathBuf,
}

/// A kernel that is started without a boot loader.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub image: PathBuf,
    /// The initial RAM disk of the kernel.
    pub initrd: PathBuf,
    pub words: String,
}

/// A running QEMU. It ends when this value is dropped or this process ends.
#[derive(Debug)]
pub struct Qemu(Child);

impl Computer {
    /// Path of the log of the first serial line. It is kept when the computer is switched on again.
    pub fn console(&self) -> PathBuf {
        self.folder.join("console.log")
    }

    /// Path of the log of all commands that the guest was given, with their output.
    pub fn transcript(&self) -> PathBuf {
        self.folder.join("transcript.log")
    }

    /// Switches the computer on. Returns QEMU and the line to the agent.
    pub fn switch_on(&self) -> Result<(Qemu, UnixStream)> {
        let socket = self.folder.join("agent.sock");
        let _ = std::fs::remove_file(&socket);
        let log = self.folder.join("qemu.log");
        let said = std::fs::File::create(&log).with_context(|| format!("create {}", log.display()))?;
        // `setpriv` is replaced by QEMU in the same process, so the kernel kills QEMU itself when this process ends.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "qemu-system-x86_64"]).args(self.arguments(&socket));
        command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
        let mut qemu = Qemu(command.spawn().context("start qemu-system-x86_64 (is it installed?)")?);
        let line = connect(&socket, &mut qemu).with_context(|| format!("see {}", log.display()))?;
        Ok((qemu, line))
    }

    fn arguments(&self, socket: &Path) -> Vec<OsString> {
        let mut all = words("-name punctual-lab -M q35 -accel tcg,thread=multi -cpu max -smp 4 -m 2G");
        // A reset ends QEMU, and the lab starts it again, because the emulator sometimes hangs in a warm restart. The
        // boot loader reads the same disk either way.
        all.extend(words("-display none -monitor none -nodefaults -no-reboot"));
        all.extend(words(&format!("-rtc base={SWITCHED_ON},clock=vm")));
        all.extend(words("-device virtio-rng-pci -netdev user,id=net,restrict=on -device virtio-net-pci,netdev=net"));
        // Data that the guest has flushed must survive the guest but not the host, so the host need not sync it.
        all.extend([OsString::from("-drive"), drive(&self.disk, "disk", "cache=unsafe")]);
        all.extend(words("-device virtio-blk-pci,drive=disk,num-queues=4,serial=LAB0001"));
        if let Some(second) = &self.second_disk {
            all.extend([OsString::from("-drive"), drive(second, "second", "readonly=on")]);
            all.extend(words("-device virtio-blk-pci,drive=second,serial=LAB0002"));
        }
        all.extend([OsString::from("-chardev"), joined("file,id=console,append=on,path=", &self.console())]);
        all.extend(words("-serial chardev:console"));
        all.extend([OsString::from("-chardev"), joined("socket,id=agent,server=on,wait=on,path=", socket)]);
        // A second serial line would not work: with threaded interrupts the kernel disables its interrupt ("nobody
        // cared").
        all.extend(words("-device virtio-serial-pci -device virtserialport,chardev=agent,name=lab"));
        if let Some(kernel) = &self.kernel {
            all.extend([OsString::from("-kernel"), kernel.image.clone().into()]);
            all.extend([OsString::from("-initrd"), kernel.initrd.clone().into()]);
            all.extend([OsString::from("-append"), kernel.words.clone().into()]);
        }
        all
    }
}

impl Qemu {
    /// Whether QEMU has ended by itself.
    pub fn ended(&mut self) -> Result<bool> {
        Ok(self.0.try_wait().context("ask whether QEMU has ended")?.is_some())
    }

    /// Whether QEMU has ended by itself or does so within ten seconds. Its sockets close before it ends.
    pub fn ends(&mut self) -> Result<bool> {
        let patience = Instant::now() + Duration::from_secs(10);
        while !self.ended()? {
            if Instant::now() > patience {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(true)
    }

    /// Kills QEMU, which for the guest is like a power failure.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        self.kill();
    }
}

fn words(text: &str) -> Vec<OsString> {
    text.split_ascii_whitespace().map(OsString::from).collect()
}

fn joined(before: &str, path: &Path) -> OsString {
    let mut word = OsString::from(before);
    word.push(path);
    word
}

fn drive(file: &Path, id: &str, options: &str) -> OsString {
    joined(&format!("if=none,format=raw,id={id},{options},file="), file)
}

/// Connects to the agent's line. QEMU waits for this before it starts the guest, so no output of the guest is missed.
fn connect(socket: &Path, qemu: &mut Qemu) -> Result<UnixStream> {
    let patience = Instant::now() + Duration::from_secs(20);
    loop {
        match UnixStream::connect(socket) {
            Ok(line) => return Ok(line),
            Err(error) if qemu.ended()? || Instant::now() > patience => {
                return Err(error).context("QEMU did not start");
            }
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}
