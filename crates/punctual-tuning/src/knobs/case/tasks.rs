//! The running tasks. Kernel threads prove that a feature is in use which a parameter only requests, and processes
//! prove that a daemon runs.

use super::{Case, Doubt, Missing};
use crate::programs;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;

/// The list of tasks, which the reader of the live machine supplies: a line `FLAGS CPU RTPRIO POLICY NAME` for each
/// process, with the numbers as in `/proc/PID/stat`. `@CPUS` before the name lists the CPUs on which the task may run;
/// it is missing for kernel threads that cannot be moved. A last line `...` says that the list was cut off.
pub const TASKS: &str = "punctual:/tasks";

pub(crate) const KERNEL_THREAD: u64 = 0x0020_0000;
/// Numbers of scheduling policies in `/proc/PID/stat`.
pub(crate) const FIFO: u32 = 1;
pub(crate) const RR: u32 = 2;
pub(crate) const DEADLINE: u32 = 6;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The name of the task. The kernel cuts names of processes to 15 bytes.
    pub name: String,
    pub is_kernel: bool,
    pub cpu: u32,
    /// The real-time priority; 0 for tasks outside the real-time class.
    pub rt_priority: u32,
    /// The scheduling policy, as the kernel's number for it.
    pub policy: u32,
    /// The CPUs the task may run on; `None` for kernel threads that cannot be moved.
    pub cpus: Option<CpuSet>,
}

impl Task {
    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(5, ' ');
        let mut number = || parts.next()?.parse::<u64>().ok();
        let (flags, cpu, rt_priority, policy) = (number()?, number()?, number()?, number()?);
        let (is_kernel, rest) = (flags & KERNEL_THREAD != 0, parts.next()?);
        let told = rest.strip_prefix('@').and_then(|rest| {
            let (cpus, name) = rest.split_once(' ')?;
            Some((CpuSet::parse_list(cpus).ok()?, name))
        });
        let (cpus, name) = told.map_or((None, rest), |(cpus, name)| (Some(cpus), name));
        Some(Self {
            name: name.to_owned(),
            cpus,
            is_kernel,
            cpu: u32::try_from(cpu).ok()?,
            rt_priority: u32::try_from(rt_priority).ok()?,
            policy: u32::try_from(policy).ok()?,
        })
    }
}

#[derive(Debug)]
pub(super) struct TaskList {
    tasks: Vec<Task>,
    is_cut_off: bool,
}

impl TaskList {
    pub(super) fn parse(list: &str) -> Self {
        let is_cut_off = list.lines().next_back() == Some("...");
        Self { tasks: list.lines().filter_map(Task::parse).collect(), is_cut_off }
    }
}

impl Case<'_> {
    /// Every task for which `wanted` holds. Fails instead of returning nothing if the list of tasks is not complete.
    pub fn tasks(&self, wanted: impl Fn(&Task) -> bool) -> Result<Vec<Task>, Doubt> {
        let fact = self.task_list();
        if let Some(trouble) = fact.trouble() {
            self.note(TASKS, trouble);
        }
        let list = self.known(TASKS, fact.as_ref(), Missing::TellsNothing("the list of tasks is not known"))?;
        let found: Vec<Task> = list.tasks.iter().filter(|task| wanted(task)).cloned().collect();
        Doubt::unknown_if(found.is_empty() && list.is_cut_off, "there are more tasks than were examined")?;
        // A list without kernel threads comes from inside a container, so a missing task proves nothing.
        let is_partial = found.is_empty() && !list.tasks.iter().any(|task| task.is_kernel);
        Doubt::unknown_if(is_partial, "only the tasks of this container can be seen")?;
        Ok(found)
    }

    /// The running programs that the table of programs lists for this knob. The names of their processes are kept as
    /// evidence.
    pub fn running(&self, knob: &str) -> Result<Vec<String>, Doubt> {
        let names = programs::processes(knob);
        let mut found: Vec<String> = Vec::new();
        for task in self.tasks(|task| !task.is_kernel && names.contains(&task.name.as_str()))? {
            if !found.contains(&task.name) {
                found.push(task.name);
            }
        }
        let shown = if found.is_empty() { format!("none of {}", names.join(", ")) } else { found.join(", ") };
        self.cite("tasks", &Fact::Known(shown));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::Task;

    #[test]
    fn names_may_hold_blanks() {
        let task = Task::parse("2129984 1 50 1 irq/9 my dev").unwrap();
        assert_eq!((task.name.as_str(), task.is_kernel, task.rt_priority), ("irq/9 my dev", true, 50));
        let task = Task::parse("2129984 1 0 0 @0-1,3 kthreadd").unwrap();
        assert_eq!(
            (task.name.as_str(), task.cpus.map(|cpus| cpus.to_string())),
            ("kthreadd", Some("0-1,3".to_owned()))
        );
        assert_eq!(Task::parse("4194560 1 0 0 @0-3 @1 x").unwrap().name, "@1 x");
        assert_eq!(Task::parse("4194560 1 0 0 @home x").unwrap().name, "@home x");
        assert_eq!(Task::parse("x 1 50 1 a"), None);
        assert_eq!(Task::parse("1 1 50"), None);
    }
}
