//! Tests whether events fall on every k-th activation, as if a timer tick met every fourth one.

use super::float::float;

/// Fewest events in which a cycle is searched.
const LEAST: usize = 12;
/// Longest cycle that is searched.
const LONGEST: u64 = 64;
/// This part of all events must fall on the same place of the cycle.
const FITTING: f64 = 0.9;
/// A cycle counts if its odds by chance, times the number of places tried, are below this.
const BELIEVED: f64 = 1e-3;

/// The longest cycle of which most of these indices share one place; `None` if chance explains every cycle.
pub fn cycle(indices: &[u64]) -> Option<u64> {
    let events = indices.len() as u64;
    if indices.len() < LEAST {
        return None;
    }
    let fits = |cycle: u64| {
        let residue = |index: &u64| index % cycle;
        let mut counts = std::collections::BTreeMap::<u64, u64>::new();
        indices.iter().map(residue).for_each(|residue| *counts.entry(residue).or_default() += 1);
        let most = counts.values().copied().max().unwrap_or_default();
        let (share, one_of) = (float(most) / float(events), 1.0 / float(cycle));
        let tried = (2..=LONGEST).sum::<u64>();
        let odds = super::binomial::at_least(most, events, one_of) * float(tried);
        share >= FITTING && odds < BELIEVED
    };
    // Events on every fourth activation also fall on every second one, so the longest cycle is the true one.
    (2..=LONGEST).rev().find(|cycle| fits(*cycle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::float::whole;

    #[test]
    fn what_comes_on_every_fourth_is_found_and_chance_is_not() {
        let fourth: Vec<u64> = (0..30u64).map(|i| i * i * 28 + 3).collect();
        assert_eq!(cycle(&fourth), Some(28));
        let fourth: Vec<u64> = [1u64, 5, 2, 9, 14, 33, 7, 21, 40, 77, 101, 205, 17].iter().map(|i| i * 4 + 3).collect();
        assert_eq!(cycle(&fourth), Some(4));
        for seed in 0..200 {
            let random: Vec<u64> = crate::stats::tests::uniform(seed).take(32).map(|u| whole(u * 1e6)).collect();
            assert_eq!(cycle(&random), None);
        }
        assert_eq!(cycle(&[4, 8, 12]), None, "three events are nothing");
    }
}
