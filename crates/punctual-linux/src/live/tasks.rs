//! The list of processes for the audit: one line per process, with the fields that distinguish kernel threads and
//! real-time tasks. Command lines and users are not read.

use super::affinity;
use super::files::{Files, fact};
use punctual_facts::fact::Fact;
use punctual_facts::stat_line::StatLine;

/// Limit on the number of tasks, each of which takes about ten microseconds to read.
const MOST_TASKS: usize = 2_048;

/// One line for each process: flags, last CPU, real-time priority, policy, name.
pub(super) fn read(files: &Files) -> Fact<Vec<u8>> {
    let entries = match std::fs::read_dir("/proc") {
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
        let stat = files.file(&format!("/proc/{name}/stat"));
        if let Some(line) = stat.known().and_then(|stat| task_line(&String::from_utf8_lossy(stat))) {
            lines.push_str(&affinity::told(&name, line));
        }
    }
    if count == 0 { Fact::Absent } else { Fact::Known(lines.into_bytes()) }
}

/// Selects fields of `/proc/PID/stat`.
fn task_line(stat: &str) -> Option<String> {
    let line = StatLine::parse(stat)?;
    let (flags, cpu, rt_priority, policy) = (line.field(9)?, line.field(39)?, line.field(40)?, line.field(41)?);
    let name: String = line.comm.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    Some(format!("{flags} {cpu} {rt_priority} {policy} {name}\n"))
}

#[cfg(test)]
mod tests {
    use super::task_line;

    #[test]
    fn reads_a_task_with_an_odd_name() {
        let stat = "7 (a) (b c)) S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 17 3 50 1 0 0 0";
        assert_eq!(task_line(stat).as_deref(), Some("2129984 3 50 1 a) (b c)\n"));
        assert_eq!(task_line("7 (short) S 2"), None);
    }
}
