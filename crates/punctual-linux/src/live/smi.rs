//! How often the firmware stopped the machine: one model-specific register of Intel's, read and never written.

use super::files::{fact, line, open};
use punctual_facts::fact::Fact;
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;

/// The register's number, which is also its place in the device.
const SMI_COUNT: u64 = 0x34;

/// The register of the CPU whose device this is. Without the module `msr` there is no device, and without the register
/// (any CPU but Intel's) the kernel refuses to read there.
pub(super) fn count(device: &Path) -> Fact<Vec<u8>> {
    let register = std::fs::metadata(device).and_then(|meta| {
        // Asked at a place that means something for this kind of device only.
        if !meta.file_type().is_char_device() {
            return Err(io::Error::other("not the device of a CPU's registers"));
        }
        let mut register = [0; 8];
        open(device)?.read_exact_at(&mut register, SMI_COUNT)?;
        Ok(register)
    });
    match register {
        Err(e) if e.raw_os_error() == Some(libc::EIO) => Fact::Absent,
        // The upper half is reserved.
        register => fact(register).map(|register| line(u64::from_le_bytes(register) & u64::from(u32::MAX))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_device_is_no_fact() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(count(&folder.path().join("msr")), Fact::Absent);
        std::fs::write(folder.path().join("msr"), [0; 64]).unwrap();
        assert!(matches!(count(&folder.path().join("msr")), Fact::Garbled(_)));
    }
}
