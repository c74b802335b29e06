//! Everything that may run between two waits, by names that survive in the object code.
//!
//! `cargo xtask ci panic-free` builds this as a static library in the release profile and walks what these functions
//! reach. Nothing may lead to a panic or an allocation, nor leave for a system library but by the few names listed
//! there. The functions of the module `injected` break that on purpose: the walk must find each of them.

#![allow(unsafe_code, reason = "names that survive are an unsafe attribute")]
#![allow(missing_docs, reason = "each is named after the one function that it calls")]
#![allow(clippy::no_mangle_with_rust_abi, reason = "nobody calls them")]

use punctual_rt::{Delta, Nanos, Pacer, Wake};

#[unsafe(no_mangle)]
pub fn hot_pacer_wait(pacer: &mut Pacer) -> Wake {
    pacer.wait()
}

#[unsafe(no_mangle)]
pub fn hot_pacer_steer(pacer: &mut Pacer, by: Delta) -> Delta {
    pacer.steer(by)
}

#[unsafe(no_mangle)]
pub fn hot_pacer_set_period(pacer: &mut Pacer, period: Nanos) {
    pacer.set_period(period);
}

#[unsafe(no_mangle)]
pub fn hot_pacer_shift_phase(pacer: &mut Pacer, by: Delta) {
    pacer.shift_phase(by);
}

#[unsafe(no_mangle)]
pub fn hot_pacer_resync(pacer: &mut Pacer) -> u64 {
    pacer.resync()
}

/// What the walk must find.
#[allow(clippy::missing_panics_doc, clippy::unwrap_used, reason = "to be found")]
pub mod injected {
    use punctual_rt::{MonoTime, Wake, now};

    #[unsafe(no_mangle)]
    pub fn injected_panic(wake: &Wake) {
        assert!(wake.woke >= wake.release, "early");
    }

    #[unsafe(no_mangle)]
    #[allow(clippy::cast_possible_truncation, reason = "to be found")]
    pub fn injected_indexing(values: &[u64], wake: &Wake) -> u64 {
        values[wake.lateness().as_ns() as usize]
    }

    #[unsafe(no_mangle)]
    pub fn injected_overflow(release: MonoTime, period_ns: u64) -> u64 {
        release.as_ns() + period_ns
    }

    #[unsafe(no_mangle)]
    pub fn injected_division(wake: &Wake, by: u64) -> u64 {
        wake.index / by
    }

    #[unsafe(no_mangle)]
    pub fn injected_allocation(wake: &Wake) -> Box<Wake> {
        Box::new(*wake)
    }

    #[unsafe(no_mangle)]
    pub fn injected_far_panic(values: &[u64]) -> u64 {
        by_hand(values, now().as_ns())
    }

    #[inline(never)]
    fn by_hand(values: &[u64], at: u64) -> u64 {
        values.iter().copied().find(|value| *value > at).unwrap()
    }

    #[unsafe(no_mangle)]
    pub fn injected_system_call() -> u32 {
        punctual_rt::sys::thread_id()
    }
}
