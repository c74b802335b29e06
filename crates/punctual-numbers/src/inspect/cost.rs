//! What an inspection took of the machine and of the program.

use punctual_hist::Nanos;
use serde::Serialize;

/// What the observation took, as shares of one CPU from 0 on, and what was given up so that it took less.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// The largest share that it was allowed to take after its first second.
    pub limit: f64,
    /// What punctual itself used, with its start.
    pub own: f64,
    /// What records, call stacks and probes took of the threads of the program, estimated from their numbers.
    pub program: f64,
    /// What records of everything else on the CPUs took, estimated from their number.
    pub causes: f64,
    /// The time that one record takes, measured on this machine, in nanoseconds.
    #[serde(rename = "record_ns")]
    pub record: Nanos,
    /// The time that the copy of one call stack takes, measured on this machine, in nanoseconds.
    #[serde(rename = "stack_ns")]
    pub stack: Nanos,
    /// What was given up, in this order, because the limit was exceeded.
    pub given_up: Vec<GivenUp>,
}

/// What was given up, so that the observation takes less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GivenUp {
    /// The thing that is no longer looked at.
    pub what: Saved,
    /// How long the program had been observed by then, in nanoseconds.
    #[serde(rename = "after_ns")]
    pub after: Nanos,
}

/// What can be given up, in the order in which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Saved {
    /// What made cycles late.
    Causes,
    /// Where in the program a system call was made.
    Stacks,
    /// Allocations that need no system call.
    Allocations,
    /// What is in the cycles: only the waits that pace the threads are recorded.
    Inside,
}

impl Saved {
    pub const ORDER: [Self; 4] = [Self::Causes, Self::Stacks, Self::Allocations, Self::Inside];
}

/// What the observation took of a thread in each of its cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CycleCost {
    /// The mean number of records about the thread, with call stacks and probes.
    pub records: f64,
    /// The time that they took of the thread, estimated, in nanoseconds.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
}
