//! What to do next, most useful first.

use super::verdict::time_for;
use super::{Answer, CpuRow, Direction, Distrust, Inconclusive, NextStep, Trust, Verdict};
use crate::stats::binomial;
use punctual_facts::finding::{Finding, ROOT_MAY, Severity, State};
use punctual_hist::Nanos;

/// The first claim worth measuring longer for.
const ONE_IN_MIN: u64 = 1_000_000;
/// Beyond this nobody measures.
const ONE_IN_MAX: u64 = 1_000_000_000_000;
/// The claim that is worth a verdict at all.
const ONE_IN_VERDICT: u64 = 1_000;

pub(super) fn steps(
    measured: Nanos,
    findings: &[Finding],
    cpus: &[CpuRow],
    verdict: &Verdict,
    trust: &Trust,
) -> Vec<NextStep> {
    let fix = worst_bad(findings);
    let mut steps = Vec::new();
    if verdict.inconclusive_because == Some(Inconclusive::NoBudget) {
        steps.push(NextStep::StateBudget);
    }
    // What spoilt a run that held may be chance; what stands between a machine and its need is not.
    if verdict.answer == Answer::NotHeld {
        steps.extend(fix.clone());
    }
    if worth_repeating(verdict, trust) {
        steps.push(NextStep::Repeat);
    }
    steps.extend(skips_differ(cpus));
    if verdict.answer != Answer::NotHeld {
        steps.extend(fix);
    }
    steps.extend(refused(findings));
    steps.extend(longer(measured, verdict));
    steps
}

fn worst_bad(findings: &[Finding]) -> Option<NextStep> {
    let matters = |finding: &&Finding| finding.state == State::Bad && finding.severity > Severity::Info;
    let bad = findings.iter().filter(matters);
    // Findings come worst first, and `max_by_key` would take the last of equals.
    bad.reduce(|worst, next| if next.severity > worst.severity { next } else { worst })
        .map(|finding| NextStep::Fix { id: finding.id.clone() })
}

/// A need that was held needs no second run, and too few samples or slow moods need a longer one instead.
fn worth_repeating(verdict: &Verdict, trust: &Trust) -> bool {
    let cured = |doubt: &Distrust| !matches!(doubt.direction(), Direction::TooFew | Direction::MoodsLong);
    verdict.answer != Answer::Held && trust.reasons.iter().any(cured)
}

/// The CPU on which the two views of p99 differ most, where that is twofold or more.
fn skips_differ(cpus: &[CpuRow]) -> Option<NextStep> {
    let differs = |cpu: &&CpuRow| match (cpu.row.latency.p99, cpu.row.latency_due.p99) {
        (Some(ran), Some(due)) => cpu.row.skipped > 0 && due >= ran.times(2),
        _ => false,
    };
    let worst = cpus.iter().filter(differs).max_by_key(|cpu| cpu.row.latency_due.p99);
    worst.map(|cpu| NextStep::LookAtSkips { cpu: cpu.cpu })
}

/// What root may be allowed to read, by name.
fn refused(findings: &[Finding]) -> Option<NextStep> {
    let refused =
        findings.iter().filter(|finding| matches!(&finding.state, State::Unknown(why) if why.ends_with(ROOT_MAY)));
    let ids: Vec<&str> = refused.map(|finding| finding.id.as_str()).collect();
    (!ids.is_empty()).then(|| NextStep::RunAsRoot { adds: ids.join(", ") })
}

/// How long it takes to claim the next power of ten beyond what this run has shown, if the next run misses none either.
fn longer(measured: Nanos, verdict: &Verdict) -> Option<NextStep> {
    let one_in = match (&verdict.answer, &verdict.inconclusive_because) {
        (Answer::Held, _) => {
            let claims = std::iter::successors(Some(ONE_IN_MIN), |claim| claim.checked_mul(10));
            claims.take_while(|claim| *claim <= ONE_IN_MAX).find(|claim| wanted(*claim) > Some(verdict.due))?
        }
        (_, Some(Inconclusive::TooFew { time, .. })) => {
            return time.map(|length| NextStep::MeasureLonger { length, one_in: ONE_IN_VERDICT });
        }
        _ => return None,
    };
    let length = time_for(measured, verdict.due, wanted(one_in)?)?;
    Some(NextStep::MeasureLonger { length, one_in })
}

#[allow(clippy::cast_precision_loss, reason = "powers of ten up to 1e12 are exact")]
fn wanted(one_in: u64) -> Option<u64> {
    binomial::samples_to_claim(1.0 / one_in as f64, 0.95)
}
