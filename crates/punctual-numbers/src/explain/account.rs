//! Spans to parts: each span is put into a stage and gets a cause. The parts of a window sum to its latency.
//!
//! Judged by the records of the window alone, and by witnesses where the kernel ran nothing; what ordinary activations
//! spend is known to [`ordinary`](super::ordinary).

use super::judge::Judge;
use super::sweep::sweep;
use super::swept::{Owner, Span};
use super::witness::{Setting, Witness};
use super::{Cause, Class, Part, Stage, Why};
use crate::trace::{Incomplete, Window};
use punctual_hist::Nanos;

/// Shorter times of a thread between our waking and our running are what switching costs.
pub(super) const SWITCH_LEAST: Nanos = Nanos::from_us(5);

/// So much of a window's time may be without an owner, or [`UNTOLD_PART`] of it: it tells enough.
const UNTOLD: Nanos = Nanos::from_us(5);
/// One part in so many.
const UNTOLD_PART: u64 = 10;

/// One window, accounted for.
#[derive(Debug)]
pub(super) struct Account {
    /// In order, without gaps.
    pub parts: Vec<Part>,
    /// Why each could be, as far as the walk tells; one entry for each part.
    pub whys: Vec<Vec<Why>>,
    /// Why it does not tell all.
    pub incomplete: Option<Incomplete>,
}

/// What an account is made with.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// The machine.
    pub setting: Setting,
    /// Up to so long, the thread or idle task that was interrupted by our timer is only being switched away from.
    pub switch_cost: Nanos,
}

/// Accounts for one window.
pub(super) fn account(window: &Window, rules: &Rules) -> Account {
    let incomplete = window.incomplete;
    if incomplete == Some(Incomplete::NoTrace) {
        return Account { parts: Vec::new(), whys: Vec::new(), incomplete };
    }
    if window.records.is_empty() {
        return silent(window, rules);
    }
    let swept = sweep(window, rules.setting.rt);
    let missing = match () {
        () if swept.begins_late => Some(Incomplete::Late),
        () if swept.lost => Some(Incomplete::Lost),
        () if swept.unseen && rules.setting.roams => Some(Incomplete::Elsewhere),
        () => has_holes(window, &swept.spans, rules).then_some(Incomplete::Holes),
    };
    let judge = Judge::new(window, rules, &swept);
    let mut account = Account { parts: Vec::new(), whys: Vec::new(), incomplete: incomplete.or(missing) };
    for span in &swept.spans {
        let mut from = span.from;
        while from < span.to {
            let (to, stage) = (judge.stage_end(from, span), judge.stage(from));
            let (cause, why) = judge.cause(&Span { from, to, ..*span }, stage);
            account.add(Part { stage, cause, from, length: to.since(from), certain: span.certain }, why);
            from = to;
        }
    }
    account.parts.shrink_to_fit();
    account
}

/// Whether a record is missing that nobody counted as lost, and more than a little time is without an owner for it.
fn has_holes(window: &Window, spans: &[Span], rules: &Rules) -> bool {
    let untold = spans.iter().filter(|span| span.owner == Owner::Untold || span.guessed).map(Span::length);
    let untold = untold.filter(|length| *length > rules.switch_cost).fold(Nanos::ZERO, Nanos::plus);
    untold > UNTOLD.max(window.woke.since(window.release).divided_by(UNTOLD_PART))
}

/// The kernel did nothing at all, and was looked at: nobody had the CPU but our thread, or what is outside.
fn silent(window: &Window, rules: &Rules) -> Account {
    let elsewhere = rules.setting.roams.then_some(Incomplete::Elsewhere);
    let mut account = Account { parts: Vec::new(), whys: Vec::new(), incomplete: window.incomplete.or(elsewhere) };
    let (from, length) = (window.release, window.woke.since(window.release));
    if length > Nanos::ZERO {
        let outside = Witness::of(&rules.setting, window).outside(from, window.woke);
        let class = outside.as_ref().map_or(Class::Unexplained, |(class, _)| *class);
        let cause = Cause { class, name: String::new() };
        let part = Part { stage: Stage::Unknown, cause, from, length, certain: true };
        account.add(part, outside.map(|(_, why)| why).into_iter().collect());
    }
    account
}

impl Account {
    /// Adds a part, to the one before if it is more of the same.
    fn add(&mut self, part: Part, why: Vec<Why>) {
        if let (Some(last), Some(whys)) = (self.parts.last_mut(), self.whys.last_mut()) {
            if last.stage == part.stage && last.cause == part.cause {
                last.length = last.length.plus(part.length);
                last.certain &= part.certain;
                whys.extend(why);
                return;
            }
        }
        self.parts.push(part);
        self.whys.push(why);
    }
}
