//! The CPUs chosen for real-time work, and those left for the rest, which remember whether somebody asked for them.
//!
//! Nothing intersects with an empty set, and an empty set is part of every other: a probe that asks for CPUs nobody
//! knows would find everything well. So an unknown set does not answer unnoticed.

use punctual_facts::cpu_set::CpuSet;
use std::cell::Cell;

/// A set of CPUs; empty where it is not known.
#[derive(Debug)]
pub(super) struct Chosen {
    cpus: CpuSet,
    is_known: bool,
    was_asked: Cell<bool>,
}

impl Chosen {
    /// These CPUs; if they are not known, there are none.
    pub(super) fn new(cpus: CpuSet, is_known: bool) -> Self {
        Self { cpus: if is_known { cpus } else { CpuSet::new() }, is_known, was_asked: Cell::default() }
    }

    /// The CPUs; that they were asked for is remembered.
    pub(super) fn ask(&self) -> &CpuSet {
        self.was_asked.set(true);
        &self.cpus
    }

    /// Whether an answer was drawn from it since the last time this was asked, though it is not known.
    pub(super) fn take_asked_in_vain(&self) -> bool {
        self.was_asked.take() && !self.is_known
    }
}
