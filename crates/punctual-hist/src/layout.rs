//! The bucket that each value belongs to.
//!
//! Each value below 64 has a bucket of its own. Above, every power of two is divided into 64 equal buckets, so no
//! bucket is wider than 1/64 (1.6 %) of its lower edge. The buckets cover all of `u64`, so no value is out of range.

/// Every power of two is divided into `2^SUB_BUCKET_BITS` buckets.
pub const SUB_BUCKET_BITS: u32 = 6;
const SUB: u64 = 1 << SUB_BUCKET_BITS;
/// Number of buckets that cover `0..=u64::MAX`.
pub const BUCKETS: usize = 3776;

/// The index of the bucket that `value` belongs to.
#[inline]
#[allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "value >= 64 bounds every term: exponent is 6..=63, the result is below BUCKETS (tested at every edge)"
)]
pub const fn bucket_index(value: u64) -> usize {
    if value < SUB {
        return value as usize;
    }
    let exponent = value.ilog2();
    let shift = exponent - SUB_BUCKET_BITS;
    let octave = (shift as usize + 1) << SUB_BUCKET_BITS;
    octave + ((value >> shift) & (SUB - 1)) as usize
}

/// The smallest value of bucket `index`. An index past the end is treated as the last bucket.
#[allow(clippy::arithmetic_side_effects, reason = "index is clamped to BUCKETS - 1, so shift is at most 57")]
pub const fn bucket_low(index: usize) -> u64 {
    let index = if index < BUCKETS { index } else { BUCKETS - 1 } as u64;
    if index < SUB {
        return index;
    }
    let shift = (index >> SUB_BUCKET_BITS) - 1;
    (SUB + (index & (SUB - 1))) << shift
}

/// The largest value of bucket `index`. An index past the end is treated as the last bucket.
#[allow(clippy::arithmetic_side_effects, reason = "below the last bucket the next one's lower edge is at least 1")]
pub const fn bucket_high(index: usize) -> u64 {
    if index >= BUCKETS - 1 { u64::MAX } else { bucket_low(index + 1) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bucket_holds_its_edges_and_touches_its_neighbour() {
        for i in 0..BUCKETS {
            assert_eq!(bucket_index(bucket_low(i)), i);
            assert_eq!(bucket_index(bucket_high(i)), i);
            if i > 0 {
                assert_eq!(bucket_high(i - 1) + 1, bucket_low(i));
            }
        }
        assert_eq!(bucket_index(u64::MAX), BUCKETS - 1);
        assert_eq!((bucket_low(usize::MAX), bucket_high(usize::MAX)), (bucket_low(BUCKETS - 1), u64::MAX));
    }

    #[test]
    fn no_bucket_is_wider_than_a_64th() {
        for i in 64..BUCKETS {
            assert!((bucket_high(i) - bucket_low(i)).saturating_mul(64) <= bucket_low(i));
        }
    }
}
