//! Errors as C programs get them: a negative number from each call, and a sentence from `prt_last_error`.
//!
//! Numbers down to -4095 are negated `errno` values. Lower numbers are defined in this file and are never renumbered.

use punctual_rt::{Error, PageError, SetupError};
use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::LocalKey;

/// The value that a function returns: 0 or more on success, negative on failure.
pub(crate) type Code = c_int;

/// The handle is not valid: it was closed, or is of another kind.
pub const PRT_E_HANDLE: c_int = -5000;
/// The handle belongs to another thread.
pub const PRT_E_THREAD: c_int = -5001;
/// A bug in the library. The call may have been carried out in part. Please report it.
pub const PRT_E_PANIC: c_int = -5002;
/// The operation is possible only once and was done already or comes too late, for example joining a task or starting a
/// group.
pub const PRT_E_DONE: c_int = -5003;
/// A member that takes one of several constants has a value that this version does not know.
pub const PRT_E_CHOICE: c_int = -5004;
/// A text is not UTF-8, is too long, or contains characters that are not allowed there.
pub const PRT_E_TEXT: c_int = -5005;
/// The period is shorter than 1 us, or too long for 64 bits of nanoseconds.
pub const PRT_E_PERIOD: c_int = -5010;
/// The priority is not within 1 to 95.
pub const PRT_E_PRIORITY: c_int = -5011;
/// The margin is not shorter than the period.
pub const PRT_E_MARGIN: c_int = -5012;
/// The steering limit is not shorter than the period.
pub const PRT_E_STEER: c_int = -5013;
/// The reservation breaks the rule 1024 ns <= run time <= deadline <= period.
pub const PRT_E_RESERVATION: c_int = -5014;
/// The servo cannot work with these values.
pub const PRT_E_SERVO: c_int = -5015;
/// The process has no task of this name.
pub const PRT_E_NO_TASK: c_int = -5016;
/// The statistics were written by a version that this library cannot read.
pub const PRT_E_FOREIGN: c_int = -5017;
/// The call was refused for a reason that has no number; `prt_last_error` states the reason.
pub const PRT_E_REFUSED: c_int = -5099;

/// An error number with its sentence.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    detail: Cow<'static, str>,
}

impl Failure {
    pub(crate) fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { code, detail: detail.into() }
    }
}

impl From<Code> for Failure {
    fn from(code: Code) -> Self {
        Self { code, detail: meaning(code) }
    }
}

/// The sentence for an error number.
fn meaning(code: Code) -> Cow<'static, str> {
    Cow::Borrowed(match code {
        0.. => "nothing was refused",
        PRT_E_HANDLE => "the handle is none of this kind, or was closed",
        PRT_E_THREAD => "the handle belongs to another thread",
        PRT_E_PANIC => "a mistake inside the library",
        PRT_E_DONE => "it has been done already",
        PRT_E_CHOICE => "a number stands for no choice that this version knows",
        PRT_E_TEXT => "a text is not UTF-8, is too long, or holds characters that it must not",
        PRT_E_PERIOD => "the period is not within 1 us to what 64 bits hold",
        PRT_E_PRIORITY => "the priority is not within 1 to 95",
        PRT_E_MARGIN => "the margin is not shorter than the period",
        PRT_E_STEER => "the steering limit is not shorter than the period",
        PRT_E_RESERVATION => "1024 ns <= run time <= deadline <= period does not hold",
        PRT_E_SERVO => "the servo can not work with these values",
        PRT_E_NO_TASK => "no task of this name is in that process",
        PRT_E_FOREIGN => "what was found is not what this version can read",
        PRT_E_REFUSED => "refused",
        _ if code == -libc::EFAULT => "a pointer is NULL that must not be",
        _ if code == -libc::EBUSY => "another thread is using it",
        _ if code == -libc::ECANCELED => "the loop has ended",
        -4095..0 => return Cow::Owned(std::io::Error::from_raw_os_error(code.saturating_neg()).to_string()),
        _ => "unknown",
    })
}

/// Memory for one sentence of a thread. It stays at one address while the thread lives, so a C caller that keeps an old
/// pointer reads a newer sentence, and never freed memory.
type Place = Cell<[u8; SENTENCE_BYTES]>;
/// Size of a sentence with its NUL. Longer sentences are cut.
const SENTENCE_BYTES: usize = 1024;

thread_local! {
    static LAST: Place = const { Cell::new([0; SENTENCE_BYTES]) };
    static MEANING: Place = const { Cell::new([0; SENTENCE_BYTES]) };
}

fn keep(place: &'static LocalKey<Place>, text: &str) -> *const c_char {
    let mut sentence = [0; SENTENCE_BYTES];
    let end = (0..SENTENCE_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    for (to, from) in sentence.iter_mut().zip(text.bytes().take(end)) {
        *to = if from == 0 { b' ' } else { from };
    }
    // Access fails only while the thread ends and its thread-local storage is already destroyed.
    let kept = place.try_with(|kept| {
        kept.set(sentence);
        kept.as_ptr().cast_const().cast()
    });
    kept.unwrap_or(c"".as_ptr())
}

/// Runs a function that is not for the loop. Its error is kept for `prt_last_error`, and a panic becomes `PRT_E_PANIC`.
pub(crate) fn cold(act: impl FnOnce() -> Result<c_int, Failure>) -> c_int {
    let outcome = catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|_| Err(PRT_E_PANIC.into()));
    outcome.unwrap_or_else(|failure| {
        keep(&LAST, &failure.detail);
        failure.code
    })
}

/// Runs a function as [`cold`] does, and returns 0 on success.
pub(crate) fn done(act: impl FnOnce() -> Result<(), Failure>) -> c_int {
    cold(|| act().map(|()| 0))
}

/// The return value of a function for the loop. No sentence is kept.
#[inline]
pub(crate) fn hot(outcome: Result<(), Code>) -> c_int {
    match outcome {
        Ok(()) => 0,
        Err(code) => code,
    }
}

/// The number of an error in a function for the loop.
#[inline]
pub(crate) fn errno(error: impl Into<Error>) -> Code {
    match error.into().errno() {
        number @ 1.. => number.saturating_neg(),
        _ => PRT_E_REFUSED,
    }
}

/// The error of the last function that failed in this thread and is not for the loop: what was refused, why, and what
/// to do about it. Never NULL. The pointer stays valid while the thread lives; the next error replaces the text. The
/// functions for the loop keep no text: see `prt_error_text`.
#[unsafe(no_mangle)]
pub extern "C" fn prt_last_error() -> *const c_char {
    LAST.try_with(|kept| kept.as_ptr().cast_const().cast()).unwrap_or(c"".as_ptr())
}

/// The meaning of a returned number as text. Never NULL; valid until the next call in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn prt_error_text(code: c_int) -> *const c_char {
    catch_unwind(|| keep(&MEANING, &meaning(code))).unwrap_or(c"".as_ptr())
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(code_of(error), format!("{error}; {}", error.remedy()))
    }
}

/// The number for an error of the Rust library.
fn code_of(error: Error) -> Code {
    use punctual_rt::ConfigError as Config;
    match error {
        Error::Config(Config::Period) => PRT_E_PERIOD,
        Error::Config(Config::Priority(_)) => PRT_E_PRIORITY,
        Error::Config(Config::Margin) => PRT_E_MARGIN,
        Error::Config(Config::SteerMax) => PRT_E_STEER,
        Error::Config(Config::Reservation) => PRT_E_RESERVATION,
        Error::Config(Config::Servo(_)) => PRT_E_SERVO,
        Error::Config(Config::TaskName) => PRT_E_TEXT,
        Error::Config(Config::FlightCycles(_) | Config::ZeroLength | Config::OnlyInBand) => -libc::EINVAL,
        Error::Setup(SetupError::Stack { .. }) => -libc::ENOMEM,
        Error::Page(PageError::NoSuchTask) => PRT_E_NO_TASK,
        Error::Page(PageError::Foreign | PageError::Version(_) | PageError::Unsealed) => PRT_E_FOREIGN,
        other if other.errno() > 0 => other.errno().saturating_neg(),
        _ => PRT_E_REFUSED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_rt::{ConfigError, LockError};
    use std::ffi::CStr;

    #[test]
    fn a_mistake_inside_the_library_becomes_a_number_and_goes_no_further() {
        // `resume_unwind` unwinds as a panic does, but prints no message.
        let mistake = || std::panic::resume_unwind(Box::new("a mistake"));
        assert_eq!(cold(mistake), PRT_E_PANIC);
        // SAFETY: never null, valid until the next refusal.
        let told = unsafe { CStr::from_ptr(prt_last_error()) };
        assert_eq!(told, c"a mistake inside the library");
        assert_eq!(done(|| std::panic::resume_unwind(Box::new(7))), PRT_E_PANIC);
        assert_eq!(cold(|| Ok(3)), 3, "and the next call is as good as any");
    }

    #[test]
    fn what_the_library_refuses_in_the_loop_has_a_number() {
        assert_eq!(errno(LockError::WouldDeadlock), -libc::EDEADLK);
        assert_eq!(errno(LockError::Refused(libc::ENOSYS)), -libc::ENOSYS);
        assert_eq!(errno(ConfigError::Margin), PRT_E_REFUSED);
    }
}
