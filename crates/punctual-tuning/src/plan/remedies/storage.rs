//! Disks: their schedulers, the CPUs that handle completions, and polling for media.

use super::super::{Expected, Reading};
use super::draft::Draft;
use super::{Found, Site};
use crate::knobs::{Case, Doubt, Missing};
use punctual_facts::fact::Fact;

const BLOCKS: &str = "/sys/block";

fn disks(case: &Case<'_>) -> Result<Vec<String>, Doubt> {
    case.known(BLOCKS, case.list(BLOCKS), Missing::CannotBe("there are no disks"))
}

/// Switches the scheduler off for disks without moving parts.
pub(super) fn scheduler(site: &Site<'_>) -> Found {
    let case = site.case;
    let mut draft = Draft::default();
    for disk in disks(case)? {
        let path = format!("{BLOCKS}/{disk}/queue/scheduler");
        let offers_none = case.peek(&path).known().is_some_and(|names| names.contains('[') && names.contains("none"));
        let is_still = case.peek(&format!("{BLOCKS}/{disk}/queue/rotational")) == Fact::Known("0".to_owned());
        if offers_none && is_still {
            draft.write_as(case, &disk, &path, "none", Expected::same(Reading::Marked));
        }
    }
    Ok(draft.apart("Programs that write a lot get in front of others.", "queue/scheduler"))
}

/// Lets completions run near the CPU that asked, and not only on that CPU.
pub(super) fn completion(site: &Site<'_>) -> Found {
    let case = site.case;
    let mut draft = Draft::default();
    for disk in disks(case)? {
        let path = format!("{BLOCKS}/{disk}/queue/rq_affinity");
        if case.peek(&path) == Fact::Known("2".to_owned()) {
            draft.write(case, &disk, &path, "1");
        }
    }
    Ok(draft.apart("Completions find colder caches.", "queue/rq_affinity"))
}

/// Stops polling for media at regular intervals.
pub(super) fn polling(site: &Site<'_>) -> Found {
    let case = site.case;
    let mut draft = Draft::default();
    for disk in disks(case)? {
        let has_events = case.peek(&format!("{BLOCKS}/{disk}/events")).known().is_some_and(|events| !events.is_empty());
        if has_events {
            draft.write(case, &disk, &format!("{BLOCKS}/{disk}/events_poll_msecs"), "0");
        }
    }
    Ok(draft.apart("A medium that was put in is noticed when it is used.", "events_poll_msecs"))
}
