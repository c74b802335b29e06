//! Sets of CPUs that remember whether a probe asked for them.
//!
//! If it is not known which CPUs do the real-time work, the set is empty. An empty set intersects with nothing and is a
//! subset of every set, so a probe would find everything good. The case turns such a verdict into unknown.

use punctual_facts::cpu_set::CpuSet;
use std::cell::Cell;

/// A set of CPUs, which is empty if it is not known.
#[derive(Debug)]
pub(super) struct Chosen {
    cpus: CpuSet,
    is_known: bool,
    was_asked: Cell<bool>,
}

impl Chosen {
    pub(super) fn new(cpus: CpuSet, is_known: bool) -> Self {
        Self { cpus: if is_known { cpus } else { CpuSet::new() }, is_known, was_asked: Cell::default() }
    }

    /// Returns the set, which is empty if it is not known, and remembers that a probe asked for it.
    pub(super) fn ask(&self) -> &CpuSet {
        self.was_asked.set(true);
        &self.cpus
    }

    /// Whether a probe asked for this set since the last call of this method although the set is not known.
    pub(super) fn take_asked_in_vain(&self) -> bool {
        self.was_asked.take() && !self.is_known
    }
}
