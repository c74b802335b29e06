//! Code that a program makes while it runs: it lies in no file, and only the program can tell the names of its functions.
//!
//! Compilers at run time and interpreters write them to `/tmp/perf-PID.map`, as perf reads them: Python from 3.12 with
//! `-X perf`, node with `--perf-basic-prof`, Java with an agent.

use super::super::procfs::text;
use punctual_numbers::inspect::Code;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, SystemTime};

/// The name of the module that holds all such code of a process.
pub const MADE: &str = "[JIT]";
/// No more of a file with names is read.
const NAMES_MAX: u64 = 64 << 20;
/// A second in which the kernel counts a process's start: `USER_HZ`, the same on all architectures.
const TICKS: u64 = 100;
/// The time of a file may be that of the last tick, and the time of a start is rounded down.
const ROUNDED: Duration = Duration::from_secs(1);

/// Whether a mapping of this name holds no file. Some run-time compilers map an unnamed file twice.
pub fn is_made(path: &str) -> bool {
    path.is_empty() || ["//anon", "[anon:", "/memfd:"].iter().any(|begin| path.starts_with(begin))
}

/// Whether a place is in a function of a script, whose name the interpreter told.
pub fn is_of_script(code: &Code) -> bool {
    code.module == MADE && code.file.is_some()
}

/// Where a process may tell the names. They are read late, because a program adds to them as it makes code, and perhaps after
/// it has ended.
#[derive(Debug)]
pub struct Names {
    /// The folder for such files that the process sees, which may be in a container.
    folder: Option<File>,
    /// The number that the process knows itself by.
    own: String,
    /// When the process began. An older file is that of another process, which had the same number.
    since: Option<SystemTime>,
}

impl Names {
    pub fn of(pid: u32) -> Self {
        let status = text(&format!("/proc/{pid}/status")).unwrap_or_default();
        let own = status.lines().find_map(|line| line.strip_prefix("NSpid:")?.split_whitespace().last());
        let folder = File::open(format!("/proc/{pid}/root/tmp")).ok();
        Self { folder, own: own.map_or_else(|| pid.to_string(), str::to_owned), since: began(pid) }
    }

    /// Functions by address, with their lengths.
    pub fn read(&self) -> BTreeMap<u64, (u64, String)> {
        let mut bytes = Vec::new();
        if let Some(file) = self.open() {
            // What can be read of a file that fails half-way is as good as the rest.
            let _ = file.take(NAMES_MAX).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).lines().filter_map(function).collect()
    }

    fn open(&self) -> Option<File> {
        let path = format!("/proc/self/fd/{}/perf-{}.map", self.folder.as_ref()?.as_raw_fd(), self.own);
        // Anybody may put a link or a pipe there.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path).ok()?;
        let known = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        (known.modified().ok()? + ROUNDED >= self.since?).then_some(file)
    }
}

/// When a process began.
fn began(pid: u32) -> Option<SystemTime> {
    let stat = text(&format!("/proc/{pid}/stat"))?;
    // The name, which may hold anything, ends with the last bracket. The 22nd word is the time since boot.
    let began: u64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    let up: f64 = text("/proc/uptime")?.split_whitespace().next()?.parse().ok()?;
    let age = Duration::try_from_secs_f64(up).ok()?.checked_sub(Duration::from_millis(began * (1000 / TICKS)))?;
    SystemTime::now().checked_sub(age)
}

/// A line `ADDRESS LENGTH NAME`.
fn function(line: &str) -> Option<(u64, (u64, String))> {
    let mut words = line.splitn(3, ' ');
    let mut hex = || u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok();
    let (from, length) = (hex()?, hex()?);
    let name = words.next()?.trim();
    (!name.is_empty()).then(|| (from, (length, name.to_owned())))
}

/// The place that a name tells. Python and node put the file into it, and node the line where the function begins.
pub fn place(name: &str, offset: u64) -> Code {
    let code = |symbol: &str, file: Option<&str>, line: Option<u32>| Code {
        module: MADE.to_owned(),
        symbol: Some(symbol.to_owned()),
        offset,
        file: file.map(|file| file.trim_start_matches("file://").to_owned()),
        line,
    };
    if let Some((function, file)) = name.strip_prefix("py::").and_then(|rest| rest.rsplit_once(':')) {
        return code(function, Some(file), None);
    }
    of_node(name).map_or_else(
        || code(name, None, None),
        |(function, file, line)| code(if function.is_empty() { "(anonymous)" } else { function }, Some(file), line),
    )
}

/// Function, file and line in a name such as `JS:*step /opt/loop.js:12:3`. The sign says how far it was compiled.
fn of_node(name: &str) -> Option<(&str, &str, Option<u32>)> {
    let kinds = ["JS:", "LazyCompile:", "Function:", "Script:", "Eval:"];
    let rest = kinds.iter().find_map(|kind| name.strip_prefix(kind))?;
    let (function, place) = rest.trim_start_matches(['~', '^', '+', '*', '\'']).split_once(' ')?;
    let (place, _column) = place.rsplit_once(':')?;
    let (file, line) = place.rsplit_once(':')?;
    Some((function, file, line.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn names_tell_function_file_and_line() {
        let told = |name: &str| {
            let Code { symbol, file, line, .. } = place(name, 0);
            (symbol.unwrap(), file.unwrap_or_default(), line)
        };
        let of = |symbol: &str, file: &str, line| (symbol.to_owned(), file.to_owned(), line);
        assert_eq!(told("py::Axis.step:/opt/loop.py"), of("Axis.step", "/opt/loop.py", None));
        assert_eq!(told("JS:*step /opt/my loop.js:12:3"), of("step", "/opt/my loop.js", Some(12)));
        assert_eq!(told("LazyCompile:~ file:///opt/loop.mjs:1:1"), of("(anonymous)", "/opt/loop.mjs", Some(1)));
        for other in ["Builtin:ArrayMap", "JS:*step", "Lloop;::step", "py::step", ""] {
            assert_eq!(told(other), of(other, "", None));
        }
    }

    #[test]
    fn a_line_that_is_none_is_left_out() {
        assert_eq!(function("7f00 1c py::a b:/x.py"), Some((0x7f00, (0x1c, "py::a b:/x.py".to_owned()))));
        assert_eq!(function("0x7f00 0x1c step"), Some((0x7f00, (0x1c, "step".to_owned()))));
        for wrong in ["", "7f00", "7f00 1c", "7f00 1c ", "x 1 a", "-1 1 a", "7f00 1ffffffffffffffffff a"] {
            assert_eq!(function(wrong), None, "{wrong}");
        }
    }

    /// Of a file that lies there since before the process, and of a link, nothing is read.
    #[test]
    fn only_names_that_the_process_wrote_are_read() {
        let pid = std::process::id();
        let place = format!("/tmp/perf-{pid}.map");
        let dir = tempfile::tempdir().unwrap();
        let other = dir.path().join("other");
        fs::write(&other, "1000 10 step\n").unwrap();
        std::os::unix::fs::symlink(&other, &place).unwrap();
        let names = Names::of(pid);
        let linked = names.read();
        fs::remove_file(&place).unwrap();
        fs::write(&place, "1000 10 step\nnonsense\n").unwrap();
        let read = names.read();
        File::options().append(true).open(&place).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let old = names.read();
        fs::remove_file(&place).unwrap();
        assert_eq!((linked.len(), old.len()), (0, 0));
        assert_eq!(read.into_iter().collect::<Vec<_>>(), [(0x1000, (0x10, "step".to_owned()))]);
        assert!(names.since.unwrap() <= SystemTime::now());
        assert!(Names::of(u32::MAX).read().is_empty() && is_made("") && !is_made("/opt/loop") && !is_made("[vdso]"));
    }
}
