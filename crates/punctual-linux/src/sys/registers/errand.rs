//! What the assembler code does between loading and storing, as the words that it reads.

#![allow(clippy::cast_sign_loss, reason = "numbers of system calls and operations are not negative")]

use super::Act;
use crate::sys::pages::Pages;
use punctual_rt::{Nanos, now};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// The assembler code knows the members by their offsets.
#[repr(C)]
pub(super) struct Errand {
    /// 0 for a system call, 1 to read a word until it is not 0, 2 to write to pages.
    kind: u64,
    /// The number of the system call, or the number of readings, or of pages.
    number: u64,
    arguments: [u64; 5],
}

const WAIT: u64 = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as u64;
const WAKE: u64 = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as u64;

impl Errand {
    /// The words for an act. `length` is what [`length`] returned for it, and must outlive the errand.
    pub(super) fn of(act: Act<'_>, length: &libc::timespec) -> Self {
        let length = std::ptr::from_ref(length) as u64;
        let word = |word: &AtomicU32| word.as_ptr() as u64;
        let system_call = |number: libc::c_long, arguments| Self { kind: 0, number: number as u64, arguments };
        let call = |number, [a, b, c, d]: [u64; 4]| system_call(number, [a, b, c, d, 0]);
        match act {
            Act::Yield => call(libc::SYS_sched_yield, [0; 4]),
            Act::Sleep(_) => call(libc::SYS_nanosleep, [length, 0, 0, 0]),
            Act::CoreSleep(sleep, _) => system_call(sleep.number(), sleep.arguments(length)),
            Act::Wait(on, _) => call(libc::SYS_futex, [word(on), WAIT, 0, length]),
            Act::Wake(on) => call(libc::SYS_futex, [word(on), WAKE, 1, 0]),
            Act::Signal(signal) => {
                let [process, thread] = crate::sys::process::ids();
                call(libc::SYS_tgkill, [process, thread, u64::try_from(signal).unwrap_or(0), 0])
            }
            Act::Spin(on, most) => Self { kind: 1, number: most.max(1).into(), arguments: [word(on), 0, 0, 0, 0] },
            Act::Touch(pages) => {
                let arguments = [pages.address() as u64, Pages::STEP as u64, 0, 0, 0];
                Self { kind: 2, number: pages.count() as u64, arguments }
            }
        }
    }
}

/// How long an act may sleep, or until when a core's thread does, as the kernel reads it.
pub(super) fn length(act: Act<'_>) -> libc::timespec {
    let length = match act {
        Act::Sleep(length) | Act::Wait(_, length) => length,
        Act::CoreSleep(_, length) => Duration::from_nanos((now() + Nanos::from(length)).as_ns()),
        Act::Yield | Act::Wake(_) | Act::Signal(_) | Act::Spin(..) | Act::Touch(_) => Duration::ZERO,
    };
    // 68 years, and seconds have 32 bits on some machines.
    let seconds = i32::try_from(length.as_secs()).unwrap_or(i32::MAX);
    libc::timespec { tv_sec: seconds.into(), tv_nsec: length.subsec_nanos().into() }
}
