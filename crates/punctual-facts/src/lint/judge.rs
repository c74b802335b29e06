//! Finds the verdict on a word from the tables, the machine's testimony and the rules.
//!
//! These questions are answered in order: Is the word for the kernel? Does the kernel take the word, according to the
//! tables and to the machine's testimony, which overrides the tables? What does the log say about the word? Is the
//! value valid? Which rule applies to the word? Is its effect in force?

use super::WordVerdict::{Accepted, Clamped, Effective, ForUserSpace, Inert, ModuleNotLoaded, RejectedValue, Unknown};
use super::choices::{Wrong, integer};
use super::contradictions;
use super::draft::Draft;
use super::duplicates::is_overridden;
use super::housekeeping;
use super::names::NAMES;
use super::near::near;
use super::rules::{self, Rule};
use super::standing::{by_name, options};
use super::testimony::{Became, ParameterNow, Says, ShownEffect, Testimony};
use super::user_space;
use super::values;
use super::{Target, Word, kept_bytes};
use crate::cmdline::Token;

pub(super) fn judge(line: &[Token], target: &Target, evidence: &Testimony<'_>) -> Vec<Word> {
    line.iter().map(|token| one(token, line, target, evidence)).collect()
}

fn one(token: &Token, line: &[Token], target: &Target, evidence: &Testimony<'_>) -> Word {
    if let Some(draft) = not_for_the_kernel(token, target, evidence) {
        return word(token, draft, false);
    }
    let mut draft = draft(token, target, evidence);
    if is_proven(token, evidence) && !draft.is_taken() {
        draft.verdict = Accepted;
        "what it asks for is in force".clone_into(&mut draft.why);
    }
    let wrong = if draft.is_taken() { fate(token, line, target, evidence, draft.kind) } else { None };
    if let Some(wrong) = wrong {
        return word(token, wrong, false);
    }
    if draft.verdict == RejectedValue {
        // The log says only that the value was refused. The check of the value adds the reason.
        if let Some(wrong) = values::check(token, target, draft.kind) {
            draft.why = format!("{}; {}", wrong.why, draft.why);
            draft.instead = wrong.instead;
            draft.sources.push(wrong.source.to_owned());
        }
    }
    // If this kernel's image has the word, a rule that calls the word unknown to kernels in general does not apply.
    let is_refuted = |rule: &&Rule| rule.verdict == Some(Unknown) && evidence.image_has(token);
    let rule = rules::find(token, target, line, draft.is_taken()).filter(|rule| !is_refuted(rule));
    if let Some(rule) = rule {
        apply(rule, token, &mut draft);
    } else if draft.verdict == Unknown {
        suggest(token, line, target, &mut draft);
    }
    if draft.verdict == Accepted {
        in_force(token, evidence, &mut draft);
        let is_overridden = is_overridden(token, line, |other| is_refused(other, target, draft.kind));
        if !is_overridden {
            reads_back(token, evidence, &mut draft);
        } else if draft.verdict == Accepted {
            let why = "it occurs again later, and the last occurrence counts";
            let instead = Some("one of them".to_owned());
            draft = Draft { instead, ..Draft::new(Inert, why, "kernel/params.c: parse_args") };
        }
    }
    let is_trap = rule.is_some_and(|rule| rule.is_trap);
    let is_contradiction = contradict(token, line, target, evidence, is_trap, &mut draft);
    word(token, draft, is_trap || is_contradiction)
}

/// Adds to the verdict that the word contradicts earlier words of the line. This is skipped on a running machine, which
/// shows the result.
fn contradict(
    token: &Token,
    line: &[Token],
    target: &Target,
    evidence: &Testimony<'_>,
    is_trap: bool,
    draft: &mut Draft,
) -> bool {
    if evidence.is_live() || draft.verdict != Accepted {
        return false;
    }
    let refused = |other: &Token| is_refused(other, target, draft.kind);
    let Some(found) = contradictions::find(token, line, target, refused) else { return false };
    draft.why = format!("{}; {}", found.why, draft.why);
    draft.instead = Some(match draft.instead.take().filter(|_| is_trap) {
        Some(before) => format!("{}; and {before}", found.instead),
        None => found.instead,
    });
    draft.sources.push(found.source.to_owned());
    true
}

fn word(token: &Token, draft: Draft, is_trap: bool) -> Word {
    Word {
        word: token.raw.clone(),
        verdict: draft.verdict,
        is_trap,
        is_untold: draft.is_untold,
        why: draft.why,
        instead: draft.instead,
        sources: draft.sources,
    }
}

fn not_for_the_kernel(token: &Token, target: &Target, evidence: &Testimony<'_>) -> Option<Draft> {
    const SOURCE: &str = "kernel init/main.c";
    // A running kernel shows only the part of the line that it kept. If a captured line is longer, masking has replaced
    // private values by longer stand-ins.
    if let Some(kept) = kept_bytes(target.arch).filter(|kept| token.end >= *kept && !evidence.is_live()) {
        let why = format!("it ends beyond the {} bytes of the line that the kernel keeps", kept - 1);
        let instead = Some("CPU lists as ranges, and fewer words".to_owned());
        return Some(Draft { instead, ..Draft::new(Unknown, why, "kernel COMMAND_LINE_SIZE") });
    }
    if token.raw == "--" {
        return Some(Draft::new(
            ForUserSpace,
            "everything after it is for init, and the kernel does not touch it",
            SOURCE,
        ));
    }
    if token.is_for_init {
        return Some(Draft::new(ForUserSpace, "it comes after --, so the kernel passes it to init", SOURCE));
    }
    None
}

/// The first verdict on a word: whether the kernel takes it. The machine's testimony overrides the tables.
fn draft(token: &Token, target: &Target, evidence: &Testimony<'_>) -> Draft {
    let named = by_name(token, target);
    let reader = user_space::reader(&token.name).filter(|_| !named.is_taken());
    if let Some(reader) = reader {
        return Draft::new(ForUserSpace, format!("it is for {reader}"), "kernel init/main.c: words it hands on");
    }
    let Some(says) = evidence.ask(token, named.needs) else {
        return unless_absent(token, named, evidence);
    };
    match says {
        Says::Taken(why) if named.is_taken() => Draft { why, verdict: Accepted, ..named },
        Says::Taken(why) => {
            let why = format!("{why}, though the kernel's own sources do not have it");
            Draft::new(Accepted, why, "this machine")
        }
        Says::NotLoaded(why) => Draft { why, verdict: ModuleNotLoaded, ..named },
        Says::NotThere(why) if named.is_taken() => Draft { verdict: Unknown, why, ..named },
        Says::NotTaken(why) if named.is_taken() => not_taken(token, named, why),
        Says::NotTaken(why) if user_space::downstream(&token.name).is_some() => {
            Draft::new(Unknown, why, "this machine")
        }
        Says::NotThere(why) | Says::NotTaken(why) => {
            Draft { why: format!("{why}; {}", named.why), verdict: Unknown, ..named }
        }
    }
}

/// The verdict on a word that is in the tables, but that this kernel did not take. The log lists words with refused
/// values as well as words that are not compiled in, so the verdict names both cases.
fn not_taken(token: &Token, named: Draft, why: String) -> Draft {
    let is_from_log = !token.name.contains('.') && !why.starts_with("it needs");
    if !is_from_log {
        return Draft { verdict: Unknown, why, ..named };
    }
    let needs = if named.needs == "-" {
        String::new()
    } else {
        format!(", or this kernel is built without {}", options(named.needs))
    };
    Draft { verdict: RejectedValue, why: format!("{why}: its value is refused{needs}"), ..named }
}

/// The verdict of the tables, changed in two cases: the word is for a module that a live machine does not show as
/// loaded, or the machine hides its modules.
fn unless_absent(token: &Token, named: Draft, evidence: &Testimony<'_>) -> Draft {
    let module = token.name.split_once('.').and_then(|(module, _)| NAMES.modules.get(module));
    if evidence.is_live() && named.verdict == Accepted && module.is_some_and(|m| m.can_be_loaded) {
        let why = format!("{}; nothing on this machine shows that the module is loaded", named.why);
        return Draft { verdict: ModuleNotLoaded, why, ..named };
    }
    if named.verdict == Unknown && token.name.contains('.') && evidence.hides_modules() {
        let why = format!(
            "{}; whether this machine's kernel has the parameter is not known, because /sys/module cannot be listed",
            named.why
        );
        return Draft { why, is_untold: true, ..named };
    }
    named
}

/// The verdict on an accepted word whose value the kernel refused, changed or ignored; `None` if the value took effect
/// as written.
fn fate(token: &Token, line: &[Token], target: &Target, evidence: &Testimony<'_>, kind: char) -> Option<Draft> {
    // If `isolcpus=` and `nohz_full=` do not agree, the log does not say which of the two was refused. The CPUs in
    // force show it.
    let is_another = |became: &Became| matches!(became, Became::Rejected(_)) && is_proven(token, evidence);
    let told = |wrong: Wrong| Draft { instead: wrong.instead, ..Draft::new(wrong.verdict, wrong.why, wrong.source) };
    let refused = |other: &Token| is_refused(other, target, kind);
    if let Some(wrong) = housekeeping::check(token, line, target, refused).filter(|_| !is_proven(token, evidence)) {
        return Some(told(wrong));
    }
    if let Some(became) = evidence.became(token).filter(|became| !is_another(became)) {
        let (verdict, why) = match became {
            Became::Rejected(why) => (RejectedValue, why),
            Became::Changed(why) => (Clamped, why),
            Became::Ignored(why) => (Inert, why),
        };
        return Some(Draft::new(verdict, why, "this machine's kernel log"));
    }
    values::check(token, target, kind).map(told)
}

fn apply(rule: &Rule, token: &Token, draft: &mut Draft) {
    let is_new = rule.verdict.is_some_and(|verdict| verdict != draft.verdict);
    if let Some(verdict) = rule.verdict {
        draft.verdict = verdict;
        draft.is_untold = false;
    } else if rule.is_always {
        draft.verdict = Accepted;
    }
    draft.why = if is_new || rule.verdict.is_some() || rule.is_always {
        rule.why.to_owned()
    } else {
        format!("{}; {}", draft.why, rule.why)
    };
    draft.instead = rule.instead.map(|instead| with_list(instead, token));
    draft.sources.extend(rule.sources.iter().map(|source| (*source).to_owned()));
}

/// The suggestion, with the CPUs of the word in place of `LIST`.
fn with_list(instead: &str, token: &Token) -> String {
    match &token.value {
        Some(value) if housekeeping::is_one(token) => instead.replace("LIST", values::cpu_list(value).cpus),
        _ => instead.to_owned(),
    }
}

/// Suggests a known word with a similar name. If a rule warns of that word as well, the text gives the reason.
fn suggest(token: &Token, line: &[Token], target: &Target, draft: &mut Draft) {
    let Some(name) = near(&token.name, target).filter(|name| *name != token.name) else { return };
    let meant = Token { name: name.clone(), raw: name.clone(), ..token.clone() };
    let text = token.value.as_ref().map_or_else(|| name.clone(), |value| format!("{name}={value}"));
    let rule = rules::find(&meant, target, line, true).filter(|rule| rule.is_trap || rule.verdict.is_some());
    match rule {
        Some(rule) => {
            draft.why = format!("{}; if {text} was meant: {}", draft.why, rule.why);
            draft.instead = rule.instead.map(str::to_owned);
            draft.sources.extend(rule.sources.iter().map(|source| (*source).to_owned()));
        }
        None => draft.instead = Some(text),
    }
}

/// Compares the effect that a word asks for with the state in force.
fn in_force(token: &Token, evidence: &Testimony<'_>, draft: &mut Draft) {
    let Some(ShownEffect { agrees, file }) = evidence.effect(token) else { return };
    if agrees {
        draft.verdict = Effective;
        draft.why = format!("{file}; {}", draft.why);
    } else if matches!(token.name.as_str(), "isolcpus" | "nohz_full") {
        draft.verdict = Clamped;
        draft.why = format!("{file}, which is not what it asks for");
    }
    draft.sources.push("this machine".to_owned());
}

/// Whether the state in force proves that the kernel accepted this word's list of CPUs.
fn is_proven(token: &Token, evidence: &Testimony<'_>) -> bool {
    let is_list = matches!(token.name.as_str(), "isolcpus" | "nohz_full");
    is_list && evidence.effect(token).is_some_and(|shown| shown.agrees && !shown.file.ends_with("= "))
}

/// Compares the value of the word with the value that the parameter's file has now.
fn reads_back(token: &Token, evidence: &Testimony<'_>, draft: &mut Draft) {
    let (Some(asked), Some(ParameterNow { path, value: found })) = (token.value.as_deref(), evidence.parameter(token))
    else {
        return;
    };
    let flag = |text: &str| match text.as_bytes().first()? {
        b'Y' | b'y' => Some(1),
        b'N' | b'n' => Some(0),
        _ => integer(text),
    };
    let differs = matches!((flag(asked), flag(&found)), (Some(a), Some(b)) if a != b);
    if differs {
        draft.verdict = Clamped;
        draft.why = format!("{path} = {found}: the kernel changed the value, or a program has changed it since");
        draft.sources.push("this machine".to_owned());
    }
}

/// Whether the kernel ignores the word because of its value. For `rcu_nocbs` and `irqaffinity` the answer is always no,
/// because even a bad list has an effect.
fn is_refused(token: &Token, target: &Target, kind: char) -> bool {
    !matches!(token.name.as_str(), "rcu_nocbs" | "irqaffinity")
        && values::check(token, target, kind).is_some_and(|wrong| wrong.verdict == RejectedValue)
}
