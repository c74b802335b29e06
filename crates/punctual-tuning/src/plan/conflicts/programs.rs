//! Programs that write what a plan writes, while the machine runs or when it starts.

use super::{Conflict, Resolution, Touched};
use crate::knobs::Case;
use crate::plan::remedies::is_at_work;

/// A program, and what it is known to write.
struct Program {
    name: &'static str,
    units: &'static [&'static str],
    /// Its processes, as the kernel cuts their names.
    processes: &'static [&'static str],
    /// What of the plan is its, too, in words.
    owns: &'static str,
    overlaps: fn(&Touched) -> bool,
    /// Which knob of ours silences it.
    knob: &'static str,
}

const FREQUENCIES: [&str; 6] =
    ["/cpufreq/", "/cpufreq", "intel_pstate", "amd_pstate", "energy_perf", "intel_uncore_frequency"];

fn sets_frequencies(touched: &Touched) -> bool {
    touched.writes(&FREQUENCIES)
}

fn moves_interrupts(touched: &Touched) -> bool {
    touched.writes(&["/proc/irq/"])
}

const PROGRAMS: &[Program] = &[
    Program {
        name: "irqbalance",
        units: &["irqbalance.service"],
        processes: &["irqbalance"],
        owns: "affinities of interrupts, every ten seconds",
        overlaps: moves_interrupts,
        knob: "irq.irqbalance",
    },
    Program {
        name: "tuned",
        units: &["tuned.service"],
        processes: &["tuned"],
        owns: "governors, sysctls, interrupts and words of its profile; takes them back when it stops",
        overlaps: |touched| {
            sets_frequencies(touched)
                || moves_interrupts(touched)
                || !touched.words.is_empty()
                || !touched.sysctls.is_empty()
                || !touched.threads.is_empty()
        },
        knob: "agree.owners_power",
    },
    Program {
        name: "TLP",
        units: &["tlp.service"],
        processes: &["tlp"],
        owns: "governors, preferences and power of devices, at each change of the power supply",
        overlaps: |touched| {
            sets_frequencies(touched)
                || touched.writes(&["power/control", "pcie_aspm", "link_power_management_policy", "nmi_watchdog"])
        },
        knob: "pm.daemons",
    },
    Program {
        name: "thermald",
        units: &["thermald.service"],
        processes: &["thermald"],
        owns: "frequencies, turbo and limits of power, when it gets warm",
        overlaps: |touched| sets_frequencies(touched) || touched.writes(&["powercap"]),
        knob: "pm.daemons",
    },
    Program {
        name: "power-profiles-daemon",
        units: &["power-profiles-daemon.service"],
        processes: &["power-profiles-"],
        owns: "preferences and turbo, when somebody chooses a profile",
        overlaps: sets_frequencies,
        knob: "pm.daemons",
    },
    Program {
        name: "auto-cpufreq",
        units: &["auto-cpufreq.service"],
        processes: &["auto-cpufreq"],
        owns: "governors, frequencies and turbo, every few seconds",
        overlaps: sets_frequencies,
        knob: "pm.daemons",
    },
    Program {
        name: "cpufrequtils, cpupower or ondemand",
        units: &["cpufrequtils.service", "loadcpufreq.service", "cpupower.service", "ondemand.service"],
        processes: &["cpufreqd"],
        owns: "governors, once at each boot",
        overlaps: sets_frequencies,
        knob: "agree.owners_power",
    },
    Program {
        name: "rtirq",
        units: &["rtirq.service", "rtirq-resume.service"],
        processes: &[],
        owns: "priorities of interrupts' threads, at boot and after suspend",
        overlaps: |touched| touched.threads.iter().any(|name| name.starts_with("irq/")),
        knob: "agree.owners_priorities",
    },
    Program {
        name: "rt-conf",
        units: &["rt-conf.service", "snap.rt-conf.rt-conf.service"],
        processes: &["rt-conf"],
        owns: "words on the command line, interrupts and governors",
        overlaps: |touched| sets_frequencies(touched) || moves_interrupts(touched) || !touched.words.is_empty(),
        knob: "agree.owners_irq",
    },
    Program {
        name: "stalld",
        units: &["stalld.service"],
        processes: &["stalld"],
        owns: "reservations for starving threads, and throttling",
        overlaps: |touched| {
            touched.writes(&["fair_server", "ext_server"])
                || touched.sysctls.iter().any(|(name, _)| name == "kernel.sched_rt_runtime_us")
        },
        knob: "sched.stalld",
    },
    Program {
        name: "ksmtuned",
        units: &["ksmtuned.service", "ksm.service"],
        processes: &["ksmtuned"],
        owns: "the merging of memory",
        overlaps: |touched| touched.writes(&["/sys/kernel/mm/ksm/"]),
        knob: "mem.ksm",
    },
];

/// The programs that are at work here and own some of it.
pub(super) fn conflicts(case: &Case<'_>, touched: &Touched) -> Vec<Conflict> {
    let mut found = Vec::new();
    for program in PROGRAMS.iter().filter(|program| (program.overlaps)(touched)) {
        let state = |unit: &&str| Some((**unit).to_owned()).zip(is_at_work(case, unit, program.processes));
        let Some((unit, state)) = program.units.iter().find_map(state) else { continue };
        let resolved = if program.units.iter().any(|unit| touched.silenced.iter().any(|silenced| silenced == unit)) {
            Resolution::Silenced
        } else {
            Resolution::LeftAlone(format!("the plan leaves {} out, so it may undo what is set", program.knob))
        };
        let what = format!("{} sets {}", program.name, program.owns);
        found.push(Conflict { what, evidence: format!("{unit} {state}"), resolved });
    }
    found
}
