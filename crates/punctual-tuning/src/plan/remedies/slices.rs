//! Remedies for the CPUs on which systemd runs programs: the CPUs of process 1, which its children inherit, and the
//! CPUs of systemd's slices, which programs in a slice cannot leave.

use super::super::{Invocation, Step, SystemdOrder};
use super::draft::Draft;
use super::{Found, KnobRemedy, Site};
use crate::knobs::{Blast, Doubt, SLICES};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;

const CGROUPS: &str = "/sys/fs/cgroup";

/// Moves process 1 to the housekeeping CPUs. Programs that it starts later inherit these CPUs, but may choose others.
pub(super) fn first_process(site: &Site<'_>) -> Found {
    let case = site.case;
    case.has_housekeeping()?;
    if let Some(container) = case.container() {
        return Doubt::not_applicable(format!("process 1 of a container ({container}) is not that of the machine"));
    }
    let Some(first) = site.thread(1)? else { return Doubt::unknown("process 1 cannot be seen") };
    let mut draft = Draft::default();
    if !first.cpus.intersection(case.rt()).is_empty() {
        site.send_away(&mut draft, first);
    }
    Ok(draft.remedy(
        "Real-time work that is started from now on must choose its CPUs itself: CPUAffinity= in its unit, or taskset.",
        "Cpus_allowed_list in /proc/1/status",
    ))
}

/// The slice that a process belongs to. It is the first part of the path in the process's `cgroup` file.
fn slice_of(cgroup: &str) -> Option<&str> {
    cgroup.lines().find_map(|line| line.strip_prefix("0::/"))?.split('/').next()
}

/// Limits systemd's slices to the housekeeping CPUs until the next boot. Programs in them then cannot use real-time
/// CPUs at all, so a slice that contains real-time work stays as it is.
pub(super) fn slices(site: &Site<'_>) -> Found {
    let case = site.case;
    case.has_housekeeping()?;
    Doubt::not_applicable_if(!case.machine.boot.is_systemd(), "this machine is not run by systemd")?;
    let controllers = case.peek(&format!("{CGROUPS}/cgroup.controllers"));
    if !controllers.known().is_some_and(|names| names.split_whitespace().any(|name| name == "cpuset")) {
        return Doubt::unknown("cgroup v2 does not offer the cpuset controller here");
    }
    let mut busy: Vec<(String, String)> = Vec::new();
    for thread in site.real_time_work().unwrap_or_default() {
        let cgroup = case.peek(&format!("/proc/{}/cgroup", thread.process));
        let slice = cgroup.known().and_then(|text| slice_of(text));
        busy.extend(slice.map(|slice| (slice.to_owned(), thread.name.comm.clone())));
    }
    let mut draft = Draft::default();
    for slice in SLICES.iter().filter(|slice| case.exists(&format!("{CGROUPS}/{slice}"))) {
        if busy.iter().any(|(held, _)| held == slice) {
            continue;
        }
        let own = case.peek(&format!("{CGROUPS}/{slice}/cpuset.cpus"));
        let Ok(before) = CpuSet::parse_list(own.known().map_or("", String::as_str)) else { continue };
        if !before.is_empty() && before.intersection(case.rt()).is_empty() {
            continue;
        }
        let set = |cpus: &str| {
            let value = format!("AllowedCPUs={cpus}");
            Some(Invocation::systemd(SystemdOrder::SetRuntimeProperty, [slice, &value]))
        };
        let after = case.kept_off(&before).to_string();
        let shown = if before.is_empty() { "no limit".to_owned() } else { before.to_string() };
        draft.step(slice, &shown, &after, Step::Run { doing: set(&after), undoing: set(&before.to_string()) });
    }
    if draft.is_empty() {
        return Ok(match busy.first() {
            Some((slice, thread)) => KnobRemedy::ByHand(format!(
                "{thread} does real-time work in {slice}: give its unit a slice of its own (Slice=, AllowedCPUs={}) first",
                case.rt()
            )),
            None => KnobRemedy::NotHere("no slice here may use the real-time CPUs".to_owned()),
        });
    }
    let risk = "Nothing in these slices can use the real-time CPUs any more: real-time work started from a login or as a \
        service needs a slice of its own with AllowedCPUs=.";
    Ok(draft.apart(risk, "cpuset.cpus.effective of each slice").reaching(Blast::Breaking))
}

pub(super) fn group_file(site: &Site<'_>, group: &str, file: &str) -> Fact<String> {
    site.case.peek(&format!("{group}/{file}"))
}
