//! What an ordinary activation spends, so that only what is beyond it is blamed: medians over the windows kept to
//! compare with.

use super::account::{Account, Rules, SWITCH_LEAST, account};
use super::witness::Setting;
use super::{Cause, Class, OrdinaryTime, Stage};
use crate::trace::Window;
use punctual_hist::Nanos;
use std::collections::BTreeMap;

/// Switching never costs more than this.
const SWITCH_MOST: Nanos = Nanos::from_us(200);

/// The median of an ordinary activation.
#[derive(Clone, Debug, Default)]
pub(super) struct Ordinary {
    medians: BTreeMap<Cause, Nanos>,
}

impl Ordinary {
    /// What it spends on this.
    pub(super) fn of(&self, cause: &Cause) -> Nanos {
        self.medians.get(cause).copied().unwrap_or(Nanos::ZERO)
    }

    /// All of it, the largest first.
    pub(super) fn list(&self) -> Vec<OrdinaryTime> {
        let mut list: Vec<_> =
            self.medians.iter().map(|(cause, median)| OrdinaryTime { cause: cause.clone(), median: *median }).collect();
        list.sort_by_key(|spent: &OrdinaryTime| std::cmp::Reverse(spent.median));
        list
    }
}

/// How to judge, and what is ordinary, from the windows that were kept to compare with.
pub(super) fn learn(windows: &[Window], setting: Setting) -> (Rules, Ordinary) {
    let mut rules = Rules { setting, switch_cost: SWITCH_MOST };
    let accounts = |rules: &Rules| -> Vec<Account> {
        let all = windows.iter().map(|window| account(window, rules));
        all.filter(|account| account.incomplete.is_none()).collect()
    };
    rules.switch_cost = switch_cost(&accounts(&rules));
    let medians = medians(&accounts(&rules));
    (rules, Ordinary { medians })
}

/// How long the task that was interrupted by our timer goes on, ordinarily: twice the median.
fn switch_cost(accounts: &[Account]) -> Nanos {
    let switching = |account: &Account| {
        let parts = account.parts.iter();
        let parts = parts.filter(|part| part.stage == Stage::Dispatch && part.cause.class == Class::WakeUp);
        parts.map(|part| part.length).max().unwrap_or(Nanos::ZERO)
    };
    let median = median(accounts.iter().map(switching).collect());
    median.times(2).clamp(SWITCH_LEAST, SWITCH_MOST)
}

fn medians(accounts: &[Account]) -> BTreeMap<Cause, Nanos> {
    let mut times: BTreeMap<&Cause, Vec<Nanos>> = BTreeMap::new();
    for account in accounts {
        let mut sums: BTreeMap<&Cause, Nanos> = BTreeMap::new();
        for part in &account.parts {
            let sum = sums.entry(&part.cause).or_default();
            *sum = sum.plus(part.length);
        }
        for (cause, sum) in sums {
            times.entry(cause).or_default().push(sum);
        }
    }
    let with_absent = |mut times: Vec<Nanos>| {
        times.resize(accounts.len(), Nanos::ZERO);
        median(times)
    };
    let all = times.into_iter().map(|(cause, times)| (cause.clone(), with_absent(times)));
    all.filter(|(_, median)| *median > Nanos::ZERO).collect()
}

/// The lower median; zero of nothing.
fn median(mut values: Vec<Nanos>) -> Nanos {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(Nanos::ZERO)
}
