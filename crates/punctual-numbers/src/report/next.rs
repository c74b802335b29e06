//! What to do next, decided once for every text, the page and the JSON document.
//!
//! A step states what to do and the evidence for it. The renderer adds the sentence and the command to type, so this
//! module must not know the command line.

use super::verdict::time_for;
use super::{Answer, CpuRow, Direction, Distrust, Inconclusive, Report};
use crate::claims::PhaseClaims;
use crate::explain::Ranked;
use crate::stats::binomial;
use crate::stats::float::float;
use punctual_facts::finding::{Finding, Severity, State};
use punctual_hist::Nanos;
use std::cmp::Reverse;

const CHANGED_AT_ONCE: usize = 3;
/// Number of leading causes whose knobs come before all other knobs.
const CAUSES_FIRST: usize = 3;
/// Id of the finding that the machine is a guest.
const GUEST: &str = "virt.detect";
/// The first claim worth measuring longer for: fewer than one miss in this number of releases.
const ONE_IN_MIN: u64 = 1_000_000;
/// A claim beyond one in this number of releases takes years to measure at a period of 1 ms.
const ONE_IN_MAX: u64 = 1_000_000_000_000;
/// Every verdict claims at least that fewer than one in this number of releases is missed.
const ONE_IN_VERDICT: u64 = 1_000;

/// What decides about the next step beside the report: who reads it, and what this program can change.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    pub is_root: bool,
    pub container: Option<&'a str>,
    /// Whether a plan can change the setting of the finding with this id.
    pub can_change: fn(&str) -> bool,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum NextStep {
    /// Measure again as root, because an ordinary user was refused real-time priority.
    AsRoot,
    /// Measure again on the host, because a container cannot change the kernel's settings.
    OnHost {
        /// Name of the container that the reader is in.
        container: String,
    },
    /// Give each virtual CPU a CPU of its own on the host, because the hypervisor took time.
    PinOnHost,
    /// Change these settings, which are findings by their ids.
    Change {
        /// Ids of findings, those that matter most first.
        ids: Vec<String>,
    },
    /// Fix this finding by hand, because no plan can.
    ByHand { id: String },
    /// Say which latency is too large, because no budget was stated.
    StateBudget,
    /// Remove the causes of doubts that may have hidden latency, then measure again.
    Repeat,
    /// Measure for this length, because the machine changes more slowly than the run could show.
    OutlastMoods {
        #[serde(rename = "length_ns")]
        length: Nanos,
    },
    /// Measure for this length. If none of the releases that come due is missed, fewer than one in `one_in` is missed
    /// at 95 % confidence.
    MeasureLonger {
        #[serde(rename = "length_ns")]
        length: Nanos,
        /// Number of releases that come due in this time.
        releases: u64,
        one_in: u64,
    },
    /// Look at what each thread was granted, because nothing ran.
    LookAtThreads,
    /// Look at the causes of late activations, because no setting is known to be in the way.
    LookAtCauses,
    /// Measure again and look for causes, because this run did not.
    LookForCauses,
    /// Look at the activation with the largest latency, part by part.
    LookAtSpike,
    /// Look at all numbers of the run.
    LookAtRun,
    /// Find out what kept this CPU's thread from running: because of skipped releases, the percentiles of activations
    /// and of releases due differ.
    LookAtSkips {
        cpu: u32,
        /// Longest time between two wake-ups of the thread.
        #[serde(rename = "longest_gap_ns")]
        longest_gap: Nanos,
    },
    /// Audit as root, which may read what these findings need.
    AuditAsRoot {
        /// Ids of findings, those that matter most first.
        ids: Vec<String>,
    },
    /// Do nothing: the need is met, and a longer run could claim no more.
    Nothing,
}

impl Report {
    /// The next steps, the most useful first: at least one step.
    pub fn next(&self, at: &Situation<'_>) -> Vec<NextStep> {
        let refused = self.trust.reasons.contains(&Distrust::NotRealTime);
        let mut steps = Vec::new();
        if refused && !at.is_root {
            steps.push(NextStep::AsRoot);
        }
        match (self.verdict.answer, &self.verdict.inconclusive_because) {
            (Answer::NotHeld, _) => steps.extend(self.mend(at)),
            (Answer::Held, _) => steps.push(self.claim_more()),
            (Answer::Inconclusive, Some(Inconclusive::NoBudget)) => steps.push(NextStep::StateBudget),
            (Answer::Inconclusive, Some(Inconclusive::TooFew { wanted, time: Some(length), .. })) => {
                steps.push(NextStep::MeasureLonger { length: *length, releases: *wanted, one_in: ONE_IN_VERDICT });
            }
            (Answer::Inconclusive, Some(Inconclusive::NothingRan | Inconclusive::TooFew { time: None, .. })) => {
                steps.push(if self.is_cut_short() { NextStep::Repeat } else { NextStep::LookAtThreads });
            }
            (Answer::Inconclusive, Some(Inconclusive::Doubt { .. }) | None) => steps.push(NextStep::Repeat),
        }
        steps.extend(self.skips_differ());
        if self.verdict.answer != Answer::NotHeld {
            steps.extend(self.change(at));
        }
        steps.extend(self.refused());
        steps
    }

    pub fn next_for_causes(&self, at: &Situation<'_>) -> NextStep {
        let mut bad = most_important(&self.findings, self.ranked());
        bad.retain(|finding| bears_on(&finding.id, self.ranked()).is_some());
        bad.sort_by_key(|finding| bears_on(&finding.id, self.ranked()));
        match (changed(&bad, at), &self.causes) {
            (Some(step), _) => step,
            (None, Some(found)) if !found.spikes.is_empty() => NextStep::LookAtSpike,
            (None, _) => NextStep::LookAtRun,
        }
    }

    fn ranked(&self) -> &[Ranked] {
        self.causes.as_ref().map_or(&[], |found| &found.causes)
    }

    fn mend(&self, at: &Situation<'_>) -> Vec<NextStep> {
        if let Some(container) = at.container {
            return vec![NextStep::OnHost { container: container.to_owned() }];
        }
        let is_guest = self.findings.iter().any(|finding| finding.id == GUEST && finding.state == State::Bad);
        let stolen = |doubt: &Distrust| matches!(doubt, Distrust::Steal { .. } | Distrust::Paused { .. });
        let pin = (is_guest && self.trust.reasons.iter().any(stolen)).then_some(NextStep::PinOnHost);
        let is_fatal = |finding: &Finding| finding.state == State::Bad && finding.severity == Severity::Fatal;
        // Changing a setting without a cause that points to it is a guess, unless the need cannot be met without the
        // change.
        let look = (self.causes.is_none() && !self.findings.iter().any(is_fatal)).then_some(NextStep::LookForCauses);
        let change = self.change(at).or_else(|| self.causes.is_some().then_some(NextStep::LookAtCauses));
        let repeat = self.is_worth_repeating().then_some(NextStep::Repeat);
        pin.into_iter().chain(look).chain(change).chain(repeat).collect()
    }

    /// The settings to change first: the ones whose present values make it impossible to meet the need, then the ones
    /// that bear on the first causes. While there are any of these, all other settings are left for later.
    fn change(&self, at: &Situation<'_>) -> Option<NextStep> {
        let causes = self.ranked().get(..CAUSES_FIRST).unwrap_or(self.ranked());
        let mut bad = most_important(&self.findings, causes);
        let is_first = |bad: &Finding| bad.severity == Severity::Fatal || bears_on(&bad.id, causes).is_some();
        if bad.iter().any(|finding| is_first(finding)) {
            bad.retain(|finding| is_first(finding));
            bad.sort_by_key(|finding| (finding.severity != Severity::Fatal, bears_on(&finding.id, causes)));
        } else {
            bad.retain(|finding| finding.severity > Severity::Info);
        }
        changed(&bad, at)
    }

    /// Whether a doubt can be removed before the next run. Too few samples and slow moods need a longer run instead.
    fn is_worth_repeating(&self) -> bool {
        let cured = |doubt: &Distrust| !matches!(doubt.direction(), Direction::TooFew | Direction::MoodsLong);
        self.trust.reasons.iter().any(cured)
    }

    /// Whether the run ended before its time, or its recording does not hold all of it.
    fn is_cut_short(&self) -> bool {
        let is_short = |doubt: &Distrust| {
            matches!(doubt, Distrust::EndedEarly { .. } | Distrust::CutOff | Distrust::Damaged { .. })
        };
        self.trust.reasons.iter().any(is_short)
    }

    /// A step for the CPU whose p99 of releases due most exceeds its p99 of activations that ran, if it is at least
    /// twice as large.
    fn skips_differ(&self) -> Option<NextStep> {
        let differs = |cpu: &&CpuRow| match (cpu.row.latency.p99, cpu.row.latency_due.p99) {
            (Some(ran), Some(due)) => cpu.row.skipped > 0 && due >= ran.times(2),
            _ => false,
        };
        let worst = self.cpus.iter().filter(differs).max_by_key(|cpu| cpu.row.latency_due.p99);
        worst.map(|cpu| NextStep::LookAtSkips { cpu: cpu.cpu, longest_gap: cpu.longest_gap })
    }

    /// A step that audits as root, if some findings are unknown only because an ordinary user may not read what they
    /// need.
    fn refused(&self) -> Option<NextStep> {
        let may = |finding: &&Finding| matches!(&finding.state, State::Unknown(why) if why.root_may);
        let ids: Vec<String> = self.findings.iter().filter(may).map(|finding| finding.id.clone()).collect();
        (!ids.is_empty()).then_some(NextStep::AuditAsRoot { ids })
    }

    /// The step to what a longer run could claim, for a run in which the need was held.
    fn claim_more(&self) -> NextStep {
        match self.verdict.independent {
            Some(independent) => self.next_power_of_ten(independent).unwrap_or(NextStep::Nothing),
            None => self.outlast_moods().unwrap_or(NextStep::LookAtRun),
        }
    }

    /// The step to claim the next power of ten beyond what this run has shown, if the next run misses none either and
    /// its latencies cluster like those of this run.
    fn next_power_of_ten(&self, independent: u64) -> Option<NextStep> {
        let claims = std::iter::successors(Some(ONE_IN_MIN), |claim| claim.checked_mul(10));
        let mut claims = claims.take_while(|claim| *claim <= ONE_IN_MAX);
        let one_in = claims.find(|claim| wanted(*claim) > Some(independent))?;
        let releases = u128::from(wanted(one_in)?) * u128::from(self.verdict.due);
        let releases = u64::try_from(releases.div_ceil(u128::from(independent.max(1)))).ok()?;
        let length = time_for(self.measured, self.verdict.due, releases)?;
        Some(NextStep::MeasureLonger { length, releases, one_in })
    }

    /// The step to a run that is long enough to show enough moods of the machine; `None` if the machine changes in one
    /// direction only.
    fn outlast_moods(&self) -> Option<NextStep> {
        let length = |phase: &PhaseClaims| {
            let wanted = phase.moods?.run_wanted.filter(|_| phase.drift.is_none())?;
            time_for(self.measured, phase.time.as_ns(), wanted.as_ns())
        };
        let length = self.claims.phases.iter().filter_map(length).max()?;
        Some(NextStep::OutlastMoods { length })
    }
}

/// The step that changes the first few of these findings that a plan can change. If there are none, or if a plan cannot
/// change the first finding and it is fatal, the step is to fix the first finding by hand.
fn changed(bad: &[&Finding], at: &Situation<'_>) -> Option<NextStep> {
    let first = bad.first()?;
    let ids = bad.iter().filter(|finding| (at.can_change)(&finding.id)).take(CHANGED_AT_ONCE);
    let ids: Vec<String> = ids.map(|finding| finding.id.clone()).collect();
    let by_hand = ids.is_empty() || first.severity == Severity::Fatal && !(at.can_change)(&first.id);
    Some(if by_hand { NextStep::ByHand { id: first.id.clone() } } else { NextStep::Change { ids } })
}

fn bears_on(id: &str, causes: &[Ranked]) -> Option<usize> {
    causes.iter().position(|ranked| ranked.knobs.contains(&id))
}

/// The bad findings, those that matter most for the need first: by severity, then by the causes they bear on.
pub fn most_important<'a>(findings: &'a [Finding], causes: &[Ranked]) -> Vec<&'a Finding> {
    let mut bad: Vec<&Finding> = findings.iter().filter(|finding| finding.state == State::Bad).collect();
    bad.sort_by_key(|finding| (Reverse(finding.severity), bears_on(&finding.id, causes).unwrap_or(usize::MAX)));
    bad
}

fn wanted(one_in: u64) -> Option<u64> {
    binomial::samples_to_claim(1.0 / float(one_in), 0.95)
}
