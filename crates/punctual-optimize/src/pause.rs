//! Decides whether the last measurement is too long ago to be compared with the next one.
//!
//! Runs are compared only within a block, so that drift from block to block cancels. A block must therefore be short
//! compared with the drift, and is begun anew after a pause that is longer than a block. Must not know how a clock is
//! read.

use punctual_hist::Nanos;
use serde::{Deserialize, Serialize};

/// Across boots, a shorter time than this is no pause, because a person may have to reset a hanging kernel.
const BETWEEN_BOOTS: Nanos = Nanos::from_secs(3600);

/// A point in time, on clocks that can be compared between two processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Identity of the boot.
    pub boot: String,
    /// Time since the boot, including time in suspend.
    #[serde(rename = "up_ns", deserialize_with = "crate::format::nanos")]
    pub up: Nanos,
    /// Seconds since 1970, by a clock that users may set.
    pub unix_s: u64,
}

impl Moment {
    /// Whether the time from this moment to `now` is a pause; `block` is the length of a block. With `is_across`, boots
    /// are part of the campaign, so another boot alone is no pause.
    ///
    /// If the wall clock went back between two boots, that is no pause: on a machine without a clock battery this
    /// happens at each boot.
    pub fn is_long_before(&self, now: &Self, block: Nanos, is_across: bool) -> bool {
        let bearable = if is_across { block.max(BETWEEN_BOOTS) } else { block };
        if self.boot == now.boot {
            return now.up.minus(self.up) > bearable;
        }
        !is_across || Nanos::from_secs(now.unix_s.saturating_sub(self.unix_s)) > bearable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: Nanos = Nanos::from_secs(30);

    fn at(boot: &str, up_s: u64, unix_s: u64) -> Moment {
        Moment { boot: boot.to_owned(), up: Nanos::from_secs(up_s), unix_s }
    }

    #[test]
    fn within_a_boot_a_pause_is_longer_than_a_block() {
        let then = at("a", 1_000, 50_000);
        for unix_s in [0, 50_000, 9_999_999] {
            assert!(!then.is_long_before(&at("a", 1_030, unix_s), BLOCK, false));
            assert!(then.is_long_before(&at("a", 1_031, unix_s), BLOCK, false));
        }
    }

    #[test]
    fn another_boot_is_a_pause_where_none_belongs_to_the_campaign() {
        assert!(at("a", 1_000, 50_000).is_long_before(&at("b", 10, 50_001), BLOCK, false));
    }

    #[test]
    fn across_boots_it_is_the_time_of_day_that_tells() {
        let then = at("a", 90, 50_000);
        assert!(!then.is_long_before(&at("b", 40, 53_600), BLOCK, true), "somebody reset a kernel that hung");
        assert!(then.is_long_before(&at("b", 40, 53_601), BLOCK, true));
        assert!(!then.is_long_before(&at("b", 40, 53_601), Nanos::from_secs(7_200), true), "a block takes two hours");
        assert!(!then.is_long_before(&at("b", 40, 5), BLOCK, true), "a clock without a battery");
        assert!(then.is_long_before(&at("a", 3_691, 50_000), BLOCK, true), "the same boot, an hour later");
    }
}
