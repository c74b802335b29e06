//! Counts the interrupts of the firmware (SMIs), from a model-specific register of Intel CPUs, which is only read.

use super::files::{fact, line, open};
use punctual_facts::fact::Fact;
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;

/// The number of the register, which is also its offset in the device file.
const SMI_COUNT: u64 = 0x34;

/// Reads the register of the CPU with this device file. The device file exists only if the module `msr` is loaded. On
/// CPUs of other makers, which lack the register, the read fails.
pub(super) fn count(device: &Path) -> Fact<Vec<u8>> {
    let register = std::fs::metadata(device).and_then(|meta| {
        // Only in a character device is the offset the number of a register.
        if !meta.file_type().is_char_device() {
            return Err(io::Error::other("not the device of a CPU's registers"));
        }
        let mut register = [0; 8];
        open(device)?.read_exact_at(&mut register, SMI_COUNT)?;
        Ok(register)
    });
    match register {
        Err(e) if e.raw_os_error() == Some(libc::EIO) => Fact::Absent,
        // The upper half of the register is reserved.
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
