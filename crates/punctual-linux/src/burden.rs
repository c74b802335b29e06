//! What observing takes of the machine, as shares of one CPU.
//!
//! The cost is the CPU time of this process, and that of the records, which the kernel writes in the context of others:
//! their number is known, and what one of them takes was measured.

use punctual_hist::{MonoTime, Nanos};

/// What was spent up to an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub at: MonoTime,
    /// CPU time of this process, all its threads together.
    pub own: Nanos,
    /// Time that records took of the threads that are observed.
    pub records: Nanos,
    /// Time that records took of what the CPUs do.
    pub causes: Nanos,
}

/// Shares of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Burden {
    pub own: f64,
    pub records: f64,
    pub causes: f64,
}

impl Burden {
    pub fn between(then: &Spent, now: &Spent) -> Self {
        let time = now.at.since(then.at).as_secs_f64().max(1e-9);
        let share = |of: fn(&Spent) -> Nanos| of(now).minus(of(then)).as_secs_f64() / time;
        Self { own: share(|of| of.own), records: share(|of| of.records), causes: share(|of| of.causes) }
    }

    pub fn all(&self) -> f64 {
        self.own + self.records + self.causes
    }
}
