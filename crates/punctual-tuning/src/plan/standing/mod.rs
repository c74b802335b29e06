//! The status of requests: for each knob, the value configured for the next boot, the value this boot was given, and
//! the value in force.
//!
//! A request proves nothing: a value counts as in force only if a file of the kernel shows it now.

mod word;

use super::{Expected, Keep, Reading, SchedPolicy, Step, TaskName};
use crate::knobs::Case;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::cpus::allowed_by;
use punctual_facts::fact::Fact;
use punctual_facts::machine::Machine;
use punctual_facts::profile::Need;
use punctual_facts::stat_line::StatLine;
use punctual_facts::tree::{Tree, text};
use serde::Serialize;
use std::collections::BTreeMap;
use word::word_row;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requested {
    /// A word that was to be added to the kernel's command line, or to be removed from it.
    Word { id: String, keep: Keep },
    /// A step that was carried out at run time, in this boot or an earlier one.
    Done { id: String, step: Step, is_this_boot: bool },
}

impl Requested {
    pub fn of_word(id: &str, keep: &Keep) -> Option<Self> {
        let is_word = matches!(keep, Keep::Word(_) | Keep::NoWord(_));
        is_word.then(|| Self::Word { id: id.to_owned(), keep: keep.clone() })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusRow {
    pub id: String,
    /// The subject of the row, such as a word, a file or a thread.
    pub what: String,
    /// The value in the files for the next boot; null if no file has one.
    pub configured: Option<String>,
    /// The value on the command line of this boot; null unless the subject is a word.
    pub booted: Option<String>,
    /// The value in force; null if it cannot be seen.
    pub effective: Option<String>,
    #[serde(flatten)]
    pub standing: Standing,
}

/// The status of one request. The variants are ordered from the best to the worst.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "standing", content = "because", rename_all = "kebab-case")]
pub enum Standing {
    InForce,
    /// The subject no longer exists: a thread ended, or a device was unplugged.
    Gone,
    /// The value is set, and takes effect when the interrupt occurs next.
    WaitsForInterrupt,
    /// The value takes effect with the next boot.
    WaitsForBoot,
    /// The status could not be determined, for this reason.
    Unknown(String),
    /// The value was in force, and has been changed since.
    Drifted,
    /// This boot's command line had the word, but the kernel did not honour it, for this reason.
    NotHonoured(String),
}

impl Standing {
    pub fn name(&self) -> &'static str {
        match self {
            Self::InForce => "in force",
            Self::Gone => "gone",
            Self::WaitsForInterrupt => "waits for its next interrupt",
            Self::WaitsForBoot => "waits for a reboot",
            Self::Unknown(_) => "unknown",
            Self::Drifted => "drifted",
            Self::NotHonoured(_) => "not honoured",
        }
    }

    pub fn because(&self) -> Option<&str> {
        match self {
            Self::Unknown(why) | Self::NotHonoured(why) => Some(why),
            Self::InForce | Self::Gone | Self::WaitsForInterrupt | Self::WaitsForBoot | Self::Drifted => None,
        }
    }
}

/// The status of all requests, in the order of the requests. Of several requests with the same subject only the last
/// one counts.
pub fn standing(tree: &dyn Tree, machine: &Machine, need: &Need, asked: &[Requested]) -> Vec<StatusRow> {
    let case = Case::new(tree, machine, need);
    let mut last: BTreeMap<String, usize> = BTreeMap::new();
    for (at, asked) in asked.iter().enumerate() {
        last.insert(about(asked), at);
    }
    let is_last = |(at, asked): &(usize, &Requested)| last.get(&about(asked)) == Some(at);
    asked.iter().enumerate().filter(is_last).map(|(_, asked)| row(asked, &case)).collect()
}

/// The subject of a request. Of two requests with the same subject the later one counts.
fn about(asked: &Requested) -> String {
    match asked {
        Requested::Word { keep, .. } => keep.subject(),
        // Files of these two kinds hold several lines at the same time, so each line is a subject of its own. The same
        // is true below of a device's settings and of program runs.
        Requested::Done { step: step @ Step::Write { path, value, expected }, .. } => match expected.reading {
            Reading::Switches | Reading::Schemata => format!("{path} {value}"),
            Reading::Plain | Reading::Marked | Reading::CpuList | Reading::CpuMask => subject(step),
        },
        Requested::Done { step: step @ (Step::Nic { .. } | Step::Run { .. }), .. } => format!("{step:?}"),
        Requested::Done { step, .. } => subject(step),
    }
}

fn row(asked: &Requested, case: &Case<'_>) -> StatusRow {
    match asked {
        Requested::Word { id, keep } => word_row(id, keep, case),
        Requested::Done { id, step, is_this_boot } => {
            let (what, seen) = (subject(step), seen(step, case));
            let mut row = StatusRow {
                id: id.clone(),
                what,
                configured: None,
                booted: None,
                effective: seen.as_ref().known().map(|seen| seen.text.clone()),
                standing: Standing::InForce,
            };
            row.standing = match seen {
                Fact::Known(seen) if seen.is_wanted => Standing::InForce,
                Fact::Known(_) if *is_this_boot && is_set(step, case) => Standing::WaitsForInterrupt,
                // The step belongs to an earlier boot and changed no file on a disk, so the value is missing until the
                // step is carried out again.
                Fact::Known(_) if !is_this_boot && !step.is_kept() => Standing::WaitsForBoot,
                Fact::Known(_) => Standing::Drifted,
                Fact::Absent => Standing::Gone,
                other => Standing::Unknown(other.trouble().unwrap_or_default()),
            };
            row
        }
    }
}

/// Whether the file of a step holds the written value although another file decides when the value takes effect.
fn is_set(step: &Step, tree: &dyn Tree) -> bool {
    let Step::Write { path, value, expected: expected @ Expected { settles_at: Some(_), .. } } = step else {
        return false;
    };
    text(tree, path).known().is_some_and(|seen| expected.met(value, &expected.reading.value(seen, value)))
}

/// The value that a file shows, and whether it is the wanted one.
struct Observed {
    text: String,
    is_wanted: bool,
}

/// The subject of a step: a file, a thread, a device, a unit or a program.
pub fn subject(step: &Step) -> String {
    match step {
        Step::Write { path, .. }
        | Step::Own { path, .. }
        | Step::Edit { path, .. }
        | Step::Remove { path }
        | Step::Folder { path } => path.clone(),
        Step::Affinity { task, .. } => of_task("affinity", task),
        Step::Policy { task, .. } => of_task("policy", task),
        Step::Nic { device, .. } => device.clone(),
        Step::Silence { unit, .. } => unit.clone(),
        Step::Run { doing, undoing } => {
            doing.as_ref().or(undoing.as_ref()).map_or_else(String::new, |run| run.program.clone())
        }
    }
}

/// The value that the machine shows now for the subject of a step.
fn seen(step: &Step, tree: &dyn Tree) -> Fact<Observed> {
    match step {
        Step::Write { path, value, expected } => {
            let place = expected.settles_at.as_deref().unwrap_or(path);
            text(tree, place).map(|seen| {
                let text = expected.reading.value(&seen, value);
                Observed { is_wanted: expected.met(value, &text), text }
            })
        }
        Step::Own { path, content, .. } => tree.read(path).map(|bytes| see_file(bytes == content.as_bytes())),
        Step::Edit { path, content, also_ours, .. } => {
            tree.read(path).map(|bytes| see_file(bytes == *content || also_ours.contains(&bytes)))
        }
        Step::Remove { path } => Fact::Known(see_file(tree.read(path) == Fact::Absent)),
        Step::Folder { path } => tree.list(path).map(|_| Observed { text: "there".to_owned(), is_wanted: true }),
        Step::Affinity { task, cpus } => affinity(tree, task, cpus),
        Step::Policy { task, policy } => policy_of(tree, task, *policy),
        Step::Nic { .. } => Fact::Garbled("is not checked again".to_owned()),
        Step::Silence { unit, lasting } => service(tree, unit, *lasting),
        Step::Run { .. } => Fact::Known(Observed { text: "was run".to_owned(), is_wanted: true }),
    }
}

/// Whether a service is silent: its unit is masked and has no control group. systemd creates a control group for each
/// service that it starts.
fn service(tree: &dyn Tree, unit: &str, lasting: bool) -> Fact<Observed> {
    let groups = SLICES.iter().find_map(|slice| tree.list(slice).known().cloned());
    let Some(groups) = groups else { return Fact::Garbled("only systemd knows".to_owned()) };
    let is_masked = |folder: &&str| {
        let link = tree.link(&format!("{folder}/{unit}"));
        link.known().is_some_and(|target| target == "/dev/null")
    };
    let masks = if lasting { &MASKS[..1] } else { &MASKS[..] };
    let (text, is_wanted) = if groups.iter().any(|group| group == unit) {
        ("runs", false)
    } else if masks.iter().any(is_masked) {
        ("silent", true)
    } else {
        ("silent, but not masked", false)
    };
    Fact::Known(Observed { text: text.to_owned(), is_wanted })
}

/// The folders with the control groups of services, in cgroup v2 and in cgroup v1.
const SLICES: [&str; 2] = ["/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice"];
/// The folders with the links of masked units: the first mask lasts until it is removed, the second until the next
/// boot.
const MASKS: [&str; 2] = ["/etc/systemd/system", "/run/systemd/system"];

fn of_task(what: &str, task: &TaskName) -> String {
    format!("{what} of {} ({})", task.comm, task.pid)
}

fn see_file(is_wanted: bool) -> Observed {
    Observed { text: if is_wanted { "as written" } else { "changed" }.to_owned(), is_wanted }
}

/// A thread's `stat` file. Absent if the number now belongs to another thread, which began at another time.
fn stat(tree: &dyn Tree, task: &TaskName) -> Fact<String> {
    text(tree, &format!("/proc/{}/stat", task.pid)).and_then(|stat| {
        let is_same = StatLine::parse(&stat).and_then(|line| line.number(22)) == Some(task.started);
        if is_same { Fact::Known(stat) } else { Fact::Absent }
    })
}

fn affinity(tree: &dyn Tree, task: &TaskName, wanted: &CpuSet) -> Fact<Observed> {
    stat(tree, task).and_then(|_| text(tree, &format!("/proc/{}/status", task.pid))).and_then(
        |status| match allowed_by(&status) {
            Some(cpus) => Fact::Known(Observed { is_wanted: cpus == *wanted, text: cpus.to_string() }),
            None => Fact::Garbled("the thread's status names no CPUs".to_owned()),
        },
    )
}

fn policy_of(tree: &dyn Tree, task: &TaskName, wanted: SchedPolicy) -> Fact<Observed> {
    stat(tree, task).and_then(|stat| {
        let number = |field: usize| StatLine::parse(&stat)?.number::<i64>(field);
        let (Some(nice), Some(priority), Some(policy)) = (number(19), number(40), number(41)) else {
            return Fact::Garbled("/proc/PID/stat of the thread is too short".to_owned());
        };
        let priority = u32::try_from(priority).unwrap_or_default();
        let now = match policy {
            0 => SchedPolicy::Other(i32::try_from(nice).unwrap_or_default()),
            1 => SchedPolicy::Fifo(priority),
            2 => SchedPolicy::Rr(priority),
            other => return Fact::Garbled(format!("policy number {other} is none that punctual sets")),
        };
        Fact::Known(Observed { text: now.to_string(), is_wanted: now == wanted })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Reading;
    use punctual_facts::tree::MemTree;

    /// The status of `step` on the machine with these files, if the step was carried out in this boot.
    fn standing_of(machine: &str, step: Step) -> Standing {
        let tree = MemTree::parse(&format!("punctual-machine 1\n{machine}")).unwrap();
        let asked = [Requested::Done { id: "irq.affinity".to_owned(), step, is_this_boot: true }];
        standing(&tree, &Machine::read(&tree), &Need::default(), &asked).remove(0).standing
    }

    #[test]
    fn an_interrupt_that_has_yet_to_come_is_no_drift() {
        let folder = "/proc/irq/1";
        let expected = Expected {
            reading: Reading::CpuList,
            settles_at: Some(format!("{folder}/effective_affinity_list")),
            or_fewer: true,
        };
        let step = Step::Write { path: format!("{folder}/smp_affinity_list"), value: "0-1".to_owned(), expected };
        let machine = |mask: &str, is: &str| {
            format!("{folder}/smp_affinity_list = {mask}\n{folder}/effective_affinity_list = {is}\n")
        };
        assert_eq!(standing_of(&machine("0-1", "1"), step.clone()), Standing::InForce);
        assert_eq!(standing_of(&machine("0-1", "3"), step.clone()), Standing::WaitsForInterrupt);
        assert_eq!(standing_of(&machine("0-3", "3"), step), Standing::Drifted);
    }

    #[test]
    fn a_service_is_silent_where_it_is_masked_and_has_no_control_group() {
        let found = |lines: &str| {
            let tree = MemTree::parse(&format!("punctual-machine 1\n{lines}")).unwrap();
            service(&tree, "irqbalance.service", true)
        };
        let groups = "/sys/fs/cgroup/system.slice/dbus.service/\n";
        let mask = "/etc/systemd/system/irqbalance.service -> /dev/null\n";
        let run = "/sys/fs/cgroup/system.slice/irqbalance.service/\n";
        for (lines, text, is_wanted) in [
            (format!("{groups}{mask}"), "silent", true),
            (groups.to_owned(), "silent, but not masked", false),
            (format!("{groups}{mask}{run}"), "runs", false),
        ] {
            let Fact::Known(seen) = found(&lines) else { panic!("{lines}") };
            assert_eq!((seen.text.as_str(), seen.is_wanted), (text, is_wanted));
        }
        assert!(matches!(found(mask), Fact::Garbled(_)));
    }
}
