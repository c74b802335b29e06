//! Refusals as C sees them: a negative number at once, and a sentence for who asks.
//!
//! Numbers down to -4095 are `errno` values with their sign turned; those below are our own, and are never renumbered.

use punctual_rt::{Error, PageError, SetupError};
use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::LocalKey;

/// What a function returns: 0 or more when it did what was asked, negative otherwise.
pub(crate) type Code = c_int;

/// The handle is none of this kind, or no more: it was closed.
pub const PRT_E_HANDLE: c_int = -5000;
/// The handle belongs to another thread.
pub const PRT_E_THREAD: c_int = -5001;
/// A mistake inside the library; the call had no effect that could be relied upon. Please report it.
pub const PRT_E_PANIC: c_int = -5002;
/// The thing has been done already, or its time is over: a task joined twice, a group started twice.
pub const PRT_E_DONE: c_int = -5003;
/// A number that stands for a choice stands for none that this version knows.
pub const PRT_E_CHOICE: c_int = -5004;
/// A text is not UTF-8, is too long, or holds characters that it must not.
pub const PRT_E_TEXT: c_int = -5005;
/// The period is not within 1 us to what 64 bits hold.
pub const PRT_E_PERIOD: c_int = -5010;
/// The priority is not within 1 to 95.
pub const PRT_E_PRIORITY: c_int = -5011;
/// The margin is not shorter than the period.
pub const PRT_E_MARGIN: c_int = -5012;
/// The steering limit is not shorter than the period.
pub const PRT_E_STEER: c_int = -5013;
/// 1024 ns <= run time <= deadline <= period does not hold.
pub const PRT_E_RESERVATION: c_int = -5014;
/// The servo can not work with these values.
pub const PRT_E_SERVO: c_int = -5015;
/// No task of this name is in that process.
pub const PRT_E_NO_TASK: c_int = -5016;
/// What was found is not what this version of the library can read.
pub const PRT_E_FOREIGN: c_int = -5017;
/// Refused for a reason that `prt_last_error` tells.
pub const PRT_E_REFUSED: c_int = -5099;

/// A refusal with its sentence.
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

/// What a number means, as a sentence.
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

/// A sentence of a thread, at one place as long as the thread lives: a caller who still holds the former one reads the
/// newer, and never what is gone.
type Place = Cell<[u8; SENTENCE_BYTES]>;
/// Longer sentences are cut.
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
    // Only a thread that is about to end has no such place any more.
    let kept = place.try_with(|kept| {
        kept.set(sentence);
        kept.as_ptr().cast_const().cast()
    });
    kept.unwrap_or(c"".as_ptr())
}

/// Runs what is not for the loop: its refusal is kept for `prt_last_error`, and nothing unwinds into C.
pub(crate) fn cold(act: impl FnOnce() -> Result<c_int, Failure>) -> c_int {
    let outcome = catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|_| Err(PRT_E_PANIC.into()));
    outcome.unwrap_or_else(|failure| {
        keep(&LAST, &failure.detail);
        failure.code
    })
}

/// As [`cold`], for what has nothing to say but that it was done.
pub(crate) fn done(act: impl FnOnce() -> Result<(), Failure>) -> c_int {
    cold(|| act().map(|()| 0))
}

/// The number of what happened in the loop: nothing is kept.
#[inline]
pub(crate) fn hot(outcome: Result<(), Code>) -> c_int {
    match outcome {
        Ok(()) => 0,
        Err(code) => code,
    }
}

/// The number of a refusal in the loop.
#[inline]
pub(crate) fn errno(error: impl Into<Error>) -> Code {
    match error.into().errno() {
        number @ 1.. => number.saturating_neg(),
        _ => PRT_E_REFUSED,
    }
}

/// Why the last function of this thread that is not for the loop was refused: what, why, and what to do about it. Never
/// NULL, and valid as long as this thread: the next such refusal overwrites it. The functions for the loop keep no text: see
/// `prt_error_text`.
#[unsafe(no_mangle)]
pub extern "C" fn prt_last_error() -> *const c_char {
    LAST.try_with(|kept| kept.as_ptr().cast_const().cast()).unwrap_or(c"".as_ptr())
}

/// What a returned number means. Never NULL; valid until the next call in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn prt_error_text(code: c_int) -> *const c_char {
    catch_unwind(|| keep(&MEANING, &meaning(code))).unwrap_or(c"".as_ptr())
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(code_of(error), format!("{error}; {}", error.remedy()))
    }
}

/// The number of a refusal by the library.
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
        Error::Config(Config::FlightCycles(_) | Config::ZeroLength) => -libc::EINVAL,
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
        // Unwinds as a panic does, without its message.
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
