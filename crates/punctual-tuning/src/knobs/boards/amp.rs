//! Knobs about cores beside Linux (AMP): CPUs that the device tree withholds, remote processors, and the memory and
//! channels by which both sides talk.

use super::cores::has_tree;
use super::{NO_TREE, TREE, property};
use crate::knobs::prelude::*;
use crate::pattern::fitting;

const KNOB: Knob = Knob {
    severity: Weight::all(Info),
    blast: Blast::Breaking,
    confidence: Confidence::Medium,
    ..Knob::of(Family::Boards)
};

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "amp.withheld",
        title: "Every CPU of the device tree is Linux's, or withheld on purpose",
        severity: Weight::all(Medium),
        check: Check::Probe(withheld),
        why: "If the device tree describes a CPU that Linux does not use, either the CPU is lost (it failed to start, \
            or the command line says nr_cpus=) or it runs other software. In the second case it shares caches, \
            interrupts and memory with Linux, and /proc does not show its load.",
        fix: Fix::NotAtRunTime("Linux takes its CPUs from the device tree at boot."),
        persist: &[Lasting::NoWord("nr_cpus"), Lasting::NoWord("maxcpus")],
        undo: Fix::prose("Boot with the former device tree and command line."),
        cost: "None, if the CPU was lost.",
        sources: &[
            "kernel 6.1, 6.12 arch/arm64/kernel/smp.c: of_parse_and_init_cpus",
            "kernel 6.1 drivers/of/base.c: of_get_next_cpu_node",
        ],
        ..KNOB
    },
    Knob {
        id: "amp.withhold",
        title: "How to give a CPU to other software",
        applies: can_withhold,
        check: Check::Told(words),
        why: "Firmware that runs beside Linux on a core of its own can keep deadlines that Linux cannot, because no \
            code of a kernel delays it. The core still shares the last-level cache, the memory and the heat of the \
            chip with Linux.",
        fix: Fix::NotAtRunTime("only a boot loader can hand a CPU over that Linux has already started."),
        persist: &[Lasting::Firmware(
            "boot loader: start the other software on that CPU before or after Linux (U-Boot: rproc, bootamp, or the maker's AMP image)",
        )],
        cost: "Linux has one CPU fewer.",
        sources: &[
            "kernel 6.1 drivers/of/base.c: of_get_next_cpu_node (a CPU whose status is fail is skipped)",
            "makers' AMP device trees delete the CPU's node and its entry in cpu-map",
            "unverified: on hardware",
        ],
        ..KNOB
    },
    Knob {
        id: "amp.remote",
        title: "No remote processor has crashed",
        severity: Weight::all(High),
        check: Check::Probe(remote),
        why: "A remote processor that crashed no longer answers, and recovery, if it is on, restarts its firmware; all \
            its channels are unavailable during this time.",
        fix: Fix::prose(
            "echo stop, then start, to /sys/class/remoteproc/remoteprocN/state, after its firmware was corrected; read \
            /sys/kernel/debug/remoteproc/remoteprocN/trace0 first.",
        ),
        persist: &[Lasting::other(
            "Install corrected firmware in /lib/firmware, under the name in the file 'firmware' next to 'state'.",
        )],
        undo: Fix::prose("echo stop > /sys/class/remoteproc/remoteprocN/state"),
        cost: "The remote software starts anew.",
        confidence: Confidence::High,
        sources: &["kernel ABI testing/sysfs-class-remoteproc", "kernel 6.12 drivers/remoteproc/remoteproc_sysfs.c"],
        ..KNOB
    },
    Knob {
        id: "amp.channels",
        title: "Channels to other processors are known",
        check: Check::Told(channels),
        why: "A control loop exchanges data with another processor through shared memory and the interrupt of a \
            mailbox. The CPU of this interrupt, and the thread that serves it, add to the loop's latency.",
        fix: Fix::prose(
            "echo <H> > /proc/irq/N/smp_affinity_list for the mailbox's interrupt, unless the loop itself waits for it; \
            give the thread that serves it a priority above its readers.",
        ),
        persist: &[Lasting::other("A unit that writes the lists at boot.")],
        undo: Fix::prose("Write the former lists back."),
        cost: "None.",
        blast: Blast::Harmless,
        sources: &["kernel staging/rpmsg.rst", "kernel ABI testing/sysfs-bus-rpmsg"],
        ..KNOB
    },
];

/// The names of the CPU nodes of the device tree, in the order of their addresses.
fn nodes(case: &Case<'_>) -> Result<Vec<String>, Doubt> {
    let mut nodes = case.names(&format!("{TREE}/cpus"), NO_TREE)?;
    nodes.retain(|name| name.starts_with("cpu@"));
    let address = |name: &String| u64::from_str_radix(name.trim_start_matches("cpu@"), 16).unwrap_or(u64::MAX);
    nodes.sort_by_key(address);
    Doubt::not_applicable_if(nodes.is_empty(), "the device tree does not describe the CPUs")?;
    Ok(nodes)
}

/// The CPU nodes that belong to CPUs of Linux; `None` if the kernel does not show which.
fn taken(case: &Case<'_>) -> Option<Vec<(u32, String)>> {
    let possible = case.possible()?;
    let node = |cpu: u32| {
        let link = case.link(&format!("/sys/devices/system/cpu/cpu{cpu}/of_node"));
        Some((cpu, link.known()?.rsplit('/').next()?.to_owned()))
    };
    possible.iter().map(node).collect()
}

/// The nodes that Linux does not use.
fn left_over(case: &Case<'_>) -> Result<Vec<String>, Doubt> {
    let nodes = nodes(case)?;
    if let Some(taken) = taken(case) {
        return Ok(nodes.into_iter().filter(|node| !taken.iter().any(|(_, of)| of == node)).collect());
    }
    let possible = case.possible().map_or(0, CpuSet::len);
    Doubt::unknown_if(possible == 0, "how many CPUs Linux has is not shown")?;
    // Without the links, only the number is known. Linux counts CPUs in the order of their nodes.
    Ok(nodes.into_iter().skip(possible).collect())
}

/// Whether the device tree says, as Rockchip's do, that this chip runs other software beside Linux.
fn is_amp(case: &Case<'_>) -> bool {
    property(case, &format!("{TREE}/rockchip-amp/compatible")).is_some()
}

/// What shows that somebody else runs a processor of this chip.
fn owners(case: &Case<'_>) -> Vec<String> {
    let amp = is_amp(case).then(|| format!("{TREE}/rockchip-amp"));
    let remote = fitting(case, "/sys/class/remoteproc/remoteproc*");
    let devices = fitting(case, "/sys/bus/rpmsg/devices/*");
    amp.into_iter().chain(remote).chain(devices).collect()
}

fn withheld(case: &Case<'_>) -> Judged {
    has_tree(case)?;
    let left = left_over(case)?;
    let all = nodes(case)?;
    let owners = owners(case);
    let mut lost = Vec::new();
    let mut told = Vec::new();
    for node in &left {
        match property(case, &format!("{TREE}/cpus/{node}/status")) {
            Some(status) if status != "okay" && status != "ok" => told.push(format!("{node} (status {status})")),
            _ if owners.is_empty() => lost.push(node.clone()),
            _ => told.push(node.clone()),
        }
    }
    if !owners.is_empty() {
        case.note("other processors", owners.join(", "));
    }
    let kept = if told.is_empty() { format!("none of {} CPUs", all.len()) } else { told.join(", ") };
    case.note(format!("{TREE}/cpus, CPUs withheld from Linux"), kept);
    if lost.is_empty() {
        return Ok(true);
    }
    case.note("CPUs whose use is not known", lost.join(", "));
    Ok(false)
}

fn can_withhold(case: &Case<'_>) -> Result<(), Doubt> {
    has_tree(case)?;
    case.not_a_guest()?;
    case.has_housekeeping()?;
    let is_withheld = !left_over(case)?.is_empty() || is_amp(case);
    Doubt::not_applicable_if(is_withheld, "a CPU is withheld from Linux already")
}

/// The words that withhold the last real-time CPU from Linux.
fn words(case: &Case<'_>) -> Result<String, Doubt> {
    let taken = taken(case);
    let Some(cpu) = case.rt().iter().last() else { return Doubt::unknown("no real-time CPU is chosen") };
    let node = match &taken {
        Some(taken) => taken.iter().find(|(of, _)| *of == cpu).map(|(_, node)| node.clone()),
        None => nodes(case)?.get(cpu as usize).cloned(),
    };
    let Some(node) = node else { return Doubt::unknown(format!("the device tree's node for CPU {cpu} is not shown")) };
    let last = case.possible().and_then(|possible| possible.iter().last()) == Some(cpu);
    // U-Boot keeps the address of the device tree in this variable.
    let address = "{fdt_addr_r}";
    let node = format!("/cpus/{node}");
    let part = format!("&{{{node}}} {{ status = \"fail\"; }};");
    let mut ways = vec![
        format!(
            "Kernel 6.1 and later leave CPU {cpu} to other software if these commands run in U-Boot before booti: fdt \
            addr ${address}; fdt resize; fdt set {node} status fail."
        ),
        format!("With extlinux, name an overlay: fdtoverlays /withhold.dtbo (made from /dts-v1/; /plugin/; {part})."),
        format!("For older kernels: fdt rm {node}, and remove its entry below /cpus/cpu-map as well."),
    ];
    if last {
        ways.push(format!("On the kernel's command line, nr_cpus={cpu} also keeps that CPU out of Linux."));
    }
    Ok(ways.join(" "))
}

fn remote(case: &Case<'_>) -> Judged {
    let class = "/sys/class/remoteproc";
    let none = CannotBe("there is no remote processor here");
    let names = case.names(class, none)?;
    Doubt::not_applicable_if(names.is_empty(), "there is no remote processor here")?;
    let (mut is_good, mut strange) = (true, None);
    for name in names.iter().take(64) {
        let file = |file: &str| case.peek(&format!("{class}/{name}/{file}")).known().map(|text| text.trim().to_owned());
        let state =
            case.text(&format!("{class}/{name}/state"), TellsNothing("the state of a remote processor is not shown"))?;
        let told = [file("name"), file("firmware").map(|of| format!("firmware {of}"))];
        case.note(format!("{class}/{name}"), told.into_iter().flatten().collect::<Vec<_>>().join(", "));
        match state.trim() {
            "running" | "attached" | "offline" | "suspended" | "detached" => {}
            "crashed" | "deleted" | "invalid" => is_good = false,
            other => strange = Some(other.to_owned()),
        }
    }
    match strange {
        Some(state) if is_good => Doubt::unknown(format!("a remote processor is in the state '{state}'")),
        _ => Ok(is_good),
    }
}

/// Parts of names of reserved memory that other processors share with Linux.
const SHARED: [&str; 8] = ["vdev", "vring", "rpmsg", "amp", "shm", "shmem", "mcu", "rproc"];

fn channels(case: &Case<'_>) -> Result<String, Doubt> {
    let named = |pattern: &str| {
        let places = fitting(case, pattern);
        places.into_iter().filter_map(|path| path.rsplit('/').next().map(str::to_owned)).take(64).collect::<Vec<_>>()
    };
    let devices = named("/sys/bus/rpmsg/devices/*");
    let mut files = named("/dev/rpmsg*");
    files.extend(named("/dev/ttyRPMSG*"));
    let mut memory = named(&format!("{TREE}/reserved-memory/*"));
    // The memory of SCMI belongs to the boot firmware.
    memory.retain(|name| SHARED.iter().any(|part| name.contains(part)) && !name.contains("scmi"));
    if devices.is_empty() && files.is_empty() && memory.is_empty() {
        case.known("/sys/bus", case.list("/sys/bus"), CannotBe("no channel to another processor here"))?;
        return Doubt::not_applicable("no channel to another processor here");
    }
    let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    case.note("/sys/bus/rpmsg/devices", list(&devices));
    case.note("/dev", list(&files));
    case.note(format!("{TREE}/reserved-memory"), list(&memory));
    Ok(format!(
        "rpmsg channels: {}; their device files: {}; shared memory: {}.",
        list(&devices),
        list(&files),
        list(&memory)
    ))
}
