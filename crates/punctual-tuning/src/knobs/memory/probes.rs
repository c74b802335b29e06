//! The probes of the memory knobs.

use crate::knobs::prelude::*;

/// The number in a field of `/proc/meminfo`. The unit, kilobytes or pages, depends on the field.
pub(crate) fn meminfo(case: &Case<'_>, field: &str) -> Result<u64, Doubt> {
    let path = "/proc/meminfo";
    let info = case.content(path, TellsNothing("/proc/meminfo is not there"))?;
    let value = info.lines().find_map(|line| line.split_once(':').filter(|(name, _)| *name == field));
    let number = value.and_then(|(_, value)| value.split_whitespace().next()?.parse().ok());
    let Some(number) = number else { return Doubt::unknown(format!("{path} has no number {field}")) };
    case.note(format!("{path} {field}"), format!("{number}"));
    Ok(number)
}

pub(super) fn swap_areas(case: &Case<'_>) -> Result<Vec<String>, Doubt> {
    let path = "/proc/swaps";
    let table = case.content(path, CannotBe("this kernel cannot swap"))?;
    let area = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let areas: Vec<String> = table.lines().skip(1).filter_map(area).collect();
    case.note(path, if areas.is_empty() { "none".to_owned() } else { areas.join(", ") });
    Ok(areas)
}

pub(super) fn swaps(case: &Case<'_>) -> Result<(), Doubt> {
    Doubt::not_applicable_if(swap_areas(case)?.is_empty(), "nothing is swapped here")
}

pub(super) fn hugetlb(case: &Case<'_>) -> Judged {
    let folder = "/sys/kernel/mm/hugepages";
    let none = CannotBe("this kernel reserves no huge pages");
    let (mut reserved, mut unused) = (0, Vec::new());
    for size in case.names(folder, none)? {
        let number = |name: &str| -> Result<u64, Doubt> {
            let path = format!("{folder}/{size}/{name}");
            let text = case.content(&path, none)?;
            text.parse().or_else(|_| Doubt::unknown(format!("{path} holds '{text}', not a number")))
        };
        let (total, free, promised) = (number("nr_hugepages")?, number("free_hugepages")?, number("resv_hugepages")?);
        if total > 0 {
            case.note(
                format!("{folder}/{size}"),
                format!("{total} pages reserved, {free} of them free, {promised} promised to programs"),
            );
            reserved += 1;
            unused.extend((free == total && promised == 0).then_some(size));
        }
    }
    Doubt::not_applicable_if(reserved == 0, "no huge pages are reserved")?;
    Ok(unused.is_empty())
}

/// Not applicable if the kernel leaves the real-time CPUs out of its memory statistics because they are isolated.
pub(super) fn counts_isolated(case: &Case<'_>) -> Result<(), Doubt> {
    let is_left_out = case.rt().is_subset(&case.isolated()?) && case.version()? >= Version::new(6, 12);
    Doubt::not_applicable_if(is_left_out, "from 6.12 on, memory statistics leave isolated CPUs out")
}

/// Whether compaction leaves locked pages in place, so that it is only work in the background.
pub(super) fn keeps_locked(case: &Case<'_>) -> bool {
    case.peek("/proc/sys/vm/compact_unevictable_allowed") == Fact::Known("0".to_owned())
}

const EARLY_BYTES: u64 = 256 << 20;

pub(super) fn dirty(case: &Case<'_>) -> Judged {
    let unseen = TellsNothing("the amount of dirty memory at which writing back starts is not shown");
    let unsigned = |path: &str| case.number(path, unseen).map(|number| u64::try_from(number).unwrap_or(0));
    let bytes = unsigned("/proc/sys/vm/dirty_background_bytes")?;
    if bytes > 0 {
        return Ok(bytes <= EARLY_BYTES);
    }
    let percent = unsigned("/proc/sys/vm/dirty_background_ratio")?;
    let memory_bytes = meminfo(case, "MemAvailable")?.saturating_mul(1024);
    Ok(memory_bytes / 100 <= EARLY_BYTES / percent.max(1))
}

pub(super) const RESERVE_KB: u64 = 64 << 10;

pub(super) fn oom(case: &Case<'_>) -> Result<(), Doubt> {
    let path = "/proc/sys/vm/panic_on_oom";
    let choice = case.peek(path);
    if choice.known().is_some_and(|choice| choice != "0") {
        case.cite(path, &choice);
        return Doubt::not_applicable("the kernel kills no process: the machine stops instead");
    }
    Ok(())
}

const NODES: &str = "/sys/devices/system/node";
const NO_NODES: Missing = CannotBe("this kernel knows one memory node");

/// The memory nodes that a file lists. Not applicable on a machine with a single node.
pub(super) fn nodes(case: &Case<'_>, file: &str) -> Result<CpuSet, Doubt> {
    // Lists of nodes have the format of lists of CPUs.
    let online = case.cpu_list(&format!("{NODES}/online"), NO_NODES)?;
    Doubt::not_applicable_if(online.len() < 2, "there is one memory node")?;
    case.cpu_list(&format!("{NODES}/{file}"), NO_NODES)
}

pub(super) fn numa(case: &Case<'_>) -> Judged {
    let mut touched = 0;
    for node in nodes(case, "has_cpu")?.iter() {
        let path = format!("{NODES}/node{node}/cpulist");
        let list = case.content(&path, TellsNothing("the CPUs of a node are not shown"))?;
        let cpus = CpuSet::parse_list(&list).or_else(|e| Doubt::unknown(format!("{path}: {e}")))?;
        if !cpus.intersection(case.rt()).is_empty() {
            case.note(path, list);
            touched += 1;
        }
    }
    if touched == 0 { Doubt::unknown("no memory node lists the real-time CPUs") } else { Ok(touched == 1) }
}

/// Folders of memory balloon drivers, each with the beginning of the name that an entry for a device has.
const BALLOONS: [(&str, &str); 3] = [
    ("/sys/bus/virtio/drivers/virtio_balloon", "virtio"),
    ("/sys/bus/vmbus/drivers/hv_balloon", "vmbus"),
    ("/sys/devices/system/xen_memory", "xen_memory"),
];

pub(super) fn balloon(case: &Case<'_>) -> Judged {
    Doubt::not_applicable_if(case.known_virtualisation()?.hypervisor.is_none(), "this is no guest")?;
    let is_device = |name: &String, kind: &str| match kind {
        "virtio" => name.starts_with("virtio"),
        "vmbus" => name.len() == 36,
        _ => name.starts_with(kind),
    };
    for (folder, kind) in BALLOONS {
        let names = case.list(folder);
        if names.known().is_some_and(|names| names.iter().any(|name| is_device(name, kind))) {
            case.note(folder, "drives a device");
            return Ok(false);
        }
    }
    if case.exists("/sys/module/vmw_balloon") {
        case.note("/sys/module/vmw_balloon", "loaded");
        return Ok(false);
    }
    let drivers = "/sys/bus/virtio/drivers";
    if case.has_bus("virtio")? {
        case.names(drivers, TellsNothing("the drivers of the virtio devices are not shown"))?;
    }
    case.note("/sys/bus", "no balloon");
    Ok(true)
}

pub(super) fn damon(case: &Case<'_>) -> Judged {
    let threads = case.tasks(|task| task.is_kernel && task.name.starts_with("kdamond"))?;
    let names: Vec<String> = threads.into_iter().map(|task| task.name).collect();
    case.none_found("kernel threads kdamond.N", names.join(", "), "none")
}
