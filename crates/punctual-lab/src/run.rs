//! One run of a kernel: packs the program and its jobs, boots, and reads the answers once QEMU has ended.
//!
//! What a guest printed before it failed is kept, because its last lines say why.

use crate::cpio::Archive;
use crate::inside::{JOBS, Job, Jobs};
use crate::kernel::Arch;
use crate::qemu::{Clock, Computer, Line};
use crate::wire::{DONE, Frame, Output, READY};
use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The path of the program in a guest. It is also the guest's first program.
pub const PROGRAM: &str = "/usr/bin/punctual";
/// How often QEMU is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Number of the guest's last lines that a failure keeps.
const LAST_LINES: usize = 12;
/// Longest time to boot, on the host.
const BOOT_TIME: Duration = Duration::from_secs(300);
/// Longest time to the guest's first output, on the host. On an idle one it takes a second or two.
const SILENT_TIME: Duration = Duration::from_secs(90);

/// A kernel with a name for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub name: String,
    pub arch: Arch,
    pub image: PathBuf,
    /// Words of the kernel's command line.
    pub words: Vec<String>,
    /// Kernel modules that are loaded before the first job.
    pub modules: Vec<PathBuf>,
}

/// What is done with the kernel.
#[derive(Clone, Debug)]
pub struct Order<'a> {
    /// A static program for the kernel's architecture, which acts as [`crate::inside`] says.
    pub program: &'a Path,
    /// Further programs: the path in the guest, and the path on this machine.
    pub luggage: &'a [(String, PathBuf)],
    pub jobs: Vec<Job>,
    pub clock: Clock,
    pub memory_mib: u32,
    /// Longest time of the jobs together, on the host.
    pub limit: Duration,
    /// The file for all that the guest prints. The archive is written beside it for as long as the guest runs.
    pub log: &'a Path,
}

/// Why there are no answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// QEMU did not take the kernel, and says why.
    Refused { last: Vec<String> },
    /// The kernel did not start its first program.
    NoBoot { last: Vec<String> },
    /// The kernel panicked, hung or restarted while it worked.
    Died { last: Vec<String> },
    /// The jobs took longer than they may.
    TooLong { last: Vec<String> },
    /// The user asked to end.
    Interrupted,
}

/// Boots the kernel once. The outer error is about this machine, the inner one about the guest.
pub fn run(subject: &Subject, order: &Order<'_>, interrupted: &AtomicBool) -> Result<Result<Vec<Output>, Failure>> {
    let initramfs = order.log.with_extension("cpio");
    let archive = pack(subject, order)?;
    fs::write(&initramfs, archive).with_context(|| format!("write {}", initramfs.display())).inspect_err(|_| {
        let _ = fs::remove_file(&initramfs);
    })?;
    let judged = booted(subject, order, &initramfs, interrupted);
    let removed = fs::remove_file(&initramfs).with_context(|| format!("remove {}", initramfs.display()));
    let judged = judged?;
    removed?;
    Ok(judged)
}

/// Boots, and judges what the guest printed. QEMU goes on without a word when the disk for the guest's lines is full. So
/// before a kernel is blamed for missing lines, a line is added to them, while the archive still takes its room.
fn booted(
    subject: &Subject,
    order: &Order<'_>,
    initramfs: &Path,
    interrupted: &AtomicBool,
) -> Result<Result<Vec<Output>, Failure>> {
    let ended = boot(subject, order, initramfs, interrupted)?;
    let text = fs::read(order.log).with_context(|| format!("read {}", order.log.display()))?;
    let judged = judge(ended, &String::from_utf8_lossy(&text), order.jobs.len());
    if !matches!(judged, Ok(Ok(_) | Err(Failure::Interrupted))) {
        has_room(order.log)?;
    }
    judged
}

/// Adds an empty line to a file into which another program wrote, whose own errors nobody reads. An error says that its
/// last lines were lost on this machine.
pub fn has_room(log: &Path) -> Result<()> {
    let added = File::options().append(true).open(log).and_then(|mut log| log.write_all(b"\n"));
    added.with_context(|| format!("write {}", log.display()))
}

/// The archive that the kernel unpacks. It depends on nothing but the contents of its files.
fn pack(subject: &Subject, order: &Order<'_>) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    for folder in ["dev", "etc", "proc", "run", "sys", "tmp", "usr/bin"] {
        archive.folder(folder)?;
    }
    archive.device("dev/console", (5, 1))?;
    let read = |path: &Path| fs::read(path).with_context(|| format!("read {}", path.display()));
    archive.file(PROGRAM.trim_start_matches('/'), true, &read(order.program)?)?;
    for (place, path) in order.luggage {
        archive.file(place.trim_start_matches('/'), true, &read(path)?)?;
    }
    let mut modules = Vec::new();
    for path in &subject.modules {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let place = format!("usr/lib/punctual/{name}");
        archive.file(&place, false, &read(path)?)?;
        modules.push(format!("/{place}"));
    }
    let jobs = Jobs { modules, jobs: order.jobs.clone() };
    archive.file(JOBS.trim_start_matches('/'), false, &serde_json::to_vec(&jobs)?)?;
    archive.file("etc/passwd", false, b"root:x:0:0:root:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")?;
    archive.finish()
}

/// The words that every guest gets, before those of the kernel. `panic=-1` restarts at once, which ends QEMU.
/// `tsc=reliable`: a clock that counts instructions must not be compared with others. `clocksource=tsc`: a kernel that is
/// not told so takes the HPET, each reading of which leaves the emulated processor. `cryptomgr.notests`: the tests of
/// ciphers take ten seconds at this speed; a kernel that does not know the word ignores it.
fn words(subject: &Subject) -> String {
    let of_arch = match subject.arch {
        Arch::Amd64 => "tsc=reliable clocksource=tsc ",
        Arch::Arm64 => "",
    };
    format!("loglevel=6 panic=-1 cryptomgr.notests rdinit={PROGRAM} {of_arch}{}", subject.words.join(" "))
        .trim_end()
        .to_owned()
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Ended {
    ByItself,
    /// QEMU failed, with this message.
    Refused(String),
    TooLong,
    Interrupted,
}

fn boot(subject: &Subject, order: &Order<'_>, initramfs: &Path, interrupted: &AtomicBool) -> Result<Ended> {
    let words = words(subject);
    let computer = Computer {
        arch: subject.arch,
        image: &subject.image,
        initramfs,
        words: &words,
        memory_mib: order.memory_mib,
        clock: order.clock,
        line: Line::File(order.log),
    };
    File::create(order.log).with_context(|| format!("create {}", order.log.display()))?;
    let said = order.log.with_extension("qemu");
    let errors = File::create(&said).with_context(|| format!("create {}", said.display()))?;
    let mut command = computer.command()?;
    let mut qemu = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .with_context(|| format!("start {}", command.get_program().to_string_lossy()))?;
    let start = Instant::now();
    let mut is_up = false;
    loop {
        if let Some(status) = qemu.try_wait().context("wait for QEMU")? {
            let complaint = fs::read_to_string(&said).unwrap_or_default();
            let _ = fs::remove_file(&said);
            // A terminal sends Ctrl-C to QEMU too, which then ends by itself.
            if interrupted.load(Relaxed) {
                return Ok(Ended::Interrupted);
            }
            if !status.success() {
                return Ok(Ended::Refused(complaint));
            }
            return Ok(Ended::ByItself);
        }
        let text = if is_up { Vec::new() } else { fs::read(order.log).unwrap_or_default() };
        is_up = is_up || contains_line(&text, READY);
        let limit = longest(is_up, text.is_empty(), order.limit);
        let ended = match (interrupted.load(Relaxed), start.elapsed() > limit) {
            (true, _) => Some(Ended::Interrupted),
            (_, true) => Some(Ended::TooLong),
            _ => None,
        };
        if let Some(ended) = ended {
            // Fails only if QEMU has ended by itself in the meantime.
            let _ = qemu.kill();
            let _ = qemu.wait();
            let _ = fs::remove_file(&said);
            return Ok(ended);
        }
        std::thread::sleep(LOOK);
    }
}

/// How long the guest may run in all.
fn longest(is_up: bool, is_silent: bool, jobs: Duration) -> Duration {
    match (is_up, is_silent) {
        (true, _) => BOOT_TIME + jobs,
        (false, true) => SILENT_TIME,
        (false, false) => BOOT_TIME,
    }
}

fn contains_line(text: &[u8], line: &str) -> bool {
    text.split(|byte| *byte == b'\n').any(|one| one.trim_ascii_end() == line.as_bytes())
}

/// What the guest's lines come to.
fn judge(ended: Ended, text: &str, jobs: usize) -> Result<Result<Vec<Output>, Failure>> {
    match &ended {
        Ended::Interrupted => return Ok(Err(Failure::Interrupted)),
        Ended::Refused(said) => return Ok(Err(Failure::Refused { last: said.lines().map(str::to_owned).collect() })),
        Ended::ByItself | Ended::TooLong => {}
    }
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    if let Some(why) = lines.iter().find_map(|line| line.strip_prefix("lab:failed ")) {
        return Ok(Err(Failure::Died { last: vec![why.to_owned()] }));
    }
    let mut frame = Frame::default();
    let answers = lines.iter().filter_map(|line| frame.take(line)).collect::<Result<Vec<Output>>>()?;
    if answers.len() == jobs && lines.contains(&DONE) {
        return Ok(Ok(answers));
    }
    let told = lines.iter().filter(|line| !line.is_empty() && !line.starts_with("lab:"));
    let mut last: Vec<String> = told.rev().take(LAST_LINES).map(|line| (*line).to_owned()).collect();
    last.reverse();
    Ok(Err(match (lines.contains(&READY), ended) {
        (false, _) => Failure::NoBoot { last },
        (true, Ended::TooLong) => Failure::TooLong { last },
        (true, _) => Failure::Died { last },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::encode;

    fn failure(ended: Ended, text: &str) -> Failure {
        judge(ended, text, 1).unwrap().unwrap_err()
    }

    #[test]
    fn answers_count_only_when_all_are_there() {
        let answer = encode(&Output { code: 3, out: "x".into(), ..Output::default() }).unwrap();
        let whole = format!("[0.1] Linux\r\n{READY}\r\n{}{DONE}\r\n", answer.replace('\n', "\r\n"));
        let answers = judge(Ended::ByItself, &whole, 1).unwrap().unwrap();
        assert_eq!((answers[0].code, answers[0].out.as_str()), (3, "x"));
        assert!(matches!(judge(Ended::ByItself, &whole, 2).unwrap(), Err(Failure::Died { .. })));
        assert_eq!(judge(Ended::Interrupted, &whole, 1).unwrap(), Err(Failure::Interrupted));
    }

    #[test]
    fn a_kernel_that_does_not_come_up_leaves_its_last_lines() {
        let text = (0..30).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
        let Failure::NoBoot { last } = failure(Ended::ByItself, &text) else { panic!() };
        assert_eq!((last.len(), last[11].as_str()), (LAST_LINES, "line 29"));
        let refused = Failure::Refused { last: vec!["too old".into()] };
        assert_eq!(failure(Ended::Refused("too old\n".into()), ""), refused);
        assert!(matches!(failure(Ended::TooLong, ""), Failure::NoBoot { last } if last.is_empty()));
        let died = failure(Ended::ByItself, &format!("{READY}\nKernel panic - not syncing\n"));
        assert_eq!(died, Failure::Died { last: vec!["Kernel panic - not syncing".into()] });
        assert!(matches!(failure(Ended::TooLong, &format!("{READY}\n")), Failure::TooLong { .. }));
        let module = failure(Ended::ByItself, &format!("lab:failed load the module x\n{DONE}\n"));
        assert_eq!(module, Failure::Died { last: vec!["load the module x".into()] });
    }

    #[test]
    fn a_silent_kernel_is_given_up_sooner() {
        let jobs = Duration::from_secs(1);
        assert!(longest(false, true, jobs) < longest(false, false, jobs));
        assert_eq!(longest(true, false, jobs), longest(false, false, jobs) + jobs);
    }

    #[test]
    fn an_archive_depends_on_contents_only() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, "program").unwrap();
        let subject = Subject {
            name: "k".into(),
            arch: Arch::Amd64,
            image: program.clone(),
            words: vec!["preempt=none".into()],
            modules: vec![program.clone()],
        };
        let order = Order {
            program: &program,
            luggage: &[],
            jobs: vec![Job { words: vec!["x".into()], files: Vec::new(), beside: Vec::new() }],
            clock: Clock::Virtual { seed: 1 },
            memory_mib: 512,
            limit: Duration::from_secs(1),
            log: &program,
        };
        let first = pack(&subject, &order).unwrap();
        fs::write(&program, "program").unwrap();
        assert!(first == pack(&subject, &order).unwrap());
        assert!(words(&subject).ends_with("clocksource=tsc preempt=none"));
    }
}
