//! Sets of CPU numbers, in the kernel's list notation.

use std::collections::BTreeSet;
use std::fmt;

/// No machine has this many; a number at or above it is a typing error, not a CPU.
pub const CPU_LIMIT: u32 = 8192;

/// A set of CPU numbers. Prints in list notation: `0-3,8`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuSet(BTreeSet<u32>);

/// Why a CPU list could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuListError {
    /// The part that was not understood.
    pub part: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl fmt::Display for CpuListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' in a CPU list: {}", self.part, self.reason)
    }
}

impl std::error::Error for CpuListError {}

impl CpuSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads plain list notation (`0-3,8`), as the kernel prints it in sysfs. The empty text is the empty set.
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
                return Err(fail("no machine has that many CPUs"));
            }
            set.extend(first..=last);
        }
        Ok(Self(set))
    }

    /// Reads the kernel's hex masks, as in `smp_affinity`: groups of 32 bits, the highest first. `f,00000003` is
    /// 0-1 and 32-35.
    pub fn parse_mask(text: &str) -> Result<Self, CpuListError> {
        let text = text.trim();
        let text = text.strip_prefix("0x").unwrap_or(text);
        let groups: Vec<&str> = text.split(',').collect();
        let fail = |part: &str, reason| CpuListError { part: part.to_owned(), reason };
        let mut set = BTreeSet::new();
        for (group, base) in groups.iter().rev().zip((0..CPU_LIMIT).step_by(32)) {
            // Every group but the first has to be complete, or the bits of the ones before it would be displaced.
            let width = if groups.len() == 1 { 1..=16 } else { 1..=8 };
            if !width.contains(&group.len()) || !group.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(fail(group, "not a group of a CPU mask"));
            }
            let bits = u64::from_str_radix(group, 16).map_err(|_| fail(group, "not a group of a CPU mask"))?;
            set.extend((0..64).filter(|bit| bits & (1 << bit) != 0).map(|bit| base + bit));
        }
        if groups.len() > (CPU_LIMIT / 32) as usize {
            return Err(fail(groups[0], "no machine has that many CPUs"));
        }
        Ok(Self(set))
    }

    /// The set as the kernel's hex mask, as `smp_affinity` takes it.
    pub fn mask(&self) -> String {
        let groups = self.0.last().map_or(1, |last| last / 32 + 1);
        let word = |group: u32| (0..32).filter(|bit| self.contains(group * 32 + bit)).fold(0u32, |w, bit| w | 1 << bit);
        let rest = (0..groups - 1).rev().map(|group| format!(",{:08x}", word(group)));
        format!("{:x}{}", word(groups - 1), rest.collect::<String>())
    }

    /// The lowest CPU.
    pub fn first(&self) -> Option<u32> {
        self.0.first().copied()
    }

    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// How many CPUs the set holds.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// Adds a CPU.
    pub fn insert(&mut self, cpu: u32) {
        self.0.insert(cpu);
    }

    /// CPUs in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).copied().collect())
    }

    /// CPUs in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    /// CPUs in this set but not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }

    /// Whether every CPU of this set is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }
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
    fn reads_what_the_kernel_prints() {
        assert_eq!(CpuSet::parse_list("0-2,5\n").unwrap().iter().collect::<Vec<_>>(), [0, 1, 2, 5]);
        assert!(CpuSet::parse_list("\n").unwrap().is_empty());
    }

    #[test]
    fn refuses_nonsense() {
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

    proptest! {
        #[test]
        fn mask_then_parse_is_identity(cpus in prop::collection::btree_set(0u32..300, 0..40)) {
            let set: CpuSet = cpus.into_iter().collect();
            prop_assert_eq!(CpuSet::parse_mask(&set.mask()).unwrap(), set);
        }

        #[test]
        fn print_then_parse_is_identity(cpus in prop::collection::btree_set(0u32..300, 0..40)) {
            let set: CpuSet = cpus.into_iter().collect();
            prop_assert_eq!(CpuSet::parse_list(&set.to_string()).unwrap(), set);
        }
    }
}
