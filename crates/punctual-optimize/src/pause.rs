//! Whether nobody measured for so long that what comes now is not to be held against what was before.
//!
//! A block cancels what drifts from block to block, so it has to be short beside the drift: after a pause as long as the
//! block itself it is begun anew. Must not know how a clock is read.

use punctual_hist::Nanos;

/// Between two boots less than this is no pause: a kernel that hangs, and whoever resets it, take their time.
const BETWEEN_BOOTS: Nanos = Nanos::from_secs(3600);

/// When something was, by the clocks that there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Which run of the machine.
    pub boot: String,
    /// Since that began, sleep and all.
    pub up: Nanos,
    /// Seconds since 1970, which somebody may set.
    pub unix_s: u64,
}

impl Moment {
    /// Whether from then to now there was a pause, of blocks that take so long; `is_across` boots: another boot is none.
    ///
    /// A clock that was set back tells nothing, and where boots belong to the campaign that is no pause: a machine
    /// without a battery would have one at each of them.
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
        // Whatever somebody made of the time of day.
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
