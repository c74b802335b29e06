//! The machine this program runs on, as a [`Tree`].
//!
//! The only place that opens files of `/proc` and `/sys` for the audit, so the rules of careful reading are kept
//! here: nothing is opened that could do something by being opened (only regular files, and one known device),
//! nothing is read without a limit, and every failure becomes a fact. What is no file is answered under
//! `punctual:/`. This module knows nothing of what the files mean.

mod links;
mod modules;
mod smi;

use punctual_core::fact::Fact;
use punctual_core::tree::Tree;
use rustix::fs::{Mode, OFlags};
use rustix::time::{ClockId, clock_getres, clock_gettime};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// More of a file than this is not read: the largest that means something to us is a kernel configuration.
const LARGEST_BYTES: u64 = 1 << 20;
/// More names of a folder than this are not listed; `/proc/irq` of the largest machines has some thousands.
const MOST_NAMES: usize = 16_384;
/// More tasks than this are not looked at: each takes some ten microseconds.
const MOST_TASKS: usize = 2_048;
/// A device that tells by being read and does nothing by being opened.
const READABLE_DEVICE: &str = "/dev/cpu_dma_latency";

/// The live machine below a root folder.
#[derive(Clone, Debug)]
pub struct LiveTree {
    root: PathBuf,
}

impl LiveTree {
    /// The machine whose files are below `root`; `/` is this machine.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn place(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    fn file(&self, path: &str) -> Fact<Vec<u8>> {
        let place = self.place(path);
        // Opening a watchdog starts it and opening a tape winds it, so what is not a plain file is not opened.
        let read = std::fs::metadata(&place).and_then(|meta| {
            if meta.is_file() || path == READABLE_DEVICE {
                bounded(open(&place)?)
            } else {
                Err(io::Error::other("not a regular file"))
            }
        });
        fact(read)
    }

    /// The kernel's own copy of its configuration, unpacked.
    fn config(&self) -> Fact<Vec<u8>> {
        self.file("/proc/config.gz").and_then(|packed| {
            let unpacked = bounded(flate2::read::GzDecoder::new(packed.as_slice()));
            unpacked.map_or_else(|e| Fact::Garbled(format!("/proc/config.gz: {e}")), Fact::Known)
        })
    }

    /// One line for each process: flags, last CPU, real-time priority, policy, name.
    fn tasks(&self) -> Fact<Vec<u8>> {
        let entries = match std::fs::read_dir(self.place("/proc")) {
            Ok(entries) => entries,
            Err(e) => return fact(Err(e)),
        };
        let is_process = |name: &str| name.bytes().all(|b| b.is_ascii_digit());
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let (mut lines, mut count) = (String::new(), 0);
        for name in names.filter(|name| is_process(name)) {
            if count == MOST_TASKS {
                lines.push_str("...\n");
                break;
            }
            count += 1;
            // A process may end between being listed and being read.
            let stat = self.file(&format!("/proc/{name}/stat"));
            if let Some(line) = stat.known().and_then(|stat| task_line(&String::from_utf8_lossy(stat))) {
                lines.push_str(&crate::affinity::told(&name, line));
            }
        }
        if count == 0 { Fact::Absent } else { Fact::Known(lines.into_bytes()) }
    }
}

impl Tree for LiveTree {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        match path.strip_prefix("punctual:") {
            None => self.file(path),
            Some("/kernel/config") => self.config(),
            Some("/tasks") => self.tasks(),
            Some("/clock/resolution_ns") => Fact::Known(line(clock_resolution_ns())),
            Some("/clock/read_cost_ns") => Fact::Known(line(clock_read_cost_ns())),
            // Every CPU of a machine counts the same: the firmware stops them all.
            Some("/msr/34") => smi::count(&self.place("/dev/cpu/0/msr")),
            Some("/dmi/memory") => {
                self.file("/sys/firmware/dmi/tables/DMI").and_then(|table| modules::described(&table))
            }
            Some("/pci/links") => {
                let folder = "/sys/bus/pci/devices";
                self.list(folder).and_then(|devices| links::told(&self.place(folder), &devices))
            }
            Some(other) => other.strip_prefix("/ethtool/").map_or(Fact::Absent, crate::ethtool::read),
        }
    }

    fn list(&self, path: &str) -> Fact<Vec<String>> {
        if path.starts_with("punctual:") {
            return Fact::Absent;
        }
        let names = std::fs::read_dir(self.place(path)).and_then(|entries| {
            let mut names = Vec::new();
            for entry in entries {
                if names.len() == MOST_NAMES {
                    return Err(io::Error::other(format!("more than {MOST_NAMES} names")));
                }
                // Names that are not text are no names of ours.
                names.extend(entry?.file_name().into_string().ok());
            }
            names.sort_unstable();
            Ok(names)
        });
        fact(names)
    }

    fn link(&self, path: &str) -> Fact<String> {
        let target = std::fs::read_link(self.place(path));
        match fact(target.map(|target| target.into_os_string().into_string())) {
            Fact::Known(Ok(target)) => Fact::Known(target),
            Fact::Known(Err(_)) => Fact::Garbled("points to a name that is not text".to_owned()),
            Fact::Absent => Fact::Absent,
            Fact::Denied => Fact::Denied,
            Fact::Garbled(why) => Fact::Garbled(why),
        }
    }
}

fn open(place: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(place, flags, Mode::empty())?))
}

fn bounded(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(LARGEST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_BYTES {
        return Err(io::Error::other(format!("larger than {LARGEST_BYTES} bytes")));
    }
    Ok(bytes)
}

fn fact<T>(result: io::Result<T>) -> Fact<T> {
    match result {
        Ok(value) => Fact::Known(value),
        Err(e) => match e.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Fact::Absent,
            io::ErrorKind::PermissionDenied => Fact::Denied,
            _ => Fact::Garbled(e.to_string()),
        },
    }
}

/// Picks what matters out of a `/proc/PID/stat`. The name stands in parentheses and may hold some itself.
fn task_line(stat: &str) -> Option<String> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    // Field 3 of proc_pid_stat(5) is the first after the name.
    let fields: Vec<&str> = after.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    let (flags, cpu, rt_priority, policy) = (field(9)?, field(39)?, field(40)?, field(41)?);
    let name: String = name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    let mut line = String::new();
    writeln!(line, "{flags} {cpu} {rt_priority} {policy} {name}").ok()?;
    Some(line)
}

fn line(number: u64) -> Vec<u8> {
    format!("{number}\n").into_bytes()
}

fn nanoseconds(time: rustix::time::Timespec) -> u64 {
    let (seconds, rest) = (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0));
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

fn clock_resolution_ns() -> u64 {
    nanoseconds(clock_getres(ClockId::Monotonic))
}

/// Cost of reading the clock: the best of several short series, so that an interruption does not count.
fn clock_read_cost_ns() -> u64 {
    const READINGS: u64 = 64;
    let now = || nanoseconds(clock_gettime(ClockId::Monotonic));
    let series = || {
        let start = now();
        let end = (0..READINGS).fold(start, |_, _| now());
        end.saturating_sub(start) / READINGS
    };
    (0..16).map(|_| series()).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_core::audit::audit;
    use punctual_core::machine::Machine;
    use punctual_core::profile::Need;
    use punctual_core::tree::{MemTree, Transcript};

    #[test]
    fn failures_become_facts() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("small"), "1\n").unwrap();
        std::fs::write(folder.path().join("large"), vec![b'x'; 2 << 20]).unwrap();
        std::os::unix::fs::symlink("small", folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("device")).unwrap();
        let tree = LiveTree::new(folder.path());
        assert_eq!(tree.read("/small"), Fact::Known(b"1\n".to_vec()));
        assert_eq!(tree.read("/link"), Fact::Known(b"1\n".to_vec()));
        assert_eq!(tree.link("/link"), Fact::Known("small".to_owned()));
        assert_eq!(tree.read("/none"), Fact::Absent);
        assert_eq!(tree.read("/small/below"), Fact::Absent);
        assert!(matches!(tree.read("/large"), Fact::Garbled(_)));
        assert!(matches!(tree.read("/device"), Fact::Garbled(_)));
        assert!(matches!(tree.read("/"), Fact::Garbled(_)));
        assert_eq!(tree.list("/").known().unwrap().len(), 4);
        assert_eq!(tree.read("punctual:/nothing"), Fact::Absent);
    }

    #[test]
    fn reads_a_task_with_an_odd_name() {
        let stat = "7 (a) (b c)) S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 17 3 50 1 0 0 0";
        assert_eq!(task_line(stat).as_deref(), Some("2129984 3 50 1 a) (b c)\n"));
        assert_eq!(task_line("7 (short) S 2"), None);
    }

    #[test]
    fn a_captured_machine_gives_the_findings_of_the_live_one() {
        let live = LiveTree::new("/");
        let need = Need::default();
        let transcript = Transcript::new(&live);
        let first = audit(&transcript, &Machine::read(&transcript), &need);
        let captured = MemTree::parse(&transcript.into_tree().to_string()).unwrap();
        let second = audit(&captured, &Machine::read(&captured), &need);
        // Between the two nothing is read anew, so even what changes all the time is the same.
        assert_eq!(first, second);
    }
}
