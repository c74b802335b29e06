//! Knobs that compare the boot loader's files, the command line of this boot and the state in force.

use super::listed;
use crate::knobs::prelude::*;
use crate::knobs::seen::isolation::with_rcu_thread;
use punctual_facts::lint::{Word, WordVerdict};
use punctual_facts::machine::{BOOT_CPU, Cmdline};

const KNOB: Knob = Knob { cost: "None.", severity: Weight::of(Medium, Medium, Info), ..Knob::of(Family::Agreement) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "agree.requested",
        title: "What the command line asks for is in force",
        severity: Weight::of(High, High, Medium).at_most(Info, is_told),
        check: Check::Probe(requested),
        why: "A list that the kernel cannot read, an option it was built without, or a second word that contradicts \
            the first leaves the machine without a setting that its owner believes to be in force. The kernel says so \
            only once, in its log.",
        persist: &[Lasting::other(
            "Write the word in a form that the kernel can read (punctual lint shows how), let nohz_full= and \
            isolcpus=nohz name the same CPUs, and boot again.",
        )],
        sources: &["kernel 6.1, 6.12, 7.3 kernel/sched/isolation.c: housekeeping_setup", "tuned#98"],
        ..KNOB
    },
    Knob {
        id: "agree.unasked",
        title: "All isolation in force was requested on the command line",
        severity: Weight::all(Info),
        check: Check::Probe(unasked),
        why: "If CPUs are set apart although the command line does not say so, the setting comes from a place where \
            few people look: a boot configuration in the initramfs, or a patched kernel.",
        persist: &[Lasting::other(
            "Find where the isolation is set (/proc/bootconfig, CONFIG_CMDLINE of the kernel), and keep it in one \
                place only.",
        )],
        confidence: Confidence::Medium,
        sources: &["kernel admin-guide/bootconfig.rst"],
        ..KNOB
    },
    Knob {
        id: "agree.pending",
        title: "The configured command line is the booted one",
        check: Check::Probe(pending),
        why: "A word that is in the boot loader's files but not on the command line is not in force: either the files \
            were edited without generating the menu or booting again, or another entry was booted.",
        persist: &[Lasting::other("Generate the boot menu anew where the boot loader has one, and boot again.")],
        undo: Fix::prose("Take the word out of that file."),
        cost: "A reboot.",
        blast: Blast::Breaking,
        confidence: Confidence::Medium,
        sources: &["tuned#98", "tuned plugin_bootloader", "Debian grub2: /etc/default/grub.d"],
        ..KNOB
    },
    Knob {
        id: "agree.lost",
        title: "The next boot keeps every kernel parameter of this one",
        check: Check::Probe(lost),
        why: "A word that was typed into the boot menu, or has been taken out of the boot loader's files since the \
            boot, is gone after the next boot, and an update may boot the machine at night.",
        persist: &[Lasting::other("Put the word into the boot loader's files, or boot again without it.")],
        confidence: Confidence::Medium,
        sources: &["tuned plugin_bootloader", "unverified: words that firmware or boot scripts add on some boards"],
        ..KNOB
    },
    Knob {
        id: "agree.missing_cpus",
        title: "CPUs named for this work or on the command line exist and are online",
        check: Check::Probe(missing_cpus),
        why: "A list made for another machine, or with SMT on, names CPUs that are offline or do not exist; work that \
            should run on those CPUs runs elsewhere or not at all.",
        fix: Fix::prose("echo 1 > /sys/devices/system/cpu/cpuN/online for each named CPU that is offline."),
        persist: &[Lasting::other("Name CPUs of this machine: see /sys/devices/system/cpu/possible.")],
        blast: Blast::Disturbing,
        sources: &["kernel admin-guide/cputopology.rst", "seapath/ansible#865", "tuned#514"],
        ..KNOB
    },
    Knob {
        id: "agree.tick_boot_cpu",
        title: "nohz_full= leaves the boot CPU alone",
        severity: Weight::of(Info, Medium, Info),
        check: Check::Probe(tick_boot_cpu),
        why: "A kernel that can suspend (all distributions' kernels can) takes the boot CPU out of nohz_full= and only \
            logs a line about it: the boot CPU keeps its tick, because it keeps the time for all others.",
        persist: &[Lasting::other("Kernel command line: nohz_full= without CPU 0; choose another CPU for the work.")],
        sources: &["kernel 6.12, 7.3 kernel/time/tick-sched.c: tick_nohz_init"],
        ..KNOB
    },
];

/// Words of the command line that affect latency. `agree.pending` and `agree.lost` ignore all others.
const WORDS: &str = "isolcpus nohz_full nohz rcu_nocbs rcu_nocb_poll irqaffinity kthread_cpus skew_tick threadirqs preempt \
    idle cpuidle.off intel_idle.max_cstate processor.max_cstate intel_pstate amd_pstate cpufreq.off \
    cpufreq.default_governor nosmt maxcpus nr_cpus mitigations tsc clocksource hpet nmi_watchdog nowatchdog \
    nosoftlockup mce pcie_aspm pcie_aspm.policy transparent_hugepage numa_balancing audit efi \
    systemd.cpu_affinity workqueue.unbound_cpus workqueue.power_efficient rcupdate.rcu_expedited \
    rcupdate.rcu_normal_after_boot rcutree.kthread_prio xenomai.supported_cpus xenomai.smi evl.oobcpus";

/// Whether [`WORDS`] contains a word of this name. `name` is spelled with underscores instead of dashes.
pub(super) fn matters(name: &str) -> bool {
    WORDS.split(' ').any(|word| word == name)
}

fn booted<'a>(case: &'a Case<'_>) -> Result<&'a Cmdline, Doubt> {
    match case.cmdline() {
        Some(line) => Ok(line),
        None => Doubt::unknown("this boot's kernel command line is not known"),
    }
}

fn possible(case: &Case<'_>) -> CpuSet {
    case.possible().cloned().unwrap_or_default()
}

/// Parses the value of `isolcpus=`. Returns whether it isolates scheduling domains, whether it stops the tick, and its
/// list of CPUs.
fn isolcpus(value: &str) -> (bool, bool, &str) {
    let (mut domain, mut tick, mut others, mut rest) = (false, false, false, value);
    // Everything that begins with a letter is a flag, even `all`. The kernel skips flags it does not know.
    while rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        let (flag, list) = rest.split_once(',').unwrap_or((rest, ""));
        match flag {
            "domain" => domain = true,
            "nohz" => tick = true,
            "managed_irq" => others = true,
            _ => {}
        }
        rest = list;
    }
    (domain || !(tick || others), tick, rest)
}

/// A word of the command line that asks for CPUs: the word, its list of CPUs, and the file that shows the result.
struct Wish<'a> {
    word: &'static str,
    list: &'a str,
    effect: &'static str,
}

/// The words of the command line that ask for CPUs and whose result a file shows.
fn wishes(line: &Cmdline) -> Vec<Wish<'_>> {
    let mut wishes = Vec::new();
    if let Some(value) = line.value("isolcpus") {
        let (domain, tick, list) = isolcpus(value);
        wishes.extend(domain.then_some(Wish { word: "isolcpus", list, effect: ISOLATED }));
        wishes.extend(tick.then_some(Wish { word: "isolcpus", list, effect: NOHZ_FULL }));
    }
    if let Some(list) = line.value("nohz_full").filter(|list| !list.is_empty()) {
        wishes.push(Wish { word: "nohz_full", list, effect: NOHZ_FULL });
    }
    if let Some(list) = line.value("irqaffinity") {
        wishes.push(Wish { word: "irqaffinity", list, effect: DEFAULT_AFFINITY });
    }
    wishes
}

const DEFAULT_AFFINITY: &str = "/proc/irq/default_smp_affinity";

/// Whether another knob reports that a requested list of CPUs is not in force.
fn is_told(case: &Case<'_>) -> bool {
    let is_refused = |word: &Word| {
        let is_list =
            ["isolcpus=", "nohz_full=", "rcu_nocbs=", "irqaffinity="].iter().any(|w| word.word.starts_with(w));
        is_list && word.verdict == WordVerdict::RejectedValue
    };
    ["iso.domain", "iso.rcu_nocbs", "irq.default"].iter().any(|id| case.is_bad(id))
        || case.words().unwrap_or_default().iter().any(is_refused)
}

fn requested(case: &Case<'_>) -> Judged {
    let line = booted(case)?;
    let wishes = wishes(line);
    let offloaded = line.value("rcu_nocbs").filter(|list| !list.is_empty());
    Doubt::not_applicable_if(wishes.is_empty() && offloaded.is_none(), "no word of the command line names CPUs")?;
    let online = case.online().cloned().unwrap_or_default();
    let mut is_in_force = match offloaded {
        Some(list) => is_offloaded(case, list, &online)?,
        None => true,
    };
    for wish in wishes {
        case.note(format!("{CMDLINE} {}", wish.word), wish.list);
        let wanted = listed(wish.list, &possible(case));
        if let Err(why) = &wanted {
            case.note(format!("{} as the kernel reads it", wish.word), why.as_str());
        }
        let boot: CpuSet = [BOOT_CPU].into_iter().collect();
        if wish.effect == DEFAULT_AFFINITY {
            let mask = case.cpu_mask(wish.effect, TellsNothing("the kernel does not show where new interrupts go"))?;
            // The kernel adds the boot CPU to this mask in any case, and ignores CPUs that do not exist.
            is_in_force &= wanted.is_ok_and(|wanted| {
                mask.intersection(&online).is_subset(&wanted.union(&boot)) && !mask.intersection(&wanted).is_empty()
            });
            continue;
        }
        let because = "the kernel has no file that shows whether a word of the command line is in force: it was built without the option for that word, or is too old to show it";
        let effective = match case.cpu_list(wish.effect, CannotBe(because)) {
            Ok(effective) => effective,
            // A kernel without this file cannot stop its tick.
            Err(Doubt::NotApplicable(_)) if wish.effect == NOHZ_FULL => CpuSet::new(),
            Err(Doubt::NotApplicable(because)) => return Doubt::unknown(because),
            Err(doubt) => return Err(doubt),
        };
        is_in_force &= match wanted {
            // The kernel never stops the tick of the boot CPU; `agree.tick_boot_cpu` reports a request to do so.
            Ok(wanted) => {
                wanted.intersection(&possible(case)).difference(&boot).is_subset(&effective) && !effective.is_empty()
            }
            Err(_) if effective.is_empty() => false,
            Err(why) => return Doubt::unknown(format!("{}={}: {why}", wish.word, wish.list)),
        };
    }
    Ok(is_in_force)
}

/// Whether the threads exist that run the RCU callbacks of these CPUs. A malformed list makes the kernel offload every
/// CPU, which does not count as the requested state.
fn is_offloaded(case: &Case<'_>, list: &str, online: &CpuSet) -> Judged {
    case.note(format!("{CMDLINE} rcu_nocbs"), list);
    let served = with_rcu_thread(case)?;
    Ok(listed(list, &possible(case)).is_ok_and(|wanted| wanted.intersection(online).is_subset(&served)))
}

fn unasked(case: &Case<'_>) -> Judged {
    let line = booted(case)?;
    let asked = wishes(line);
    let mut is_set_apart = false;
    let mut is_asked = true;
    for effect in [ISOLATED, NOHZ_FULL] {
        if !or_absent(case.cpu_list(effect, CannotBe("")), CpuSet::new())?.is_empty() {
            is_set_apart = true;
            is_asked &= asked.iter().any(|wish| wish.effect == effect);
        }
    }
    let words: Vec<String> = asked.iter().map(|wish| format!("{}={}", wish.word, wish.list)).collect();
    case.note(
        format!("{CMDLINE}: words about CPUs"),
        if words.is_empty() { "none".to_owned() } else { words.join(" ") },
    );
    Doubt::not_applicable_if(!is_set_apart, "no CPU was set apart at boot")?;
    Ok(is_asked)
}

/// The words of a command line that are in [`WORDS`], each with its name and the word as written.
fn words(line: &Cmdline) -> Vec<(&'static str, String)> {
    let word = |name: &'static str| {
        let value = line.value(name)?;
        Some((name, if value.is_empty() { name.to_owned() } else { format!("{name}={value}") }))
    };
    WORDS.split(' ').filter_map(word).collect()
}

fn configured<'a>(case: &'a Case<'_>) -> Result<Vec<(&'a str, Cmdline)>, Doubt> {
    let boot = &case.machine.boot;
    if let Some(container) = case.container() {
        return Doubt::not_applicable(format!("in a container ({container}) there is no boot loader to ask"));
    }
    let Some(loader) = boot.loaders.first() else {
        return Doubt::unknown("which boot loader this machine has is not known");
    };
    let places = case.configured();
    if places.is_empty() {
        return Doubt::unknown(format!(
            "the files in which {} ({}) keeps the words of the command line cannot be read from here",
            loader.what.name(),
            loader.seen
        ));
    }
    if boot.loaders.len() > 1 {
        let names: Vec<&str> = boot.loaders.iter().map(|loader| loader.what.name()).collect();
        return Doubt::unknown(format!(
            "several boot loaders are there ({}), and nothing tells which one ran",
            names.join(", ")
        ));
    }
    let mut lines = Vec::new();
    for place in places {
        let line = case.known(&place.place, place.line.clone(), TellsNothing("not there"))?;
        lines.push((place.place.as_str(), Cmdline::parse(&line)));
    }
    Ok(lines)
}

/// Adds the file that shows the effect of a word to the evidence.
fn effect_of(case: &Case<'_>, name: &str) {
    let effect = match name {
        "isolcpus" => ISOLATED,
        "nohz_full" => NOHZ_FULL,
        "irqaffinity" => DEFAULT_AFFINITY,
        _ => return,
    };
    case.cite(effect, &case.peek(effect));
}

fn pending(case: &Case<'_>) -> Judged {
    let booted = booted(case)?;
    let booted_words = words(booted);
    let mut is_booted = true;
    let mut seen = 0;
    for (place, line) in configured(case)? {
        for (name, word) in words(&line) {
            seen += 1;
            let running = booted_words.iter().find(|(booted, _)| *booted == name).map(|(_, word)| word.as_str());
            if running != Some(word.as_str()) {
                is_booted = false;
                case.note(format!("configured in {place}"), word);
                case.note(format!("booted ({CMDLINE})"), running.unwrap_or("not there"));
                effect_of(case, name);
            }
        }
        case.note(place, "read");
    }
    if is_booted {
        case.note("words of the command line that affect latency", format!("{seen} configured, all of them booted"));
    }
    Ok(is_booted)
}

fn lost(case: &Case<'_>) -> Judged {
    let booted = booted(case)?;
    let lines = configured(case)?;
    let mut is_kept = true;
    for (name, word) in words(booted) {
        if !lines.iter().any(|(_, line)| line.value(name).is_some()) {
            is_kept = false;
            case.note(format!("booted ({CMDLINE})"), word);
            effect_of(case, name);
        }
    }
    let places: Vec<&str> = lines.iter().map(|(place, _)| *place).collect();
    case.note(
        places.join(", "),
        if is_kept {
            "holds every word of this boot that affects latency"
        } else {
            "does not hold every word of this boot that affects latency"
        },
    );
    Ok(is_kept)
}

fn missing_cpus(case: &Case<'_>) -> Judged {
    let Some(online) = case.online() else {
        return Doubt::unknown("which CPUs are online is not known");
    };
    let mut named = CpuSet::new();
    if !case.need.cpus.is_empty() {
        case.note("CPUs asked for", case.need.cpus.to_string());
        named = case.need.cpus.clone();
    }
    if let Some(line) = case.cmdline() {
        let others = ["rcu_nocbs"].into_iter().filter_map(|word| Some((word, line.value(word)?)));
        for (word, value) in wishes(line).iter().map(|wish| (wish.word, wish.list)).chain(others) {
            // The kernel refuses a list with CPUs that do not exist, and this knob looks for such lists. The knob
            // `cmdline.rejected` reports lists that are malformed otherwise.
            if let Ok(cpus) = listed(value, &possible(case)).or_else(|_| CpuSet::parse_list(value)) {
                case.note(format!("{CMDLINE} {word}"), value);
                named = named.union(&cpus);
            }
        }
    }
    if named.is_empty() {
        booted(case)?;
        return Doubt::not_applicable("no CPUs are named, neither on the kernel's command line nor for this work");
    }
    case.note("online", online.to_string());
    Ok(named.is_subset(online))
}

fn tick_boot_cpu(case: &Case<'_>) -> Judged {
    let line = booted(case)?;
    let wish = wishes(line).into_iter().find(|wish| wish.effect == NOHZ_FULL);
    let Some(wish) = wish else {
        return Doubt::not_applicable("the command line asks for no tick-free CPUs");
    };
    case.note(format!("{CMDLINE} {}", wish.word), wish.list);
    let wanted = listed(wish.list, &possible(case)).or_else(|e| Doubt::unknown(format!("{}: {e}", wish.word)))?;
    let effective = case.cpu_list(NOHZ_FULL, TellsNothing("the kernel does not show which CPUs are tick-free"))?;
    Ok(!wanted.contains(BOOT_CPU) && !effective.contains(BOOT_CPU))
}

#[cfg(test)]
mod tests {
    use super::isolcpus;

    #[test]
    fn flags_come_before_the_list() {
        assert_eq!(isolcpus("2-3"), (true, false, "2-3"));
        assert_eq!(isolcpus("managed_irq,domain,2-3"), (true, false, "2-3"));
        assert_eq!(isolcpus("nohz,2-3"), (false, true, "2-3"));
        assert_eq!(isolcpus("managed_irq,2"), (false, false, "2"));
        assert_eq!(isolcpus("strange,2-3,5"), (true, false, "2-3,5"));
        assert_eq!(isolcpus("domain"), (true, false, ""));
        assert_eq!(isolcpus("all"), (true, false, ""));
        assert_eq!(isolcpus(""), (true, false, ""));
    }
}
