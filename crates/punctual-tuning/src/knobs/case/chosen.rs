//! The CPUs chosen for real-time work, and those left for the rest, which remember whether somebody asked for them.
//!
//! Nothing intersects with an empty set, and an empty set is part of every other: a probe that asks for CPUs nobody
//! knows would find everything well. So an unknown set does not answer unnoticed.

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

    /// The CPUs. The call is remembered.
    pub(super) fn ask(&self) -> &CpuSet {
        self.was_asked.set(true);
        &self.cpus
    }

    /// Whether a set that is not known was asked for since the last call of this method.
    pub(super) fn take_asked_in_vain(&self) -> bool {
        self.was_asked.take() && !self.is_known
    }
}
