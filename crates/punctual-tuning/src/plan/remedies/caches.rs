//! Ways of the caches for the real-time CPUs alone, as [`resctrl`] works them out from the hardware's limits.

use super::super::choice::{Choice, Origin};
use super::super::print::{Partition, ResctrlStep, resctrl};
use super::super::{Expected, Reading, Step};
use super::{Found, Notes, Remedy, Site};
use crate::knobs::Doubt;

/// All levels at once: one group holds the ways of each.
pub(super) fn ways(site: &Site<'_>) -> Found {
    let choice = Choice {
        cpus: (site.case.rt()).clone(),
        housekeeping: (site.case.housekeeping()).clone(),
        offline: punctual_facts::cpu_set::CpuSet::new(),
        origin: Origin::Asked,
        reasons: Vec::new(),
        warnings: Vec::new(),
    };
    match resctrl(site.case, &choice) {
        Ok(partition) => Ok(Remedy::Steps(partition.steps.iter().map(step).collect(), notes(&partition))),
        Err(refusal) => Doubt::unknown(format!("{refusal}; {}", refusal.remedy())),
    }
}

fn step(step: &ResctrlStep) -> Step {
    match step {
        ResctrlStep::MakeFolder { path } => Step::Folder { path: path.clone() },
        ResctrlStep::Write { path, value } => {
            let reading = match path.rsplit('/').next() {
                Some("schemata") => Reading::Schemata,
                Some("cpus_list") => Reading::CpuList,
                _ => Reading::Plain,
            };
            let value = value.trim_end().to_owned();
            Step::Write { path: path.clone(), value, expected: Expected::same(reading) }
        }
    }
}

fn notes(partition: &Partition) -> Notes {
    let ways = |mask: u64| mask.count_ones();
    let shares: Vec<String> = partition
        .shares
        .iter()
        .map(|share| {
            let others = share.others.iter().map(|mask| ways(*mask)).max().unwrap_or(0);
            format!("L{} {}: {} ways alone, {others} for the rest", share.level, share.domain, ways(share.own))
        })
        .collect();
    Notes {
        before: "all ways are everybody's".to_owned(),
        after: shares.join("; "),
        risk: "The rest of the machine gets by with less of it.".to_owned(),
        proof: "/sys/fs/resctrl: schemata and cpus_list of each group, bit_usage".to_owned(),
        ..Notes::default()
    }
}
