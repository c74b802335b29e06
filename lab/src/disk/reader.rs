//! The state of the guest, read without the product: by a short shell script and this module.
//!
//! Most functions only report values. [`Seen::off`] also judges them: it reports what still uses CPUs that should be
//! left alone.

use super::machine::Machine;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub type Cpus = BTreeSet<u32>;

const SCRIPT: &str = include_str!("guest/reader.sh");

/// Flag of threads that nobody can move (`PF_NO_SETAFFINITY`).
const BOUND: u64 = 0x0400_0000;

/// Flag of kernel threads (`PF_KTHREAD`).
const KERNEL: u64 = 0x0020_0000;

/// Values and log lines that the script read from the guest's kernel.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    values: BTreeMap<String, String>,
    log: Vec<String>,
}

#[derive(Clone, Debug)]
struct Thread {
    name: String,
    flags: u64,
    allowed: Cpus,
}

impl Seen {
    pub fn in_guest(machine: &mut Machine) -> Result<Self> {
        let text = machine.run(SCRIPT, Duration::from_secs(90))?.ok("the reader")?;
        Ok(Self::from_lines(&text))
    }

    fn from_lines(text: &str) -> Self {
        let mut seen = Self::default();
        for (path, value) in text.lines().filter_map(|line| line.split_once(':')) {
            if path == "log" {
                seen.log.push(value.to_owned());
            } else {
                seen.values.insert(path.to_owned(), value.trim().to_owned());
            }
        }
        seen
    }

    /// The value of the file with this path. The path of a sysctl is `sysctl NAME`.
    pub fn value(&self, path: &str) -> Option<&str> {
        self.values.get(path).map(String::as_str)
    }

    /// The sysctls in the product's files: name, requested value, value in force.
    pub fn sysctls(&self) -> Vec<(&str, &str, &str)> {
        let asked = self.values.iter().filter_map(|(path, value)| Some((path.strip_prefix("wanted ")?, value)));
        let found = |name: &str| self.value(&format!("sysctl {}", name.replace('/', "."))).unwrap_or("not there");
        asked.map(|(name, value)| (name, value.as_str(), found(name))).collect()
    }

    /// The words of the kernel's command line.
    pub fn words(&self) -> Vec<&str> {
        self.value("/proc/cmdline").unwrap_or_default().split_ascii_whitespace().collect()
    }

    /// The CPUs in a file that contains a CPU list.
    pub fn list(&self, path: &str) -> Result<Cpus> {
        list(self.value(path).with_context(|| format!("the guest has no {path}"))?)
    }

    /// The CPUs in a file that contains a CPU mask.
    pub fn mask(&self, path: &str) -> Result<Cpus> {
        mask(self.value(path).with_context(|| format!("the guest has no {path}"))?)
    }

    /// The CPUs whose RCU callbacks run elsewhere: the kernel's log says so, and the threads that run the callbacks
    /// exist.
    pub fn offloaded(&self) -> Result<Cpus> {
        let said = self.log.iter().find_map(|line| line.split_once("Offload RCU callbacks from CPUs: "));
        let said = said.map(|(_, cpus)| list(cpus.trim_end_matches('.'))).transpose()?.unwrap_or_default();
        let running: BTreeSet<String> = self.threads()?.into_iter().map(|thread| thread.name).collect();
        let served = |cpu: &u32| ["rcuop", "rcuos"].iter().any(|name| running.contains(&format!("{name}/{cpu}")));
        Ok(said.into_iter().filter(served).collect())
    }

    /// The interrupts, work queues and threads that may use these CPUs although the kernel would let them be moved
    /// away.
    pub fn off(&self, cpus: &Cpus) -> Result<Vec<String>> {
        let mut complaints = Vec::new();
        let mut hit = |what: String, on: &Cpus| {
            if !on.is_disjoint(cpus) {
                complaints.push(format!("{what} may run on {on:?}"));
            }
        };
        hit("an interrupt yet to come".into(), &self.mask("/proc/irq/default_smp_affinity")?);
        for (path, value) in &self.values {
            if let Some(irq) =
                path.strip_prefix("/proc/irq/").and_then(|rest| rest.strip_suffix("/effective_affinity_list"))
            {
                if !self.is_fixed(irq) && irq != "0" {
                    hit(format!("interrupt {irq}"), &list(value)?);
                }
            } else if let Some(queue) = path.strip_prefix("/sys/devices/virtual/workqueue/") {
                hit(format!("work queue {queue}"), &mask(value)?);
            }
        }
        for thread in self.threads()? {
            let unbound_worker = thread.name.starts_with("kworker/u");
            let of_fixed = thread.name.strip_prefix("irq/").and_then(|rest| rest.split_once('-'));
            let is_bound = thread.flags & BOUND != 0 || of_fixed.is_some_and(|(irq, _)| self.is_fixed(irq));
            if !is_bound || unbound_worker {
                let whose = if thread.flags & KERNEL == 0 { "thread" } else { "kernel thread" };
                hit(format!("{whose} {}", thread.name), &thread.allowed);
            }
        }
        Ok(complaints)
    }

    /// Whether the kernel does not allow an interrupt to be moved.
    fn is_fixed(&self, irq: &str) -> bool {
        self.value(&format!("/proc/irq/{irq}/smp_affinity")) == Some("fixed")
    }

    fn threads(&self) -> Result<Vec<Thread>> {
        let stats = self.values.iter().filter(|(path, _)| path.starts_with("/proc/") && path.ends_with("/stat"));
        let mut threads = Vec::new();
        for (path, stat) in stats {
            // The name may contain anything, even parentheses.
            let garbled = || format!("{path} is garbled: {stat}");
            let (start, rest) = stat.rsplit_once(") ").with_context(garbled)?;
            let (_, name) = start.split_once('(').with_context(garbled)?;
            let flags = rest.split(' ').nth(6).and_then(|word| word.parse().ok()).with_context(garbled)?;
            // The thread may have ended between the two reads.
            let Some(allowed) = self.value(&format!("{path}us")) else { continue };
            let allowed = list(allowed.trim_start_matches("Cpus_allowed_list:"))?;
            threads.push(Thread { name: name.to_owned(), flags, allowed });
        }
        Ok(threads)
    }
}

/// Parses a CPU list such as `0-2,5`.
pub fn list(text: &str) -> Result<Cpus> {
    let mut cpus = Cpus::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty() && *part != "(null)") {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |word: &str| word.trim().parse::<u32>().with_context(|| format!("`{text}` is no list of CPUs"));
        cpus.extend(number(first)?..=number(last)?);
    }
    Ok(cpus)
}

/// Parses a CPU mask such as `f` or `00000000,0000000f`.
fn mask(text: &str) -> Result<Cpus> {
    let digits: String = text.trim().chars().filter(|digit| *digit != ',').collect();
    let mut cpus = Cpus::new();
    for (place, digit) in (0_u32..).zip(digits.chars().rev()) {
        let value = digit.to_digit(16).with_context(|| format!("`{text}` is no mask of CPUs"))?;
        cpus.extend((0..4).filter(|bit| value >> bit & 1 == 1).map(|bit| place * 4 + bit));
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUEST: &str = "\
/proc/cmdline:quiet isolcpus=2-3
/proc/irq/default_smp_affinity:3
/proc/irq/24/effective_affinity_list:2
/proc/irq/24/smp_affinity:fixed
/proc/irq/25/effective_affinity_list:3
/sys/devices/virtual/workqueue/cpumask:f
/proc/7/task/7/stat:7 (a) b) S 2 0 0 0 -1 69238848 0 0
/proc/7/task/7/status:Cpus_allowed_list:	2
/proc/8/task/8/stat:8 (rcuop/2) S 2 0 0 0 -1 2129984 0 0
/proc/8/task/8/status:Cpus_allowed_list:	0-3
/proc/6/task/6/stat:6 (irq/24-virtio2-req.2) S 2 0 0 0 -1 2129984 0 0
/proc/6/task/6/status:Cpus_allowed_list:	2
/proc/9/task/9/stat:9 (gone) S 2 0 0 0 -1 0 0 0
wanted kernel.timer_migration:0
sysctl kernel.timer_migration:1
log:[    0.0] rcu: \tOffload RCU callbacks from CPUs: 2-3.
";

    #[test]
    fn lists_and_masks_are_read() {
        assert_eq!(list("0-2,5\n").unwrap(), Cpus::from([0, 1, 2, 5]));
        assert!(list("").unwrap().is_empty() && list("(null)").unwrap().is_empty());
        assert_eq!(mask("00000001,00000006").unwrap(), Cpus::from([1, 2, 32]));
        assert!(list("2-x").is_err() && mask("g").is_err());
    }

    #[test]
    fn only_what_could_be_moved_is_complained_of() {
        let seen = Seen::from_lines(GUEST);
        let found = seen.off(&Cpus::from([2, 3])).unwrap();
        let about = |what: &str| found.iter().any(|complaint| complaint.contains(what));
        assert!(about("interrupt 25") && about("work queue cpumask") && about("kernel thread rcuop/2"), "{found:?}");
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(seen.off(&Cpus::from([9])).unwrap().is_empty());
    }

    #[test]
    fn what_files_ask_for_is_held_against_what_is() {
        assert_eq!(Seen::from_lines(GUEST).sysctls(), [("kernel.timer_migration", "0", "1")]);
    }

    #[test]
    fn offloaded_means_said_and_served() {
        assert_eq!(Seen::from_lines(GUEST).offloaded().unwrap(), Cpus::from([2]));
        assert_eq!(Seen::from_lines(GUEST).words(), ["quiet", "isolcpus=2-3"]);
    }
}
