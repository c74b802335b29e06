//! What the device of the EVL core tells about the core.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The query for `CoreInfo`: `_IOR('C', 0, 24)`.
const CORE_INFO: libc::c_ulong = 0x8018_4300;

/// The kernel's `evl_core_info`.
#[repr(C)]
#[derive(Default)]
struct CoreInfo {
    abi_base: u32,
    abi_current: u32,
    fpu_features: u32,
    shm_bytes: u64,
}

/// The oldest revision of its interface that the core serves. The device must be `/dev/evl/control`.
pub fn abi_base(control: &File) -> io::Result<u32> {
    let mut info = CoreInfo::default();
    // SAFETY: the kernel writes at most the 24 bytes that the number of the query states, and `info` has them. Other
    // devices and cores with another structure do not know the number and write nothing.
    let done = unsafe { libc::syscall(libc::SYS_ioctl, control.as_raw_fd(), CORE_INFO, &raw mut info) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(info.abi_base) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_has_the_size_in_the_number_of_the_query() {
        assert_eq!(size_of::<CoreInfo>() as libc::c_ulong, CORE_INFO >> 16 & 0x3fff);
    }

    #[test]
    fn what_is_not_the_core_does_not_answer() {
        let null = File::open("/dev/null").unwrap();
        assert_eq!(abi_base(&null).unwrap_err().raw_os_error(), Some(libc::ENOTTY));
    }
}
