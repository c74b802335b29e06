//! The third-level cache of RK3566 and RK3568, which only the boot loader can partition: `WORD_3` of rkbin's
//! `[BOOT1_PARAM]`, one hexadecimal digit per core, the highest core first, one bit per quarter of the cache.
//!
//! The format is taken from the makers' guides and from the message that BL31 prints at boot (`l3 cache partition
//! cfg-c333`). It was not tried on hardware.

use punctual_facts::cpu_set::{CpuListError, CpuSet};

/// The number of cores, which is also the number of quarters of the cache.
const FOUR: u32 = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct L3Split {
    pub word: u16,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum L3SplitRefusal {
    #[error("'{part}' is not CPUS=QUARTERS; an example: '3=2-3;0-2=0-1'")]
    NotUnderstood { part: String },
    #[error(transparent)]
    List(#[from] CpuListError),
    #[error("there is no {what} {number}: they are 0 to 3")]
    OutOfRange { what: &'static str, number: u32 },
    #[error("core {cpu} is named twice; name all its quarters at once")]
    Twice { cpu: u32 },
    #[error("core {cpus} would have no part of the cache; say which quarters it owns, or shares")]
    Empty { cpus: CpuSet },
}

/// Parses which cores own which quarters, and returns the word. In `3=2-3;0-2=0-1`, core 3 owns the upper two quarters
/// and the others own the lower two.
pub fn rk3568_l3(owners: &str) -> Result<L3Split, L3SplitRefusal> {
    let mut quarters: [CpuSet; FOUR as usize] = Default::default();
    for part in owners.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let refuse = || L3SplitRefusal::NotUnderstood { part: part.to_owned() };
        let (cpus, owned) = part.split_once('=').ok_or_else(refuse)?;
        let (cpus, owned) = (numbers(cpus, "core")?, numbers(owned, "quarter")?);
        if cpus.is_empty() {
            return Err(refuse());
        }
        for cpu in cpus.iter() {
            let place = &mut quarters[cpu as usize];
            if !place.is_empty() {
                return Err(L3SplitRefusal::Twice { cpu });
            }
            *place = owned.clone();
        }
    }
    let empty: CpuSet = (0..FOUR).filter(|cpu| quarters[*cpu as usize].is_empty()).collect();
    if !empty.is_empty() {
        return Err(L3SplitRefusal::Empty { cpus: empty });
    }
    let digit = |cpu: u32| quarters[cpu as usize].iter().fold(0, |digit, quarter| digit | 1 << quarter);
    let word = (0..FOUR).fold(0, |word: u16, cpu| word | digit(cpu) << (4 * cpu));
    Ok(L3Split { word, notes: notes(&quarters) })
}

fn numbers(list: &str, what: &'static str) -> Result<CpuSet, L3SplitRefusal> {
    let set = CpuSet::parse_list(list)?;
    let beyond = set.iter().find(|number| *number >= FOUR);
    beyond.map_or(Ok(set), |number| Err(L3SplitRefusal::OutOfRange { what, number }))
}

fn notes(quarters: &[CpuSet; FOUR as usize]) -> Vec<String> {
    let owners = |quarter: u32| -> CpuSet {
        quarters.iter().zip(0..).filter(|(owned, _)| owned.contains(quarter)).map(|(_, cpu)| cpu).collect()
    };
    let mut notes: Vec<String> = (0..FOUR)
        .map(|quarter| match owners(quarter) {
            cpus if cpus.is_empty() => format!("Quarter {quarter} belongs to nobody and is lost."),
            cpus if cpus.len() == 1 => format!("Quarter {quarter} belongs to core {cpus} alone."),
            cpus => format!("Quarter {quarter} is shared by cores {cpus}."),
        })
        .collect();
    notes.push(
        "In rkbin's RKBOOT/RK3568MINIALL.ini; it needs a BL31 that knows it, which prints the partition at boot on the \
         serial line (cfg-0: shared by all). Not tried on hardware."
            .to_owned(),
    );
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_core_has_the_highest_digit() {
        let word = |owners| rk3568_l3(owners).map(|split| split.word);
        assert_eq!(word("3=2-3;0-2=0-1"), Ok(0xc333));
        assert_eq!(word("0-1=0-1; 2-3=2-3"), Ok(0xcc33));
        assert_eq!(word("0=0;1=1;2=2;3=3"), Ok(0x8421));
        assert_eq!(word("0-3=0-3"), Ok(0xffff));
        assert!(rk3568_l3("3=2;0-2=0-1").unwrap().notes[3].contains("Quarter 3 belongs to nobody"));
    }

    #[test]
    fn nobody_is_left_without_cache_and_nothing_is_guessed() {
        for (owners, why) in [
            ("3=2-3", "core 0-2 would have no part"),
            ("", "core 0-3 would have no part"),
            ("0-3=", "would have no part"),
            ("0-3", "is not CPUS=QUARTERS"),
            ("=0", "is not CPUS=QUARTERS"),
            ("4=0;0-3=1", "no core 4"),
            ("0-3=4", "no quarter 4"),
            ("0-3=0;3=1", "core 3 is named twice"),
            ("x=0", "not a CPU number"),
        ] {
            assert!(rk3568_l3(owners).unwrap_err().to_string().contains(why), "{owners}");
        }
    }
}
