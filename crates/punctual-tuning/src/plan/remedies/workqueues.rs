//! Remedies for the kernel's deferred work, and for the detectors of lock-ups.

use super::super::{Expected, Reading};
use super::draft::Draft;
use super::{Found, Site};
use crate::knobs::{Doubt, Missing, QUEUES};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;

const MOST_QUEUES: usize = 512;
const STALL: &str =
    "Workers move at once; rewriting the mask on a busy machine has been seen to stall the network for a moment.";

pub(super) fn unbound(site: &Site<'_>) -> Found {
    let case = site.case;
    case.has_housekeeping()?;
    let expected = Expected { or_fewer: true, ..Expected::same(Reading::CpuMask) };
    let mut draft = Draft::default();
    let path = format!("{QUEUES}/cpumask");
    Doubt::not_applicable_if(is_so(site, &path), "the value is right already")?;
    let is_unshown = !draft.write_as(case, "unbound work", &path, &case.housekeeping().mask(), expected);
    Doubt::not_applicable_if(is_unshown, "this kernel does not show where unbound work may run")?;
    Ok(draft.remedy(STALL, &path))
}

fn is_so(site: &Site<'_>, path: &str) -> bool {
    let now = site.case.peek(path);
    now.known().is_some_and(|text| CpuSet::parse_mask(text).is_ok_and(|mask| mask == *site.case.housekeeping()))
}

/// Moves the work of each work queue that has its own mask to the housekeeping CPUs.
pub(super) fn named(site: &Site<'_>) -> Found {
    let case = site.case;
    case.has_housekeeping()?;
    let names = case.known(QUEUES, case.list(QUEUES), Missing::CannotBe("this kernel shows no work queues"))?;
    let mut draft = Draft::default();
    for name in names.iter().take(MOST_QUEUES) {
        let path = format!("{QUEUES}/{name}/cpumask");
        let Fact::Known(text) = case.peek(&path) else { continue };
        let Ok(own) = CpuSet::parse_mask(&text) else { continue };
        if own.intersection(case.rt()).is_empty() {
            continue;
        }
        draft.write_as(case, name, &path, &case.kept_off(&own).mask(), Expected::same(Reading::CpuMask));
    }
    Ok(draft.apart("None worth mentioning; queues that drivers create later start with the common mask.", QUEUES))
}

/// Restricts the lock-up detectors to the housekeeping CPUs.
pub(super) fn watchdog(site: &Site<'_>) -> Found {
    let case = site.case;
    case.has_housekeeping()?;
    let path = "/proc/sys/kernel/watchdog_cpumask";
    let mut draft = Draft::default();
    let wanted = case.housekeeping().to_string();
    let has_no_detector = !draft.write_as(case, "lock-up detectors", path, &wanted, Expected::same(Reading::CpuList));
    Doubt::not_applicable_if(has_no_detector, "this kernel does not watch for lock-ups")?;
    Ok(draft.remedy("A lock-up of a real-time CPU is no longer reported.", path))
}
