//! The emulated computer: one process of QEMU, how it is put together, and that it never outlives us.
//!
//! It knows nothing of what runs inside. Software emulation, because it works everywhere; four processors, because less
//! leaves nothing to isolate.

use anyhow::{Context, Result};
use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The time at which every guest is switched on: the same for all, so that no daily job falls due between two of them.
const SWITCHED_ON: &str = "2026-07-01T12:00:00";

/// A computer that is switched off: what it is made of.
#[derive(Clone, Debug)]
pub struct Computer {
    /// Its first disk, written to.
    pub disk: PathBuf,
    /// A second disk, read only, or none.
    pub second_disk: Option<PathBuf>,
    /// A kernel to start instead of what the disk's boot loader chooses.
    pub kernel: Option<Kernel>,
    /// Where its sockets and its console's log go.
    pub folder: PathBuf,
}

/// A kernel that is started without a boot loader.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub image: PathBuf,
    /// The first file system.
    pub initrd: PathBuf,
    pub words: String,
}

/// A running QEMU; ends with this value, and with this process.
#[derive(Debug)]
pub struct Qemu(Child);

impl Computer {
    /// Where all that the first serial line says is kept, from one switching on to the next.
    pub fn console(&self) -> PathBuf {
        self.folder.join("console.log")
    }

    /// Where all that it was asked is kept, with the answers.
    pub fn transcript(&self) -> PathBuf {
        self.folder.join("transcript.log")
    }

    /// Switches it on; gives the line to the agent.
    pub fn switch_on(&self) -> Result<(Qemu, UnixStream)> {
        let socket = self.folder.join("agent.sock");
        let _ = std::fs::remove_file(&socket);
        let log = self.folder.join("qemu.log");
        let said = std::fs::File::create(&log).with_context(|| format!("create {}", log.display()))?;
        // setpriv becomes QEMU: what dies with us is QEMU itself, whatever became of us.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "qemu-system-x86_64"]).args(self.arguments(&socket));
        command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
        let mut qemu = Qemu(command.spawn().context("start qemu-system-x86_64 (is it installed?)")?);
        let line = connect(&socket, &mut qemu).with_context(|| format!("see {}", log.display()))?;
        Ok((qemu, line))
    }

    fn arguments(&self, socket: &Path) -> Vec<OsString> {
        let mut all = words("-name punctual-lab -M q35 -accel tcg,thread=multi -cpu max -smp 4 -m 2G");
        // A reset ends it, and the lab switches it on anew: the boot loader reads the same disk either way, and the
        // emulator now and then hangs in a warm restart.
        all.extend(words("-display none -monitor none -nodefaults -no-reboot"));
        all.extend(words(&format!("-rtc base={SWITCHED_ON},clock=vm")));
        all.extend(words("-device virtio-rng-pci -netdev user,id=net,restrict=on -device virtio-net-pci,netdev=net"));
        // What the guest has flushed needs to survive the guest, not the host.
        all.extend([OsString::from("-drive"), drive(&self.disk, "disk", "cache=unsafe")]);
        all.extend(words("-device virtio-blk-pci,drive=disk,num-queues=4,serial=LAB0001"));
        if let Some(second) = &self.second_disk {
            all.extend([OsString::from("-drive"), drive(second, "second", "readonly=on")]);
            all.extend(words("-device virtio-blk-pci,drive=second,serial=LAB0002"));
        }
        all.extend([OsString::from("-chardev"), joined("file,id=console,append=on,path=", &self.console())]);
        all.extend(words("-serial chardev:console"));
        all.extend([OsString::from("-chardev"), joined("socket,id=agent,server=on,wait=on,path=", socket)]);
        // Not a second serial line: with threaded interrupts the kernel gives up on that one's ("nobody cared").
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
    /// Whether it has ended by itself.
    pub fn ended(&mut self) -> Result<bool> {
        Ok(self.0.try_wait().context("ask whether QEMU has ended")?.is_some())
    }

    /// Whether it has ended by itself, or does so within a few seconds: its sockets close first.
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

    /// As pulling the plug.
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

/// QEMU waits for us before it starts the guest, so nothing that the guest says is missed.
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
