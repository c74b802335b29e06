//! Texts and results across the boundary: what C hands over is looked at before it is believed.

use crate::error::{Code, Failure, PRT_E_TEXT};
use std::ffi::{c_char, c_int};

/// A text of the caller's, at most `max` bytes; `None` for null.
///
/// # Safety
/// `at` is null, or can be read up to its NUL or `max + 1` bytes, and does not change meanwhile.
pub(crate) unsafe fn optional<'a>(at: *const c_char, max: usize, name: &str) -> Result<Option<&'a str>, Failure> {
    if at.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller says.
    let length = unsafe { libc::strnlen(at, max.saturating_add(1)) };
    if length > max {
        return Err(Failure::new(PRT_E_TEXT, format!("{name} is longer than {max} bytes")));
    }
    // SAFETY: `strnlen` has just read these bytes.
    let bytes = unsafe { std::slice::from_raw_parts(at.cast::<u8>(), length) };
    let text = std::str::from_utf8(bytes).map_err(|_| Failure::new(PRT_E_TEXT, format!("{name} is not UTF-8")))?;
    Ok(Some(text))
}

/// As [`optional`], where null is refused.
///
/// # Safety
/// As [`optional`].
pub(crate) unsafe fn required<'a>(at: *const c_char, max: usize, name: &str) -> Result<&'a str, Failure> {
    // SAFETY: as the caller says.
    unsafe { optional(at, max, name) }?.ok_or_else(|| Failure::new(-libc::EFAULT, format!("{name} is NULL")))
}

/// Puts what `make` makes where the caller wants it; makes nothing when that is nowhere.
///
/// # Safety
/// `to` is null, or can be written.
pub(crate) unsafe fn put<T>(to: *mut T, make: impl FnOnce() -> Result<T, Failure>) -> Result<(), Failure> {
    if to.is_null() {
        return Err((-libc::EFAULT).into());
    }
    let value = make()?;
    // SAFETY: as the caller says.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Copies a text into the caller's buffer, cut to its size and ended with NUL; returns the length of the whole text.
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

/// Puts a number where the loop wants it.
///
/// # Safety
/// `to` is null, or can be written.
#[inline]
pub(crate) unsafe fn give<T: Copy>(to: *mut T, value: T) -> Result<(), Code> {
    if to.is_null() {
        return Err(-libc::EFAULT);
    }
    // SAFETY: as the caller says.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Puts a number where the loop may want it.
///
/// # Safety
/// As [`give`].
#[inline]
pub(crate) unsafe fn tell<T: Copy>(to: *mut T, value: T) {
    // SAFETY: as the caller says. Null says that it is not wanted.
    let _ = unsafe { give(to, value) };
}
