//! Limits on the memory for the trace.

use std::fs;

/// Size of a buffer if there is enough memory. It has room for 400,000 task switches of 72 bytes, the longest of the
/// usual records: 0.4 s at a million switches per second. The buffers are read every 10 ms.
const BUFFER_BYTES: u64 = 32 << 20;
/// The trace may use this fraction (one part in 16) of the available memory, for the kernel's buffers and for data
/// already read.
const PART_OF_MEMORY: u64 = 16;
/// Data already read is limited to this many times the size of the kernel's buffer.
pub const READ_PART: u64 = 2;
/// Buffers of a requested size may use this fraction (one part in 4) of the available memory.
const PART_IF_ASKED: u64 = 4;
/// Smallest buffer that a user may request. Smaller ones would hold too little.
pub const BUFFER_BYTES_MIN: u64 = 64 << 10;

/// Bytes per buffer for `cpus` measured CPUs, if [`READ_PART`] times as many bytes of read data are held and other
/// buffers take `beside` bytes.
pub fn default_bytes(cpus: u64, beside: u64) -> u64 {
    granted(available(), cpus, beside)
}

/// Limit on the size of each CPU's buffer that a user may request. Without a limit, the kernel would grant all memory
/// of the machine. `None` if the free memory is unknown.
pub fn largest_buffer(cpus: u64) -> Option<u64> {
    available().map(|available| available / PART_IF_ASKED / cpus.max(1))
}

fn available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()?.saturating_mul(1024))
}

fn granted(available: Option<u64>, cpus: u64, beside: u64) -> u64 {
    let Some(available) = available else { return BUFFER_BYTES };
    let all = (available / PART_OF_MEMORY / (1 + READ_PART)).saturating_sub(beside);
    (all / cpus.max(1)).min(BUFFER_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_held_is_a_part_of_the_memory() {
        let gib = 1 << 30;
        assert_eq!(granted(Some(64 * gib), 4, 1 << 24), BUFFER_BYTES);
        for (available, cpus, beside) in [(gib, 2, 1 << 19), (gib, 1, 0), (8 * gib, 64, 48 << 20)] {
            let each = granted(Some(available), cpus, beside);
            let held = (cpus * each + beside) * (1 + READ_PART);
            assert!(each > 64 << 10 && held <= available / PART_OF_MEMORY, "{held} of {available}");
        }
        assert_eq!(granted(Some(0), 1, 1), 0);
        assert_eq!(granted(None, 1, 1), BUFFER_BYTES);
    }
}
