//! The machine of one story: a copy of the cached disk, with the program on it.
//!
//! This module decides where the lab's files lie. It knows no story.

use super::machine::{Machine, Start};
use super::qemu::Computer;
use super::recipe::{self, PARTITION, run};
use super::tree::{self, Files};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Path of the program in the guest.
pub const PROGRAM: &str = "/usr/local/bin/punctual";

/// A computer with a copy of the disk, in a folder that is removed when this value is dropped.
#[derive(Debug)]
pub struct Bench {
    folder: PathBuf,
    /// The folder to which the logs are copied at the end.
    logs: PathBuf,
    computer: Computer,
}

impl Bench {
    /// Copies the disk into a new folder of `cache`, and puts `program` on the guest's second disk.
    pub fn new(cache: &Path, image: &Path, name: &str, program: Option<&Path>) -> Result<Self> {
        let folder = cache.join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
        let disk = folder.join("disk.raw");
        let mut copy = Command::new("cp");
        run(copy.args(["--sparse=always", "--reflink=auto"]).arg(image).arg(&disk))?;
        let second_disk = program.map(|program| packed(&folder, program)).transpose()?;
        let computer = Computer { disk, second_disk, kernel: None, folder: folder.clone() };
        let logs = cache.join("logs").join(name);
        Ok(Self { folder, logs, computer })
    }

    /// Switches the computer on. It starts through its own boot loader.
    pub fn start(&self) -> Result<(Machine, Start)> {
        Machine::start(&self.computer)
    }

    /// Reads every file of the disk; the machine must be off.
    pub fn files(&self) -> Result<Files> {
        tree::read(&self.computer.disk, PARTITION)
    }

    /// Reads one file of the disk; the machine must be off.
    pub fn file(&self, path: &str) -> Result<Vec<u8>> {
        tree::read_one(&self.computer.disk, PARTITION, path)
    }

    /// Reads a text file of the disk, and keeps a copy among the logs; the machine must be off.
    pub fn keep(&self, path: &str) -> Result<String> {
        let bytes = self.file(path)?;
        let name = Path::new(path).file_name().context("the file has no name")?;
        fs::create_dir_all(&self.logs).with_context(|| format!("create {}", self.logs.display()))?;
        fs::write(self.logs.join(name), &bytes).with_context(|| format!("keep a copy of {path}"))?;
        String::from_utf8(bytes).with_context(|| format!("read {path} as text"))
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // Errors are ignored, because the verdict on a story does not depend on its logs.
        let _ = fs::create_dir_all(&self.logs);
        for log in [self.computer.console(), self.computer.transcript()] {
            let _ = log.file_name().map(|name| fs::copy(&log, self.logs.join(name)));
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns the path of the cached disk. If it does not exist, makes the disk and prints how long that took.
pub fn image(cache: &Path) -> Result<PathBuf> {
    let image = recipe::image(cache)?;
    if let Some(took) = image.made_in {
        println!("  disk made in {} s: {}", took.as_secs(), image.disk.display());
    }
    Ok(image.disk)
}

/// Copies the program from the second disk to its place in the guest.
pub fn install(machine: &mut Machine) -> Result<()> {
    let to = Path::new(PROGRAM).parent().context("the program has no folder")?;
    machine.ask(&format!("tar -x -f /dev/vdb -C {} && sync && {PROGRAM} --version", to.display()))?;
    Ok(())
}

/// Packs the program into a tar archive, which a guest can read directly from a disk.
fn packed(folder: &Path, program: &Path) -> Result<PathBuf> {
    let archive = folder.join("program.tar");
    let (parent, name) = (program.parent().unwrap_or(Path::new("/")), program.file_name().context("name the program")?);
    let mut tar = Command::new("tar");
    tar.args(["--owner=0", "--group=0", "--mode=755", "--blocking-factor=64"]);
    run(tar.arg("-cf").arg(&archive).arg("-C").arg(parent).arg(name))?;
    Ok(archive)
}
