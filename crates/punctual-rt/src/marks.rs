//! Marks in a loop, for those who look at it from outside: where a cycle begins and ends, and which stage it is in.
//!
//! Each mark is one `nop` in the code and a note in a part of the file that is not loaded. While nobody looks, it costs that
//! one instruction: it reads no memory, takes no register and changes no branch. `punctual inspect` finds the marks of a
//! running program in its files and makes cycles and stages of them. To perf, bpftrace and `SystemTap` they are USDT probes of
//! the provider `punctual`. Programs in C have the same marks from the header `punctual_marks.h`.
//!
//! ```
//! use punctual_rt::{mark_stage, marks};
//!
//! # fn read_inputs() {}
//! # fn compute() {}
//! for _ in 0..3 {
//!     marks::cycle_begin();
//!     mark_stage!(read);
//!     read_inputs();
//!     mark_stage!(control);
//!     compute();
//!     marks::cycle_end();
//! }
//! ```
//!
//! A stage lasts until the next mark of the same thread. Marks exist on x86-64, arm64, arm and riscv64; elsewhere they are
//! nothing.

/// Marks the beginning of a cycle, after the wait.
///
/// # Real-time
/// One `nop`: may be called anywhere in a loop.
///
/// # Kernel
/// Any. To be looked at, it takes a kernel with uprobes (`CONFIG_UPROBES`).
#[inline(always)]
#[allow(clippy::inline_always, reason = "a call would cost more than the mark, and would mark one place for all")]
pub fn cycle_begin() {
    crate::sys::cycle_begin();
}

/// Marks the end of a cycle, before the next wait.
///
/// # Real-time
/// One `nop`: may be called anywhere in a loop.
///
/// # Kernel
/// Any, as for [`cycle_begin`].
#[inline(always)]
#[allow(clippy::inline_always, reason = "a call would cost more than the mark, and would mark one place for all")]
pub fn cycle_end() {
    crate::sys::cycle_end();
}

/// Marks the beginning of a stage of the cycle. The name is an identifier: `mark_stage!(control)`.
#[macro_export]
macro_rules! mark_stage {
    ($name:ident) => {
        $crate::__mark!("stage_", ::core::stringify!($name))
    };
}
