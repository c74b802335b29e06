#![doc = include_str!("../README.md")]
// This crate knows nothing of clocks, threads, CPUs or files.
#![warn(missing_docs)]
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::indexing_slicing))]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod atomics {
    //! What the model checker replaces.
    pub(crate) use core::sync::atomic::{AtomicU64, Ordering, fence};
}
mod counts;
mod histogram;
mod layout;
mod random;
mod slot;
mod units;
mod worst;

pub use counts::Counts;
pub use histogram::{BucketCells, ExtremeCells, Histogram, HistogramCells, HistogramReader, HistogramWriter};
pub use layout::{BUCKETS, SUB_BUCKET_BITS, bucket_high, bucket_index, bucket_low};
pub use random::SplitMix;
pub use slot::Slot;
pub use units::{Delta, MonoTime, Nanos};
pub use worst::{Activation, WORST_K, WorstList, WorstReader, WorstWriter};
