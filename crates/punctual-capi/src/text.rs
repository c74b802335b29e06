//! Conversion of texts and results at the C boundary: texts are checked before they are used.

use crate::error::{Code, Failure, PRT_E_TEXT};
use std::ffi::{c_char, c_int};

/// A text of the C caller of at most `max` bytes; `None` for null.
///
/// # Safety
/// `at` is null, or can be read up to its NUL or `max + 1` bytes, and does not change meanwhile.
pub(crate) unsafe fn optional<'a>(at: *const c_char, max: usize, name: &str) -> Result<Option<&'a str>, Failure> {
    if at.is_null() {
        return Ok(None);
    }
    // SAFETY: required of the caller under `# Safety` above.
    let length = unsafe { libc::strnlen(at, max.saturating_add(1)) };
    if length > max {
        return Err(Failure::new(PRT_E_TEXT, format!("{name} is longer than {max} bytes")));
    }
    // SAFETY: `strnlen` has just read these bytes.
    let bytes = unsafe { std::slice::from_raw_parts(at.cast::<u8>(), length) };
    let text = std::str::from_utf8(bytes).map_err(|_| Failure::new(PRT_E_TEXT, format!("{name} is not UTF-8")))?;
    Ok(Some(text))
}

/// A text of the C caller, as from [`optional`]; null is refused.
///
/// # Safety
/// The same as of [`optional`].
pub(crate) unsafe fn required<'a>(at: *const c_char, max: usize, name: &str) -> Result<&'a str, Failure> {
    // SAFETY: required of the caller under `# Safety` above.
    unsafe { optional(at, max, name) }?.ok_or_else(|| Failure::new(-libc::EFAULT, format!("{name} is NULL")))
}

/// Writes the result of `make` to `to`. If `to` is null, `make` is not called.
///
/// # Safety
/// `to` is null, or can be written.
pub(crate) unsafe fn put<T>(to: *mut T, make: impl FnOnce() -> Result<T, Failure>) -> Result<(), Failure> {
    if to.is_null() {
        return Err((-libc::EFAULT).into());
    }
    let value = make()?;
    // SAFETY: required of the caller under `# Safety` above.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Copies a text into the caller's buffer, cut to its size and ended with NUL. Returns the length of the whole text.
///
/// # Safety
/// `buffer` is null, or `size` bytes can be written there.
pub(crate) unsafe fn copy(text: &str, buffer: *mut c_char, size: usize) -> Result<c_int, Failure> {
    let whole = c_int::try_from(text.len()).map_err(|_| Failure::from(-libc::EOVERFLOW))?;
    if size == 0 {
        return Ok(whole);
    }
    if buffer.is_null() {
        return Err((-libc::EFAULT).into());
    }
    let mut cut = text.len().min(size.saturating_sub(1));
    while !text.is_char_boundary(cut) {
        cut = cut.saturating_sub(1);
    }
    // SAFETY: `cut` is less than `size`, and no more than the text has.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr().cast::<c_char>(), buffer, cut) };
    // SAFETY: `cut` is less than `size`.
    unsafe { buffer.wrapping_add(cut).write(0) };
    Ok(whole)
}

/// Writes a value to `to`; null is refused.
///
/// # Safety
/// `to` is null, or can be written.
#[inline]
pub(crate) unsafe fn give<T: Copy>(to: *mut T, value: T) -> Result<(), Code> {
    if to.is_null() {
        return Err(-libc::EFAULT);
    }
    // SAFETY: required of the caller under `# Safety` above.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Writes a value to `to`; null means that the C caller does not want it.
///
/// # Safety
/// The same as of [`give`].
#[inline]
pub(crate) unsafe fn tell<T: Copy>(to: *mut T, value: T) {
    // SAFETY: required of the caller under `# Safety` above. The error for null is ignored on purpose.
    let _ = unsafe { give(to, value) };
}
