//! The kernel's messages of this boot, as text. They are the only source of what the kernel reports about its command
//! line.
//! Lines that programs wrote into the log are left out, because they prove nothing about the kernel and may contain
//! anything. Each line is `[seconds] text`, without its level.

use super::files::{Files, fact};
use crate::sys;
use punctual_facts::fact::Fact;
use std::time::{Duration, SystemTime};

/// The file in which distributions keep the kernel's boot messages.
const COPY: &str = "/var/log/dmesg";
/// The file in which `sos report` keeps the kernel's boot messages.
const OF_A_REPORT: &str = "/sos_commands/kernel/dmesg";

/// Reads the log of this machine. If that is refused, reads the copy if it is of this boot. For an unpacked system,
/// reads the copy.
pub(super) fn read(files: &Files) -> Fact<Vec<u8>> {
    if files.are_of_this_machine() {
        let is_of_this_boot = || {
            let written = std::fs::metadata(COPY).and_then(|meta| meta.modified());
            let booted = SystemTime::now().checked_sub(Duration::from_nanos(punctual_rt::kernel::boot_time()));
            written.is_ok_and(|written| booted.is_some_and(|booted| written >= booted))
        };
        let copy = || if is_of_this_boot() { copy(files, COPY) } else { Fact::Absent };
        fact(sys::kernel_log()).map(|log| of_the_kernel(&log)).or_else(copy)
    } else {
        copy(files, OF_A_REPORT).or_else(|| copy(files, COPY))
    }
}

/// The log in this file, if it holds the command line of the boot.
fn copy(files: &Files, path: &str) -> Fact<Vec<u8>> {
    let cmdline = files.file("/proc/cmdline");
    files.file(path).and_then(|log| {
        let is_ours = cmdline.known().is_some_and(|line| has_cmdline(&log, &String::from_utf8_lossy(line)));
        if is_ours { Fact::Known(log) } else { Fact::Absent }
    })
}

fn has_cmdline(log: &[u8], cmdline: &str) -> bool {
    let log = String::from_utf8_lossy(log);
    log.lines().filter_map(|line| line.split_once("ommand line: ")).any(|(_, said)| said.trim() == cmdline.trim())
}

/// Keeps lines of the kernel's facility, which programs cannot use. A line without a level continues the previous one.
fn of_the_kernel(log: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(log.len());
    let mut is_kernel = true;
    for line in log.split_inclusive(|b| *b == b'\n') {
        let text = match prefix(line) {
            Some((number, rest)) => {
                is_kernel = number >> 3 == 0;
                rest
            }
            None => line,
        };
        if is_kernel {
            kept.extend_from_slice(text);
        }
    }
    kept
}

/// Splits a line such as `<6>text` into the number and the text.
fn prefix(line: &[u8]) -> Option<(u32, &[u8])> {
    let rest = line.strip_prefix(b"<")?;
    let end = rest.iter().take(4).position(|b| *b == b'>')?;
    let number = std::str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
    Some((number, &rest[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_wrote_is_left_out() {
        let log = b"<6>[ 0.0] Linux version\nand more\n<30>[ 1.0] systemd[1]: Hostname set to <x>\nmore of it\n<4>[ 2.0] odd <5> line\n";
        assert_eq!(of_the_kernel(log), b"[ 0.0] Linux version\nand more\n[ 2.0] odd <5> line\n");
        assert_eq!(of_the_kernel(b"<x>no level\n<"), b"<x>no level\n<");
    }

    proptest::proptest! {
        #[test]
        fn no_log_makes_it_panic(log in "(<[0-9]{0,3}>?|\\[|\\n|\\PC){0,20}") {
            proptest::prop_assert!(of_the_kernel(log.as_bytes()).len() <= log.len());
        }
    }

    #[test]
    fn a_copy_is_known_by_its_command_line() {
        let log = b"[ 0.0] Kernel command line: ro quiet \n";
        assert!(has_cmdline(log, "ro quiet\n"));
        assert!(!has_cmdline(log, "ro\n"));
    }
}
