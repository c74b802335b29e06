//! Reserves ways of the caches for the real-time CPUs, as [`resctrl`] computes them from the limits of the hardware.

use super::super::print::{Partition, resctrl};
use super::{Found, KnobRemedy, Notes, Site};
use crate::knobs::Doubt;

/// Partitions the caches of all levels at once, because one group holds the ways of each level.
pub(super) fn ways(site: &Site<'_>) -> Found {
    match resctrl(site.case, site.case.rt(), site.case.housekeeping()) {
        Ok(partition) => {
            let notes = notes(&partition);
            Ok(KnobRemedy::Steps(partition.steps, notes))
        }
        Err(refusal) => Doubt::unknown(format!("{refusal}; {}", refusal.remedy())),
    }
}

fn notes(partition: &Partition) -> Notes {
    let ways = |mask: u64| mask.count_ones();
    let shares: Vec<String> = partition
        .shares
        .iter()
        .map(|share| {
            let others = share.others.iter().map(|mask| ways(*mask)).max().unwrap_or(0);
            format!(
                "L{} cache {}: {} ways for the real-time CPUs alone, {others} for the rest",
                share.level,
                share.domain,
                ways(share.own)
            )
        })
        .collect();
    Notes {
        before: "all CPUs can use all ways of the cache".to_owned(),
        after: shares.join("; "),
        risk: "The rest of the machine has less cache.".to_owned(),
        proof: "/sys/fs/resctrl: schemata and cpus_list of each group, bit_usage".to_owned(),
        ..Notes::default()
    }
}
