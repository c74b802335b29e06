//! The status of a word of the command line: whether this boot's command line had the word, and whether the kernel
//! honoured it.
//!
//! A word is judged by its own effect if a file of the kernel shows the effect, and otherwise by the verdict of the
//! linter. The finding about the word's knob does not matter, because the knob may be bad for another reason.

use super::{Standing, StatusRow};
use crate::audit;
use crate::knobs::{self, Case};
use crate::plan::{Keep, is_given};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;
use punctual_facts::finding::{State, WhyUnknown};
use punctual_facts::lint::{Target, Testimony, Word, WordVerdict, lint};
use punctual_facts::machine::{BOOT_CPU, Cmdline};
use punctual_facts::tree::text;

pub(super) fn word_row(id: &str, keep: &Keep, case: &Case<'_>) -> StatusRow {
    let (Keep::Word(word) | Keep::NoWord(word)) = keep else { return nothing(id) };
    let name = word.split('=').next().unwrap_or(word);
    let lines: Vec<&String> = case.configured().iter().filter_map(|place| place.line.known()).collect();
    let configured = lines.iter().find_map(|line| Cmdline::parse(line).value(name).map(str::to_owned));
    let shown = |value: Option<String>| match value {
        None => "none".to_owned(),
        Some(value) if value.is_empty() => name.to_owned(),
        Some(value) => value,
    };
    let line = case.machine.cmdline.known();
    let booted = line.map(|line| line.value(name).map(str::to_owned));
    let is_given = line.is_some_and(|line| is_given(&line.for_the_kernel(), [keep]));
    let (standing, effective) = match &booted {
        None => (Standing::Unknown("what the kernel was booted with cannot be read".to_owned()), None),
        Some(value) => {
            let effect = value.as_deref().and_then(|value| effect(name, value, case));
            let seen = match &effect {
                Some(Fact::Known(effect)) => Some(effect.text.clone()),
                _ => None,
            };
            let standing = match value {
                _ if !is_given => Standing::WaitsForBoot,
                None => Standing::InForce,
                Some(value) => given(id, name, value, effect, case),
            };
            (standing, seen)
        }
    };
    StatusRow {
        id: id.to_owned(),
        what: if matches!(keep, Keep::Word(_)) { name.to_owned() } else { format!("no {name}") },
        configured: (!lines.is_empty()).then(|| shown(configured)),
        booted: booted.map(shown),
        effective: effective.or_else(|| evidence(id, case)),
        standing,
    }
}

/// The row for a setting that is not a word of the command line.
fn nothing(id: &str) -> StatusRow {
    let standing = Standing::Unknown("it is not a word of the kernel's command line".to_owned());
    StatusRow { id: id.to_owned(), what: String::new(), configured: None, booted: None, effective: None, standing }
}

/// Whether the kernel honoured a word that was on this boot's command line.
fn given(id: &str, name: &str, value: &str, effect: Option<Fact<Shown>>, case: &Case<'_>) -> Standing {
    let word = if value.is_empty() { name.to_owned() } else { format!("{name}={value}") };
    let judged = Target::of(case.machine)
        .and_then(|target| lint(word.as_bytes(), &target, &Testimony::live(case, case.machine)).pop());
    let said = |judged: &Word| format!("{}: {}", judged.verdict.name(), judged.why);
    match (effect, judged) {
        (Some(Fact::Known(effect)), _) if effect.is_there => Standing::InForce,
        (Some(Fact::Known(effect)), Some(judged)) if is_dead(judged.verdict) => {
            Standing::NotHonoured(format!("{}; {}", effect.text, said(&judged)))
        }
        (Some(Fact::Known(effect)), _) => Standing::NotHonoured(format!("{} is in force", effect.text)),
        (Some(unseen), _) => Standing::Unknown(unseen.trouble().unwrap_or_default()),
        (None, Some(judged)) if is_dead(judged.verdict) => Standing::NotHonoured(said(&judged)),
        (None, Some(judged)) if judged.verdict == WordVerdict::Effective => Standing::InForce,
        // The kernel accepted the word, and no file shows its effect. The word counts as in force unless the state of
        // its knob is unknown.
        (None, _) => match knobs::find(id).map(|knob| audit::examine(knob, case).state) {
            Some(State::Unknown(why)) => Standing::Unknown(why.because),
            _ => Standing::InForce,
        },
    }
}

fn is_dead(verdict: WordVerdict) -> bool {
    !matches!(
        verdict,
        WordVerdict::Effective | WordVerdict::Accepted | WordVerdict::Undecided | WordVerdict::ForUserSpace
    )
}

fn evidence(id: &str, case: &Case<'_>) -> Option<String> {
    let finding = knobs::find(id).map(|knob| audit::examine(knob, case))?;
    finding.evidence.last().map(|evidence| evidence.value.clone())
}

/// The effect of a word, as a file of the kernel shows it.
struct Shown {
    text: String,
    /// Whether the file shows the effect that the word asks for.
    is_there: bool,
}

/// Reads the effect of a word that lists CPUs. `None` for all other words, for effects that no file shows, and for
/// lists in a notation that only the kernel can parse.
fn effect(name: &str, value: &str, case: &Case<'_>) -> Option<Fact<Shown>> {
    let (flags, list) = value.split_at(value.find(|c: char| c.is_ascii_digit())?);
    let asked = CpuSet::parse_list(list).ok()?;
    let online = case.machine.topology.online.known()?;
    let asked = asked.intersection(online);
    let holds = |seen: CpuSet| Shown { is_there: asked.is_subset(&seen), text: seen.to_string() };
    Some(match name {
        "isolcpus" if flags.is_empty() || flags.contains("domain") => case.machine.isolated.clone().map(holds),
        "nohz_full" => case.machine.nohz_full.clone().map(holds),
        "irqaffinity" => {
            text(case, "/proc/irq/default_smp_affinity").and_then(|mask| match CpuSet::parse_mask(&mask) {
                // The kernel adds the boot CPU to this mask in any case.
                Ok(seen) => {
                    let allowed = asked.union(&[BOOT_CPU].into_iter().collect());
                    Fact::Known(Shown { is_there: seen.is_subset(&allowed), text: seen.to_string() })
                }
                Err(e) => Fact::Garbled(e.to_string()),
            })
        }
        "rcu_nocbs" => offloaders(case).map(holds),
        _ => return None,
    })
}

/// The CPUs that have a kernel thread for their RCU callbacks.
fn offloaders(case: &Case<'_>) -> Fact<CpuSet> {
    match knobs::with_rcu_thread(case) {
        Ok(cpus) => Fact::Known(cpus),
        Err(knobs::Doubt::Unknown(WhyUnknown { because: why, .. }) | knobs::Doubt::NotApplicable(why)) => {
            Fact::Garbled(why)
        }
    }
}
