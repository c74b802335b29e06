//! Settings of network hardware that only ethtool shows.

use super::{Nic, nics};
use crate::knobs::prelude::*;

/// The settings of each device and subject, which the reader of the live machine supplies: a line `name value` each.
pub(super) const ETHTOOL: &str = "punctual:/ethtool";

/// Settings of one device.
pub(super) struct Settings(String);

impl Settings {
    pub(super) fn get(&self, name: &str) -> u64 {
        let value = |line: &str| line.split_once(' ').filter(|(found, _)| *found == name)?.1.parse().ok();
        self.0.lines().find_map(value).unwrap_or(0)
    }
}

/// Good if the settings are as wanted on every device that has them.
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
    case.none_found(format!("{ETHTOOL}/*/{subject}"), wrong.join("; "), format!("as wanted on {seen}"))
}
