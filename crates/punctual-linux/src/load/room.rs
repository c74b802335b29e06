//! How much memory and disk space a load may use: enough to have an effect, but so that the machine recovers
//! afterwards.

pub(super) const MIB: usize = 1024 * 1024;

/// Bytes of memory per worker: 256 MiB, but at most a sixteenth of the machine's memory each, and at most a quarter of
/// the free memory for all workers together. Always a multiple of 2 MiB, and at least 2 MiB.
pub(super) fn memory_bytes(workers: usize) -> usize {
    let total = meminfo_bytes("MemTotal:").unwrap_or(0);
    let free = [meminfo_bytes("MemAvailable:"), cgroup_bytes()].into_iter().flatten().min().unwrap_or(total);
    share(total, free, workers)
}

fn share(total: u64, free: u64, workers: usize) -> usize {
    let workers = u64::try_from(workers.max(1)).unwrap_or(u64::MAX);
    let bytes = (256 << 20).min(total / 16).min(free / 4 / workers);
    (usize::try_from(bytes).unwrap_or(0) / (2 * MIB)).max(1) * 2 * MIB
}

fn meminfo_bytes(field: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Memory that the cgroup of this process still allows; `None` if there is no limit.
fn cgroup_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let read = |file| {
        let path = std::path::Path::new("/sys/fs/cgroup").join(group).join(file);
        std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok()
    };
    Some(read("memory.max")?.saturating_sub(read("memory.current")?))
}

/// Bytes of memory per worker for a load that makes memory short: together half of what is available.
pub(super) fn half_of_available(workers: usize) -> usize {
    let available = [meminfo_bytes("MemAvailable:"), cgroup_bytes()].into_iter().flatten().min().unwrap_or(0);
    let workers = u64::try_from(workers.max(1)).unwrap_or(u64::MAX);
    usize::try_from(available / 2 / workers).unwrap_or(usize::MAX)
}

/// Number of pages that the kernel has looked at since boot for some to take back; `None` if it does not tell.
pub fn pages_scanned() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/vmstat").ok()?;
    let scanned = text.lines().filter_map(|line| line.split_once(' ')).filter_map(|(name, count)| {
        ["pgscan_kswapd", "pgscan_direct", "pgscan_khugepaged"].contains(&name).then(|| count.parse::<u64>().ok())?
    });
    scanned.reduce(u64::saturating_add)
}

/// Size of the largest cache of this CPU, or 32 MiB if the kernel does not tell.
pub(super) fn last_cache_bytes(cpu: u32) -> usize {
    let sizes = (0..8).filter_map(|index| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}/size");
        cache_bytes(std::fs::read_to_string(path).ok()?.trim())
    });
    sizes.max().unwrap_or(32 * MIB)
}

fn cache_bytes(text: &str) -> Option<usize> {
    let (number, unit) = text.split_at_checked(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))?;
    let unit = match unit {
        "" => 1,
        "K" => 1024,
        "M" => MIB,
        "G" => 1024 * MIB,
        _ => return None,
    };
    number.parse::<usize>().ok()?.checked_mul(unit).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_stay_within_their_bounds() {
        assert_eq!(share(64 << 30, 60 << 30, 2), 256 * MIB);
        assert_eq!(share(512 << 20, 400 << 20, 1), 32 * MIB);
        assert_eq!(share(64 << 30, 64 << 30, 128), 128 * MIB);
        assert_eq!(share(1 << 20, 0, 4), 2 * MIB);
    }

    #[test]
    fn cache_sizes_are_understood() {
        assert_eq!(cache_bytes("491520K"), Some(480 * MIB));
        assert_eq!(cache_bytes("8M"), Some(8 * MIB));
        for text in ["", "K", "0K", "1X", "99999999999999999999K"] {
            assert_eq!(cache_bytes(text), None, "{text}");
        }
    }
}
