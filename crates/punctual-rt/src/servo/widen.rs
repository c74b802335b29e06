//! Extends a 32-bit time to 64 bits. Many `EtherCAT` slaves, and some masters, provide only the low half of the
//! reference's time. It wraps every 4.29 s, and 2³² ns is not a multiple of any usual period.

use punctual_hist::MonoTime;

/// Extends the low 32 bits of a clock to 64 bits, which do not wrap.
#[derive(Clone, Copy, Debug, Default)]
pub struct Widener {
    last: Option<(u64, MonoTime)>,
}

impl Widener {
    /// A widener that has seen no time yet.
    pub const fn new() -> Self {
        Self { last: None }
    }

    /// The time whose low half is `low_ns`, read at `local`. The first call has nothing to predict from, and returns
    /// the value with 2^32 added. Every later call returns the time nearest to what the local clock predicts, so gaps
    /// may be long: the clocks only need to agree to 2 s since the last call.
    ///
    /// # Real-time
    /// Only computes, in bounded time.
    pub fn widen(&mut self, low_ns: u32, local: MonoTime) -> u64 {
        let whole = match self.last {
            // Starts at 2^32 instead of zero, so that a step backwards does not go below zero.
            None => u64::from(low_ns) | (1 << 32),
            Some((last, at)) => {
                let expected = last.saturating_add_signed(local.signed_since(at).as_ns());
                let off = i32::from_ne_bytes(low_ns.wrapping_sub(low_half(expected)).to_ne_bytes());
                expected.saturating_add_signed(i64::from(off))
            }
        };
        self.last = Some((whole, local));
        whole
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the low half is asked for")]
const fn low_half(ns: u64) -> u32 {
    ns as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_whole_time_runs_as_the_reference_does(start in 0u64..1 << 60, steps in prop::collection::vec(0u64..1 << 40, 1..40)) {
            let mut widener = Widener::new();
            let (mut reference, mut local) = (start, 7u64);
            let first = widener.widen(low_half(reference), MonoTime::from_ns(local));
            for step in steps {
                // The reference runs 1000 ppm faster.
                reference += step + step / 1000;
                local += step;
                let whole = widener.widen(low_half(reference), MonoTime::from_ns(local));
                prop_assert_eq!(whole - first, reference - start);
            }
        }

        #[test]
        fn any_input_is_taken(inputs in prop::collection::vec((any::<u32>(), any::<u64>()), 1..20)) {
            let mut widener = Widener::new();
            for (low, local) in inputs {
                widener.widen(low, MonoTime::from_ns(local));
            }
        }
    }
}
