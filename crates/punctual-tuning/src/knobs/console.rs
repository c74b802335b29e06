//! Knobs about console output and tracing: both take time on the CPU where the message or event occurs.

use crate::knobs::prelude::*;

const KNOB: Knob = Knob::of(Family::Console);

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "log.level",
        title: "Only errors go to the console",
        severity: Weight::all(Medium).at_most(Info, prints_in_a_thread),
        check: Check::Probe(level),
        why: "On consoles of the old kind every message is written out with interrupts off, by the CPU that \
            happened to log it.",
        fix: Fix::prose("sysctl kernel.printk=4 (the log itself keeps everything)."),
        persist: &[Lasting::sysctl("kernel.printk", "4 4 1 7"), Lasting::word("quiet")],
        cost: "Fewer hints on the screen.",
        confidence: Confidence::Low,
        sources: &["kernel admin-guide/sysctl/kernel.rst: printk", "unverified: the effect on a given console driver"],
        ..KNOB
    },
    Knob {
        id: "log.console",
        title: "No serial console",
        // If the serial console's state is known or it prints in a thread, `log.nbcon` carries the severity.
        severity: Weight::of(Medium, Medium, Info)
            .at_most(Info, |case| nbcon(case).is_ok() || prints_in_a_thread(case)),
        check: Check::Probe(|case| {
            let consoles =
                case.text("/sys/class/tty/console/active", TellsNothing("which consoles are active is not shown"))?;
            let mut serial = consoles.split_whitespace().filter(|name| is_serial(name)).peekable();
            let is_there = serial.peek().is_some();
            serial.for_each(|name| tell_speed(case, name));
            Ok(!is_there)
        }),
        why: "At 115200 baud each character takes 87 us, at the 1500000 baud of many boards 7 us, so that a line takes \
            7 ms or 0.5 ms; most drivers wait for it.",
        fix: Fix::NotAtRunTime("a console level of 4 or less (log.level) leaves only errors."),
        persist: &[Lasting::boot(
            "Kernel command line: console=tty0, and no other console=; with none at all the firmware chooses, and on ARM boards \
             the device tree (stdout-path) names the serial line.",
        )],
        cost: "No serial log of a crash.",
        confidence: Confidence::Low,
        sources: &[
            "kernel 7.3 kernel/printk/printk.c",
            "kernel 6.1, 6.12, 7.3 drivers/of/base.c: of_console_check",
            "unverified: which drivers wait (newer ones print in a thread)",
        ],
        ..KNOB
    },
    Knob {
        id: "trace.active",
        title: "Tracing is off",
        severity: Weight::all(Medium),
        applies: can_trace,
        check: Check::All(&[
            Check::seen("/sys/kernel/tracing/current_tracer", Want::Word { good: &["nop"], bad: &[] }, UNSEEN),
            Check::seen("/sys/kernel/tracing/set_event", Want::EMPTY, UNSEEN),
        ]),
        why: "Every traced event costs time on the CPU where it happens, and turning tracing on or off interrupts all \
            CPUs.",
        fix: Fix::command("echo nop > /sys/kernel/tracing/current_tracer; echo > /sys/kernel/tracing/set_event"),
        persist: &[
            Lasting::NoWord("ftrace"),
            Lasting::NoWord("trace_event"),
            Lasting::other("Find out who turned tracing on."),
        ],
        cost: "The trace.",
        blast: Blast::Disturbing,
        sources: &["kernel trace/ftrace.rst"],
        ..KNOB
    },
    Knob {
        id: "log.nbcon",
        title: "Serial consoles print in a thread",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Probe(nbcon),
        why: "A serial console of the old kind prints on the CPU that logged, with interrupts off; one of the new kind \
            (nbcon), or any console on PREEMPT_RT from 6.12 on, prints from a thread of its own.",
        fix: Fix::boot(
            "Boot with console=tty0 and no other console= (with none at all, the device tree of an ARM board names the serial \
            line); or boot PREEMPT_RT from 6.12 on, or a kernel whose driver for this console is of the new kind.",
        ),
        persist: &[
            Lasting::boot(
                "Kernel command line: console=tty0, and no other console=; with none at all the firmware chooses, and on ARM boards \
                 the device tree (stdout-path) names the serial line.",
            ),
            Lasting::boot("Or CONFIG_PREEMPT_RT=y from 6.12 on."),
        ],
        cost: "No serial log of a crash, or another kernel.",
        confidence: Confidence::Medium,
        sources: &[
            "kernel 6.12, 7.3 fs/proc/consoles.c: flag N",
            "kernel 6.12, 7.3 kernel/printk/nbcon.c, printk.c: threads pr/...",
        ],
        ..KNOB
    },
    Knob {
        id: "log.devkmsg",
        title: "Programs cannot flood the kernel log",
        check: Check::sysctl(
            "kernel.printk_devkmsg",
            Want::Word { good: &["ratelimit", "off"], bad: &["on"] },
            CannotBe("this kernel was built without printk"),
        ),
        why: "If devkmsg is on, messages that programs write to /dev/kmsg go to the consoles without any limit.",
        persist: &[Lasting::NoWord("printk.devkmsg")],
        cost: "Lines of a flood are lost.",
        sources: &[
            "kernel admin-guide/sysctl/kernel.rst: printk_devkmsg",
            "kernel 6.1, 6.12, 7.3 kernel/printk/printk.c",
        ],
        ..KNOB
    },
    Knob {
        id: "log.delay",
        title: "No delay after each kernel message",
        severity: Weight::all(Medium),
        check: Check::sysctl("kernel.printk_delay", Want::ZERO, CannotBe("this kernel was built without printk")),
        why: "After every message, the CPU that logged it waits in a loop for printk_delay milliseconds.",
        persist: &[Lasting::NoWord("boot_delay")],
        cost: "None.",
        sources: &["kernel admin-guide/sysctl/kernel.rst: printk_delay", "kernel 6.12 kernel/printk/printk.c"],
        ..KNOB
    },
    Knob {
        id: "log.ignore_loglevel",
        title: "The kernel obeys the log level of the console",
        severity: Weight::all(Medium),
        check: Check::parameter(
            "printk",
            "ignore_loglevel",
            Want::NO,
            CannotBe("this kernel was built without printk"),
        ),
        why: "With ignore_loglevel every message goes to the consoles, whatever kernel.printk says.",
        persist: &[Lasting::NoWord("ignore_loglevel")],
        cost: "Fewer hints on the screen.",
        sources: &["kernel 6.1, 6.12, 7.3 kernel/printk/printk.c"],
        ..KNOB
    },
    Knob {
        id: "log.netconsole",
        title: "No console over the network",
        severity: Weight::all(Medium),
        check: Check::Probe(|case| Ok(!consoles(case)?.iter().any(|(name, _)| name.starts_with("netcon")))),
        why: "netconsole sends each message as a packet from the CPU that logged it, with interrupts off.",
        persist: &[Lasting::NoModule("netconsole"), Lasting::NoWord("netconsole")],
        cost: "Messages of a crash are lost.",
        confidence: Confidence::Medium,
        sources: &["kernel networking/netconsole.rst", "kernel 6.12 drivers/net/netconsole.c"],
        ..KNOB
    },
    Knob {
        id: "trace.probes",
        title: "No probes placed in kernel or programs",
        applies: |case| {
            can_trace(case)?;
            let is_mounted = case.names(TRACEFS, UNSEEN)?.iter().any(|name| name == "current_tracer");
            Doubt::unknown_if(!is_mounted, "tracefs is not mounted")
        },
        check: Check::All(&[
            Check::seen("/sys/kernel/tracing/kprobe_events", Want::EMPTY, NO_PROBES),
            Check::seen("/sys/kernel/tracing/uprobe_events", Want::EMPTY, NO_PROBES),
        ]),
        why: "Every thread that reaches a probe traps or takes a detour, and placing a probe stops all CPUs for a \
            moment.",
        fix: Fix::command("echo > /sys/kernel/tracing/kprobe_events; echo > /sys/kernel/tracing/uprobe_events"),
        persist: &[Lasting::NoWord("kprobe_event"), Lasting::other("Find out who placed the probes")],
        undo: Fix::prose("Write the lines back."),
        cost: "The trace.",
        blast: Blast::Disturbing,
        sources: &["kernel trace/kprobetrace.rst", "kernel trace/uprobetracer.rst"],
        ..KNOB
    },
    Knob {
        id: "trace.instances",
        title: "No tracing in trace instances other than the main one",
        applies: can_trace,
        check: Check::Probe(instances),
        why: "Programs such as rasdaemon trace in a trace instance of their own, which costs as much as the main one.",
        fix: Fix::command(
            "echo nop > /sys/kernel/tracing/instances/NAME/current_tracer; echo > \
            /sys/kernel/tracing/instances/NAME/set_event",
        ),
        persist: &[Lasting::NoWord("trace_instance")],
        undo: Fix::prose("Start the program again."),
        cost: "The trace.",
        blast: Blast::Disturbing,
        sources: &["kernel trace/ftrace.rst: Instances"],
        ..KNOB
    },
    Knob {
        id: "trace.stack",
        title: "The kernel's stack depth is not traced",
        severity: Weight::all(Medium),
        check: Check::sysctl("kernel.stack_tracer_enabled", Want::ZERO, CannotBe("this kernel cannot trace its stack")),
        why: "The stack tracer measures the stack at every call of a kernel function.",
        persist: &[Lasting::NoWord("stacktrace")],
        cost: "The trace.",
        blast: Blast::Disturbing,
        sources: &["kernel 6.1, 6.12, 7.3 kernel/trace/trace_stack.c"],
        ..KNOB
    },
    Knob {
        id: "trace.perf_users",
        title: "No program keeps performance counters running on all CPUs",
        applies: |case| {
            case.number("/proc/sys/kernel/perf_event_paranoid", CannotBe("this kernel has no perf events")).map(|_| ())
        },
        check: Check::advice(
            "programs that sample CPUs were not looked for, because that would be costly: a program that holds perf \
            events has anon_inode:[perf_event] among the links in its /proc/PID/fd",
        ),
        why: "Monitoring agents keep performance counters on every CPU. A counter that overflows interrupts the CPU, \
            and a timer switches between counters if there are too many.",
        fix: Fix::prose("Stop the agent, or tell it to leave CPUs <I> out."),
        persist: &[Lasting::other("The same in the agent's configuration")],
        cost: "Profiles.",
        confidence: Confidence::Medium,
        sources: &["perf_event_open(2)"],
        ..KNOB
    },
    Knob {
        id: "trace.bpf",
        title: "Only known BPF programs are loaded",
        applies: |case| {
            let none = CannotBe("this kernel was built without the bpf system call");
            case.number("/proc/sys/kernel/unprivileged_bpf_disabled", none).map(|_| ())
        },
        check: Check::advice(
            "which BPF programs are loaded can be seen only by the bpf system call; look with bpftool prog list and \
            bpftool link list",
        ),
        why: "A BPF program runs wherever it is attached: at every system call, switch or packet.",
        fix: Fix::prose("Stop the program that loaded the BPF program."),
        persist: &[Lasting::other("Do not start the program that loaded the BPF program with the machine")],
        cost: "The functions of the program that loaded the BPF program.",
        confidence: Confidence::Medium,
        sources: &["bpf(2)", "bpftool-prog(8)"],
        ..KNOB
    },
    Knob {
        id: "trace.bpf_stats",
        title: "BPF programs are not timed",
        check: Check::sysctl("kernel.bpf_stats_enabled", Want::ZERO, CannotBe("this kernel runs no BPF programs")),
        why: "While statistics are on, the clock is read around every run of every BPF program.",
        cost: "The statistics.",
        blast: Blast::Disturbing,
        sources: &[
            "kernel admin-guide/sysctl/kernel.rst: bpf_stats_enabled",
            "kernel 6.1, 6.12, 7.3 kernel/bpf/syscall.c",
        ],
        ..KNOB
    },
    Knob {
        id: "trace.latencytop",
        title: "latencytop is off",
        check: Check::sysctl("kernel.latencytop", Want::ZERO, CannotBe("this kernel has no latencytop")),
        why: "While latencytop is on, the kernel records the stack each time any task blocks, under one global lock.",
        cost: "The statistics.",
        sources: &["kernel 6.1, 6.12, 7.3 kernel/latencytop.c"],
        ..KNOB
    },
];

fn level(case: &Case<'_>) -> Judged {
    let path = "/proc/sys/kernel/printk";
    let levels = case.text(path, CannotBe("this kernel was built without printk"))?;
    match levels.split_whitespace().next().and_then(|first| first.parse::<u32>().ok()) {
        Some(console) => Ok(console <= 4),
        None => Doubt::unknown(format!("{path} holds '{levels}'")),
    }
}

/// Whether old consoles print in a thread of their own, as `PREEMPT_RT` lets them from 6.12 on.
fn prints_in_a_thread(case: &Case<'_>) -> bool {
    case.flavour() == Ok(Flavour::Rt) && case.version().is_ok_and(|version| version >= Version::new(6, 12))
}

const TRACEFS: &str = "/sys/kernel/tracing";
const UNSEEN: Missing = TellsNothing("tracefs is not mounted");

const NO_PROBES: Missing = CannotBe("this kernel cannot place probes through tracefs");

fn can_trace(case: &Case<'_>) -> Result<(), Doubt> {
    if !case.exists(TRACEFS) && case.list("/sys/kernel").known().is_some_and(|names| !names.is_empty()) {
        return Doubt::not_applicable("this kernel cannot trace");
    }
    Ok(())
}

fn instances(case: &Case<'_>) -> Judged {
    let folder = format!("{TRACEFS}/instances");
    let names = case.names(&folder, UNSEEN)?;
    let mut at_work = Vec::new();
    for name in &names {
        let read = |file: &str| {
            let path = format!("{folder}/{name}/{file}");
            case.content(&path, UNSEEN)
        };
        if read("current_tracer")? != "nop" || !read("set_event")?.trim().is_empty() {
            at_work.push(name.clone());
        }
    }
    case.none_found(folder, at_work.join(", "), format!("none of {} instances traces", names.len()))
}

/// Reads `/proc/consoles`: the name and flags of each console.
fn consoles(case: &Case<'_>) -> Result<Vec<(String, String)>, Doubt> {
    let path = "/proc/consoles";
    let table = case.text(path, TellsNothing("which consoles there are is not shown"))?;
    let parse = |line: &str| {
        let flags = line.split_once('(')?.1.split_once(')')?.0;
        Some((line.split_whitespace().next()?.to_owned(), flags.to_owned()))
    };
    let found: Vec<_> = table.lines().filter_map(parse).collect();
    Doubt::unknown_if(found.is_empty() && !table.trim().is_empty(), format!("{path} holds '{table}'"))?;
    Ok(found)
}

/// Serial drivers call their lines ttyS0, ttyAMA0, ttymxc0; the screens are tty0, tty1.
fn is_serial(name: &str) -> bool {
    name.strip_prefix("tty").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Adds to the evidence how long the console of this name takes for a line, if the command line tells its speed.
fn tell_speed(case: &Case<'_>, name: &str) {
    let Some(line) = case.cmdline() else { return };
    for word in line
        .words()
        .filter_map(|word| word.strip_prefix("console="))
        .filter(|word| word.split(',').next() == Some(name))
    {
        let options = word.split(',').nth(1).unwrap_or_default();
        let digits = options.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        let Ok(baud) = digits.parse::<u64>() else { continue };
        // A character is sent as ten bits: a start bit, eight of data and a stop bit.
        if let Some(us) = (80 * 10 * 1_000_000_u64).checked_div(baud) {
            case.note(format!("console={word}"), format!("{us} us for a line of 80 characters"));
        }
    }
}

fn nbcon(case: &Case<'_>) -> Judged {
    let consoles = consoles(case)?;
    let mut serial = consoles.iter().filter(|(name, _)| is_serial(name)).peekable();
    Doubt::not_applicable_if(serial.peek().is_none(), "no serial console")?;
    if serial.all(|(_, flags)| flags.contains('N')) {
        return Ok(true);
    }
    let threads = case.tasks(|task| task.is_kernel && task.name.starts_with("pr/"))?;
    let names: Vec<String> = threads.into_iter().map(|task| task.name).collect();
    case.note("kernel threads pr/*", if names.is_empty() { "none".to_owned() } else { names.join(", ") });
    Ok(names.iter().any(|name| name == "pr/legacy" || is_serial(name.trim_start_matches("pr/"))))
}
