//! Bursts: events that follow each other much faster than their mean spacing.

use super::Bursts;
use punctual_hist::MonoTime;

/// With fewer events than this, clusters may be chance.
const LEAST: usize = 8;

/// Clusters of three events or more, if at least a third of the events is in them. Two events belong to one cluster if
/// they are closer than a tenth of the mean spacing: of random events, less than one in a hundred begins a cluster of
/// three.
/// `times` ascend.
pub(super) fn bursts(times: &[MonoTime]) -> Option<Bursts> {
    let (first, last) = (times.first()?, times.last()?);
    if times.len() < LEAST {
        return None;
    }
    let mean = last.since(*first).as_ns() / (times.len() as u64 - 1);
    let mut clusters: Vec<u64> = vec![1];
    for pair in times.windows(2) {
        let close = pair[1].since(pair[0]).as_ns().saturating_mul(10) < mean;
        match clusters.last_mut() {
            Some(size) if close => *size += 1,
            _ => clusters.push(1),
        }
    }
    let large = || clusters.iter().copied().filter(|size| *size >= 3);
    let largest = large().max()?;
    let clusters = large().count() as u64;
    (large().sum::<u64>().saturating_mul(3) >= times.len() as u64).then_some(Bursts { clusters, largest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::float::whole;
    use punctual_hist::SplitMix;

    fn times(ms: impl IntoIterator<Item = u64>) -> Vec<MonoTime> {
        ms.into_iter().map(|ms| MonoTime::from_ns(ms * 1_000_000)).collect()
    }

    #[test]
    fn clusters_are_told_from_singles() {
        let clustered = times((0..5).flat_map(|c| (0..4).map(move |i| c * 10_000 + i * 3)));
        assert_eq!(bursts(&clustered), Some(Bursts { clusters: 5, largest: 4 }));
        assert_eq!(bursts(&times((0..50).map(|i| i * 250))), None, "regular");
        assert_eq!(bursts(&times((0..7).map(|i| i / 3))), None, "too few");
        assert_eq!(bursts(&times([5; 20])), None, "all at once: no spacing to compare with");
    }

    #[test]
    fn what_comes_at_random_is_no_burst() {
        let (mut random, mut at) = (SplitMix::new(7), 0.0);
        let random = (0..500).map(|_| {
            at -= 1e6 * random.unit().ln();
            MonoTime::from_ns(whole(at))
        });
        assert_eq!(bursts(&random.collect::<Vec<_>>()), None);
    }
}
