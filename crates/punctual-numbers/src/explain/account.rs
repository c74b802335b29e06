//! Puts each span of a window into a stage and gives it a cause. The resulting parts of the window sum to its latency.
//!
//! A window is judged by its own records, and by [`Clues`] where the kernel ran nothing. The time that ordinary
//! activations spend is not subtracted here: see [`ordinary`](super::ordinary).

use super::clues::{Clues, Rules};
use super::judge::{Blamed, Judge};
use super::sweep::sweep;
use super::swept::{Owner, Span};
use super::{Cause, CauseName, Class, Part, Stage, Why};
use crate::trace::{Incomplete, Window};
use punctual_hist::Nanos;

/// A window is complete even if the owner of some of its time is unknown, as long as that time is at most this long or
/// at most one part in [`UNTOLD_PART`] of its latency.
const UNTOLD: Nanos = Nanos::from_us(5);
const UNTOLD_PART: u64 = 10;

#[derive(Debug)]
pub(super) struct Account {
    /// Parts in order and without gaps.
    pub parts: Vec<Part>,
    /// For each part, why its cause could run.
    pub whys: Vec<Vec<Why>>,
    pub incomplete: Option<Incomplete>,
}

pub(super) fn account(window: &Window, rules: &Rules) -> Account {
    let incomplete = window.incomplete;
    if incomplete == Some(Incomplete::NoTrace) {
        return Account { parts: Vec::new(), whys: Vec::new(), incomplete };
    }
    if window.records.is_empty() {
        return silent(window, rules);
    }
    let swept = sweep(window, rules.rt);
    let missing = match () {
        () if swept.begins_late => Some(Incomplete::Late),
        () if swept.lost => Some(Incomplete::Lost),
        () if swept.unseen && rules.roams => Some(Incomplete::Elsewhere),
        () => has_holes(window, &swept.spans, rules).then_some(Incomplete::Holes),
    };
    let judge = Judge::new(window, rules, &swept);
    let mut account = Account { parts: Vec::new(), whys: Vec::new(), incomplete: incomplete.or(missing) };
    for span in &swept.spans {
        let mut from = span.from;
        while from < span.to {
            let (to, stage) = (judge.stage_end(from, span), judge.stage(from));
            let Blamed { cause, why } = judge.cause(&Span { from, to, ..*span }, stage);
            account.add(Part { stage, cause, from, length: to.since(from), certain: span.certain }, why);
            from = to;
        }
    }
    account.parts.shrink_to_fit();
    account
}

/// Whether the time without a known owner is too long to be complete: a record must be missing, although none was
/// counted as lost.
fn has_holes(window: &Window, spans: &[Span], rules: &Rules) -> bool {
    let untold = spans.iter().filter(|span| span.owner == Owner::Untold || span.guessed).map(Span::length);
    let untold = untold.filter(|length| *length > rules.switch_cost).fold(Nanos::ZERO, Nanos::plus);
    untold > UNTOLD.max(window.woke.since(window.release).divided_by(UNTOLD_PART))
}

/// Accounts for a traced window without records: nothing had the CPU but our thread or something outside of the kernel.
fn silent(window: &Window, rules: &Rules) -> Account {
    let elsewhere = rules.roams.then_some(Incomplete::Elsewhere);
    let mut account = Account { parts: Vec::new(), whys: Vec::new(), incomplete: window.incomplete.or(elsewhere) };
    let (from, length) = (window.release, window.woke.since(window.release));
    if length > Nanos::ZERO {
        let outside = Clues::of(rules, window).outside(from, window.woke);
        let class = outside.as_ref().map_or(Class::Unexplained, |clue| clue.class);
        let cause = Cause { class, name: CauseName::NONE };
        let part = Part { stage: Stage::Unknown, cause, from, length, certain: true };
        account.add(part, outside.map(|clue| clue.why).into_iter().collect());
    }
    account
}

impl Account {
    /// Adds a part, or extends the last one if stage and cause are the same.
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
