//! Knobs about frequency governors and drivers, and about limits of the frequency.

use crate::knobs::prelude::*;
use crate::knobs::seen::frequency::{NO_DRIVER, governor};
use punctual_facts::cpu_set::CPU_LIMIT;

const KNOB: Knob =
    Knob { severity: Weight::all(Medium), confidence: Confidence::Medium, ..Knob::of(Family::Frequency) };

const ONE_FREQUENCY: Check =
    Check::seen("/sys/devices/system/cpu/cpu<I>/cpufreq/scaling_min_freq", Want::SameAs("scaling_max_freq"), NO_DRIVER);

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "pm.governor",
        title: "Governor performance on the real-time CPUs, or a fixed frequency",
        severity: Weight::of(High, Medium, High),
        check: Check::Probe(governor),
        why: "A periodic thread sleeps most of the time, so a governor that looks at load keeps its CPU slow just \
            when it wakes.",
        fix: Fix::prose(
            "echo performance > /sys/devices/system/cpu/cpuN/cpufreq/scaling_governor for N in <I>, and for the CPUs \
            that share their clock.",
        ),
        persist: &[
            Lasting::write("/sys/devices/system/cpu/cpu<I>/cpufreq/scaling_governor", "performance"),
            Lasting::word("cpufreq.default_governor=performance"),
        ],
        cost: "Power and heat.",
        confidence: Confidence::High,
        sources: &[
            "kernel 7.3 core-api/real-time/kernel-configuration.rst (severity high)",
            "kernel admin-guide/pm/cpufreq.rst",
        ],
        ..KNOB
    },
    Knob {
        id: "pm.freq_pin",
        title: "One CPU frequency, not a range",
        severity: Weight::all(Info),
        check: ONE_FREQUENCY,
        why: "While a range is allowed, the same code takes different times from one activation to the next.",
        fix: Fix::prose(
            "Write one sustained frequency, below turbo, into scaling_min_freq and scaling_max_freq of the CPUs <I>.",
        ),
        persist: &[
            Lasting::write("/sys/devices/system/cpu/cpu<I>/cpufreq/scaling_max_freq", "<FREQUENCY_KHZ>"),
            Lasting::write("/sys/devices/system/cpu/cpu<I>/cpufreq/scaling_min_freq", "<FREQUENCY_KHZ>"),
        ],
        cost: "The peak speed.",
        sources: &["kernel 7.3 core-api/real-time/kernel-configuration.rst", "kernel admin-guide/pm/cpufreq.rst"],
        ..KNOB
    },
    Knob {
        id: "pm.pstate_drv",
        title: "The kernel controls the CPU's frequency",
        check: Check::Probe(driver),
        why: "Without a driver the CPU keeps whatever clock the firmware left, or continues to choose one itself \
            (HWP), and neither governors nor limits have an effect.",
        fix: Fix::prose(
            "echo active > /sys/devices/system/cpu/intel_pstate/status (or amd_pstate/status), if it says off or \
            disable.",
        ),
        persist: &[Lasting::NoWord("intel_pstate"), Lasting::NoWord("amd_pstate"), Lasting::NoWord("cpufreq.off")],
        cost: "None.",
        blast: Blast::Disturbing,
        sources: &[
            "kernel 7.3 drivers/cpufreq/intel_pstate.c: status",
            "kernel 7.3 drivers/cpufreq/amd-pstate.c: status",
            "kernel-parameters.txt: intel_pstate=, amd_pstate=",
        ],
        ..KNOB
    },
    Knob {
        id: "pm.limits",
        title: "The highest frequency is not lowered",
        check: Check::Any(&[
            Check::seen(
                "/sys/devices/system/cpu/cpu<I>/cpufreq/scaling_max_freq",
                Want::SameAs("cpuinfo_max_freq"),
                NO_DRIVER,
            ),
            ONE_FREQUENCY,
        ]),
        why: "A daemon, a thermal policy or a battery profile that lowers scaling_max_freq slows all work down, just \
            when the machine is hot and busy. If minimum and maximum are the same frequency, this program takes it as \
            intended.",
        fix: Fix::prose(
            "Write cpuinfo_max_freq into scaling_max_freq of the CPUs <I>, and find out who lowered it: thermald, \
            tlp, power-profiles-daemon and tuned do.",
        ),
        cost: "Heat.",
        sources: &["kernel admin-guide/pm/cpufreq.rst: scaling_max_freq", "unverified: which daemons do so by default"],
        ..KNOB
    },
    Knob {
        id: "pm.clock_domain",
        title: "No other CPU determines the frequency of the real-time CPUs",
        severity: Weight::of(Medium, Medium, Info),
        check: Check::Probe(clock_domain),
        why: "CPUs of one clock domain run as fast as the most demanding of them asks: another CPU with another \
            governor moves the clock of the real-time one.",
        fix: Fix::prose(
            "echo performance > /sys/devices/system/cpu/cpuN/cpufreq/scaling_governor for all CPUs of the same \
            domain (affected_cpus, freqdomain_cpus), or take the whole domain for real-time work.",
        ),
        persist: &[Lasting::write("/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor", "performance")],
        cost: "Power of these CPUs.",
        sources: &[
            "kernel admin-guide/pm/cpufreq.rst: affected_cpus",
            "kernel 7.3 drivers/cpufreq/acpi-cpufreq.c: freqdomain_cpus",
        ],
        ..KNOB
    },
];

fn driver(case: &Case<'_>) -> Judged {
    case.not_a_guest()?;
    let cpu = case.first_rt()?;
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_driver");
    let driver = match case.text(&path, NO_DRIVER) {
        Ok(driver) => driver,
        // There is no frequency driver. The state is bad only if this hardware can change its clock.
        Err(Doubt::NotApplicable(_)) => {
            case.only_on(Arch::X86, "this board offers no control of its clock")?;
            let can_change = case.cpu_flag("est")? | case.cpu_flag("hwp")? | case.cpu_flag("cppc")?;
            return if can_change {
                Ok(false)
            } else {
                Doubt::not_applicable("this CPU offers no control of its clock")
            };
        }
        Err(doubt) => return Err(doubt),
    };
    if driver.starts_with("intel_") || case.arch() != Some(&Arch::X86) {
        return Ok(true);
    }
    // Once HWP is enabled, it cannot be turned off, and only the driver intel_pstate controls it.
    let is_autonomous = case.cpu_flag("hwp")?;
    Doubt::unknown_if(
        is_autonomous,
        "the CPU can choose its clock itself (HWP); if the firmware turned that on, the frequency driver has no \
        effect; MSR 0x770 shows whether it did",
    )?;
    Ok(true)
}

fn clock_domain(case: &Case<'_>) -> Judged {
    let mut others = CpuSet::new();
    let mut shown: Vec<String> = Vec::new();
    for cpu in case.rt().iter() {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq");
        // If the hardware couples the clocks of CPUs with separate policies, only `freqdomain_cpus` lists the coupled
        // CPUs.
        let coupled = case.peek(&format!("{folder}/freqdomain_cpus"));
        let listed = coupled.or_else(|| case.peek(&format!("{folder}/affected_cpus")));
        let path = format!("{folder}/affected_cpus");
        let listed = case.known(&path, listed, NO_DRIVER)?;
        let mut domain = CpuSet::new();
        for number in listed.split_whitespace() {
            match number.parse() {
                Ok(member) if member < CPU_LIMIT => domain.insert(member),
                _ => return Doubt::unknown(format!("{path} holds '{listed}'")),
            }
        }
        Doubt::unknown_if(domain.is_empty(), format!("{path} names no CPU"))?;
        let text = format!("CPU {cpu}: {domain}");
        if shown.len() < 8 {
            shown.push(text);
        }
        others = others.union(&domain.difference(case.rt()));
    }
    Doubt::unknown_if(shown.is_empty(), "which CPUs are online is not known")?;
    case.note("/sys/devices/system/cpu/cpu*/cpufreq/{freqdomain_cpus,affected_cpus}", shown.join("; "));
    if others.is_empty() {
        return Ok(true);
    }
    let governors = case.per_cpu("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", &others, NO_DRIVER)?;
    Ok(governors.iter().all(|governor| governor.value == "performance"))
}
