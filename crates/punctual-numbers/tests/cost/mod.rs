//! Measures the time and the memory that this process takes, for tests that print figures.

use punctual_numbers::recording::{Recording, RecordingReader};
use std::path::Path;

/// Processor time of this process so far, in seconds. Unlike elapsed time, it does not include other work on the
/// machine.
pub fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks = |n: usize| fields[n].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) / 100.0
}

/// The largest amount of memory in use at any time since [`forget_peak`], in kilobytes.
pub fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM")).unwrap();
    line.trim_matches([':', '\t', ' ', 'k', 'B']).parse().unwrap()
}

/// Resets the peak of memory use that [`peak_kb`] returns.
pub fn forget_peak() {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
}

/// Reads a recording in pieces, as the program does.
pub fn read(path: &Path) -> Recording {
    let mut reader = RecordingReader::new();
    let mut file = std::fs::File::open(path).unwrap();
    let mut piece = vec![0; 1 << 16];
    loop {
        let n = std::io::Read::read(&mut file, &mut piece).unwrap();
        if n == 0 {
            return reader.finish().unwrap();
        }
        reader.feed(&piece[..n]).unwrap();
    }
}
