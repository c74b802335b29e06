//! The state of a guest, as a script reads it without the product, and the differences that are allowed.
//!
//! This module parses text and returns values and complaints. It runs nothing.

use std::collections::BTreeMap;

/// Files whose values change by themselves.
const RESTLESS: [&str; 10] = [
    "/proc/sys/fs/aio-nr",
    "/proc/sys/fs/dentry-state",
    "/proc/sys/fs/file-nr",
    "/proc/sys/fs/inode-",
    "/proc/sys/fs/quota/",
    "/proc/sys/kernel/ns_last_pid",
    "/proc/sys/kernel/pty/nr",
    "/proc/sys/kernel/random/",
    "/proc/sys/net/ipv4/tcp_fastopen_key",
    // The file shows where an interrupt occurred last. The mask shows where it may occur.
    "/proc/irq/",
];
/// Parents of kernel threads: process 2, or none.
const PARENT_OF_THREADS: [&str; 2] = ["0", "2"];
/// Flag of threads that nobody can move (`PF_NO_SETAFFINITY`).
const BOUND: u64 = 0x0400_0000;
/// Smallest numbers of values and threads. With fewer, something is wrong with the script's output.
const ENOUGH_VALUES: usize = 700;
const ENOUGH_THREADS: usize = 20;

/// Everything that the script read.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    values: BTreeMap<String, String>,
    /// Kernel threads and the first process, by id and name.
    threads: BTreeMap<String, Thread>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Whether the kernel lets nobody move the thread.
    pub is_bound: bool,
    /// The CPUs that the thread may run on, as a list.
    pub cpus: String,
    /// Nice value, real-time priority and policy, as in `/proc/N/stat`.
    pub scheduling: [String; 3],
}

impl Seen {
    /// Parses lines of the form `path:value`. Several lines with the same path form one value.
    pub fn of(text: &str) -> Self {
        let mut seen = Self::default();
        let mut stats = Vec::new();
        let mut lists = BTreeMap::new();
        for (path, value) in text.lines().filter_map(|line| line.split_once(':')) {
            if path == "thread" {
                stats.extend(stat(value));
            } else if let Some(list) = value.strip_prefix("Cpus_allowed_list:") {
                let number = path.trim_start_matches("/proc/").trim_end_matches("/status");
                lists.insert(number.to_owned(), list.trim().to_owned());
            } else if ["file", "sum", "handler"].contains(&path) {
                seen.values.insert(format!("{path} {value}"), String::new());
            } else {
                let all = seen.values.entry(path.to_owned()).or_default();
                all.push_str(value.trim());
                all.push('\n');
            }
        }
        for (number, name, thread) in stats {
            if let Some(cpus) = lists.get(&number) {
                seen.threads.insert(format!("{number} ({name})"), Thread { cpus: cpus.clone(), ..thread });
            }
        }
        seen
    }

    /// The value of a file.
    pub fn value(&self, path: &str) -> Option<&str> {
        self.values.get(path).map(|value| value.trim_end())
    }

    /// The values of files whose paths have this beginning and end.
    pub fn values<'a>(&'a self, beginning: &'a str, end: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let named = self.values.iter().filter(move |(path, _)| path.starts_with(beginning) && path.ends_with(end));
        named.map(|(path, value)| (path.as_str(), value.trim_end()))
    }

    /// The kernel threads and the first process.
    pub fn threads(&self) -> impl Iterator<Item = (&str, &Thread)> {
        self.threads.iter().map(|(name, thread)| (name.as_str(), thread))
    }

    /// Whether an interrupt has a handler.
    pub fn is_handled(&self, number: &str) -> bool {
        let beginning = format!("handler /proc/irq/{number}/");
        self.values.range(beginning.clone()..).next().is_some_and(|(path, _)| path.starts_with(&beginning))
    }

    /// Everything that differs from `before`. Threads that appeared or ended are ignored; changes of their CPUs and
    /// scheduling are not.
    pub fn differences(&self, before: &Self) -> Vec<String> {
        let mut said = Vec::new();
        let paths = before.values.keys().chain(self.values.keys().filter(|path| !before.values.contains_key(*path)));
        for path in paths.filter(|path| !is_restless(path)) {
            let (old, new) = (before.values.get(path), self.values.get(path));
            if old != new {
                said.push(format!("{path}: {old:?} before, {new:?} now"));
            }
        }
        for (name, thread) in &self.threads {
            if let Some(old) = before.threads.get(name).filter(|old| *old != thread) {
                said.push(format!("thread {name}: {old:?} before, {thread:?} now"));
            }
        }
        let both = self.threads.keys().filter(|name| before.threads.contains_key(*name)).count();
        if before.values.len() < ENOUGH_VALUES || both < ENOUGH_THREADS {
            said.push(format!("only {} values and {both} threads could be compared", before.values.len()));
        }
        said
    }
}

fn is_restless(path: &str) -> bool {
    let is_named = RESTLESS.iter().any(|beginning| path.starts_with(beginning));
    is_named && !path.ends_with("/smp_affinity") && !path.ends_with("/default_smp_affinity")
}

/// Parses a line of `/proc/N/stat`. `None` unless the thread is the first process or a kernel thread, except for
/// workers, which come and go.
fn stat(line: &str) -> Option<(String, String, Thread)> {
    let (head, rest) = line.rsplit_once(')')?;
    let (number, name) = head.split_once(" (")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // The first word of `fields` is field 3 of the line.
    let field = |of_line: usize| fields.get(of_line - 3).copied();
    let is_ours = number == "1" || PARENT_OF_THREADS.contains(&field(4)?) && !name.starts_with("kworker/");
    let scheduling = [field(19)?.to_owned(), field(40)?.to_owned(), field(41)?.to_owned()];
    let is_bound = field(9)?.parse::<u64>().ok()? & BOUND != 0;
    is_ours.then(|| (number.to_owned(), name.to_owned(), Thread { is_bound, cpus: String::new(), scheduling }))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::fmt::Write;

    /// A machine with enough values and threads, and these lines in addition.
    pub fn machine(lines: &str) -> Seen {
        let mut text = String::new();
        for n in 0..ENOUGH_VALUES {
            let _ = writeln!(text, "/proc/sys/x/{n}:0");
        }
        for n in 100..100 + ENOUGH_THREADS {
            text.push_str(&thread(n, "t", 0, "0-1"));
        }
        text.push_str(lines);
        Seen::of(&text)
    }

    /// The script's lines for a kernel thread.
    pub fn thread(number: usize, name: &str, flags: u64, cpus: &str) -> String {
        let rest = "0 ".repeat(9) + "20 0 1 0 5 " + &"0 ".repeat(17) + "0 0 0";
        format!(
            "thread:{number} ({name}) S 2 0 0 0 -1 {flags} {rest}\n/proc/{number}/status:Cpus_allowed_list:\t{cpus}\n"
        )
    }

    #[test]
    fn what_differs_is_named_and_what_changes_by_itself_is_not() {
        let lines =
            thread(7, "rcu a) b", 0, "0-3") + "/proc/sys/fs/file-nr:1\n/proc/irq/4/smp_affinity:f\nfile:/etc/x:f\n";
        let before = machine(&lines);
        assert_eq!(before.differences(&before), Vec::<String>::new());
        for (old, new, wrong) in [
            ("0-3", "0-1", 1),
            ("smp_affinity:f", "smp_affinity:3", 1),
            ("file-nr:1", "file-nr:2", 0),
            ("/etc/x", "/etc/y", 2),
            (" S 2 ", " S 9 ", 0),
        ] {
            let now = machine(&lines.replace(old, new));
            assert_eq!(now.differences(&before).len(), wrong, "{old}: {:?}", now.differences(&before));
        }
        assert_eq!(Seen::of("").differences(&Seen::of("")).len(), 1);
    }

    #[test]
    fn threads_have_names_places_and_bounds() {
        let seen = machine(&(thread(7, "rcu a) b", BOUND, "2") + &thread(8, "kworker/0:1", 0, "0")));
        let found: Vec<_> =
            seen.threads().filter(|(name, _)| name.starts_with("7 ") || name.starts_with("8 ")).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "7 (rcu a) b)");
        assert!(found[0].1.is_bound && found[0].1.cpus == "2");
    }
}
