//! Knobs about which cores of a board do real-time work, how warm they are, and what the device tree handed over.

use super::{NO_TREE, TREE, strings};
use crate::knobs::prelude::*;
use crate::pattern::fitting;
use punctual_facts::tree::without_private_values;

const KNOB: Knob = Knob { confidence: Confidence::Medium, ..Knob::of(Family::Boards) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "board.cores",
        title: "Real-time CPUs are of the fastest kind",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Probe(fastest),
        why: "A small core takes longer for the same path through the kernel, and its caches are smaller. In a published \
            three-day run on an RK3588 the largest latencies of the small cores were 33 to 45 us, of the large ones 20 \
            and 24 us, and of two isolated large ones 3 and 4 us.",
        fix: Fix::prose(
            "Choose the CPUs with the largest cpu_capacity for real-time work, if possible whole clusters.",
        ),
        persist: &[Lasting::other("The same CPUs in isolcpus= and in the application's affinity.")],
        undo: Fix::prose("Choose the former CPUs again."),
        cost: "The fast cores do no other work.",
        sources: &[
            "kernel ABI testing/sysfs-devices-system-cpu: cpu_capacity",
            "a vendor's page of three-day cyclictest runs on RK3562, RK3568 and RK3588",
        ],
        ..KNOB
    },
    Knob {
        id: "board.trips",
        title: "Ten degrees are left before CPUs are slowed down for heat",
        severity: Weight::all(Medium),
        applies: |case| case.not_a_guest(),
        check: Check::Probe(trips),
        why: "When a thermal zone passes its passive trip point, the kernel lowers the clock of CPUs, the GPU or \
            memory. A zone that is close to its trip point will pass it under load or in summer.",
        fix: Fix::prose("Improve cooling, or lower the sustained frequency: see pm.cooling and fw.cooling."),
        persist: &[Lasting::other("A larger heat sink, or a lower scaling_max_freq of the hottest cluster.")],
        undo: Fix::prose("Nothing to undo."),
        cost: "Peak speed.",
        sources: &[
            "kernel driver-api/thermal/sysfs-api.rst: trip_point_N_temp",
            "unverified: ten degrees as the margin",
        ],
        ..KNOB
    },
    Knob {
        id: "board.chosen",
        title: "The kernel booted with the command line of the device tree",
        check: Check::Probe(chosen),
        why: "The boot loader writes its command line into /chosen of the device tree. A kernel that was built with \
            CONFIG_CMDLINE_FORCE or CONFIG_CMDLINE_EXTEND, or a bootconfig, changes it afterwards: words that were \
            added in the boot loader then have no effect, or other words are in force.",
        fix: Fix::NotAtRunTime("the kernel reads its command line once, at boot."),
        persist: &[Lasting::built_without("CMDLINE_FORCE"), Lasting::built_without("CMDLINE_EXTEND")],
        cost: "None, if the loader passes all words.",
        confidence: Confidence::High,
        sources: &["kernel 6.1 drivers/of/fdt.c: early_init_dt_scan_chosen", "kernel 6.12 arch/arm64/Kconfig: CMDLINE"],
        ..KNOB
    },
    Knob {
        id: "board.usb_moderation",
        title: "Interrupt moderation of USB host controllers is known",
        severity: Weight::all(Info),
        check: Check::Told(moderation),
        why: "An xHCI controller gathers events for the moderation interval before it interrupts, 40 us unless the device \
            tree says otherwise. A control loop over USB waits for that in each cycle.",
        fix: Fix::NotAtRunTime("the driver reads the interval when it starts the controller."),
        persist: &[Lasting::Firmware(
            "the device tree's node of the controller: imod-interval-ns = <0>; (only drivers/usb/host/xhci-plat.c reads it)",
        )],
        cost: "More interrupts.",
        sources: &["kernel 6.1, 6.12 drivers/usb/host/xhci-plat.c, xhci-pci.c: imod_interval"],
        ..KNOB
    },
];

/// The online CPUs grouped by capacity, the fastest first. Capacities that differ by less than a twentieth count as one
/// kind: makers trim single cores of a kind.
fn kinds(case: &Case<'_>) -> Result<Vec<(i64, CpuSet)>, Doubt> {
    let online = case.online().cloned().unwrap_or_default();
    let alike = CannotBe("this kernel does not distinguish kinds of cores, so all are taken to be of one kind");
    let mut capacities = Vec::new();
    for group in case.per_cpu("/sys/devices/system/cpu/cpu{cpu}/cpu_capacity", &online, alike)? {
        match group.value.trim().parse::<i64>() {
            Ok(capacity) => capacities.push((capacity, group.cpus)),
            Err(_) => return Doubt::unknown(format!("cpu_capacity holds '{}', not a number", group.value.trim())),
        }
    }
    capacities.sort_by_key(|(capacity, _)| std::cmp::Reverse(*capacity));
    let mut kinds: Vec<(i64, CpuSet)> = Vec::new();
    for (capacity, cpus) in capacities {
        match kinds.last_mut() {
            Some((fastest, of)) if capacity.saturating_mul(20) >= fastest.saturating_mul(19) => *of = of.union(&cpus),
            _ => kinds.push((capacity, cpus)),
        }
    }
    Ok(kinds)
}

fn fastest(case: &Case<'_>) -> Judged {
    Doubt::not_applicable_if(
        case.arch() == Some(&Arch::X86),
        "on x86, agree.kinds and the choice of CPUs report which kinds of cores there are",
    )?;
    case.known_rt()?;
    let kinds = kinds(case)?;
    case.take_evidence();
    Doubt::not_applicable_if(kinds.len() < 2, "all CPUs are alike")?;
    let told = kinds.iter().map(|(capacity, cpus)| format!("CPUs {cpus} {capacity}"));
    case.note("/sys/devices/system/cpu/cpu*/cpu_capacity", told.collect::<Vec<_>>().join(", "));
    Ok(kinds.first().is_some_and(|(_, cpus)| case.rt().is_subset(cpus)))
}

/// Distance from the first passive trip point at which a zone counts as nearly there, in thousandths of a degree.
const MARGIN_MC: i64 = 10_000;
/// The largest number of trip points of a zone that are read.
const MOST_TRIPS: usize = 16;

fn trips(case: &Case<'_>) -> Judged {
    let (mut seen, mut near) = (Vec::new(), Vec::new());
    for zone in fitting(case, "/sys/class/thermal/thermal_zone*") {
        let file = |name: &str| case.peek(&format!("{zone}/{name}")).known().map(|text| text.trim().to_owned());
        let number = |name: &str| file(name)?.parse::<i64>().ok();
        let passive = |trip: usize| {
            (file(&format!("trip_point_{trip}_type"))? == "passive")
                .then(|| number(&format!("trip_point_{trip}_temp")))?
        };
        let first = (0..MOST_TRIPS).filter_map(passive).filter(|temp| *temp > 0).min();
        let (Some(first), Some(now)) = (first, number("temp")) else { continue };
        let told = format!("{} {} of {}", file("type").unwrap_or_default(), degrees(now), degrees(first));
        if first - now < MARGIN_MC {
            near.push(told.clone());
        }
        seen.push(told);
    }
    if seen.is_empty() {
        let none = CannotBe("no thermal zone here has a passive trip point");
        case.known("/sys/class/thermal", case.list("/sys/class/thermal"), none)?;
        return Doubt::not_applicable("no thermal zone here has a passive trip point");
    }
    case.none_found(
        "/sys/class/thermal/thermal_zone*, temperature and first passive trip",
        near.join("; "),
        seen.join("; "),
    )
}

fn degrees(thousandths: i64) -> String {
    format!("{}.{} C", thousandths / 1000, (thousandths % 1000).abs() / 100)
}

fn chosen(case: &Case<'_>) -> Judged {
    has_tree(case)?;
    let path = format!("{TREE}/chosen/bootargs");
    let none = CannotBe("the boot loader passed no command line in a device tree");
    let passed = strings(&case.content(&path, none)?);
    let missing = TellsNothing("this boot's kernel command line is not shown");
    let booted = case.content(CMDLINE, missing)?;
    let (passed, booted): (Vec<&str>, Vec<&str>) =
        (passed.split_whitespace().collect(), booted.split_whitespace().collect());
    let only = |these: &[&str], those: &[&str]| {
        these.iter().filter(|word| !those.contains(word)).copied().collect::<Vec<_>>().join(" ")
    };
    let (lost, added) = (only(&passed, &booted), only(&booted, &passed));
    let tell = |words: &str| if words.is_empty() { "none".to_owned() } else { without_private_values(words) };
    case.note(&path, format!("words that the kernel was not booted with: {}", tell(&lost)));
    case.note(CMDLINE, format!("words that are not in the device tree: {}", tell(&added)));
    Ok(lost.is_empty() && added.is_empty())
}

const DEFAULT_NS: u32 = 40_000;

fn moderation(case: &Case<'_>) -> Result<String, Doubt> {
    let on_pci = fitting(case, "/sys/bus/pci/drivers/xhci_hcd/*:*");
    let on_chip = fitting(case, "/sys/bus/platform/drivers/xhci-hcd/*.*");
    let found = on_pci.len() + on_chip.len();
    if found == 0 {
        case.known("/sys/bus", case.list("/sys/bus"), CannotBe("no xHCI controller here"))?;
        return Doubt::not_applicable("no xHCI controller here");
    }
    let nodes =
        ["dwc3", "xhci-hcd"].map(|driver| format!("/sys/bus/platform/drivers/{driver}/*/of_node/imod-interval-ns"));
    let mut told = Vec::new();
    for path in nodes.iter().flat_map(|pattern| fitting(case, pattern)) {
        let Some(bytes) = case.peek_bytes(&path).known().cloned() else { continue };
        let Ok(cell) = <[u8; 4]>::try_from(bytes.as_slice()) else { continue };
        case.note(&path, format!("{} ns", u32::from_be_bytes(cell)));
        told.push(u32::from_be_bytes(cell));
    }
    case.note("xHCI controllers", format!("{} on PCI, {} on the chip", on_pci.len(), on_chip.len()));
    let nodes = told.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let asked = if told.is_empty() {
        format!(
            "the device tree sets no interval, so each controller waits up to {DEFAULT_NS} ns, the driver's default"
        )
    } else {
        format!("the device tree sets {nodes} ns, and controllers without such a setting wait up to {DEFAULT_NS} ns")
    };
    Ok(format!("The interval in force is in a register that no file shows: {asked}."))
}

/// Whether this machine has a device tree.
pub(super) fn has_tree(case: &Case<'_>) -> Result<(), Doubt> {
    case.names(TREE, NO_TREE).map(|_| ())
}
