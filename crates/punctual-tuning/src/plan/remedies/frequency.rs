//! Remedies for a constant clock of the real-time CPUs, of the CPUs that share their clock, and of the path to memory.

use super::draft::Draft;
use super::{Found, KnobRemedy, Site, by_hand};
use crate::knobs::{Case, Clocked, DEVFREQ, Doubt, UNCORE};
use punctual_facts::cpu_set::{CPU_LIMIT, CpuSet};
use punctual_facts::fact::Fact;

const CPUS: &str = "/sys/devices/system/cpu";
const HEAT: &str = "More heat: look at thermal throttling under full load.";
const NO_DRIVER: &str = "no frequency driver here";

fn of(cpu: u32, file: &str) -> String {
    format!("{CPUS}/cpu{cpu}/cpufreq/{file}")
}

fn khz(case: &Case<'_>, cpu: u32, file: &str) -> Option<u64> {
    case.peek(&of(cpu, file)).known()?.trim().parse().ok()
}

/// The CPUs that a file of this CPU lists.
fn members(case: &Case<'_>, cpu: u32, file: &str) -> CpuSet {
    let text = case.peek(&of(cpu, file));
    let numbers = text.known().map(String::as_str).unwrap_or_default().split_whitespace();
    numbers.filter_map(|number| number.parse().ok()).filter(|cpu| *cpu < CPU_LIMIT).collect()
}

/// One CPU of each group of CPUs whose frequency is set together, with the name of the group.
fn one_each(case: &Case<'_>, cpus: &CpuSet) -> Result<Vec<(u32, String)>, Doubt> {
    let mut seen = CpuSet::new();
    let mut chosen = Vec::new();
    for cpu in cpus.iter().filter(|cpu| case.peek(&of(*cpu, "scaling_governor")) != Fact::Absent) {
        if seen.contains(cpu) {
            continue;
        }
        let together = members(case, cpu, "affected_cpus");
        let subject = if together.len() > 1 { format!("CPUs {together}") } else { format!("CPU {cpu}") };
        seen = seen.union(&together);
        chosen.push((cpu, subject));
    }
    if chosen.is_empty() { Doubt::not_applicable(NO_DRIVER) } else { Ok(chosen) }
}

/// The CPUs that share a clock with real-time CPUs and are not real-time CPUs themselves.
fn neighbours(case: &Case<'_>) -> CpuSet {
    let mut all = CpuSet::new();
    for cpu in case.rt().iter() {
        all = all.union(&members(case, cpu, "freqdomain_cpus")).union(&members(case, cpu, "affected_cpus"));
    }
    let online = case.online().cloned().unwrap_or_default();
    all.intersection(&online).difference(case.rt())
}

pub(super) fn performance(site: &Site<'_>, cpus: &CpuSet) -> Found {
    let case = site.case;
    let groups = one_each(case, cpus)?;
    let mut draft = Draft::default();
    for (cpu, subject) in groups {
        let offered = case.peek(&of(cpu, "scaling_available_governors"));
        if offered.known().is_some_and(|names| !names.split_whitespace().any(|name| name == "performance")) {
            return Ok(KnobRemedy::ByHand(format!(
                "{subject} does not offer the governor performance: modprobe cpufreq_performance, or build the kernel with it"
            )));
        }
        draft.write(case, &subject, &of(cpu, "scaling_governor"), "performance");
    }
    Ok(draft.remedy(HEAT, "scaling_governor, and scaling_cur_freq under load"))
}

/// Sets the governor of the other CPUs that share a clock with real-time CPUs.
pub(super) fn clock_domain(site: &Site<'_>) -> Found {
    let others = neighbours(site.case);
    Doubt::not_applicable_if(others.is_empty(), "no other CPU shares a clock with these CPUs")?;
    performance(site, &others)
}

/// Sets the preference of real-time CPUs whose hardware chooses the frequency.
pub(super) fn preference(site: &Site<'_>, file: &str, value: &str, none: &str) -> Found {
    let mut draft = Draft::default();
    if !site.per_cpu(&mut draft, site.case.rt().iter(), &of_each(file), value) {
        return Doubt::not_applicable(none);
    }
    Ok(draft.remedy(HEAT, file.rsplit('/').next().unwrap_or(file)))
}

fn of_each(file: &str) -> String {
    format!("{CPUS}/cpu{{cpu}}/{file}")
}

/// Switches turbo off, with the switch that this machine has.
pub(super) fn turbo(site: &Site<'_>) -> Found {
    let case = site.case;
    case.not_a_guest()?;
    let risk = "Single-threaded work gets slower.";
    let mut draft = Draft::default();
    for (path, value) in [("intel_pstate/no_turbo", "1"), ("cpufreq/boost", "0")] {
        let path = format!("{CPUS}/{path}");
        if draft.write(case, "all CPUs", &path, value) {
            return Ok(draft.remedy(risk, &path));
        }
    }
    let has_no_turbo = !site.per_cpu(&mut draft, case.rt().iter(), &of_each("cpufreq/boost"), "0");
    Doubt::not_applicable_if(has_no_turbo, "the kernel knows no turbo on this machine")?;
    Ok(draft.remedy(risk, "cpufreq/boost of each CPU"))
}

/// Switches the frequency driver on, if the driver exists but is off.
pub(super) fn driver(site: &Site<'_>) -> Found {
    let case = site.case;
    case.not_a_guest()?;
    let mut draft = Draft::default();
    for (path, off) in [("intel_pstate/status", "off"), ("amd_pstate/status", "disable")] {
        let path = format!("{CPUS}/{path}");
        if case.peek(&path).known().is_some_and(|status| status == off) {
            draft.write(case, "frequency driver", &path, "active");
        }
    }
    Doubt::not_applicable_if(draft.is_empty(), "no frequency driver here can be switched on at run time")?;
    Ok(draft.remedy("All CPUs change their clock while the driver takes over.", "scaling_driver"))
}

/// The highest frequency that a CPU can keep up without turbo; `None` if it is not known.
fn sustained(case: &Case<'_>, cpu: u32) -> Option<u64> {
    let top = khz(case, cpu, "cpuinfo_max_freq")?;
    let base = khz(case, cpu, "base_frequency");
    let is = |path: &str, value: &str| case.peek(&format!("{CPUS}/{path}")).known().is_some_and(|text| text == value);
    let has = |path: &str| case.peek(&format!("{CPUS}/{path}")) != Fact::Absent;
    let has_turbo = has("intel_pstate/no_turbo") || has("cpufreq/boost") || has(&format!("cpu{cpu}/cpufreq/boost"));
    let is_off = is("intel_pstate/no_turbo", "1") || is("cpufreq/boost", "0");
    // The list of available frequencies does not include turbo.
    let listed = case.peek(&of(cpu, "scaling_available_frequencies"));
    let listed = listed.known().and_then(|list| list.split_whitespace().filter_map(|one| one.parse().ok()).max());
    base.or(listed).or((!has_turbo || is_off).then_some(top)).filter(|khz| *khz <= top)
}

/// Sets the lowest and the highest frequency of each real-time CPU to the same value.
pub(super) fn pin(site: &Site<'_>) -> Found {
    let case = site.case;
    let groups = one_each(case, case.rt())?;
    let mut draft = Draft::default();
    for (cpu, subject) in groups {
        let Some(wanted) = sustained(case, cpu) else {
            return Ok(KnobRemedy::ByHand(format!(
                "no file shows which frequency {subject} can sustain without turbo: choose one, and write it into \
                scaling_max_freq and scaling_min_freq"
            )));
        };
        let lowest = khz(case, cpu, "scaling_min_freq").unwrap_or_default();
        // The kernel refuses a lowest frequency above the highest, so the two files are written in the order that
        // avoids this.
        let mut files = [("highest", "scaling_max_freq"), ("lowest", "scaling_min_freq")];
        if wanted < lowest {
            files.reverse();
        }
        for (which, file) in files {
            draft.write(case, &format!("{subject} {which}"), &of(cpu, file), &wanted.to_string());
        }
    }
    Ok(draft.remedy(HEAT, "scaling_min_freq and scaling_max_freq, and scaling_cur_freq under load"))
}

/// Raises the upper frequency limit of real-time CPUs again, if it was lowered.
pub(super) fn limits(site: &Site<'_>) -> Found {
    let case = site.case;
    let groups = one_each(case, case.rt())?;
    let mut draft = Draft::default();
    for (cpu, subject) in groups {
        let Some(top) = khz(case, cpu, "cpuinfo_max_freq") else { continue };
        let is_pinned = sustained(case, cpu).is_some_and(|wanted| wanted != top);
        Doubt::not_applicable_if(is_pinned, "pm.freq_pin sets one frequency below turbo, which has the same effect")?;
        draft.write(case, &subject, &of(cpu, "scaling_max_freq"), &top.to_string());
    }
    Ok(draft.remedy(HEAT, "scaling_max_freq"))
}

/// Leaves power limits to a person, because the maker set them to protect the hardware.
pub(super) fn rapl(_: &Site<'_>) -> Found {
    by_hand(
        "power limits protect the hardware, so punctual does not change them: improve cooling, or raise the limits in \
        the firmware as far as the maker allows",
    )
}

/// Writes the highest frequency to a limit file of each part of the uncore.
pub(super) fn uncore(site: &Site<'_>, file: &str) -> Found {
    let case = site.case;
    let mut draft = Draft::default();
    let mut any = false;
    for place in case.uncore_places()? {
        let Fact::Known(highest) = case.peek(&format!("{place}/max_freq_khz")) else { continue };
        if highest.parse::<u64>().is_ok() {
            let name = place.rsplit('/').next().unwrap_or(&place);
            any |= draft.write(case, name, &format!("{place}/{file}"), &highest);
        }
    }
    Doubt::not_applicable_if(!any, "no control of the uncore frequency here")?;
    Ok(draft.remedy(HEAT, &format!("{UNCORE}/*/current_freq_khz")))
}

/// Sets all devices of a kind to their highest frequency.
pub(super) fn devfreq(site: &Site<'_>, kind: Clocked) -> Found {
    let case = site.case;
    let mut draft = Draft::default();
    for device in case.clocked(kind)? {
        let folder = DEVFREQ;
        let read = |file: &str| case.peek(&format!("{folder}/{device}/{file}"));
        if read("governor").known().is_some_and(|now| Case::is_steady(now)) {
            continue;
        }
        let offers = |names: &String| names.split_whitespace().any(|name| name == "performance");
        if read("available_governors").known().is_none_or(offers) {
            draft.write(case, &device, &format!("{folder}/{device}/governor"), "performance");
        } else if let Fact::Known(highest) = read("max_freq") {
            if highest.parse::<u64>().is_ok() {
                draft.write(case, &device, &format!("{folder}/{device}/min_freq"), &highest);
            }
        }
    }
    Ok(draft.remedy("The change itself stops users of the device for a moment; more heat.", "cur_freq stands still"))
}
