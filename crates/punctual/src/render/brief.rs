//! One line for scripts and logs of CI: the result in capitals, then `name=value` pairs. Only the last value may hold a
//! space. The line of a measurement is [`brief`](super::words::answer::brief).

use super::audit::Audit;
use super::optimize;
use super::words::answer::{cause_word, first_cause};
use super::words::command::tight;
use super::words::compare::verdict;
use punctual_facts::finding::{Severity, State};
use punctual_facts::lint::{Word, WordVerdict};
use punctual_linux::apply::{Applied, Fate, Reverted};
use punctual_linux::journal::Undone;
use punctual_numbers::compare::{Basis, Compared, Comparison};
use punctual_numbers::report::{CausesDoubt, Distrust, Report};
use punctual_optimize::CandidateVerdict;
use punctual_tuning::plan::{Plan, Standing, StatusRow};
use std::path::Path;

/// The line of an audit: `BAD cpus=2-3 fatal=1 high=3 medium=5 info=2 unknown=4 good=60 first=kconf.flavour`
pub fn audit(audit: &Audit<'_>) -> String {
    let number = |is_one: &dyn Fn(&State) -> bool| audit.findings.iter().filter(|one| is_one(&one.state)).count();
    let bad = |severity: Severity| {
        audit.findings.iter().filter(|one| one.state == State::Bad && one.severity == severity).count()
    };
    let unknown = number(&|state| matches!(state, State::Unknown(_)));
    let first = punctual_numbers::report::most_important(audit.findings, &[]).into_iter().next();
    format!(
        "{} cpus={} fatal={} high={} medium={} info={} unknown={unknown} good={} first={}",
        match (&first, unknown) {
            (Some(_), _) => "BAD",
            (None, 0) => "GOOD",
            (None, _) => "UNKNOWN",
        },
        audit.case.rt(),
        bad(Severity::Fatal),
        bad(Severity::High),
        bad(Severity::Medium),
        bad(Severity::Info),
        number(&|state| *state == State::Good),
        first.map_or_else(|| "none".to_owned(), |finding| finding.id.clone()),
    )
}

/// The line of judged words, with the number of words of each verdict: `WORDS all=12 harmful=0 unknown=2 ...`
pub fn lint(words: &[Word]) -> String {
    let number = |verdict: WordVerdict| words.iter().filter(|word| word.verdict == verdict).count();
    let counts = WordVerdict::ALL.map(|verdict| format!(" {}={}", verdict.name(), number(verdict)));
    format!("WORDS all={}{}", words.len(), counts.concat())
}

/// The line of the settings that were asked for: `SETTINGS in-force=12 waiting=1 drifted=0 not-honoured=0 unknown=0`
pub fn status(rows: &[StatusRow]) -> String {
    let number = |is_one: fn(&Standing) -> bool| rows.iter().filter(|row| is_one(&row.standing)).count();
    format!(
        "SETTINGS in-force={} waiting={} drifted={} not-honoured={} unknown={}",
        number(|standing| matches!(standing, Standing::InForce | Standing::Gone)),
        number(|standing| matches!(standing, Standing::WaitsForInterrupt | Standing::WaitsForBoot)),
        number(|standing| matches!(standing, Standing::Drifted)),
        number(|standing| matches!(standing, Standing::NotHonoured(_))),
        number(|standing| matches!(standing, Standing::Unknown(_))),
    )
}

/// The line of a plan: `PLAN cpus=2-3 changes=12 left=30 conflicts=1`
pub fn plan(plan: &Plan) -> String {
    format!(
        "PLAN cpus={} changes={} left={} conflicts={}",
        plan.choice.cpus,
        plan.changes.len(),
        plan.left.len(),
        plan.conflicts.len()
    )
}

/// The line of a plan that was carried out: `APPLIED transaction=3 done=8 already=2 waiting=1 not-done=0`
pub fn applied(applied: &Applied, is_whole: bool) -> String {
    let number = |fates: &dyn Fn(&Fate) -> bool| applied.changes.iter().filter(|tried| fates(&tried.fate)).count();
    let [done, already, waiting] = [
        number(&|fate| *fate == Fate::Done),
        number(&|fate| matches!(fate, Fate::Already | Fate::Gone)),
        number(&|fate| matches!(fate, Fate::Waits | Fate::NextBoot)),
    ];
    format!(
        "{} transaction={} done={done} already={already} waiting={waiting} not-done={}",
        match (is_whole, applied.stands) {
            (true, _) => "APPLIED",
            (false, true) => "PARTLY APPLIED",
            (false, false) => "NOT APPLIED",
        },
        applied.transaction,
        applied.changes.len() - done - already - waiting
    )
}

/// The line of a reverted transaction: `REVERTED undone=12 left=0 failed=0 damaged=0`
pub fn reverted(reverted: &Reverted) -> String {
    let left = reverted.undone.iter().filter(|step| matches!(step.how, Undone::Left { .. })).count();
    let is_whole = reverted.trouble.is_empty() && reverted.damage.is_empty() && reverted.unwritten.is_none();
    format!(
        "{} undone={} left={left} failed={} damaged={}",
        if is_whole { "REVERTED" } else { "PARTLY REVERTED" },
        reverted.undone.len() - left,
        reverted.trouble.len(),
        reverted.damage.len()
    )
}

/// The line of the first cause: `CAUSE cause=softirq-net_rx share=62% worst=312us explained=80% late=40 trust=yes
/// file=run.punctual`. `None` for a run that was not traced.
pub fn explain(report: &Report, recording: &Path) -> Option<String> {
    let found = report.causes.as_ref()?;
    let late = report.late().late;
    let is_lost = |doubt: &Distrust| matches!(doubt, Distrust::CutOff | Distrust::Damaged { .. });
    let is_sure = report.causes_doubt().is_none() && !report.trust.reasons.iter().any(is_lost);
    let percent = |share: f64| format!("{:.0}%", share * 100.0);
    let (word, first) = match (first_cause(report), late) {
        (Some(first), _) => ("CAUSE", Some(first)),
        (None, 0) if report.causes_doubt() == Some(CausesDoubt::NotReached) => ("NOTHING CAPTURED", None),
        (None, 0) => ("NOTHING LATE", None),
        (None, _) => ("NO CAUSE", None),
    };
    Some(format!(
        "{word} cause={} share={} worst={} explained={} late={late} trust={} file={}",
        first.map_or_else(|| "none".to_owned(), cause_word),
        first.map_or_else(|| "none".to_owned(), |first| percent(first.share)),
        first.map_or_else(|| "none".to_owned(), |first| tight(first.worst)),
        found.explained.map_or_else(|| "none".to_owned(), percent),
        if is_sure { "yes" } else { "no" },
        recording.display()
    ))
}

/// The lines of a comparison, one for each recording but the first: `WORSE better=0 worse=3 trust=yes first=a.punctual
/// second=b.punctual`
pub fn compare(comparison: &Comparison) -> String {
    let line = |other: &punctual_numbers::compare::Against| {
        let rows = |wanted: Compared| {
            other.groups.iter().flat_map(|group| &group.rows).filter(|row| row.verdict == wanted).count()
        };
        let is_assumed = other.basis == Basis::Independent;
        let is_sure = !other.refused && !is_assumed && !other.is_doubtful_beside(&comparison.first);
        format!(
            "{} better={} worse={} trust={} first={} second={}",
            verdict(other.verdict).to_uppercase(),
            rows(Compared::Better),
            rows(Compared::Worse),
            if is_sure { "yes" } else { "no" },
            comparison.first.name,
            other.side.name
        )
    };
    comparison.others.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The line of a campaign: `ENDED better=irq.affinity,iso.domain mixed=none worse=none unclear=3
/// folder=punctual-optimize-20261123-094500`
pub fn optimize(result: &optimize::Result<'_>) -> String {
    let of = |wanted: &dyn Fn(&CandidateVerdict) -> bool| -> Vec<&str> {
        let judged = result.standing.judged.iter().filter(|judged| wanted(&judged.verdict));
        judged.filter_map(|judged| Some(result.campaign.design.candidates.get(judged.candidate)?.id.as_str())).collect()
    };
    let named = |ids: Vec<&str>| if ids.is_empty() { "none".to_owned() } else { ids.join(",") };
    format!(
        "{} better={} mixed={} worse={} unclear={} folder={}",
        if result.stopped { "STOPPED" } else { "ENDED" },
        named(of(&|verdict| *verdict == CandidateVerdict::Better)),
        named(of(&|verdict| *verdict == CandidateVerdict::Mixed)),
        named(of(&|verdict| *verdict == CandidateVerdict::Worse)),
        of(&|verdict| matches!(verdict, CandidateVerdict::NotEnoughData | CandidateVerdict::Refused(_))).len(),
        result.folder.display()
    )
}
