//! Words of the command line that state the CPUs of a second kernel beside Linux. Cobalt takes a mask of CPUs, EVL a
//! list.

use punctual_facts::cpu_set::CpuSet;
use punctual_facts::machine::{BOOT_CPU, Version};

/// The number of CPUs in Cobalt's mask, which is an unsigned long.
const MASK_BITS: u32 = 64;
/// From this version on, Cobalt switches itself off if the mask lacks CPU 0 (commit 5ac4984a6 of July 2021).
const NEEDS_BOOT_CPU: Version = Version::new(3, 2);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DualKernelWords {
    pub words: Vec<String>,
    /// Notes for the user about the words, one sentence each.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DualKernelRefusal {
    #[error("no CPUs were named")]
    NoCpus,
    #[error(
        "CPUs {cpus} cannot be named: xenomai.supported_cpus is a mask of {MASK_BITS} bits; choose CPUs below {MASK_BITS}"
    )]
    BeyondMask { cpus: CpuSet },
    #[error("Xenomai {version} is not known here: these words are of Xenomai 3 with the Cobalt core (3.0 to 3.3)")]
    UnknownVersion { version: Version },
}

/// The words that give these CPUs to Cobalt, for this version of Xenomai.
pub fn xenomai_words(version: Version, cpus: &CpuSet) -> Result<DualKernelWords, DualKernelRefusal> {
    if version.major != 3 {
        return Err(DualKernelRefusal::UnknownVersion { version });
    }
    if cpus.is_empty() {
        return Err(DualKernelRefusal::NoCpus);
    }
    let beyond: CpuSet = cpus.iter().filter(|cpu| *cpu >= MASK_BITS).collect();
    if !beyond.is_empty() {
        return Err(DualKernelRefusal::BeyondMask { cpus: beyond });
    }
    let bits = |cpus: &CpuSet| cpus.iter().fold(0u64, |bits, cpu| bits | 1 << cpu);
    let supported = cpus.union(&[BOOT_CPU].into_iter().collect());
    let mut notes = vec![format!("A mask, not a list: {:#x} is CPUs {supported}.", bits(&supported))];
    if !cpus.contains(BOOT_CPU) {
        notes.push(if version >= NEEDS_BOOT_CPU {
            "CPU 0 is in it because Cobalt logs 'CPU 0 is missing' and switches itself off without (since 3.2)."
                .to_owned()
        } else {
            "CPU 0 is in it because Cobalt relies on it in places; this version does not check, later ones refuse to \
             start without."
                .to_owned()
        });
    }
    // The kernel reads /proc/xenomai/affinity as a signed number, so a mask with the highest bit cannot be written there.
    if !cpus.contains(BOOT_CPU) && bits(cpus) >> (MASK_BITS - 1) == 0 {
        notes.push(format!(
            "Threads are kept off CPU 0 by writing {:#x} to /proc/xenomai/affinity at boot, before the first is made.",
            bits(cpus)
        ));
    }
    let words = vec![format!("xenomai.supported_cpus={:#x}", bits(&supported))];
    Ok(DualKernelWords { words, notes })
}

pub fn evl_words(cpus: &CpuSet) -> Result<DualKernelWords, DualKernelRefusal> {
    if cpus.is_empty() {
        return Err(DualKernelRefusal::NoCpus);
    }
    Ok(DualKernelWords {
        words: vec![format!("evl.oobcpus={cpus}")],
        notes: vec![
            "The code registers oobcpus; evl.oob_cpus, as some pages have it, is ignored in silence and leaves all CPUs \
             to EVL."
                .to_owned(),
            format!("It keeps nobody else off: isolcpus={cpus} belongs to it."),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::parse_list(list).unwrap()
    }

    #[test]
    fn cobalt_gets_a_mask_with_cpu_0() {
        for minor in 0..=3 {
            let words = xenomai_words(Version::new(3, minor), &set("2-3")).unwrap();
            assert_eq!(words.words, ["xenomai.supported_cpus=0xd"]);
            assert!(words.notes[2].contains("writing 0xc to /proc/xenomai/affinity"));
            assert_eq!(words.notes[1].contains("since 3.2"), minor >= 2);
        }
        let words = xenomai_words(Version::new(3, 3), &set("0,63")).unwrap();
        assert_eq!(words.words, ["xenomai.supported_cpus=0x8000000000000001"]);
        assert_eq!(words.notes.len(), 1);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let why = |version, cpus| xenomai_words(version, &set(cpus)).unwrap_err().to_string();
        assert!(why(Version::new(3, 3), "2,64-65").contains("CPUs 64-65 cannot be named"));
        assert!(why(Version::new(3, 3), "").contains("no CPUs"));
        assert!(why(Version::new(2, 6), "1").contains("Xenomai 2.6 is not known"));
    }

    #[test]
    fn evl_gets_a_list() {
        assert_eq!(evl_words(&set("2-3,70")).unwrap().words, ["evl.oobcpus=2-3,70"]);
        assert!(evl_words(&CpuSet::new()).is_err());
    }
}
