#![doc = include_str!("../README.md")]
// This crate must not use clocks, threads, CPUs or files.
#![warn(missing_docs)]
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::indexing_slicing))]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod atomics {
    //! The atomic types of this crate. A test under the model checker Loom replaces this module by one with types of
    //! Loom.
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
