//! Finds the median time that ordinary activations spend on each cause, from windows that were kept for comparison.
//! Only the time beyond the median is blamed.

use super::account::{Account, account};
use super::clues::Rules;
use super::{Cause, Class, OrdinaryTime, Stage};
use crate::trace::Window;
use punctual_hist::Nanos;
use std::collections::BTreeMap;

/// Limits for the cost of switching, whatever ordinary windows show.
const SWITCH_LEAST: Nanos = Nanos::from_us(5);
const SWITCH_MOST: Nanos = Nanos::from_us(200);

/// By cause, the median time of ordinary activations.
#[derive(Clone, Debug, Default)]
pub(super) struct Ordinary {
    medians: BTreeMap<Cause, Nanos>,
}

impl Ordinary {
    pub(super) fn of(&self, cause: &Cause) -> Nanos {
        self.medians.get(cause).copied().unwrap_or(Nanos::ZERO)
    }

    /// All medians, the largest first.
    pub(super) fn list(&self) -> Vec<OrdinaryTime> {
        let mut list: Vec<_> =
            self.medians.iter().map(|(cause, median)| OrdinaryTime { cause: cause.clone(), median: *median }).collect();
        list.sort_by_key(|spent: &OrdinaryTime| std::cmp::Reverse(spent.median));
        list
    }
}

/// Learns the cost of switching and the ordinary times from the windows that were kept for comparison.
pub(super) fn learn(windows: &[Window], rules: Rules) -> (Rules, Ordinary) {
    let mut rules = Rules { switch_cost: SWITCH_MOST, ..rules };
    let accounts = |rules: &Rules| -> Vec<Account> {
        let all = windows.iter().map(|window| account(window, rules));
        all.filter(|account| account.incomplete.is_none()).collect()
    };
    rules.switch_cost = switch_cost(&accounts(&rules));
    let medians = medians(&accounts(&rules));
    (rules, Ordinary { medians })
}

/// Twice the median time for which a task that our timer interrupted goes on running.
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

/// The lower median of the values; zero if there are no values.
fn median(mut values: Vec<Nanos>) -> Nanos {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(Nanos::ZERO)
}
