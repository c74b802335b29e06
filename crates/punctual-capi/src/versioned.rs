//! Structures that are exchanged with C programs built with an older or newer header. Each begins with its size and
//! version, and either side may know more members than the other.
//!
//! Members come in groups of eight bytes, and none is ever moved or removed. So a shorter structure is the beginning of
//! a longer one.

use crate::error::{Code, Failure};
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;

/// A structure that begins with `uint32_t size; uint32_t version`.
///
/// # Safety
/// The type is `repr(C)`, begins with these two members, has no padding, and every bit pattern is a valid value.
pub(crate) unsafe trait Versioned: Copy {
    /// Name of the structure in C, for messages.
    const NAME: &'static str;
    /// The value with the defaults of all members.
    fn usual() -> Self;
}

/// The version of every structure so far. A structure gets a new version if the meaning of a member changes, not if
/// members are added.
pub(crate) const VERSION: u32 = 1;
const HEADER: usize = 8;
/// A structure that states a size larger than this is refused, because it was most likely not initialised.
const LARGEST: usize = 4096;

/// A structure with its header and otherwise zeros, which are the default of most members.
pub(crate) const fn zeroed<T: Versioned>() -> T {
    // SAFETY: `Versioned` guarantees that every bit pattern is a valid value.
    let mut value: T = unsafe { MaybeUninit::zeroed().assume_init() };
    let (size, version) = header::<T>();
    // SAFETY: `Versioned` guarantees that the structure begins with two `u32`.
    unsafe { (&raw mut value).cast::<[u32; 2]>().write([size, version]) };
    value
}

/// The first two members of a structure: its size in bytes, and the version.
pub(crate) const fn header<T>() -> (u32, u32) {
    assert!(size_of::<T>() <= LARGEST && size_of::<T>() % HEADER == 0);
    #[allow(clippy::cast_possible_truncation, reason = "at most LARGEST")]
    (size_of::<T>() as u32, VERSION)
}

fn checked(size: usize) -> Result<usize, Code> {
    match size {
        ..HEADER => Err(-libc::EINVAL),
        _ if size > LARGEST => Err(-libc::E2BIG),
        _ if size % HEADER != 0 => Err(-libc::EINVAL),
        _ => Ok(size),
    }
}

/// The size that a structure of the C caller states, if size and version are acceptable.
///
/// # Safety
/// `at` is null, or at least eight bytes can be read there.
#[inline]
unsafe fn stated<T: Versioned>(at: *const T) -> Result<usize, Code> {
    if at.is_null() {
        return Err(-libc::EFAULT);
    }
    // SAFETY: required of the caller under `# Safety` above; the read does not rely on alignment.
    let [size, version] = unsafe { at.cast::<[u32; 2]>().read_unaligned() };
    if version != VERSION {
        return Err(-libc::EINVAL);
    }
    checked(size as usize)
}

fn explained<T: Versioned>(code: Code) -> Failure {
    let (name, own) = (T::NAME, size_of::<T>());
    match code.saturating_neg() {
        libc::EFAULT => Failure::new(code, format!("{name} is NULL")),
        libc::E2BIG => Failure::new(
            code,
            format!("{name} says more than this version of the library knows (it knows {own} bytes); use a newer one"),
        ),
        _ => Failure::new(code, format!("{name} has no valid size and version; call {name}_init first")),
    }
}

/// Copies a structure of the C caller. Members that its version lacks get their defaults; members that this library
/// does not know must be zero.
///
/// # Safety
/// `from` is null, or points to as many bytes as it states.
pub(crate) unsafe fn take<T: Versioned>(from: *const T) -> Result<T, Failure> {
    // SAFETY: required of the caller under `# Safety` above.
    let size = unsafe { stated(from) }.map_err(explained::<T>)?;
    let mut value = T::usual();
    let known = size.min(size_of::<T>());
    // SAFETY: `known` bytes can be read there and written here, and any bits make a value.
    unsafe { ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut value).cast::<u8>(), known) };
    for offset in known..size {
        // SAFETY: within the size that the structure states.
        let byte = unsafe { from.cast::<u8>().wrapping_add(offset).read() };
        if byte != 0 {
            return Err(explained::<T>(-libc::E2BIG));
        }
    }
    Ok(value)
}

/// Copies `value` into the C caller's structure, as far as there is room. Members of the structure that this library
/// does not know become zero. The structure keeps its size and version.
///
/// # Safety
/// `to` is null, or points to as many bytes as it states.
#[inline]
pub(crate) unsafe fn give<T: Versioned>(to: *mut T, value: &T) -> Result<(), Code> {
    // SAFETY: required of the caller under `# Safety` above.
    let size = unsafe { stated(to) }?;
    // SAFETY: required of the caller under `# Safety` above; `size` was checked.
    unsafe { fill(to, value, size) };
    Ok(())
}

/// Checks that a structure of the C caller can be filled.
///
/// # Safety
/// As [`give`].
#[inline]
pub(crate) unsafe fn check<T: Versioned>(to: *mut T) -> Result<(), Code> {
    // SAFETY: required of the caller under `# Safety` above.
    unsafe { stated(to) }.map(drop)
}

/// Fills the structure as [`give`] does; the error says what is wrong with the structure.
///
/// # Safety
/// As [`give`].
pub(crate) unsafe fn give_or_tell<T: Versioned>(to: *mut T, value: &T) -> Result<(), Failure> {
    // SAFETY: required of the caller under `# Safety` above.
    unsafe { give(to, value) }.map_err(explained::<T>)
}

/// Initialises the C caller's structure of `size` bytes with the defaults.
///
/// # Safety
/// `to` is null, or points to `size` bytes.
pub(crate) unsafe fn init<T: Versioned>(to: *mut T, size: usize) -> Result<c_int, Failure> {
    if to.is_null() {
        return Err(explained::<T>(-libc::EFAULT));
    }
    let size = checked(size).map_err(explained::<T>)?;
    #[allow(clippy::cast_possible_truncation, reason = "at most LARGEST")]
    let header = [size as u32, VERSION];
    // SAFETY: `size` was checked to be at least the size of the header.
    unsafe { to.cast::<[u32; 2]>().write_unaligned(header) };
    // SAFETY: required of the caller under `# Safety` above.
    unsafe { fill(to, &T::usual(), size) };
    Ok(0)
}

/// Fills the structure after its header: with the members of `value` as far as there is room, then with zeros.
///
/// # Safety
/// `to` points to `size` bytes, at least a header.
#[inline]
unsafe fn fill<T: Versioned>(to: *mut T, value: &T, size: usize) {
    let known = size.min(size_of::<T>());
    let target = to.cast::<u8>().wrapping_add(HEADER);
    let source = ptr::from_ref(value).cast::<u8>().wrapping_add(HEADER);
    // SAFETY: the copied bytes lie within both structures.
    unsafe { ptr::copy_nonoverlapping(source, target, known.saturating_sub(HEADER)) };
    if size > known {
        // SAFETY: within the caller's structure.
        unsafe { to.cast::<u8>().wrapping_add(known).write_bytes(0, size.saturating_sub(known)) };
    }
}
