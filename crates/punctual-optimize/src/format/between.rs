//! What is kept of a campaign between two measurements: when the last one was, and how it stands across boots.

use crate::across::{Across, Tries};
use crate::pause::Moment;
use punctual_hist::Nanos;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(super) struct AcrossTwin {
    line: String,
    release: String,
    used: String,
    asked: Option<String>,
    measuring: Option<String>,
    #[serde(default)]
    tries: Vec<TriesTwin>,
    boots: u32,
    gave_up: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct TriesTwin {
    set: Vec<usize>,
    absent: u32,
    instead: String,
    taken_away: u32,
    cut: u32,
}

#[derive(Serialize, Deserialize)]
pub(super) struct MomentTwin {
    boot: String,
    up_ns: u64,
    unix_s: u64,
}

impl AcrossTwin {
    pub(super) fn of(across: Across) -> Self {
        let Across { line, release, used, asked, measuring, tries, boots, gave_up } = across;
        let tries = tries.into_iter().map(TriesTwin::of).collect();
        Self { line, release, used, asked, measuring, tries, boots, gave_up }
    }

    pub(super) fn back(self) -> Across {
        let Self { line, release, used, asked, measuring, tries, boots, gave_up } = self;
        let tries = tries.into_iter().map(TriesTwin::back).collect();
        Across { line, release, used, asked, measuring, tries, boots, gave_up }
    }
}

impl TriesTwin {
    fn of((set, tries): (Vec<usize>, Tries)) -> Self {
        let Tries { absent, instead, taken_away, cut } = tries;
        Self { set, absent, instead, taken_away, cut }
    }

    fn back(self) -> (Vec<usize>, Tries) {
        let Self { set, absent, instead, taken_away, cut } = self;
        (set, Tries { absent, instead, taken_away, cut })
    }
}

impl MomentTwin {
    pub(super) fn of(moment: Moment) -> Self {
        Self { boot: moment.boot, up_ns: moment.up.as_ns(), unix_s: moment.unix_s }
    }

    pub(super) fn back(self) -> Moment {
        Moment { boot: self.boot, up: Nanos::from_ns(self.up_ns), unix_s: self.unix_s }
    }
}
