//! Arithmetic of cache ways: which mask to choose so that the hardware also accepts the masks that remain for others.
//! This module reads no files.

/// The requirements of the hardware on a mask of cache ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub all: u64,
    /// The least number of ways in a row that a mask must have.
    pub least: u32,
    /// Whether a mask may have holes between its ways.
    pub sparse: bool,
}

impl Limits {
    /// Whether the hardware accepts the mask. The kernel requires that the first row of ways has at least the least
    /// length. A second row is allowed only if masks may have holes.
    pub fn accepts(&self, mask: u64) -> bool {
        if mask == 0 || mask & !self.all != 0 {
            return false;
        }
        let first_row = (mask >> mask.trailing_zeros()).trailing_ones();
        first_row >= self.least.max(1) && (self.sparse || first_row == mask.count_ones())
    }

    pub fn count(&self) -> u32 {
        self.all.count_ones()
    }
}

/// Chooses up to `wanted` ways in a row out of `free`, so that the hardware still accepts each mask in `others` once
/// these ways are removed from it. The lowest ways are tried first, because devices share the highest.
pub(super) fn carve(limits: &Limits, free: u64, others: &[u64], wanted: u32) -> Option<u64> {
    let least = Some(limits.least.max(1)).filter(|least| *least <= u64::BITS)?;
    let lengths = (least..=wanted.clamp(least, 64)).rev();
    let row = |length: u32| u64::MAX >> (64 - length);
    let windows = lengths.flat_map(|length| (0..=64 - length).map(move |at| row(length) << at));
    windows.into_iter().find(|own| own & !free == 0 && others.iter().all(|other| limits.accepts(other & !own)))
}

/// The number of ways for the real-time CPUs, in a cache that real-time and housekeeping CPUs share. It is proportional
/// to the number of CPUs, but at least a quarter of the ways, because a sleeping loop cannot keep its lines in the
/// cache, and at most half.
pub(super) fn fair_share(ways: u32, real_time: usize, housekeeping: usize) -> u32 {
    let (mine, all) = (real_time as u64, (real_time + housekeeping).max(1) as u64);
    let share = u32::try_from((u64::from(ways) * mine).div_ceil(all)).unwrap_or(ways);
    share.clamp(ways.div_ceil(4), (ways / 2).max(ways.div_ceil(4)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limits(ways: u32, least: u32) -> Limits {
        Limits { all: u64::MAX >> (64 - ways), least, sparse: false }
    }

    #[test]
    fn what_is_left_stays_in_one_piece() {
        let eleven = limits(11, 2);
        assert_eq!(carve(&eleven, 0x7ff, &[0x7ff], 3), Some(0x007));
        // The two highest ways belong to devices, and the four lowest to another group.
        assert_eq!(carve(&eleven, 0x1f0, &[0x7ff & !0xf], 3), Some(0x070));
        // The remaining mask may have no hole, so the row starts where that mask starts.
        assert_eq!(carve(&eleven, 0x7e0, &[0x7ff], 3), Some(0x700));
        assert_eq!(carve(&Limits { sparse: true, ..eleven }, 0x7e0, &[0x7ff], 3), Some(0x0e0));
        assert_eq!(carve(&eleven, 0x001, &[0x7ff], 3), None);
        assert_eq!(carve(&Limits { least: u32::MAX, ..eleven }, 0x7ff, &[0x7ff], 3), None);
    }

    #[test]
    fn shares_are_between_a_quarter_and_a_half() {
        assert_eq!(
            [fair_share(11, 2, 18), fair_share(12, 2, 2), fair_share(20, 8, 12), fair_share(8, 3, 1)],
            [3, 6, 8, 4]
        );
        assert_eq!([fair_share(1, 1, 1), fair_share(2, 1, 0), fair_share(0, 0, 0)], [1, 1, 0]);
    }

    proptest! {
        #[test]
        fn own_and_rest_are_masks_the_hardware_takes(
            ways in 1u32..=32, least in 0u32..4, sparse: bool, free: u64, other: u64, wanted in 0u32..40
        ) {
            let limits = Limits { sparse, ..limits(ways, least) };
            let (free, other) = (free & limits.all, other & limits.all);
            if let Some(own) = carve(&limits, free, &[other], wanted) {
                let in_a_row = Limits { sparse: false, ..limits };
                prop_assert!(in_a_row.accepts(own));
                prop_assert!(limits.accepts(other & !own));
                prop_assert_eq!(own & !free, 0);
                prop_assert!(own.count_ones() <= wanted.max(least).max(1));
            }
        }

        #[test]
        fn where_all_is_free_there_is_room(ways in 2u32..=32, least in 1u32..8, wanted in 1u32..16) {
            let limits = limits(ways, least);
            let own = carve(&limits, limits.all, &[limits.all], wanted);
            prop_assert_eq!(own.is_some(), ways >= 2 * least);
        }
    }
}
