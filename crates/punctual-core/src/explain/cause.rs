//! Parts of one activation to its causes: time by cause, and how much of it an ordinary activation spends as well.

use super::account::Account;
use super::ordinary::Ordinary;
use super::{Blame, Cause, Spike, Why, counters};
use crate::trace::{Incomplete, Window};
use punctual_hist::Nanos;
use std::collections::HashMap;

/// So many reasons are kept of one cause in one spike.
const WHYS_MAX: usize = 4;

/// One late activation with its causes, largest first.
pub(super) fn spike(window: &Window, account: Account, ordinary: &Ordinary) -> Spike {
    let causes = match account.incomplete {
        Some(Incomplete::NoTrace) => counters::blames(window),
        _ => blames(&account, ordinary),
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

fn distinct(whys: Vec<&Why>) -> Vec<Why> {
    let mut kept: Vec<Why> = Vec::new();
    for why in whys {
        if kept.len() < WHYS_MAX && !kept.contains(why) {
            kept.push(why.clone());
        }
    }
    kept
}
