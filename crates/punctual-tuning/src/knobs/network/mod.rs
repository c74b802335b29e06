//! Knobs about the work that network packets cause, and about the CPUs it runs on.

mod hardware;
mod receiving;

use crate::knobs::prelude::*;
use hardware::every;

const KNOB: Knob = Knob { confidence: Confidence::Medium, blast: Blast::Breaking, ..Knob::of(Family::Network) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "net.rps",
        title: "No received packets steered to the real-time CPUs",
        blast: Blast::Harmless,
        severity: Weight::of(Medium, Medium, Info),
        applies: |case| case.has_housekeeping(),
        check: Check::seen(
            "/sys/class/net/*/queues/rx-*/rps_cpus",
            Want::MaskWithoutRt,
            CannotBe("no network device here can steer packets"),
        ),
        why: "Packet steering spreads the work for received packets over the CPUs in its mask, and interrupts these \
            CPUs to do so.",
        fix: Fix::command("echo <H mask> > /sys/class/net/DEVICE/queues/rx-N/rps_cpus"),
        persist: &[Lasting::Udev(Rule { kernel: "rx-*", ..Rule::add("queues", &[attribute("rps_cpus", "<H mask>")]) })],
        cost: "The other CPUs get the packets.",
        confidence: Confidence::High,
        sources: &["kernel networking/scaling.rst"],
        ..KNOB
    },
    Knob {
        id: "net.busy_poll",
        title: "Sockets busy-poll for busy-polling work only",
        blast: Blast::Harmless,
        check: Check::Probe(|case| {
            let none = CannotBe("this kernel's sockets cannot poll");
            let poll_us = case.number("/proc/sys/net/core/busy_poll", none)?;
            let read_us = case.number("/proc/sys/net/core/busy_read", none)?;
            if case.is(Kind::Poll) { Ok(poll_us > 0 && read_us > 0) } else { Ok(poll_us == 0 && read_us == 0) }
        }),
        why: "Busy polling spends the time of a CPU to shorten latency: this suits a thread that polls anyway, but not \
            a thread that has to sleep.",
        fix: Fix::prose("sysctl net.core.busy_poll=0 net.core.busy_read=0 for periodic work; 50 for polling work."),
        persist: &[Lasting::sysctl("net.core.busy_poll", "0"), Lasting::sysctl("net.core.busy_read", "0")],
        cost: "If busy polling is on: CPU time. If it is off: an interrupt for each batch of packets.",
        sources: &["kernel admin-guide/sysctl/net.rst: busy_poll, busy_read", "tuned profile network-latency"],
        ..KNOB
    },
    Knob {
        id: "net.rps_default",
        title: "New devices steer no packets to the real-time CPUs",
        blast: Blast::Harmless,
        applies: |case| case.has_housekeeping(),
        check: Check::sysctl(
            "net.core.rps_default_mask",
            Want::MaskWithoutRt,
            CannotBe("this kernel has no default mask"),
        ),
        why: "New queues start with this steering mask.",
        cost: "The other CPUs get the packets.",
        confidence: Confidence::High,
        sources: &[
            "kernel admin-guide/sysctl/net.rst: rps_default_mask",
            "kernel 6.12, 7.3 net/core/sysctl_net_core.c (not in 6.1)",
        ],
        ..KNOB
    },
    Knob {
        id: "net.rfs",
        title: "Received packets do not follow the program from CPU to CPU",
        blast: Blast::Harmless,
        check: Check::sysctl(
            "net.core.rps_sock_flow_entries",
            Want::ZERO,
            CannotBe("this kernel cannot steer packets"),
        ),
        why: "Receive flow steering sends packets to the CPU on which their reader ran last: if a real-time thread \
            reads a socket, its own CPU has to process the packets.",
        cost: "Colder caches for readers.",
        sources: &["kernel networking/scaling.rst: RFS"],
        ..KNOB
    },
    Knob {
        id: "net.coalesce",
        title: "Received packets are reported without delay",
        check: Check::Probe(|case| {
            every(case, "coalesce", |settings| settings.get("adaptive-rx") == 0 && settings.get("rx-usecs") <= 10)
        }),
        why: "Interrupt coalescing delays the interrupt for received packets; adaptive coalescing changes the delay \
            with the load. Judged bad: adaptive, or more than 10 us.",
        fix: Fix::prose(
            "ethtool -C DEVICE adaptive-rx off rx-usecs 0 rx-frames 1, for the device of the real-time traffic.",
        ),
        persist: &[Lasting::other("/etc/systemd/network/*.link: [Link] UseAdaptiveRxCoalesce=no, RxCoalesceSec=0")],
        cost: "More interrupts.",
        blast: Blast::Disturbing,
        sources: &["ethtool(8): -C", "LinuxCNC#4087: 50 to 250 us of hidden delay", "kernel 6.12 net/ethtool/ioctl.c"],
        ..KNOB
    },
    Knob {
        id: "net.eee",
        title: "Network links do not sleep",
        severity: Weight::of(Medium, Info, Info),
        check: Check::Probe(|case| every(case, "eee", |settings| settings.get("enabled") == 0)),
        why: "Energy-efficient Ethernet lets the link sleep between packets; waking it takes 16 to 30 us before the \
            first bit.",
        fix: Fix::prose("ethtool --set-eee DEVICE eee off (the link goes down for seconds)."),
        persist: &[Lasting::Udev(Rule {
            kernel: "eth*",
            then: Then::Run("/usr/sbin/ethtool --set-eee $name eee off"),
            ..Rule::add("net", &[])
        })],
        undo: Fix::command("ethtool --set-eee DEVICE eee on"),
        cost: "Half a watt per link.",
        sources: &["ethtool(8): --set-eee", "unverified: the wake-up time of a given device"],
        ..KNOB
    },
    Knob {
        id: "net.pause",
        title: "No pause frames",
        check: Check::Probe(|case| every(case, "pause", |settings| settings.get("rx") == 0 && settings.get("tx") == 0)),
        why: "A peer that cannot keep up can send pause frames, which stop the device from sending for milliseconds.",
        fix: Fix::prose("ethtool -A DEVICE autoneg off rx off tx off (the link may go down for seconds)."),
        persist: &[Lasting::Udev(Rule {
            kernel: "eth*",
            then: Then::Run("/usr/sbin/ethtool -A $name autoneg off rx off tx off"),
            ..Rule::add("net", &[])
        })],
        cost: "Packets are lost that would have waited otherwise.",
        confidence: Confidence::Low,
        sources: &["ethtool(8): -A", "unverified: the effect in a given network"],
        ..KNOB
    },
    Knob {
        id: "net.queues",
        title: "No more network queues than housekeeping CPUs",
        check: Check::Probe(|case| {
            case.has_housekeeping()?;
            let most = case.housekeeping().len() as u64;
            every(case, "channels", |settings| {
                settings.get("combined") + settings.get("rx").max(settings.get("tx")) <= most
            })
        }),
        why: "Drivers create a queue with an interrupt of its own for every CPU. If there are more queues than \
            housekeeping CPUs, some queues are served by real-time CPUs; irq.affinity reports whether their interrupts \
            go there.",
        fix: Fix::prose(
            "ethtool -L DEVICE combined N, with N at most the number of housekeeping CPUs (<H>); the device is reset.",
        ),
        persist: &[Lasting::other("A udev rule, for this device only, that runs ethtool -L $name combined N.")],
        cost: "Throughput.",
        sources: &[
            "ethtool(8): -L",
            "tuned plugin_net",
            "seapath/ansible#985: a reset of queues on a live machine broke a quorum",
        ],
        ..KNOB
    },
    Knob {
        id: "net.napi_thread",
        title: "Received packets are handled in threads",
        check: Check::each("/sys/class/net/*/threaded", is_hardware, Want::Not { bad: 0, write: 1 }, NO_SETTING),
        why: "In a softirq, packets are handled at the priority of whatever was interrupted. In threads of their own \
            (napi/DEVICE-N), they can be given CPUs and a priority.",
        fix: Fix::prose(
            "echo 1 > /sys/class/net/DEVICE/threaded; chrt -f -p 50 and taskset for the threads napi/DEVICE-N",
        ),
        persist: &[Lasting::Udev(Rule::add("net", &[attribute("threaded", "1")]))],
        cost: "Some throughput.",
        blast: Blast::Disturbing,
        sources: &["kernel networking/napi.rst: Threaded NAPI", "kernel 6.1, 6.12, 7.3 net/core/net-sysfs.c"],
        ..KNOB
    },
    Knob {
        id: "net.napi_defer",
        title: "Interrupts of network devices are not deferred",
        blast: Blast::Harmless,
        applies: |case| case.not_for(Kind::Poll, "polling work may want deferred interrupts"),
        check: Check::All(&[
            Check::each("/sys/class/net/*/napi_defer_hard_irqs", is_hardware, Want::ZERO, NO_SETTING),
            Check::each("/sys/class/net/*/gro_flush_timeout", is_hardware, Want::ZERO, NO_SETTING),
        ]),
        why: "With napi_defer_hard_irqs and gro_flush_timeout, the kernel keeps the device's interrupts off and polls \
            by a timer: this helps programs that busy-poll, and delays packets for all others.",
        fix: Fix::command(
            "echo 0 > /sys/class/net/DEVICE/napi_defer_hard_irqs; echo 0 > /sys/class/net/DEVICE/gro_flush_timeout",
        ),
        persist: &[Lasting::Udev(Rule::add(
            "net",
            &[attribute("napi_defer_hard_irqs", "0"), attribute("gro_flush_timeout", "0")],
        ))],
        cost: "More interrupts.",
        sources: &["kernel networking/napi.rst: Software IRQ coalescing"],
        ..KNOB
    },
    Knob {
        id: "net.wifi",
        title: "No wireless network",
        check: Check::Probe(receiving::wifi),
        why: "Wireless devices scan, roam and change rates at any time, with much work per packet.",
        fix: Fix::prose("rfkill block wifi, or rmmod the driver."),
        persist: &[Lasting::other("rfkill block wifi is remembered by systemd-rfkill; or blacklist the driver")],
        undo: Fix::command("rfkill unblock wifi"),
        cost: "The wireless network.",
        confidence: Confidence::Low,
        sources: &["unverified: usual advice"],
        ..KNOB
    },
    Knob {
        id: "net.ethercat",
        title: "The EtherCAT master has its network device to itself",
        severity: Weight::of(Medium, Info, Info),
        check: Check::Probe(receiving::ethercat),
        why: "The generic EtherCAT driver sends frames through the whole network stack; a native one (ec_igb, \
            ec_igc ...) drives the device itself, without interrupts.",
        persist: &[Lasting::other(
            "DEVICE_MODULES of /etc/ethercat.conf: the native driver; blacklist the ordinary one for that device",
        )],
        cost: "The device is lost to Linux.",
        confidence: Confidence::Low,
        sources: &["EtherLab master documentation: native and generic drivers", "unverified: on hardware"],
        ..KNOB
    },
    Knob {
        id: "net.tsn",
        title: "The network card itself sends packets at exact times",
        applies: |case| {
            let folder = "/sys/class/ptp";
            let clocks = case.names(folder, CannotBe("no network device here has a clock"))?;
            Doubt::not_applicable_if(clocks.is_empty(), "no network device here has a clock")
        },
        check: Check::advice(
            "no file shows it: ethtool -T DEVICE tells whether the device stamps and sends by its own clock, tc qdisc \
            whether etf or taprio use it",
        ),
        why: "A frame that a thread sends at the right moment may still have to wait in the queue; hardware that sends \
            at a given time avoids this.",
        fix: Fix::prose(
            "tc qdisc replace dev DEVICE parent ... etf clockid CLOCK_TAI offload, with SO_TXTIME in the \
            application.",
        ),
        persist: &[Lasting::other("A unit that runs the same tc command after the device is up")],
        undo: Fix::command("tc qdisc del"),
        cost: "None.",
        confidence: Confidence::Low,
        sources: &["tc-etf(8)", "tc-taprio(8)", "unverified: on hardware"],
        ..KNOB
    },
];

const FOLDER: &str = "/sys/class/net";
const NO_NETWORK: Missing = CannotBe("there is no network");
const NO_SETTING: Missing = CannotBe("no physical network device here has this setting");

/// A network device that is backed by hardware.
struct Nic {
    name: String,
    driver: String,
}

/// Every network device, including those without hardware, such as bridges.
fn devices(case: &Case<'_>) -> Result<Vec<String>, Doubt> {
    case.names(FOLDER, NO_NETWORK)
}

/// The driver of the hardware behind a network device, given the device's folder; `None` for a device in software.
fn driver(case: &Case<'_>, folder: &str) -> Option<String> {
    let uevent = case.peek(&format!("{folder}/device/uevent"));
    uevent.known()?.lines().find_map(|line| line.strip_prefix("DRIVER=")).map(str::to_owned)
}

fn is_hardware(case: &Case<'_>, folder: &str) -> bool {
    driver(case, folder).is_some()
}

fn nics(case: &Case<'_>) -> Result<Vec<Nic>, Doubt> {
    let nic = |name: String| Some(Nic { driver: driver(case, &format!("{FOLDER}/{name}"))?, name });
    let nics: Vec<Nic> = devices(case)?.into_iter().filter_map(nic).collect();
    if nics.is_empty() { Doubt::not_applicable("there is no physical network device here") } else { Ok(nics) }
}
