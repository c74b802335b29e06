//! Remedies for disks: their I/O schedulers, the CPUs that handle completions, and polling for media.

use super::super::{Expected, Reading};
use super::{Found, Site};
use punctual_facts::fact::Fact;

const BLOCKS: &str = "/sys/block";
const NO_BLOCKS: &str = "there are no disks";

/// Switches the I/O scheduler off for disks without moving parts.
pub(super) fn scheduler(site: &Site<'_>) -> Found {
    let risk = "Programs that write a lot delay other programs.";
    site.each(BLOCKS, NO_BLOCKS, risk, "queue/scheduler", |draft, case, disk| {
        let path = format!("{BLOCKS}/{disk}/queue/scheduler");
        let offers_none = case.peek(&path).known().is_some_and(|names| names.contains('[') && names.contains("none"));
        let is_still = case.peek(&format!("{BLOCKS}/{disk}/queue/rotational")) == Fact::Known("0".to_owned());
        if offers_none && is_still {
            draft.write_as(case, disk, &path, "none", Expected::same(Reading::Marked));
        }
    })
}

/// Lets I/O completions run on a CPU near the one that started the I/O, and not only on that CPU itself.
pub(super) fn completion(site: &Site<'_>) -> Found {
    site.each(BLOCKS, NO_BLOCKS, "Completions find colder caches.", "queue/rq_affinity", |draft, case, disk| {
        let path = format!("{BLOCKS}/{disk}/queue/rq_affinity");
        if case.peek(&path) == Fact::Known("2".to_owned()) {
            draft.write(case, disk, &path, "1");
        }
    })
}

/// Stops polling for media at regular intervals.
pub(super) fn polling(site: &Site<'_>) -> Found {
    let risk = "A newly inserted medium is only noticed when it is used.";
    site.each(BLOCKS, NO_BLOCKS, risk, "events_poll_msecs", |draft, case, disk| {
        let events = case.peek(&format!("{BLOCKS}/{disk}/events"));
        if events.known().is_some_and(|events| !events.is_empty()) {
            draft.write(case, disk, &format!("{BLOCKS}/{disk}/events_poll_msecs"), "0");
        }
    })
}
