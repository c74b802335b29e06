//! CPU lists as people write them on the command line: the kernel's notation in full.

use crate::cpu_set::{CPU_LIMIT, CpuSet};

/// Reads `0-3,8`, `2-N`, `all`, `0-31:2/4`; `N` is the last of `possible`. What the kernel would refuse is an error.
pub(super) fn read(text: &str, possible: &CpuSet) -> Result<CpuSet, String> {
    let last = possible.iter().last();
    let number = |text: &str| match text {
        "N" => last.ok_or_else(|| "how many CPUs N stands for is not known".to_owned()),
        digits => digits.parse::<u32>().map_err(|_| format!("'{digits}' is no CPU number")),
    };
    let mut set = CpuSet::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (range, group) = part.split_once(':').map_or((part, None), |(range, group)| (range, Some(group)));
        let (start, end) = match range.split_once('-') {
            _ if range == "all" => (0, number("N")?),
            Some((start, end)) => (number(start)?, number(end)?),
            None => (number(range)?, number(range)?),
        };
        let (used, length) = match group.map(|group| group.split_once('/')) {
            None => (1, 1),
            Some(Some((used, length))) => (number(used)?, number(length)?),
            Some(None) => return Err(format!("'{part}' names no group")),
        };
        if start > end || end >= CPU_LIMIT || used > length || length == 0 {
            return Err(format!("'{part}' is no range of CPUs"));
        }
        (start..=end).filter(|cpu| (cpu - start) % length < used).for_each(|cpu| set.insert(cpu));
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::cpu_set::CpuSet;

    #[test]
    fn reads_what_the_kernel_reads() {
        let possible = CpuSet::parse_list("0-7").unwrap();
        let list = |text: &str| read(text, &possible).map(|set| set.to_string());
        assert_eq!(list("2-N").unwrap(), "2-7");
        assert_eq!(list("all").unwrap(), "0-7");
        assert_eq!(list("0-7:1/4,3").unwrap(), "0,3-4");
        assert_eq!(list("N").unwrap(), "7");
        assert_eq!(list("").unwrap(), "");
        for nonsense in ["x", "3-2", "0-7:3/2", "0-7:1", "0-7:1/0", "0-99999", "2-3n"] {
            assert!(list(nonsense).is_err(), "{nonsense}");
        }
        assert!(read("2-N", &CpuSet::new()).is_err());
    }
}
