//! Remedies about huge pages and free memory.

use super::super::{Expected, Reading, Step};
use super::draft::Draft;
use super::{Found, Site, by_hand};
use crate::knobs::{Blast, Doubt, meminfo};
use punctual_facts::fact::Fact;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HugePages {
    /// Size of one page in kB, such as 2048 or 1048576.
    pub size_kb: u64,
    /// The wanted number of pages: on the node or, without a node, in all.
    pub count: u64,
    /// The memory node; `None` lets the kernel choose.
    pub node: Option<u32>,
}

impl HugePages {
    fn folder(&self) -> String {
        let size = format!("hugepages/hugepages-{}kB", self.size_kb);
        match self.node {
            None => format!("/sys/kernel/mm/{size}"),
            Some(node) => format!("/sys/devices/system/node/node{node}/{size}"),
        }
    }
}

/// Reserves the huge pages that the user asked for. If the user asked for none and reserved pages are unused, a person
/// must decide about them.
pub(super) fn huge_pages(site: &Site<'_>) -> Found {
    let case = site.case;
    if site.preferences.huge_pages.is_empty() {
        return by_hand(
            "the program that reserved the pages may still map them; if no program will, write 0 to \
            /sys/kernel/mm/hugepages/hugepages-*/nr_hugepages",
        );
    }
    let mut draft = Draft::default();
    for wish in &site.preferences.huge_pages {
        let path = format!("{}/nr_hugepages", wish.folder());
        let subject = match wish.node {
            None => format!("{} kB pages", wish.size_kb),
            Some(node) => format!("{} kB pages of node {node}", wish.size_kb),
        };
        match case.peek(&path) {
            Fact::Absent | Fact::Garbled(_) => return Doubt::not_applicable(format!("this machine has no {subject}")),
            // If more pages are reserved than the user asked for, the others belong to somebody else.
            Fact::Known(now) if now.parse::<u64>().is_ok_and(|now| now >= wish.count) => {}
            now => {
                let before = now.known().cloned().unwrap_or_else(|| "not known".to_owned());
                let value = wish.count.to_string();
                let step = Step::Write { path, value: value.clone(), expected: Expected::same(Reading::Plain) };
                draft.step(&subject, &before, &value, step);
            }
        }
    }
    let risk = "The kernel moves memory to make room, which takes a while. If free memory is fragmented, the kernel \
        reserves fewer pages than requested; only a reservation at boot is sure to get all of them.";
    Ok(draft.remedy(risk, "HugePages_Total of /proc/meminfo, nr_hugepages of each node").reaching(Blast::Disturbing))
}

/// Makes the kernel keep 64 MB free, or a hundredth of the memory if that is less.
pub(super) fn watermark(site: &Site<'_>) -> Found {
    const MOST_KB: u64 = 65_536;
    let case = site.case;
    let wanted_kb = MOST_KB.min(meminfo(case, "MemTotal")? / 100);
    let path = "/proc/sys/vm/min_free_kbytes";
    let now = case.peek(path);
    let is_so = now.known().and_then(|text| text.parse::<u64>().ok()).is_some_and(|kb| kb >= wanted_kb);
    Doubt::not_applicable_if(is_so, "the value is right already")?;
    let mut draft = Draft::default();
    let is_unshown = !draft.write(case, "free memory, in kB", path, &wanted_kb.to_string());
    Doubt::not_applicable_if(is_unshown, "this kernel does not show how much it keeps free")?;
    Ok(draft.remedy("That memory is lost to programs.", path))
}
