//! Checks whether the output of `tune` and `status` agrees with the state of the guest.

use super::seen::Seen;

use crate::wire::Output;
use serde_json::Value;
use std::collections::BTreeSet;

/// The isolated CPUs as a bit mask.
const APART: u64 = 0b1100;
/// The standing of a change to an interrupt that moves when it occurs next.
const LATER: &str = "waits-for-interrupt";
/// Id of a change, a file, and the value of the file once the change is done.
const SETTINGS: [(&str, &str, &str); 7] = [
    ("rcu.normal", "/sys/kernel/rcu_normal", "1"),
    ("mem.compact", "/proc/sys/vm/compact_unevictable_allowed", "0"),
    ("mem.compact", "/proc/sys/vm/compaction_proactiveness", "0"),
    ("wd.soft", "/proc/sys/kernel/watchdog_cpumask", "0-1"),
    ("irq.default", "/proc/irq/default_smp_affinity", "3"),
    ("wq.unbound", "/sys/devices/virtual/workqueue/cpumask", "3"),
    ("dyn.preempt", "/sys/kernel/debug/sched/preempt", "none voluntary (full)"),
];
/// Results of a change that are expected on an unprepared machine.
const FINE: [&str; 3] = ["done", "waits", "next-boot"];
/// Changes that every kernel of the lab needs and accepts.
const ALWAYS: [&str; 5] = ["wq.unbound", "wq.named", "kthr.affinity", "irq.default", "wd.soft"];

/// A complaint if the exit code is none of `wanted`.
pub fn ended(output: &Output, wanted: &[i32]) -> Vec<String> {
    let is_fine = wanted.contains(&output.code);
    (!is_fine).then(|| format!("it ended with {}: {}", output.code, output.err.trim())).into_iter().collect()
}

/// Complaints about the answer of `check`: held, not held and inconclusive are all fine, as the host decides which. So are
/// releases that were due while the host let the whole guest stand still, if they are told.
pub fn checked(output: &Output) -> Vec<String> {
    /// Number of releases on both CPUs together, without the last of each, which may be cut off.
    const DUE: u64 = 2 * 99;
    let mut complaints = ended(output, &[0, 2, 3]);
    let Ok(document) = serde_json::from_str::<Value>(&output.out) else {
        complaints.push(format!("not JSON: {}", output.out.trim()));
        return complaints;
    };
    if !document.get("verdict").is_some_and(Value::is_string) {
        complaints.push("no verdict".to_owned());
    }
    let all = |key: &str| document.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let number = |one: &Value, key: &str| one.get(key).and_then(Value::as_u64).unwrap_or(0);
    let (cpus, events) = (all("cpus"), all("events"));
    for cpu in &cpus {
        let [due, ran, skipped] = ["due", "ran", "skipped"].map(|key| number(cpu, key));
        if due != ran + skipped {
            complaints.push(format!("{due} due, {ran} ran, {skipped} skipped"));
        }
    }
    let (due, lost): (u64, u64) = (
        cpus.iter().map(|cpu| number(cpu, "due")).sum(),
        events.iter().map(|event| number(event, "releases_lost")).sum(),
    );
    if cpus.len() != 2 || due + lost < DUE {
        complaints.push(format!("{} CPUs, {due} releases due, and {lost} while the guest stood still", cpus.len()));
    }
    complaints
}

/// Complaints about changes that are reported as done but are not, and about everything that still uses the isolated
/// CPUs.
pub fn applied(output: &Output, before: &Seen, now: &Seen) -> Vec<String> {
    let mut complaints = ended(output, &[0]);
    let fates = match fates(&output.out) {
        Ok(fates) => fates,
        Err(why) => return vec![why],
    };
    let done: BTreeSet<&str> = fates
        .iter()
        .filter(|(_, fate)| ["done", "waits"].contains(&fate.as_str()))
        .map(|(id, _)| id.as_str())
        .collect();
    complaints.extend(fates.iter().filter(|(_, fate)| !FINE.contains(&fate.as_str())).map(said));
    complaints.extend(ALWAYS.iter().filter(|id| !done.contains(*id)).map(|id| format!("{id}: not done")));
    for (id, path, wanted) in SETTINGS.iter().filter(|(id, ..)| done.contains(id)) {
        if now.value(path) != Some(wanted) {
            complaints.push(format!("{id}: {path} says {:?}, not {wanted}", now.value(path)));
        }
    }
    complaints.extend(masks(now));
    complaints.extend(interrupts(before, now));
    let may_stay = |name: &str| is_of_one_cpu(name) || moves_later(name, now);
    let strays = now.threads().filter(|(name, thread)| !thread.is_bound && uses(&thread.cpus) && !may_stay(name));
    complaints.extend(strays.map(|(name, thread)| format!("thread {name} may run on {}", thread.cpus)));
    complaints
}

fn said((id, fate): &(String, String)) -> String {
    format!("{id}: {fate}")
}

/// Parses the id and the result of every change.
fn fates(json: &str) -> Result<Vec<(String, String)>, String> {
    let value: Value = serde_json::from_str(json).map_err(|error| format!("no JSON: {error}: {json}"))?;
    let changes = value.pointer("/applied/changes").and_then(Value::as_array).ok_or("no `applied.changes`")?;
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let fate = |value: &Value| Some((text(value, "id")?, text(value, "fate")?));
    changes.iter().map(fate).collect::<Option<_>>().ok_or_else(|| "a change without `id` or `fate`".to_owned())
}

/// Complaints about work queues that may still use the isolated CPUs.
fn masks(now: &Seen) -> Vec<String> {
    let queues = now.values("/sys/devices/virtual/workqueue/", "/cpumask");
    queues.filter(|(_, value)| mask(value) & APART != 0).map(|(path, value)| format!("{path}: {value}")).collect()
}

/// Complaints about interrupts with a handler that may use the isolated CPUs, or that used them only after tuning.
fn interrupts(before: &Seen, now: &Seen) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut seen = 0;
    for (path, value) in now.values("/proc/irq/", "/smp_affinity") {
        let number = path.trim_start_matches("/proc/irq/").trim_end_matches("/smp_affinity");
        if !now.is_handled(number) {
            continue;
        }
        seen += 1;
        let place = format!("/proc/irq/{number}/effective_affinity");
        let (was, is) = (before.value(&place).unwrap_or("0"), now.value(&place).unwrap_or("0"));
        // Tuning changes only the masks of interrupts that were on the isolated CPUs; the other masks stay as they are.
        if mask(was) & APART != 0 && mask(value) & APART != 0 {
            complaints.push(format!("{path}: {value}, and it was on {was}"));
        }
        if mask(was) & APART == 0 && mask(is) & APART != 0 {
            complaints.push(format!("{place}: {is}, and it was on {was}"));
        }
    }
    if seen == 0 {
        complaints.push("no interrupt has a handler".to_owned());
    }
    complaints
}

/// Whether a CPU list contains an isolated CPU.
fn uses(list: &str) -> bool {
    list.split(',').any(|part| {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high) = (low.parse::<u32>().unwrap_or(0), high.parse::<u32>().unwrap_or(63));
        (low..=high).any(|cpu| APART.checked_shr(cpu).unwrap_or(0) & 1 == 1)
    })
}

/// Whether a thread belongs to one CPU, as a name such as `NAME/2` shows.
fn is_of_one_cpu(name: &str) -> bool {
    name.trim_end_matches(')').rsplit_once('/').is_some_and(|(_, cpu)| cpu.parse::<u32>().is_ok())
}

/// Whether a thread belongs to an interrupt whose mask was changed. The thread moves when the interrupt occurs next.
fn moves_later(name: &str, now: &Seen) -> bool {
    let number = name.split_once("(irq/").and_then(|(_, rest)| rest.split('-').next());
    let value = number.and_then(|number| now.value(&format!("/proc/irq/{number}/smp_affinity")));
    value.is_some_and(|value| mask(value) & APART == 0)
}

/// The bits of a CPU mask; all bits if the text is no mask.
fn mask(text: &str) -> u64 {
    u64::from_str_radix(&text.replace(',', ""), 16).unwrap_or(u64::MAX)
}

/// Complaints about rows that are not in force, unless the reason was expected.
pub fn status(output: &Output) -> Vec<String> {
    let Ok(value) = serde_json::from_str::<Value>(&output.out) else {
        return vec![format!("no JSON: {}{}", output.out, output.err)];
    };
    // The exit code says that the result is doubtful, because words of the command line wait for a boot.
    let mut complaints = ended(output, &[3]);
    let rows = value.get("rows").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let text = |row: &Value, name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (mut good, mut words) = (0, 0);
    for row in rows {
        let (what, standing) = (text(row, "what"), text(row, "standing"));
        match standing.as_str() {
            "in-force" => good += 1,
            "waits-for-boot" if !what.starts_with('/') && !what.contains(' ') => words += 1,
            // This is the interrupt of the keyboard, which never occurs in an emulated machine.
            _ if standing == LATER && what.starts_with("/proc/irq/") => {}
            _ => complaints.push(format!("{} {what}: {standing}; {row}", text(row, "id"))),
        }
    }
    if good < 15 || words < 2 {
        complaints.push(format!("only {good} rows are in force and {words} words wait"));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::super::seen::tests::{machine, thread};
    use super::*;

    const GOOD: &str = "/proc/sys/kernel/watchdog_cpumask:0-1\n/proc/irq/default_smp_affinity:3\n\
        /sys/devices/virtual/workqueue/cpumask:3\n/proc/irq/1/smp_affinity:3\nhandler:/proc/irq/1/i8042/\n\
        /proc/irq/1/effective_affinity:8\n/proc/irq/4/smp_affinity:f\nhandler:/proc/irq/4/ttyS0/\n\
        /proc/irq/4/effective_affinity:1\n";

    fn output(code: i32, out: &str) -> Output {
        Output { code, out: out.to_owned(), ..Output::default() }
    }

    fn done() -> Output {
        let changes: Vec<String> = ALWAYS.iter().map(|id| format!(r#"{{"id":"{id}","fate":"done"}}"#)).collect();
        output(0, &format!(r#"{{"applied":{{"changes":[{}]}}}}"#, changes.join(",")))
    }

    #[test]
    fn a_check_accounts_for_every_release() {
        let of = |code: i32, due: u64, skipped: u64, lost: u64| {
            let cpu = format!(r#"{{"due":{due},"ran":87,"skipped":{skipped}}}"#);
            let events = format!(r#"[{{"kind":"paused","releases_lost":{lost}}}]"#);
            checked(&output(code, &format!(r#"{{"verdict":"held","cpus":[{cpu},{cpu}],"events":{events}}}"#)))
        };
        assert_eq!(of(2, 100, 13, 0), Vec::<String>::new());
        assert_eq!(of(3, 90, 3, 20), Vec::<String>::new());
        assert_eq!((of(1, 100, 13, 0).len(), of(0, 100, 12, 0).len(), of(0, 90, 3, 17).len()), (1, 2, 1));
        assert_eq!(checked(&output(0, r#"{"cpus":[]}"#)).len(), 2);
        assert_eq!(checked(&output(0, "killed")).len(), 1);
    }

    #[test]
    fn what_is_said_to_be_done_and_is_not_is_named() {
        let before = machine(GOOD);
        let now = machine(&(GOOD.to_owned() + &thread(7, "rcuc/2", 0, "2") + &thread(8, "bound", 0x0400_0000, "3")));
        assert_eq!(applied(&done(), &before, &now), Vec::<String>::new());
        for (old, new) in [
            ("watchdog_cpumask:0-1", "watchdog_cpumask:0-3"),
            ("workqueue/cpumask:3", "workqueue/cpumask:f"),
            ("1/smp_affinity:3", "1/smp_affinity:f"),
            ("4/effective_affinity:1", "4/effective_affinity:4"),
        ] {
            let wrong = applied(&done(), &before, &machine(&GOOD.replace(old, new)));
            assert!(!wrong.is_empty(), "{old}");
        }
        let stray = machine(&(GOOD.to_owned() + &thread(7, "stray", 0, "0-3")));
        assert_eq!(applied(&done(), &before, &stray), ["thread 7 (stray) may run on 0-3"]);
        let of_interrupt = |number: u32| machine(&(GOOD.to_owned() + &thread(7, &format!("irq/{number}-x"), 0, "3")));
        assert_eq!(applied(&done(), &before, &of_interrupt(1)), Vec::<String>::new());
        assert_eq!(applied(&done(), &before, &of_interrupt(4)).len(), 1);
        let refused = output(3, &done().out.replacen("done", "refused", 1));
        assert_eq!(applied(&refused, &before, &now).len(), 3);
        assert_eq!(applied(&output(0, "x"), &before, &now).len(), 1);
    }

    #[test]
    fn rows_that_do_not_stand_are_named() {
        let row = |what: &str, standing: &str| format!(r#"{{"id":"x","what":"{what}","standing":"{standing}"}}"#);
        let mut rows = vec![row("/proc/x", "in-force"); 15];
        rows.extend([row("isolcpus", "waits-for-boot"), row("rcu_nocbs", "waits-for-boot")]);
        rows.push(row("/proc/irq/1/smp_affinity_list", LATER));
        let said = |rows: &[String]| output(3, &format!(r#"{{"rows":[{}]}}"#, rows.join(",")));
        assert_eq!(status(&said(&rows)), Vec::<String>::new());
        assert_eq!(status(&said(&rows[1..])).len(), 1);
        for wrong in [row("/proc/x", "drifted"), row("/proc/x", "waits-for-boot"), row("/proc/x", LATER)] {
            rows.push(wrong);
            assert_eq!(status(&said(&rows)).len(), 1);
            rows.pop();
        }
    }
}
