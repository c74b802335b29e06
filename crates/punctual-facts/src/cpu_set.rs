//! Sets of CPU numbers, in the kernel's list notation.

use std::collections::BTreeSet;
use std::fmt;

/// A number at or above this limit is a typing error and not a CPU, since no machine has 8192 CPUs.
pub const CPU_LIMIT: u32 = 8192;

/// A set of CPU numbers. It is displayed in list notation: `0-3,8`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String", inline, description = ""))]
pub struct CpuSet(BTreeSet<u32>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{part}' in a CPU list: {reason}")]
pub struct CpuListError {
    pub part: String,
    pub reason: &'static str,
}

impl serde::Serialize for CpuSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl CpuSet {
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses plain list notation (`0-3,8`), as the kernel prints it in sysfs. The empty text is the empty set.
    pub fn parse_list(text: &str) -> Result<Self, CpuListError> {
        let mut set = BTreeSet::new();
        for part in text.trim().split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let fail = |reason| CpuListError { part: part.to_owned(), reason };
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |t: &str| t.trim().parse::<u32>().map_err(|_| fail("not a CPU number"));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(fail("the range runs backwards"));
            }
            if last >= CPU_LIMIT {
                return Err(fail("no machine has a CPU of that number"));
            }
            set.extend(first..=last);
        }
        Ok(Self(set))
    }

    /// Parses a list as the kernel does on its command line, where more is allowed than sysfs prints: `N` is the last
    /// CPU, `all` means all CPUs, and `0-31:2/4` means the first two of every four. `cpus` is the number of CPUs that
    /// can exist. The kernel refuses the whole list if it contains a higher number.
    pub fn parse_kernel(text: &str, cpus: u32) -> Result<Self, CpuListError> {
        let cpus = cpus.clamp(1, CPU_LIMIT);
        let mut rest = text.split('\n').next().unwrap_or_default().as_bytes();
        let mut set = BTreeSet::new();
        loop {
            while rest.first().is_some_and(|b| is_separator(*b)) {
                rest = &rest[1..];
            }
            if rest.is_empty() {
                return Ok(Self(set));
            }
            let end = rest.iter().position(|b| is_separator(*b)).unwrap_or(rest.len());
            let part = || String::from_utf8_lossy(&rest[..end]).into_owned();
            let (region, after) = Region::parse(rest, cpus).map_err(|reason| CpuListError { part: part(), reason })?;
            region.check(cpus).map_err(|reason| CpuListError { part: part(), reason })?;
            set.extend((region.first..=region.last).filter(|cpu| (cpu - region.first) % region.group < region.used));
            rest = after;
        }
    }

    /// Parses a hex mask of the kernel, as in `smp_affinity`: groups of 32 bits, the highest first. `f,00000003` means
    /// CPUs 0-1 and 32-35.
    pub fn parse_mask(text: &str) -> Result<Self, CpuListError> {
        let text = text.trim();
        let text = text.strip_prefix("0x").unwrap_or(text);
        let groups: Vec<&str> = text.split(',').collect();
        let fail = |part: &str, reason| CpuListError { part: part.to_owned(), reason };
        let mut set = BTreeSet::new();
        for (group, base) in groups.iter().rev().zip((0..CPU_LIMIT).step_by(32)) {
            // Every group except the first must have all its digits, because a shorter group would shift the bits of
            // the groups before it.
            let width = if groups.len() == 1 { 1..=16 } else { 1..=8 };
            if !width.contains(&group.len()) || !group.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(fail(group, "not a group of a CPU mask"));
            }
            let bits = u64::from_str_radix(group, 16).map_err(|_| fail(group, "not a group of a CPU mask"))?;
            set.extend((0..64).filter(|bit| bits & (1 << bit) != 0).map(|bit| base + bit));
        }
        if groups.len() > (CPU_LIMIT / 32) as usize {
            return Err(fail(groups[0], "no machine has a CPU of that number"));
        }
        Ok(Self(set))
    }

    /// The set as a hex mask of the kernel, the inverse of [`parse_mask`](Self::parse_mask).
    pub fn mask(&self) -> String {
        let groups = self.0.last().map_or(1, |last| last / 32 + 1);
        let word = |group: u32| (0..32).filter(|bit| self.contains(group * 32 + bit)).fold(0u32, |w, bit| w | 1 << bit);
        let rest = (0..groups - 1).rev().map(|group| format!(",{:08x}", word(group)));
        format!("{:x}{}", word(groups - 1), rest.collect::<String>())
    }

    pub fn first(&self) -> Option<u32> {
        self.0.first().copied()
    }

    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    pub fn insert(&mut self, cpu: u32) {
        self.0.insert(cpu);
    }

    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).copied().collect())
    }

    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }

    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }
}

/// One part of a list on the kernel's command line: from `first` to `last`, the first `used` CPUs of every `group`
/// CPUs.
struct Region {
    first: u32,
    last: u32,
    used: u32,
    group: u32,
}

impl Region {
    /// Parses the first region of `text` and returns it with the rest, like `bitmap_parse_region` in the kernel's
    /// `lib/bitmap-str.c`.
    fn parse(text: &[u8], cpus: u32) -> Result<(Self, &[u8]), &'static str> {
        let at_end = |text: &[u8]| text.first().is_none_or(|b| is_separator(*b));
        let all = text.get(..3).is_some_and(|word| word.eq_ignore_ascii_case(b"all"));
        let (first, last, rest) = if all {
            (0, cpus - 1, &text[3..])
        } else {
            let (first, rest) = kernel_number(text, cpus)?;
            if at_end(rest) {
                return Ok((Self { first, last: first, used: u32::MAX, group: u32::MAX }, rest));
            }
            let rest = rest.strip_prefix(b"-").ok_or("neither a CPU number nor a range")?;
            let (last, rest) = kernel_number(rest, cpus)?;
            (first, last, rest)
        };
        if at_end(rest) {
            return Ok((Self { first, last, used: u32::MAX, group: u32::MAX }, rest));
        }
        let rest = rest.strip_prefix(b":").ok_or("the text after the range is not a pattern such as :2/4")?;
        let (used, rest) = kernel_number(rest, cpus)?;
        let rest = rest.strip_prefix(b"/").ok_or("a pattern has the form USED/GROUP, as in 0-31:2/4")?;
        let (group, rest) = kernel_number(rest, cpus)?;
        Ok((Self { first, last, used, group }, rest))
    }

    fn check(&self, cpus: u32) -> Result<(), &'static str> {
        if self.first > self.last {
            return Err("the range runs backwards");
        }
        if self.group == 0 || self.used > self.group {
            return Err("the pattern uses more CPUs of each group than a group has");
        }
        if self.last >= cpus {
            return Err("the number is higher than that of the last CPU");
        }
        Ok(())
    }
}

/// Whether the kernel takes a byte for a separator in a list.
fn is_separator(byte: u8) -> bool {
    matches!(byte, b',' | b' ' | b'\t'..=b'\r' | 0xa0)
}

fn kernel_number(text: &[u8], cpus: u32) -> Result<(u32, &[u8]), &'static str> {
    if let Some(rest) = text.strip_prefix(b"N") {
        return Ok((cpus - 1, rest));
    }
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let (number, rest) = text.split_at(digits);
    if number.is_empty() {
        return Err("not a CPU number");
    }
    let push = |n: u32, digit: &u8| n.checked_mul(10)?.checked_add(u32::from(digit - b'0'));
    let number = number.iter().try_fold(0u32, push).ok_or("the number is higher than that of the last CPU")?;
    Ok((number, rest))
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.0.iter().copied().peekable();
        let mut comma = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if(|n| *n == last + 1) {
                last = next;
            }
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
            comma = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_the_kernel_prints_and_refuses_nonsense() {
        assert_eq!(CpuSet::parse_list("0-2,5\n").unwrap().iter().collect::<Vec<_>>(), [0, 1, 2, 5]);
        assert!(CpuSet::parse_list("\n").unwrap().is_empty());
        for text in ["x", "3-1", "1-", "-1", "99999", "0-4294967295"] {
            assert!(CpuSet::parse_list(text).is_err(), "{text}");
        }
    }

    #[test]
    fn reads_hex_masks() {
        let list = |mask| CpuSet::parse_mask(mask).map(|s| s.to_string());
        assert_eq!(list("3\n").unwrap(), "0-1");
        assert_eq!(list("0000000f,00000003").unwrap(), "0-1,32-35");
        assert_eq!(list("0").unwrap(), "");
        assert_eq!(list("ffffffffff").unwrap(), "0-39");
        for nonsense in ["", "g", "+3", "1,", ",1", "1,fffffffff", "11111111111111111"] {
            assert!(list(nonsense).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn reads_lists_as_the_kernel_does() {
        let list = |text| CpuSet::parse_kernel(text, 8).map(|s| s.to_string());
        for (text, expected) in [
            ("2,3", "2-3"),
            ("N", "7"),
            ("4-N", "4-7"),
            ("all", "0-7"),
            ("ALL:1/2", "0,2,4,6"),
            ("0-7:2/4", "0-1,4-5"),
            ("0-6:3/4", "0-2,4-6"),
            ("0-7:0/4", ""),
            (" ,1,, 3,", "1,3"),
            ("", ""),
            ("1\n9", "1"),
            // The kernel requires no separator after a pattern, so another region may follow directly.
            ("0-3:1/2N", "0,2,7"),
        ] {
            assert_eq!(list(text).as_deref(), Ok(expected), "{text}");
        }
        let refused = "n 2-3n 8 0-8 3-1 x 1- -1 0x1 0-3: 0-3:1 0-3:1/0 0-3:3/2 1:1/2 allx 4294967296 \
            99999999999999999999 2;3 !2";
        for text in refused.split(' ') {
            assert!(list(text).is_err(), "{text}");
        }
    }

    /// The kernel's grammar in a second implementation, which splits the text first and then matches each part.
    fn naive(text: &str, cpus: u32) -> Option<BTreeSet<u32>> {
        let number = |t: &str| match t {
            "N" => Some(cpus - 1),
            t if !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit()) => t.parse().ok(),
            _ => None,
        };
        let mut set = BTreeSet::new();
        for part in text.split([',', ' ']).filter(|p| !p.is_empty()) {
            let (range, pattern) = part.split_once(':').map_or((part, None), |(r, p)| (r, Some(p)));
            let (first, last) = match range.split_once('-') {
                _ if range.eq_ignore_ascii_case("all") => (0, cpus - 1),
                Some((a, b)) => (number(a)?, number(b)?),
                None if pattern.is_some() => return None,
                None => (number(range)?, number(range)?),
            };
            let (used, group) = match pattern {
                Some(p) => p.split_once('/').and_then(|(a, b)| Some((number(a)?, number(b)?)))?,
                None => (1, 1),
            };
            if first > last || last >= cpus || group == 0 || used > group {
                return None;
            }
            set.extend((first..=last).filter(|cpu| (cpu - first) % group < used));
        }
        Some(set)
    }

    proptest! {
        #[test]
        fn the_kernels_lists_agree_with_a_naive_reading(text in "([0-9]|1[0-9]|N|all|-|:|/|,| |x){0,12}", cpus in 1u32..40) {
            // Lists without a separator after a pattern are left out, because this implementation needs it. The
            // examples above test them.
            let glued = text.split([',', ' ']).any(|p| p.split_once('/').is_some_and(|(_, rest)| rest.contains(['N', 'a', '-', ':', '/'])));
            prop_assume!(!glued);
            prop_assert_eq!(CpuSet::parse_kernel(&text, cpus).ok().map(|s| s.0), naive(&text, cpus));
        }

        #[test]
        fn print_then_parse_is_identity(cpus in prop::collection::btree_set(0u32..300, 0..40)) {
            let set: CpuSet = cpus.into_iter().collect();
            prop_assert_eq!(&CpuSet::parse_kernel(&set.to_string(), 300).unwrap(), &set);
            prop_assert_eq!(&CpuSet::parse_list(&set.to_string()).unwrap(), &set);
            prop_assert_eq!(CpuSet::parse_mask(&set.mask()).unwrap(), set);
        }
    }
}
