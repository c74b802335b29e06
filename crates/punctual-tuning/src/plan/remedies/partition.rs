//! Isolates CPUs while the machine runs, by a cpuset partition, as an alternative to `isolcpus=`.
//!
//! systemd owns the tree of control groups and removes controllers that none of its units needs. Therefore the
//! partition's group is a slice of systemd that needs the cpuset controller, and this program writes only the state of
//! the partition.

use super::super::{Expected, Invocation, Reading, Step, SystemdOrder};
use super::draft::Draft;
use super::slices::group_file;
use super::{Found, Site, by_hand};
use crate::knobs::{Blast, Doubt};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;
use punctual_facts::machine::Version;

/// The slice for the real-time work.
pub const SLICE: &str = "punctual.slice";
pub const GROUP: &str = "/sys/fs/cgroup/punctual.slice";
const ROOT: &str = "/sys/fs/cgroup";
const UNIT: &str = "/run/systemd/system/punctual.slice";
/// The first kernel that has isolated partitions.
const SINCE: Version = Version::new(6, 1);
/// The first kernel whose threads and unbound work avoid isolated partitions.
const WHOLE_SINCE: Version = Version::new(7, 0);
const STATE: &str = "cpuset.cpus.partition";

fn offers_cpusets(site: &Site<'_>, file: &str) -> bool {
    let names = group_file(site, ROOT, file);
    names.known().is_some_and(|names| names.split_whitespace().any(|name| name == "cpuset"))
}

/// A control group that uses some of the CPUs to be isolated, so that the kernel would refuse the partition.
fn in_the_way(site: &Site<'_>) -> Option<String> {
    let groups = site.case.list(ROOT);
    groups.known().into_iter().flatten().map(|name| format!("{ROOT}/{name}")).find(|group| {
        let own = group_file(site, group, "cpuset.cpus");
        let cpus = own.known().and_then(|list| CpuSet::parse_list(list).ok());
        group != GROUP && cpus.is_some_and(|cpus| !cpus.intersection(site.case.rt()).is_empty())
    })
}

/// Adds the steps that create the partition's group: a slice on systemd, a folder on other inits.
fn group(site: &Site<'_>, draft: &mut Draft) {
    let case = site.case;
    if case.machine.boot.is_systemd() {
        let cpus = &case.rt();
        let content = format!(
            "# Made by punctual; undone by: punctual revert\n[Unit]\nDescription=CPUs {cpus} for real-time work\n\n[Slice]\n\
                AllowedCPUs={cpus}\n"
        );
        let reload = || Some(Invocation::systemd(SystemdOrder::DaemonReload, []));
        let unit = |order| Some(Invocation::systemd(order, [SLICE]));
        draft.silent(Step::Run { doing: None, undoing: reload() });
        draft.silent(Step::Own { path: UNIT.to_owned(), content, mode: 0o644 });
        draft.silent(Step::Run { doing: reload(), undoing: None });
        draft.silent(Step::Run { doing: unit(SystemdOrder::Start), undoing: unit(SystemdOrder::Stop) });
        return;
    }
    if !offers_cpusets(site, "cgroup.subtree_control") {
        let (path, value) = (format!("{ROOT}/cgroup.subtree_control"), "+cpuset".to_owned());
        draft.silent(Step::Write { path, value, expected: Expected::same(Reading::Switches) });
    }
    if !case.exists(GROUP) {
        draft.silent(Step::Folder { path: GROUP.to_owned() });
    }
    let (path, value) = (format!("{GROUP}/cpuset.cpus"), case.rt().to_string());
    draft.silent(Step::Write { path, value, expected: Expected::same(Reading::CpuList) });
}

/// Makes the partition if the user asked for one.
pub(super) fn domain(site: &Site<'_>) -> Found {
    let case = site.case;
    if !site.preferences.partition {
        return Doubt::not_applicable(
            "isolcpus= takes effect at the next boot; a cpuset partition (--partition) isolates now",
        );
    }
    case.has_housekeeping()?;
    if let Some(container) = case.container() {
        return Doubt::not_applicable(format!(
            "a process in a container ({container}) cannot isolate CPUs of the machine"
        ));
    }
    Doubt::not_applicable_if(case.version()? < SINCE, "isolated partitions need kernel 6.1 or later")?;
    if !offers_cpusets(site, "cgroup.controllers") {
        return Doubt::unknown(format!(
            "{ROOT}/cgroup.controllers does not offer cpuset: the machine uses cgroup v1, or no control groups"
        ));
    }
    if let Some(other) = in_the_way(site) {
        return Doubt::unknown(format!(
            "{other}/cpuset.cpus holds some of these CPUs, and the kernel lets only one group have a CPU exclusively"
        ));
    }
    let mut draft = Draft::default();
    group(site, &mut draft);
    let now = group_file(site, GROUP, STATE);
    let before = now.known().map_or("no partition", String::as_str);
    let (path, value) = (format!("{GROUP}/{STATE}"), "isolated".to_owned());
    let step = Step::Write { path, value, expected: Expected::same(Reading::Plain) };
    draft.step(&format!("CPUs {}", case.rt()), before, "isolated partition", step);
    let risk = "Everything that runs on these CPUs now is moved away, including real-time work, which has to be \
        started in the slice (Slice=punctual.slice, systemd-run --slice=punctual.slice).";
    let more = if case.version()? < WHOLE_SINCE {
        " Before 7.0, kernel threads still run on these CPUs, see kthr.affinity."
    } else {
        ""
    };
    let proof = format!("{GROUP}/{STATE} reads 'isolated', and nothing after it");
    let remedy = draft.remedy(&format!("{risk}{more}"), &proof);
    let has_work = site.real_time_work().is_ok_and(|work| !work.is_empty());
    Ok(if has_work { remedy.reaching(Blast::Breaking) } else { remedy })
}

/// Leaves a partition that the kernel marks as invalid to a person.
pub(super) fn broken(site: &Site<'_>) -> Found {
    match group_file(site, GROUP, STATE) {
        Fact::Known(text) if text.contains("invalid") => by_hand(&format!(
            "{GROUP}/{STATE} reads '{text}': remove the cause, then run punctual revert and punctual tune again"
        )),
        _ => by_hand(
            "another program made the partition: the partition's file says what is wrong, and the program that made it \
            has to correct it",
        ),
    }
}
