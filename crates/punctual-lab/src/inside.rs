//! What runs in a guest as its first program: mounts the usual file systems, carries out the list of jobs that lies in
//! the guest, prints the answers to the serial line, and restarts, which ends QEMU.
//!
//! The guest is told nothing from outside while it runs. When a command came over the serial line would depend on the
//! host, and two runs would differ.

use crate::wire::{self, Output};
use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, mount};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, SendFlags, SocketType, sendto, socket};
use rustix::system::{RebootCommand, finit_module, reboot};
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// The list of jobs in a guest. No other system has this file.
pub const JOBS: &str = "/punctual-lab.json";

/// The file with the modes of pre-emption that a kernel knows, the one in force in parentheses.
pub const PREEMPT_MODES: &str = "/sys/kernel/debug/sched/preempt";

/// The file with the packed options of a kernel that was built with `CONFIG_IKCONFIG_PROC=y`.
pub const OWN_CONFIG: &str = "/proc/config.gz";

/// File systems: type, folder, options.
const MOUNTS: [(&str, &str, &str); 9] = [
    ("proc", "/proc", ""),
    ("sysfs", "/sys", ""),
    ("devtmpfs", "/dev", ""),
    ("tmpfs", "/dev/shm", "mode=1777"),
    ("tmpfs", "/run", ""),
    ("tmpfs", "/tmp", "mode=1777"),
    ("debugfs", "/sys/kernel/debug", ""),
    ("tracefs", "/sys/kernel/tracing", ""),
    ("cgroup2", "/sys/fs/cgroup", ""),
];

/// What a guest does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jobs {
    /// Paths of kernel modules, loaded in this order before the first job. Parameters come from the kernel's command
    /// line, as `module.parameter=value`.
    pub modules: Vec<String>,
    pub jobs: Vec<Job>,
}

/// One program that a guest runs to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Files whose contents are part of the answer.
    pub files: Vec<String>,
    /// Programs that run beside it, each until its standard input closes, which is when the job ends.
    pub beside: Vec<Vec<String>>,
}

/// Whether this process is the first one of a guest of this crate.
pub fn is_guest() -> bool {
    std::process::id() == 1 && Path::new(JOBS).is_file()
}

/// Does the jobs and restarts. Returns only if restarting failed, and then the kernel panics, which also ends QEMU.
pub fn run() -> ExitCode {
    prepare();
    if let Err(error) = work() {
        print(&format!("lab:failed {error:#}\n"));
    }
    print(&format!("{}\n", wire::DONE));
    rustix::fs::sync();
    // A restart works without ACPI too, and QEMU is told to end then.
    let _ = reboot(RebootCommand::Restart);
    ExitCode::FAILURE
}

/// Mounts what there is to mount. Kernels differ in what they have, so nothing of this is an error by itself.
fn prepare() {
    for (kind, folder, options) in MOUNTS {
        let _ = fs::create_dir_all(folder);
        let options = CString::new(options).unwrap_or_default();
        let _ = mount(kind, folder, kind, MountFlags::empty(), &*options);
    }
    // The loads of punctual talk to themselves over the loopback interface.
    let _ = loopback();
    // From here on the kernel prints nothing on the serial line; its messages remain in its log.
    let _ = fs::write("/proc/sys/kernel/printk", "1");
}

/// Switches the interface with index 1 on, which is always the loopback interface.
fn loopback() -> rustix::io::Result<()> {
    const IS_UP: u32 = 1;
    const NEW_LINK: u16 = 16;
    const REQUEST: u16 = 1;
    // Protocol 0 of netlink is NETLINK_ROUTE.
    let line = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    let mut message = Vec::new();
    // Header: length, type, flags, sequence number, port.
    message.extend(32_u32.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    message.extend([0; 8]);
    // Body: family, type, index, flags, mask of the flags to change.
    message.extend([0; 4]);
    message.extend(1_i32.to_ne_bytes());
    message.extend(IS_UP.to_ne_bytes());
    message.extend(IS_UP.to_ne_bytes());
    sendto(&line, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0)).map(|_| ())
}

fn work() -> Result<()> {
    let text = fs::read_to_string(JOBS).with_context(|| format!("read {JOBS}"))?;
    let jobs: Jobs = serde_json::from_str(&text).with_context(|| format!("read {JOBS}"))?;
    let words = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    for path in &jobs.modules {
        load(path, &words)?;
    }
    print(&format!("{}\n", wire::READY));
    settle();
    for job in &jobs.jobs {
        print(&wire::encode(&carry_out(job))?);
    }
    Ok(())
}

/// Length of a window in which the CPUs must be idle, and the number of such windows in a row after which the machine
/// counts as quiet.
const WINDOW: Duration = Duration::from_millis(200);
const QUIET_WINDOWS: usize = 3;
/// Largest number of windows that are waited for, 20 s in the guest's time. A kernel that is never quiet is measured so.
const WINDOWS_MAX: usize = 100;

/// Waits until the kernel's own work after booting is over. It belongs to no load, and would be in the first one's
/// numbers: the tests of ciphers alone hold the CPU for seconds.
fn settle() {
    let mut quiet = 0;
    let mut before = stat();
    for _ in 0..WINDOWS_MAX {
        std::thread::sleep(WINDOW);
        let now = stat();
        quiet = if is_quiet(&before, &now) { quiet + 1 } else { 0 };
        if quiet == QUIET_WINDOWS {
            return;
        }
        before = now;
    }
}

fn stat() -> String {
    fs::read_to_string("/proc/stat").unwrap_or_default()
}

/// Whether all CPUs together were busy for less than a tenth of the time between two texts of `/proc/stat`. A kernel
/// that does not tell counts as quiet.
fn is_quiet(before: &str, now: &str) -> bool {
    // Columns: user, nice, system, idle, waiting for devices, and times in interrupts.
    let times = |text: &str| -> Vec<u64> {
        let line = text.lines().next().unwrap_or_default();
        line.split_whitespace().skip(1).map(|word| word.parse().unwrap_or(0)).collect()
    };
    let passed: Vec<u64> =
        times(now).iter().zip(times(before)).map(|(now, before)| now.saturating_sub(before)).collect();
    let (all, idle) = (passed.iter().sum::<u64>(), passed.iter().skip(3).take(2).sum::<u64>());
    (all - idle) * 10 <= all
}

/// Loads a module with its parameters.
fn load(path: &str, words: &str) -> Result<()> {
    let name = Path::new(path).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let parameters = CString::new(parameters(&name, words)).context("parameters of a module")?;
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .with_context(|| format!("open {path}"))?;
    finit_module(&file, &parameters, 0).with_context(|| format!("load the module {name} (made for this kernel?)"))
}

/// The parameters of a module on the kernel's command line. The kernel takes `-` and `_` in its name for the same.
fn parameters(module: &str, words: &str) -> String {
    let of_this = |word: &str| {
        let (name, rest) = word.split_once('.')?;
        (name.replace('-', "_") == module.replace('-', "_")).then(|| rest.to_owned())
    };
    words.split_whitespace().filter_map(of_this).collect::<Vec<_>>().join(" ")
}

fn carry_out(job: &Job) -> Output {
    let failed = |error: &anyhow::Error| Output { code: 127, err: format!("{error:#}\n"), ..Output::default() };
    let beside = job.beside.iter().map(|words| command(words)?.stdin(Stdio::piped()).spawn().context("start"));
    let mut beside = match beside.collect::<Result<Vec<_>>>() {
        Ok(beside) => beside,
        Err(error) => return failed(&error.context("a program beside the job")),
    };
    let output = command(&job.words).and_then(|mut command| {
        command.stdin(Stdio::null()).output().with_context(|| format!("start {}", job.words.join(" ")))
    });
    // Dropping the pipe closes the program's standard input.
    for program in &mut beside {
        drop(program.stdin.take());
        // What it came to is not asked for.
        let _ = program.wait();
    }
    match output {
        Err(error) => failed(&error),
        Ok(output) => Output {
            code: output.status.code().unwrap_or_else(|| -output.status.signal().unwrap_or(1)),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            files: job.files.iter().map(|path| fs::read(path).ok()).collect(),
        },
    }
}

/// A command without settings from anywhere.
fn command(words: &[String]) -> Result<Command> {
    let (program, arguments) = words.split_first().context("a job without a program")?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir("/tmp").stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", "/tmp").env("LC_ALL", "C");
    Ok(command)
}

/// Prints to the console. An error is ignored: there is nobody whom it could be told.
fn print(text: &str) {
    let _ = fs::OpenOptions::new()
        .write(true)
        .open("/dev/console")
        .and_then(|mut console| std::io::Write::write_all(&mut console, text.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_those_of_the_module() {
        let words = "quiet lab_plant.kind=irqoff lab-plant.cpu=0 other.cpu=1 lab_planter.x=1 preempt=none";
        assert_eq!(parameters("lab_plant", words), "kind=irqoff cpu=0");
        assert_eq!(parameters("none", words), "");
    }

    #[test]
    fn a_machine_is_quiet_when_its_cpus_are_idle() {
        let stat =
            |system: u64, idle: u64| format!("cpu  5 0 {system} {idle} 1 0 0 0\ncpu0 5 0 {system} {idle} 1 0 0 0\n");
        assert!(is_quiet(&stat(10, 100), &stat(11, 119)));
        assert!(!is_quiet(&stat(10, 100), &stat(13, 117)));
        assert!(!is_quiet(&stat(10, 100), &stat(30, 100)));
        assert!(is_quiet("", ""));
    }

    #[test]
    fn no_other_first_process_is_a_guest() {
        assert!(!is_guest());
    }

    #[test]
    fn a_program_that_cannot_be_started_is_an_answer() {
        let job = Job { words: vec!["/no/such/program".to_owned()], files: Vec::new(), beside: Vec::new() };
        let output = carry_out(&job);
        assert_eq!(output.code, 127);
        assert!(output.err.contains("/no/such/program"), "{}", output.err);
    }

    #[test]
    fn programs_beside_a_job_end_with_it() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let mut job = Job { words: words("/bin/echo done"), files: Vec::new(), beside: vec![words("/bin/cat")] };
        assert_eq!((carry_out(&job).code, carry_out(&job).out.as_str()), (0, "done\n"));
        job.beside.push(words("/no/such/program"));
        assert!(carry_out(&job).err.contains("beside"));
    }
}
