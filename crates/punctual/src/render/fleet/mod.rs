//! What `punctual fleet` prints, and the tables that it writes.

pub mod answer;
#[cfg(feature = "parquet")]
pub mod packed;
pub mod run;
#[cfg(feature = "parquet")]
pub mod tables;

/// The schema of the tables.
pub const SCHEMA: &str = "punctual/fleet/2";
