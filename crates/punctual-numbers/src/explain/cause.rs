//! From the parts of one activation to its causes: time by cause, and its excess over ordinary activations.

use super::account::Account;
use super::ordinary::Ordinary;
use super::{Blame, Cause, Class, Spike, Why, counters};
use crate::trace::{Incomplete, TraceEvent, Window};
use punctual_hist::{MonoTime, Nanos};
use std::collections::HashMap;

/// Largest number of reasons that are kept for one cause in one spike.
const WHYS_MAX: usize = 4;

/// One late activation with its causes, largest first.
pub(super) fn spike(window: &Window, account: Account, ordinary: &Ordinary) -> Spike {
    let causes = match account.incomplete {
        Some(Incomplete::NoTrace) => counters::blames(window),
        _ => blames(&account, ordinary).into_iter().chain(frequencies(window)).collect(),
    };
    Spike {
        cpu: window.cpu,
        release: window.release,
        woke: window.woke,
        phase: window.phase,
        kept: window.kept,
        incomplete: account.incomplete,
        parts: account.parts,
        causes,
    }
}

fn blames(account: &Account, ordinary: &Ordinary) -> Vec<Blame> {
    let mut by_cause: HashMap<&Cause, (Nanos, Vec<&Why>)> = HashMap::new();
    for (part, whys) in account.parts.iter().zip(&account.whys) {
        let (time, all) = by_cause.entry(&part.cause).or_default();
        *time = time.plus(part.length);
        all.extend(whys);
    }
    let blame = |(cause, (time, whys)): (&Cause, (Nanos, Vec<&Why>))| Blame {
        cause: cause.clone(),
        time,
        excess: time.minus(ordinary.of(cause)),
        why: distinct(whys),
    };
    let mut blames: Vec<Blame> = by_cause.into_iter().map(blame).collect();
    blames.sort_by(|a, b| (b.excess, b.time).cmp(&(a.excess, a.time)).then_with(|| a.cause.cmp(&b.cause)));
    blames
}

/// Changes of the CPU's frequency within the activation. Such a change takes no time itself: it makes other work slower
/// or faster.
fn frequencies(window: &Window) -> impl Iterator<Item = Blame> {
    let within = |at: MonoTime| at >= window.release && at <= window.woke;
    let elsewhere = window.elsewhere.iter().map(|other| &other.record);
    window.records.iter().chain(elsewhere).filter(move |record| within(record.at)).filter_map(|record| {
        match record.what {
            TraceEvent::Frequency { cpu, khz } if cpu == window.cpu => {
                let cause = Cause { class: Class::Frequency, name: format!("to {} MHz", khz / 1000).into() };
                Some(Blame { cause, time: Nanos::ZERO, excess: Nanos::ZERO, why: Vec::new() })
            }
            _ => None,
        }
    })
}

fn distinct(whys: Vec<&Why>) -> Vec<Why> {
    let mut kept: Vec<Why> = Vec::new();
    for why in whys {
        if kept.len() < WHYS_MAX && !kept.contains(why) {
            kept.push(why.clone());
        }
    }
    kept
}
