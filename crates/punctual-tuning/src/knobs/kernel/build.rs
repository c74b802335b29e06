//! Knobs about the options that the kernel was built with. If the running system shows the same fact, the running
//! system decides and not the configuration.

use crate::knobs::prelude::*;
use crate::knobs::seen::has_tracers;
use crate::knobs::seen::isolation::offloaded_cpu;

const KNOB: Knob = Knob { blast: Blast::Breaking, ..Knob::of(Family::Kernel) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "kconf.preempt",
        title: "Kernel code built preemptible",
        severity: Weight::of(High, Info, High),
        check: Check::Probe(preempt),
        why: "A kernel that was built for servers or plain desktops can be preempted only at certain points in its \
            code, so a system call of another process can delay a real-time thread for milliseconds.",
        fix: Fix::boot(
            "Boot a kernel with PREEMPT_RT, or at least one with PREEMPT_DYNAMIC (then see dyn.preempt) or PREEMPT.",
        ),
        persist: &[
            Lasting::built_with("PREEMPT_RT"),
            Lasting::built_with("PREEMPT_DYNAMIC"),
            Lasting::built_with("PREEMPT"),
        ],
        cost: "A little throughput.",
        sources: &["kernel 6.1, 6.12, 7.3 kernel/Kconfig.preempt, init/Makefile"],
        ..KNOB
    },
    Knob {
        id: "kconf.nohz_full",
        title: "Kernel able to stop its tick",
        severity: Weight::of(Info, High, Info),
        applies: |case| {
            case.only_for(Kind::Poll, "NO_HZ_FULL has no effect until nohz_full= is given; see iso.nohz_full")
        },
        check: Check::Probe(|case| or_absent(case.text(NOHZ_FULL, CannotBe("")).map(|_| true), false)),
        why: "Work that stays in user space is interrupted 100 to 1000 times a second unless the kernel can do without \
            its tick; a kernel without NO_HZ_FULL does not know the word nohz_full=.",
        fix: Fix::boot("Boot a kernel with NO_HZ_FULL (those of most distributions have it)."),
        persist: &[Lasting::built_with("NO_HZ_FULL")],
        cost: "A branch at every entry into the kernel while nohz_full= is not given.",
        sources: &[
            "kernel 7.3 core-api/real-time/kernel-configuration.rst (severity medium)",
            "Debian kernel configurations 6.1, 6.12, 7.3",
        ],
        ..KNOB
    },
    Knob {
        id: "kconf.isolation",
        title: "Kernel able to isolate CPUs",
        severity: Weight::of(High, High, Info),
        applies: |case| {
            let is_single = case.online().is_some_and(|online| online.len() == 1);
            Doubt::not_applicable_if(is_single, "there is one CPU, and it has to do everything")
        },
        check: Check::BuiltWith(&["CPU_ISOLATION", "CPUSETS"]),
        why: "Without CPU_ISOLATION the words isolcpus= and nohz_full= are unknown, and without CPUSETS there are no \
            partitions: nothing keeps other work off a CPU.",
        fix: Fix::boot("Boot a kernel with CPU_ISOLATION and CPUSETS (those of most distributions have both)."),
        cost: "None.",
        sources: &[
            "kernel 6.1, 6.12, 7.3 init/Kconfig, kernel/sched/isolation.c",
            "Debian kernel configurations 6.1, 6.12, 7.3",
        ],
        ..KNOB
    },
    Knob {
        id: "kconf.rcu",
        title: "Kernel able to move RCU callbacks away",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::BuiltWith(&["RCU_NOCB_CPU"]),
        why: "Without RCU_NOCB_CPU the words rcu_nocbs= and nohz_full= cannot take the freeing of others' memory off \
            the real-time CPUs.",
        fix: Fix::boot("Boot a kernel with RCU_NOCB_CPU (those of most distributions have it)."),
        cost: "None until it is switched on.",
        sources: &["kernel 6.1, 6.12, 7.3 kernel/rcu/Kconfig", "Debian kernel configurations 6.1, 6.12, 7.3"],
        ..KNOB
    },
    Knob {
        id: "kconf.rcu_boost",
        title: "Readers that delay RCU are boosted",
        severity: Weight::all(Info).at_least(Medium, |case| case.flavour() == Ok(Flavour::Rt)),
        applies: |case| {
            Doubt::not_applicable_if(!case.built_with("PREEMPT_RCU")?, "this kernel does not preempt RCU readers")
        },
        check: Check::BuiltWith(&["RCU_BOOST"]),
        why: "A low-priority task that was preempted inside an RCU read-side section delays the freeing of memory as \
            long as real-time work keeps the task from running; boosting lets the task finish.",
        fix: Fix::boot("Boot a kernel with RCU_BOOST (distributions' PREEMPT_RT kernels have it)."),
        cost: "The boosted reader runs ahead of threads below rcutree.kthread_prio.",
        sources: &[
            "kernel 7.3 kernel/rcu/Kconfig: RCU_BOOST (default y with PREEMPT_RT)",
            "Debian kernel configurations",
        ],
        ..KNOB
    },
    Knob {
        id: "kconf.rcu_lazy",
        title: "RCU callbacks are not delayed to save power",
        applies: |case| {
            let offloaders = case.tasks(|task| task.is_kernel && offloaded_cpu(&task.name).is_some());
            if offloaders.is_ok_and(|found| found.is_empty()) {
                return Doubt::not_applicable(
                    "RCU callbacks are delayed only on CPUs whose callbacks are offloaded, and this machine has no \
                    such CPU",
                );
            }
            Ok(())
        },
        check: Check::parameter(
            "rcutree",
            "enable_rcu_lazy",
            Want::NO,
            CannotBe("this kernel has no lazy RCU callbacks"),
        ),
        why: "To save power, the kernel holds lazy callbacks of offloaded CPUs back for seconds and then runs them in \
            one long batch.",
        fix: Fix::NotAtRunTime(""),
        persist: &[Lasting::word("rcutree.enable_rcu_lazy=0"), Lasting::built_without("RCU_LAZY")],
        cost: "A little power when idle.",
        confidence: Confidence::Medium,
        blast: Blast::Harmless,
        sources: &["kernel 6.12, 7.3 kernel/rcu/Kconfig, tree.c", "unverified: size of the effect on latency"],
        ..KNOB
    },
    Knob {
        id: "kconf.tracers",
        title: "Tracers that can find the cause of a delay",
        check: Check::Probe(tracers),
        why: "When a deadline is missed, the osnoise and timerlat tracers show what took the CPU; without them the \
            cause can only be guessed.",
        fix: Fix::boot("Boot a kernel with these tracers (Debian: only the -rt kernels)."),
        persist: &[Lasting::built_with("OSNOISE_TRACER"), Lasting::built_with("TIMERLAT_TRACER")],
        cost: "Kernel size; nothing while no trace is taken.",
        sources: &[
            "kernel 7.3 core-api/real-time/kernel-configuration.rst (severity info)",
            "Debian kernel configurations 6.1, 6.12, 7.3",
        ],
        ..KNOB
    },
    Knob {
        id: "kconf.cpu_freq",
        title: "Kernel able to set the CPU's frequency",
        severity: Weight::all(High),
        applies: ours_to_clock,
        check: Check::BuiltWith(&["CPU_FREQ"]),
        why: "Some firmware leaves the CPU at a low frequency, and without CPU_FREQ it stays there.",
        cost: "None.",
        sources: &["kernel 7.3 core-api/real-time/kernel-configuration.rst (severity high)"],
        ..KNOB
    },
    Knob {
        id: "kconf.default_gov",
        title: "The default governor is performance",
        severity: Weight::all(Info).at_least(High, |case| case.flavour().is_ok_and(Flavour::is_dual)),
        check: Check::Probe(default_governor),
        why: "Until another governor is set, and for CPUs that are plugged in later, the built-in default holds; \
            pm.governor says what holds now. With a second kernel the default matters more: Linux does not see the \
            second kernel's work and slows the CPU down.",
        fix: Fix::prose("Set the governor at boot, see pm.governor."),
        persist: &[
            Lasting::word("cpufreq.default_governor=performance"),
            Lasting::built_with("CPU_FREQ_DEFAULT_GOV_PERFORMANCE"),
        ],
        cost: "Power, until something else is chosen.",
        blast: Blast::Harmless,
        sources: &[
            "kernel 7.3 core-api/real-time/kernel-configuration.rst (severity high)",
            "kernel-parameters.txt: cpufreq.default_governor=",
            "libevl 0.49 utils/kconf-checklist.evl",
        ],
        ..KNOB
    },
    Knob {
        id: "kconf.ondemand",
        title: "No governor available that follows the load",
        check: Check::Probe(ondemand),
        why: "The ondemand and conservative governors change the frequency with the load. If they are available, a \
            desktop or a daemon can choose them, and the latency then changes from one run to the next.",
        fix: Fix::prose("modprobe -r cpufreq_ondemand cpufreq_conservative, where they are modules."),
        persist: &[
            Lasting::NoModule("cpufreq_ondemand"),
            Lasting::NoModule("cpufreq_conservative"),
            Lasting::built_without("CPU_FREQ_GOV_ONDEMAND"),
        ],
        undo: Fix::prose("modprobe the module."),
        cost: "These governors can no longer be chosen.",
        blast: Blast::Harmless,
        sources: &["kernel 7.3 core-api/real-time/kernel-configuration.rst (severity medium)"],
        ..KNOB
    },
    Knob {
        id: "kconf.cpu_idle",
        title: "Kernel able to choose how deep CPUs sleep",
        applies: |case| {
            case.not_a_guest()?;
            Doubt::not_applicable_if(case.flavour()?.is_dual(), "second kernels ask for other settings")
        },
        check: Check::BuiltWith(&["CPU_IDLE"]),
        why: "Without CPU_IDLE the sleep states cannot be capped to C1; idle CPUs then either halt in the way that \
            the firmware chose, or spin and get hot.",
        cost: "None, if the states are capped.",
        sources: &["kernel 7.3 core-api/real-time/kernel-configuration.rst (severity info)"],
        ..KNOB
    },
    Knob {
        id: "kconf.migration",
        title: "Memory pages are not moved if there is a second kernel",
        severity: Weight::of(Medium, Medium, Info),
        applies: |case| {
            Doubt::not_applicable_if(
                !case.flavour()?.is_dual(),
                "without a second kernel it is enough to switch compaction and NUMA balancing off at run time",
            )
        },
        check: Check::BuiltWithout(&["MIGRATION", "COMPACTION"]),
        why: "When the kernel moves a page, the next access by a real-time thread faults even if the page is locked, \
            and the fault takes the thread out of the second kernel.",
        fix: Fix::NotAtRunTime("vm.compaction_proactiveness=0 and numa_balancing=0 leave less to move."),
        cost: "No huge pages on demand, no CMA; some boards need CMA.",
        confidence: Confidence::Medium,
        sources: &["Xenomai 3.3 scripts/Kconfig.frag", "kernel 6.1, 7.3 mm/Kconfig"],
        ..KNOB
    },
    Knob {
        id: "kconf.drm",
        title: "No graphics card works beside the real-time work",
        check: Check::Probe(drm),
        why: "Graphics share the last-level cache and the memory's bandwidth with the CPU, and integrated graphics are \
            designed for frame rates, not for short latencies of the CPU.",
        fix: Fix::prose(
            "Run without a desktop (systemctl isolate multi-user.target), or measure while the desktop is in use.",
        ),
        persist: &[Lasting::other("Start no desktop; with systemd: systemctl set-default multi-user.target.")],
        undo: Fix::command("systemctl set-default graphical.target"),
        cost: "No desktop.",
        sources: &[
            "kernel 7.3 core-api/real-time/kernel-configuration.rst (severity info)",
            "kernel 6.1, 6.12, 7.3 drivers/gpu/drm/i915/Kconfig",
        ],
        ..KNOB
    },
    Knob {
        id: "kconf.slub_partial",
        title: "Freed memory is given back in small steps",
        check: Check::Probe(slub_partial),
        why: "Per-CPU partial lists make it cheap to free memory until they overflow; then many pages are given back \
            at once, with locks held.",
        fix: Fix::prose("for f in /sys/kernel/slab/*/cpu_partial; do echo 0 > $f; done"),
        persist: &[
            Lasting::other("A unit that writes 0 to /sys/kernel/slab/*/cpu_partial after modules were loaded."),
            Lasting::built_without("SLUB_CPU_PARTIAL"),
        ],
        cost: "Slower allocation under load.",
        blast: Blast::Disturbing,
        sources: &[
            "kernel 6.1, 6.12 mm/Kconfig: SLUB_CPU_PARTIAL ('typically no for a realtime system'); gone in 7.3",
            "kernel 6.1, 6.12 mm/slub.c: cpu_partial_store",
        ],
        ..KNOB
    },
    Knob {
        id: "kconf.futex_pi",
        title: "Mutexes able to inherit priority",
        severity: Weight::all(High),
        check: Check::BuiltWith(&["FUTEX_PI"]),
        why: "Without FUTEX_PI, a mutex cannot raise the priority of the thread that holds it, so a thread of middle \
            priority can delay both the holder and a real-time thread that waits for it, without bound.",
        cost: "None.",
        sources: &["kernel 6.1, 6.12, 7.3 init/Kconfig: FUTEX_PI", "futex(2): FUTEX_LOCK_PI"],
        ..KNOB
    },
    Knob {
        id: "kconf.context_tracking",
        title: "Tracking of entries into the kernel is not forced on all CPUs",
        severity: Weight::all(Medium),
        check: Check::BuiltWithout(&["CONTEXT_TRACKING_USER_FORCE"]),
        why: "If context tracking is forced, every CPU does extra work at every system call and interrupt, although \
            only tick-free CPUs need it.",
        cost: "None.",
        sources: &["kernel 6.1, 6.12, 7.3 kernel/time/Kconfig: CONTEXT_TRACKING_USER_FORCE"],
        ..KNOB
    },
    Knob {
        id: "kconf.debug_preempt",
        title: "Preemption not checked at every use of per-CPU data",
        severity: Weight::all(Medium),
        check: Check::BuiltWithout(&["DEBUG_PREEMPT"]),
        why: "DEBUG_PREEMPT checks every use of per-CPU data; the kernel's own help warns of a high overhead.",
        cost: "Some bugs are found later.",
        sources: &["kernel 6.1, 6.12, 7.3 lib/Kconfig.debug: DEBUG_PREEMPT"],
        ..KNOB
    },
];

fn preempt(case: &Case<'_>) -> Judged {
    match case.flavour()? {
        Flavour::Stock => {
            case.cite("/proc/sys/kernel/version", &case.machine.kernel.build);
            let build = case.build().map(String::as_str).unwrap_or_default();
            Ok(build.split_whitespace().any(|word| word == "PREEMPT"))
        }
        Flavour::Dynamic => Doubt::not_applicable("this kernel's preemption is chosen at boot, see dyn.preempt"),
        Flavour::Rt => Doubt::not_applicable("PREEMPT_RT can be preempted almost everywhere"),
        Flavour::Cobalt | Flavour::Evl => Doubt::not_applicable("real-time threads run beside Linux here"),
    }
}

fn tracers(case: &Case<'_>) -> Judged {
    Doubt::not_applicable_if(
        case.flavour()?.is_dual(),
        "the tracers osnoise and timerlat show what delays threads of Linux, not threads of the real-time core",
    )?;
    for folder in ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"] {
        let path = format!("{folder}/available_tracers");
        if let Fact::Known(names) = case.peek(&path) {
            case.cite(&path, &Fact::Known(names.clone()));
            return Ok(has_tracers(&names));
        }
    }
    Ok(case.built_with("OSNOISE_TRACER")? && case.built_with("TIMERLAT_TRACER")?)
}

fn ours_to_clock(case: &Case<'_>) -> Result<(), Doubt> {
    case.not_a_guest()?;
    Doubt::not_applicable_if(
        case.flavour()?.is_dual(),
        "second kernels need other settings: with them, a fixed clock without CPU_FREQ is usual",
    )
}

/// Fails in a guest, whose host sets the clock, unless the kernel has a real-time core: what such a kernel was built with
/// is judged wherever it runs.
fn concerns_clock(case: &Case<'_>) -> Result<(), Doubt> {
    if case.flavour()?.is_dual() { Ok(()) } else { case.not_a_guest() }
}

fn default_governor(case: &Case<'_>) -> Judged {
    concerns_clock(case)?;
    Doubt::not_applicable_if(!case.built_with("CPU_FREQ")?, "this kernel has no governors, see kconf.cpu_freq")?;
    // This file shows the built-in default governor, or the one that a word of the command line chose instead.
    let unshown = TellsNothing("the default governor is not shown");
    match case.text("/sys/module/cpufreq/parameters/default_governor", unshown) {
        Ok(governor) if !governor.is_empty() => Ok(governor == "performance"),
        _ => case.built_with("CPU_FREQ_DEFAULT_GOV_PERFORMANCE"),
    }
}

fn ondemand(case: &Case<'_>) -> Judged {
    case.not_a_guest()?;
    let cpu = case.first_rt()?;
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_available_governors");
    let names = case.text(&path, CannotBe("this kernel does not set the frequency of the real-time CPUs"))?;
    Doubt::unknown_if(names.trim().is_empty(), format!("{path} is empty"))?;
    Ok(!names.split_whitespace().any(|name| name == "ondemand" || name == "conservative"))
}

/// Drivers of displays without graphics acceleration, as servers' management controllers and virtual machines have
/// them.
const ONLY_PIXELS: [&str; 9] =
    ["ast", "mgag200", "hibmc-drm", "bochs-drm", "cirrus", "hyperv_drm", "simple-framebuffer", "efidrm", "vesadrm"];

/// The driver that serves a card, or the card's name if the driver is not shown.
fn driver_of(case: &Case<'_>, card: &str) -> String {
    let link = case.link(&format!("/sys/class/drm/{card}/device/driver"));
    link.known().and_then(|target| target.rsplit('/').next()).unwrap_or(card).to_owned()
}

fn drm(case: &Case<'_>) -> Judged {
    let folder = "/sys/class/drm";
    let is_card = |name: &&String| name.strip_prefix("card").is_some_and(|number| number.parse::<u32>().is_ok());
    let names = or_absent(case.names(folder, CannotBe("")), Vec::new())?;
    let drivers: Vec<String> = names.iter().filter(is_card).map(|card| driver_of(case, card)).collect();
    let draws_nothing = !drivers.is_empty() && drivers.iter().all(|driver| ONLY_PIXELS.contains(&driver.as_str()));
    let is_good = case.none_found(format!("{folder}/card*/device/driver"), drivers.join(", "), "no card");
    Doubt::not_applicable_if(
        draws_nothing,
        "the only display is one that draws nothing by itself (a server's console)",
    )?;
    is_good
}

/// Kernel 6.12 has the option `SLUB_CPU_PARTIAL`. From 7.0 on, the option and the lists that it adds are gone.
fn slub_partial(case: &Case<'_>) -> Judged {
    let is_gone = case.version()? >= Version::new(7, 0) && !case.built_with("SLUB_CPU_PARTIAL")?;
    Doubt::not_applicable_if(is_gone, "this kernel has no per-CPU partial lists")?;
    if case.built_with("SLUB_CPU_PARTIAL") == Ok(false) {
        return Ok(true);
    }
    let folder = "/sys/kernel/slab";
    let names = case.names(folder, TellsNothing("the slab caches are not shown"))?;
    let names = names.iter().take(MOST_CACHES);
    let mut seen = 0_usize;
    for path in names.map(|name| format!("{folder}/{name}/cpu_partial")) {
        match case.peek(&path) {
            Fact::Known(number) if number.trim() == "0" => seen += 1,
            Fact::Absent => {}
            // One cache with a list that is not empty makes the state bad. One cache whose list only root may read
            // makes it unknown.
            fact => {
                case.cite(&path, &fact);
                return case.known(&path, fact, TellsNothing("not shown")).map(|_| false);
            }
        }
    }
    case.note(format!("{folder}/*/cpu_partial"), format!("0 in all {seen} caches"));
    if seen == 0 { Doubt::unknown("no slab cache shows a per-CPU partial list") } else { Ok(true) }
}

/// The most slab caches whose files are read. Machines have some hundreds.
const MOST_CACHES: usize = 512;
