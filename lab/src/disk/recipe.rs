//! Makes the disk from Debian's own packages: one partition, and GRUB, which the machine installs itself.
//!
//! The constants of this file determine the content of the disk, and their hash is the disk's name in the cache.
//! Neither a loop device nor a mount is needed: `mke2fs -d` fills the file system. At its first start, the machine gets
//! its kernel from QEMU and installs the boot loader, as an installer does.

use super::agent;
use super::machine::Machine;
use super::qemu::{Computer, Kernel};
use super::tree::hex;
use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Debian packages that the host needs.
pub const HOST_PACKAGES: [&str; 7] =
    ["debian-archive-keyring", "e2fsprogs", "fdisk", "mmdebstrap", "qemu-system-x86", "qemu-utils", "util-linux"];

const SUITE: &str = "bookworm";

/// Packages on the disk in addition to the base system. There are two kernels, so that there are several boot entries
/// to choose from.
const PACKAGES: [&str; 16] = [
    "dbus",
    "e2fsprogs",
    "grub-pc",
    "initramfs-tools",
    "iproute2",
    "irqbalance",
    "kmod",
    "linux-image-amd64",
    "linux-image-rt-amd64",
    "login",
    "procps",
    "systemd",
    "systemd-sysv",
    "udev",
    "util-linux",
    "zstd",
];

/// Offset of the only partition on the disk, in bytes.
pub const PARTITION: u64 = 1 << 20;

const PARTITION_MB: u64 = 3_000;

/// Creation time of the file system, in seconds since 1970: a day before the guests' clocks start.
const CLOCK: &str = "1782820800";

const FILE_SYSTEM: &str = "6d0a7c1e-6f4e-4e55-8f0b-6f2d3b1b7c55";

/// The lab's own files on the disk: path, permissions, content.
const FILES: [(&str, u32, &str); 6] = [
    ("usr/local/sbin/lab-agent", 0o755, agent::SCRIPT),
    ("etc/systemd/system/lab-agent.service", 0o644, agent::UNIT),
    ("etc/fstab", 0o644, include_str!("guest/fstab")),
    ("etc/hostname", 0o644, "lab\n"),
    ("etc/hosts", 0o644, "127.0.0.1 localhost\n127.0.1.1 lab\n"),
    ("etc/default/grub.d/10-serial.cfg", 0o644, include_str!("guest/grub.cfg")),
];

/// Commands that the machine runs at its first start.
const FIRST_START: [&str; 3] = ["grub-install --target=i386-pc /dev/vda", "update-grub", "sync"];

/// A disk that has never been started through its own boot loader. Nothing may write to it.
#[derive(Clone, Debug)]
pub struct Image {
    pub disk: PathBuf,
    /// How long making the disk took; `None` if it was already in the cache.
    pub made_in: Option<Duration>,
}

/// Returns the disk from the cache. If there is no disk of this recipe, makes it first.
pub fn image(cache: &Path) -> Result<Image> {
    let disk = cache.join(format!("disk-{}.raw", name()));
    if disk.exists() {
        return Ok(Image { disk, made_in: None });
    }
    let started = Instant::now();
    fs::create_dir_all(cache).with_context(|| format!("create {}", cache.display()))?;
    let work = cache.join(format!("making-{}", std::process::id()));
    let made = make(&work);
    let kept = made.and_then(|made| fs::rename(&made, &disk).context("put the disk into the cache"));
    fs::remove_dir_all(&work).with_context(|| format!("remove {}", work.display()))?;
    kept?;
    Ok(Image { disk, made_in: Some(started.elapsed()) })
}

/// A hash of everything that determines the content of the disk, except the versions of the packages.
fn name() -> String {
    let mut hash = Sha256::new();
    hash.update(format!(
        "{SUITE} {PACKAGES:?} {PARTITION} {PARTITION_MB} {FILE_SYSTEM} {CLOCK} {FILES:?} {FIRST_START:?}"
    ));
    hex(hash.finalize().get(..8).unwrap_or_default())
}

fn make(work: &Path) -> Result<PathBuf> {
    fs::create_dir_all(work).with_context(|| format!("create {}", work.display()))?;
    let root = work.join("root");
    say(format_args!("{SUITE} with {} packages", PACKAGES.len()));
    unpack(&root)?;
    for (path, mode, contents) in FILES {
        let full = root.join(path);
        let parent = full.parent().context("a file of the recipe has no folder")?;
        fs::create_dir_all(parent).with_context(|| format!("create {}", parent.display()))?;
        fs::write(&full, contents).with_context(|| format!("write {}", full.display()))?;
        fs::set_permissions(&full, fs::Permissions::from_mode(mode))?;
    }
    let wants = root.join("etc/systemd/system/multi-user.target.wants");
    fs::create_dir_all(&wants)?;
    std::os::unix::fs::symlink("../lab-agent.service", wants.join("lab-agent.service")).context("enable the agent")?;
    let kernel = kernel_of(&root, work)?;
    say(format_args!("a file system of {PARTITION_MB} MB"));
    let disk = work.join("disk.raw");
    fill(&root, &disk)?;
    fs::remove_dir_all(&root).with_context(|| format!("remove {}", root.display()))?;
    say(format_args!("first start: the boot loader"));
    first_start(work, &disk, kernel)?;
    Ok(disk)
}

fn unpack(root: &Path) -> Result<()> {
    let mut command = Command::new("mmdebstrap");
    command.args(["--quiet", "--variant=minbase", "--mode=root"]);
    command.arg("--aptopt=APT::Install-Recommends \"false\"");
    command.arg(format!("--include={}", PACKAGES.join(","))).arg(SUITE).arg(root);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    run(&mut command)
}

/// Copies the real-time kernel and its initrd out of the tree, for the machine's first start.
fn kernel_of(root: &Path, work: &Path) -> Result<Kernel> {
    let boot = root.join("boot");
    let (image, initrd) = (work.join("vmlinuz"), work.join("initrd"));
    for (start, to) in [("vmlinuz-", &image), ("initrd.img-", &initrd)] {
        let mut found = None;
        for entry in fs::read_dir(&boot).with_context(|| format!("list {}", boot.display()))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.starts_with(start) && name.ends_with("-rt-amd64") {
                found = Some(boot.join(name));
            }
        }
        let from = found.with_context(|| format!("no {start}*-rt-amd64 in {}", boot.display()))?;
        fs::copy(&from, to).with_context(|| format!("copy {}", from.display()))?;
    }
    let words = format!("root=UUID={FILE_SYSTEM} ro console=ttyS0 quiet panic=5");
    Ok(Kernel { image, initrd, words })
}

/// Creates a disk with a partition table, and a file system with the files of a tree.
fn fill(root: &Path, disk: &Path) -> Result<()> {
    let file = fs::File::create(disk).with_context(|| format!("create {}", disk.display()))?;
    file.set_len(PARTITION + (PARTITION_MB << 20)).context("size the disk")?;
    let table = disk.with_extension("table");
    fs::write(
        &table,
        format!("label: dos\nstart={}, size={}, type=83, bootable\n", PARTITION / 512, PARTITION_MB << 11),
    )?;
    let mut sfdisk = Command::new("/sbin/sfdisk");
    run(sfdisk.args(["--quiet", "--no-tell-kernel"]).arg(disk).stdin(fs::File::open(&table)?))?;
    let mut mke2fs = Command::new("/sbin/mke2fs");
    mke2fs.args(["-q", "-F", "-t", "ext4", "-L", "root", "-U", FILE_SYSTEM]);
    mke2fs.arg("-E").arg(format!("offset={PARTITION},root_owner=0:0,lazy_itable_init=0,lazy_journal_init=0"));
    // The time is that of the guests' clocks and not the host's: a file system from the future would be checked at
    // every start.
    mke2fs.env("E2FSPROGS_FAKE_TIME", CLOCK);
    run(mke2fs.arg("-d").arg(root).arg(disk).arg(format!("{PARTITION_MB}m")))
}

fn first_start(work: &Path, disk: &Path, kernel: Kernel) -> Result<()> {
    let computer = Computer { disk: disk.to_owned(), second_disk: None, kernel: Some(kernel), folder: work.to_owned() };
    let (mut machine, _) = Machine::start(&computer)?;
    for command in FIRST_START {
        machine.run(command, Duration::from_secs(300))?.ok(command)?;
    }
    machine.power_off()?;
    Ok(())
}

/// The packages that are not installed on the host.
pub fn missing_on_host() -> Vec<&'static str> {
    let there = |package: &&str| {
        let mut query = Command::new("dpkg-query");
        query.args(["-W", "-f=${db:Status-Status}", package]).stdin(Stdio::null()).stderr(Stdio::null());
        query.output().is_ok_and(|output| output.stdout == b"installed")
    };
    HOST_PACKAGES.into_iter().filter(|package| !there(package)).collect()
}

/// Installs the missing packages on the host. If that is not possible, the error names them.
pub fn install_on_host() -> Result<()> {
    let missing = missing_on_host();
    if missing.is_empty() {
        return Ok(());
    }
    run(Command::new("apt-get").args(["update", "-qq"]))?;
    let mut install = Command::new("apt-get");
    install
        .args(["install", "--yes", "--no-install-recommends"])
        .args(&missing)
        .env("DEBIAN_FRONTEND", "noninteractive");
    run(&mut install).with_context(|| format!("missing on this machine: {}", missing.join(" ")))?;
    ensure!(missing_on_host().is_empty(), "apt-get installed, but some of {} are still missing", missing.join(" "));
    Ok(())
}

/// Runs a program of the host. If the program fails, the error contains its output.
pub fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("start {name} (is it installed?)"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{name} ended with {}: {}", output.status, said.trim());
    }
    Ok(())
}

fn say(what: std::fmt::Arguments<'_>) {
    println!("  making the disk: {what}");
}
