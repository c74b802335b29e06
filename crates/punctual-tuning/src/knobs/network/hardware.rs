//! Settings of network hardware that only ethtool shows.

use super::{Nic, nics};
use crate::knobs::prelude::*;

/// The settings that ethtool reads, one file per device and subject. The reader of the live machine supplies them, with
/// a line `name value` for each setting.
pub(super) const ETHTOOL: &str = "punctual:/ethtool";

/// The settings of one device about one subject, as lines of text.
pub(super) struct Settings(String);

impl Settings {
    pub(super) fn get(&self, name: &str) -> u64 {
        let value = |line: &str| line.split_once(' ').filter(|(found, _)| *found == name)?.1.parse().ok();
        self.0.lines().find_map(value).unwrap_or(0)
    }
}

/// Good if `is_wanted` holds on every device that has settings of this subject.
pub(super) fn every(case: &Case<'_>, subject: &str, is_wanted: impl Fn(&Settings) -> bool) -> Judged {
    let (mut seen, mut wrong) = (0, Vec::new());
    for Nic { name, driver } in nics(case)? {
        let path = format!("{ETHTOOL}/{name}/{subject}");
        match case.peek(&path) {
            Fact::Known(text) if text.contains(' ') => {
                seen += 1;
                if !is_wanted(&Settings(text.clone())) {
                    wrong.push(format!("{name} ({driver}): {}", text.replace('\n', ", ")));
                }
            }
            Fact::Known(_) => return Doubt::unknown(format!("{path} holds no settings")),
            Fact::Absent => {}
            Fact::Denied => return Doubt::unknown(case.refusal(&format!("asking {name}"))),
            Fact::Garbled(why) => return Doubt::unknown(format!("{path}: {why}")),
        }
    }
    Doubt::not_applicable_if(seen == 0, "no network device here has that setting")?;
    case.none_found(format!("{ETHTOOL}/*/{subject}"), wrong.join("; "), format!("set as wanted on all {seen} devices"))
}
