//! From a word and what is known of it to its verdict.
//!
//! In this order: what is not for the kernel, whether the kernel takes the word (names, then the machine's testimony,
//! which wins), what the log says became of it, whether the value is right, what is known of the word beyond its name,
//! and what is in force.

use super::contradictions;
use super::duplicates::is_overridden;
use super::housekeeping;
use super::names::NAMES;
use super::near::near;
use super::rules::{self, Rule};
use super::standing::{Standing, by_name, options};
use super::testimony::{Became, Says, Testimony};
use super::user_space;
use super::values::{self, Wrong};
use super::{Target, Word, WordVerdict};
use crate::cmdline::{KEPT_BYTES, Token};
use crate::machine::Arch;

pub(super) fn judge(line: &[Token], target: &Target, evidence: &Testimony<'_>) -> Vec<Word> {
    line.iter().map(|token| one(token, line, target, evidence)).collect()
}

fn one(token: &Token, line: &[Token], target: &Target, evidence: &Testimony<'_>) -> Word {
    if let Some(standing) = not_for_the_kernel(token, target, evidence) {
        return word(token, standing, false);
    }
    let mut standing = standing(token, target, evidence);
    if is_proven(token, evidence) && !standing.is_taken() {
        standing.verdict = WordVerdict::Accepted;
        "what it asks for is in force".clone_into(&mut standing.why);
    }
    let wrong = if standing.is_taken() { fate(token, line, target, evidence, standing.kind) } else { None };
    if let Some(wrong) = wrong {
        return word(token, wrong, false);
    }
    if standing.verdict == WordVerdict::RejectedValue {
        // The log knows that, the handler's code knows why.
        if let Some(wrong) = values::check(token, target, standing.kind) {
            standing.why = format!("{}; {}", wrong.why, standing.why);
            standing.instead = wrong.instead;
            standing.sources.push(wrong.source.to_owned());
        }
    }
    // What one kernel was built with is stronger than what is known of kernels.
    let is_refuted = |rule: &&Rule| rule.verdict == Some(WordVerdict::Unknown) && evidence.image_has(token);
    let rule = rules::find(token, target, line, standing.is_taken()).filter(|rule| !is_refuted(rule));
    if let Some(rule) = rule {
        apply(rule, token, &mut standing);
    } else if standing.verdict == WordVerdict::Unknown {
        suggest(token, line, target, &mut standing);
    }
    if standing.verdict == WordVerdict::Accepted {
        in_force(token, evidence, &mut standing);
        let is_overridden = is_overridden(token, line, |other| is_refused(other, target, standing.kind));
        if !is_overridden {
            reads_back(token, evidence, &mut standing);
        } else if standing.verdict == WordVerdict::Accepted {
            let why = "it stands there again, and the last one is the one that counts";
            let instead = Some("one of them".to_owned());
            standing = Standing { instead, ..Standing::new(WordVerdict::Inert, why, "kernel/params.c: parse_args") };
        }
    }
    let is_trap = rule.is_some_and(|rule| rule.is_trap);
    let is_contradiction = contradict(token, line, target, evidence, is_trap, &mut standing);
    word(token, standing, is_trap || is_contradiction)
}

/// What does not fit the words in front of it; a machine that runs shows what came of them.
fn contradict(
    token: &Token,
    line: &[Token],
    target: &Target,
    evidence: &Testimony<'_>,
    is_trap: bool,
    standing: &mut Standing,
) -> bool {
    if evidence.is_live() || standing.verdict != WordVerdict::Accepted {
        return false;
    }
    let refused = |other: &Token| is_refused(other, target, standing.kind);
    let Some(found) = contradictions::find(token, line, target, refused) else { return false };
    standing.why = format!("{}; {}", found.why, standing.why);
    standing.instead = Some(match standing.instead.take().filter(|_| is_trap) {
        Some(before) => format!("{}; and {before}", found.instead),
        None => found.instead,
    });
    standing.sources.push(found.source.to_owned());
    true
}

fn word(token: &Token, standing: Standing, is_trap: bool) -> Word {
    Word {
        word: token.raw.clone(),
        verdict: standing.verdict,
        is_trap,
        is_untold: standing.is_untold,
        why: standing.why,
        instead: standing.instead,
        sources: standing.sources,
    }
}

fn not_for_the_kernel(token: &Token, target: &Target, evidence: &Testimony<'_>) -> Option<Standing> {
    const SOURCE: &str = "kernel init/main.c";
    // A running kernel's own line is what it kept, and longer only where stand-ins for what is private made it so.
    if token.end >= KEPT_BYTES && !evidence.is_live() && target.arch != Arch::Other {
        let why = format!("it ends beyond the {} bytes of the line that the kernel keeps", KEPT_BYTES - 1);
        let instead = Some("CPU lists as ranges, and fewer words".to_owned());
        return Some(Standing { instead, ..Standing::new(WordVerdict::Unknown, why, "kernel COMMAND_LINE_SIZE") });
    }
    if token.raw == "--" {
        return Some(Standing::new(
            WordVerdict::ForUserSpace,
            "what follows is for init, untouched by the kernel",
            SOURCE,
        ));
    }
    if token.is_for_init {
        return Some(Standing::new(
            WordVerdict::ForUserSpace,
            "it stands behind --, so the kernel hands it to init",
            SOURCE,
        ));
    }
    None
}

/// Whether the kernel takes the word: the machine knows better than the tables.
fn standing(token: &Token, target: &Target, evidence: &Testimony<'_>) -> Standing {
    let (named, needs) = by_name(token, target);
    let reader = user_space::reader(&token.name).filter(|_| !named.is_taken());
    if let Some(reader) = reader {
        return Standing::new(
            WordVerdict::ForUserSpace,
            format!("it is for {reader}"),
            "kernel init/main.c: words it hands on",
        );
    }
    let Some(says) = evidence.ask(token, needs) else {
        return unless_absent(token, named, evidence);
    };
    match says {
        Says::Taken(why) if named.is_taken() => Standing { why, verdict: WordVerdict::Accepted, ..named },
        Says::Taken(why) => {
            let why = format!("{why}, though the kernel's own sources do not have it");
            Standing::new(WordVerdict::Accepted, why, "this machine")
        }
        Says::NotLoaded(why) => Standing { why, verdict: WordVerdict::ModuleNotLoaded, ..named },
        Says::NotThere(why) if named.is_taken() => Standing { verdict: WordVerdict::Unknown, why, ..named },
        Says::NotTaken(why) if named.is_taken() => not_taken(token, named, why, needs),
        Says::NotTaken(why) if user_space::downstream(&token.name).is_some() => {
            Standing::new(WordVerdict::Unknown, why, "this machine")
        }
        Says::NotThere(why) | Says::NotTaken(why) => {
            Standing { why: format!("{why}; {}", named.why), verdict: WordVerdict::Unknown, ..named }
        }
    }
}

/// A name the tables have, and this kernel did not take: the log names what a handler refused and what is not compiled
/// in alike; the configuration and the module know the reason.
fn not_taken(token: &Token, named: Standing, why: String, needs: &str) -> Standing {
    let is_from_log = !token.name.contains('.') && !why.starts_with("it needs");
    if !is_from_log {
        return Standing { verdict: WordVerdict::Unknown, why, ..named };
    }
    let needs =
        if needs == "-" { String::new() } else { format!(", or this kernel is built without {}", options(needs)) };
    Standing { verdict: WordVerdict::RejectedValue, why: format!("{why}: its value is refused{needs}"), ..named }
}

/// A module that no trace of is found on a live machine, or none can be found of.
fn unless_absent(token: &Token, named: Standing, evidence: &Testimony<'_>) -> Standing {
    let module = token.name.split_once('.').and_then(|(module, _)| NAMES.modules.get(module));
    if evidence.is_live() && named.verdict == WordVerdict::Accepted && module.is_some_and(|m| m.can_be_loaded) {
        let why = format!("{}, and nothing on this machine shows that it is loaded", named.why);
        return Standing { verdict: WordVerdict::ModuleNotLoaded, why, ..named };
    }
    if named.verdict == WordVerdict::Unknown && token.name.contains('.') && evidence.hides_modules() {
        let why = format!("{}; whether this machine has it is not told, as /sys/module cannot be listed", named.why);
        return Standing { why, is_untold: true, ..named };
    }
    named
}

/// What became of a word that the kernel takes, where that is not what was written.
fn fate(token: &Token, line: &[Token], target: &Target, evidence: &Testimony<'_>, kind: char) -> Option<Standing> {
    // Of two words that do not agree the log does not say which one it means; what is in force does.
    let is_another = |became: &Became| matches!(became, Became::Rejected(_)) && is_proven(token, evidence);
    let told =
        |wrong: Wrong| Standing { instead: wrong.instead, ..Standing::new(wrong.verdict, wrong.why, wrong.source) };
    let refused = |other: &Token| is_refused(other, target, kind);
    if let Some(wrong) = housekeeping::check(token, line, target, refused).filter(|_| !is_proven(token, evidence)) {
        return Some(told(wrong));
    }
    if let Some(became) = evidence.became(token).filter(|became| !is_another(became)) {
        let (verdict, why) = match became {
            Became::Rejected(why) => (WordVerdict::RejectedValue, why),
            Became::Changed(why) => (WordVerdict::Clamped, why),
            Became::Ignored(why) => (WordVerdict::Inert, why),
        };
        return Some(Standing::new(verdict, why, "this machine's kernel log"));
    }
    values::check(token, target, kind).map(told)
}

fn apply(rule: &Rule, token: &Token, standing: &mut Standing) {
    let is_new = rule.verdict.is_some_and(|verdict| verdict != standing.verdict);
    // A module that is not loaded does no harm yet.
    if let Some(verdict) = rule.verdict {
        standing.verdict = verdict;
        standing.is_untold = false;
    } else if rule.is_always {
        standing.verdict = WordVerdict::Accepted;
    }
    standing.why = if is_new || rule.verdict.is_some() || rule.is_always {
        rule.why.to_owned()
    } else {
        format!("{}; {}", standing.why, rule.why)
    };
    standing.instead = rule.instead.map(|instead| with_list(instead, token));
    standing.sources.extend(rule.sources.iter().map(|source| (*source).to_owned()));
}

/// What to write, with the CPUs of the word in the place of `LIST`.
fn with_list(instead: &str, token: &Token) -> String {
    match &token.value {
        Some(value) if housekeeping::is_one(token) => instead.replace("LIST", values::cpu_list(value).1),
        _ => instead.to_owned(),
    }
}

/// What may have been meant, and whether even that would be wanted.
fn suggest(token: &Token, line: &[Token], target: &Target, standing: &mut Standing) {
    let Some(name) = near(&token.name, target).filter(|name| *name != token.name) else { return };
    let meant = Token { name: name.clone(), raw: name.clone(), ..token.clone() };
    let text = token.value.as_ref().map_or_else(|| name.clone(), |value| format!("{name}={value}"));
    let rule = rules::about(&meant, target, line).filter(|rule| rule.is_trap || rule.verdict.is_some());
    match rule {
        Some(rule) => {
            standing.why = format!("{}; if {text} was meant: {}", standing.why, rule.why);
            standing.instead = rule.instead.map(str::to_owned);
            standing.sources.extend(rule.sources.iter().map(|source| (*source).to_owned()));
        }
        None => standing.instead = Some(text),
    }
}

/// What is in force proves more than what was taken.
fn in_force(token: &Token, evidence: &Testimony<'_>, standing: &mut Standing) {
    let Some((agrees, file)) = evidence.effect(token) else { return };
    if agrees {
        standing.verdict = WordVerdict::Effective;
        standing.why = format!("{file}; {}", standing.why);
    } else if matches!(token.name.as_str(), "isolcpus" | "nohz_full") {
        standing.verdict = WordVerdict::Clamped;
        standing.why = format!("{file}, which is not what it asks for");
    }
    standing.sources.push("this machine".to_owned());
}

/// Whether what is in force can only come from this word.
fn is_proven(token: &Token, evidence: &Testimony<'_>) -> bool {
    let is_list = matches!(token.name.as_str(), "isolcpus" | "nohz_full");
    is_list && matches!(evidence.effect(token), Some((true, file)) if !file.ends_with("= "))
}

/// A parameter that reads back as another value was clamped, or changed since.
fn reads_back(token: &Token, evidence: &Testimony<'_>, standing: &mut Standing) {
    let (Some(asked), Some((path, found))) = (token.value.as_deref(), evidence.parameter(token)) else { return };
    let flag = |text: &str| match text.as_bytes().first()? {
        b'Y' | b'y' => Some(1),
        b'N' | b'n' => Some(0),
        _ => values::integer(text),
    };
    let differs = matches!((flag(asked), flag(&found)), (Some(a), Some(b)) if a != b);
    if differs {
        standing.verdict = WordVerdict::Clamped;
        standing.why = format!("{path} = {found}: the kernel changed the value, or somebody has since");
        standing.sources.push("this machine".to_owned());
    }
}

/// Whether the kernel leaves everything as it was at that value; a bad list for these two does change something.
fn is_refused(token: &Token, target: &Target, kind: char) -> bool {
    !matches!(token.name.as_str(), "rcu_nocbs" | "irqaffinity")
        && values::check(token, target, kind).is_some_and(|wrong| wrong.verdict == WordVerdict::RejectedValue)
}
