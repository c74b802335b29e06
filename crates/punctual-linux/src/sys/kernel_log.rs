//! The kernel's message buffer. Reading `/dev/kmsg` would need one call per line.

use std::io;

const READ_ALL: libc::c_int = 3;
const SIZE: libc::c_int = 10;
/// If the buffer is larger, only the newest messages are read.
const MOST_BYTES: usize = 1 << 20;

/// The messages in the buffer, each with its level in front.
pub fn kernel_log() -> io::Result<Vec<u8>> {
    // SAFETY: this action takes no buffer.
    let size = unsafe { libc::klogctl(SIZE, std::ptr::null_mut(), 0) };
    let size = usize::try_from(size).map_err(|_| io::Error::last_os_error())?;
    let mut bytes = vec![0_u8; size.clamp(1, MOST_BYTES)];
    let length = libc::c_int::try_from(bytes.len()).map_err(io::Error::other)?;
    // SAFETY: the kernel writes at most `length` bytes, which the buffer has.
    let written = unsafe { libc::klogctl(READ_ALL, bytes.as_mut_ptr().cast(), length) };
    let written = usize::try_from(written).map_err(|_| io::Error::last_os_error())?;
    bytes.truncate(written);
    Ok(bytes)
}
