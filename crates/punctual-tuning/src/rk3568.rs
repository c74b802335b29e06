//! The third-level cache of RK3566 and RK3568, which only the boot loader can partition: `WORD_3` of rkbin's
//! `[BOOT1_PARAM]`, one hexadecimal digit per core, the highest core first, one bit per quarter of the cache.
//!
//! The format is taken from the makers' guides and from the message that BL31 prints at boot (`l3 cache partition
//! cfg-c333`). It was not tried on hardware. The word is computed from the owners of the quarters and read back into
//! them, so that a word that somebody else chose can be understood.

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
    #[error("'{word}' is no word of four hexadecimal digits at most, such as 0xc333")]
    NoWord { word: String },
}

/// The quarters that each core owns.
type Quarters = [CpuSet; FOUR as usize];

/// Parses which cores own which quarters, and returns the word. In `3=2-3;0-2=0-1`, core 3 owns the upper two quarters
/// and the others own the lower two. Reads a word as well: `0xc333`, or `cfg-c333` as BL31 prints it.
pub fn rk3568_l3(owners: &str) -> Result<L3Split, L3SplitRefusal> {
    let text = owners.trim();
    if let Some(digits) = ["0x", "0X", "cfg-"].iter().find_map(|start| text.strip_prefix(start)) {
        let word = u16::from_str_radix(digits, 16).map_err(|_| L3SplitRefusal::NoWord { word: text.to_owned() })?;
        return Ok(L3Split { word, notes: notes(&read(word)?) });
    }
    let quarters = parse(owners)?;
    Ok(L3Split { word: word(&quarters), notes: notes(&quarters) })
}

/// The owners that a word means. The word 0, which the loader has where nobody chose one, shares the whole cache.
fn read(word: u16) -> Result<Quarters, L3SplitRefusal> {
    let word = if word == 0 { u16::MAX } else { word };
    let owned = |cpu: u32| (0..FOUR).filter(|quarter| word >> (FOUR * cpu + quarter) & 1 == 1).collect();
    owned_by_all([owned(0), owned(1), owned(2), owned(3)])
}

fn owned_by_all(quarters: Quarters) -> Result<Quarters, L3SplitRefusal> {
    let empty: CpuSet = (0..FOUR).filter(|cpu| quarters[*cpu as usize].is_empty()).collect();
    if empty.is_empty() { Ok(quarters) } else { Err(L3SplitRefusal::Empty { cpus: empty }) }
}

fn word(quarters: &Quarters) -> u16 {
    let digit = |cpu: u32| quarters[cpu as usize].iter().fold(0, |digit, quarter| digit | 1 << quarter);
    (0..FOUR).fold(0, |word: u16, cpu| word | digit(cpu) << (FOUR * cpu))
}

/// The split in which the real-time cores have the upper quarters and the others the lower ones: one half each, or three
/// quarters for three cores; `None` if one side has no core.
fn for_cores(rt: &CpuSet) -> Option<Quarters> {
    let count = (0..FOUR).filter(|cpu| rt.contains(*cpu)).count();
    let cut = match count {
        1 | 2 => 2,
        3 => 1,
        _ => return None,
    };
    let owned = |cpu: u32| if rt.contains(cpu) { (cut..FOUR).collect() } else { (0..cut).collect() };
    Some([owned(0), owned(1), owned(2), owned(3)])
}

/// What the audit says of the split: the word for these real-time cores, and where to read the word in force.
pub(crate) fn counsel(rt: &CpuSet) -> String {
    let look = "Cannot be seen from software: BL31 prints 'l3 cache partition cfg-NUMBER' on the serial line at boot \
                (cfg-0: shared by all).";
    let Some(quarters) = for_cores(rt) else { return look.to_owned() };
    let owners = |is_rt: bool| (0..FOUR).find(|cpu| rt.contains(*cpu) == is_rt).map(|cpu| &quarters[cpu as usize]);
    let (Some(ours), Some(theirs)) = (owners(true), owners(false)) else { return look.to_owned() };
    format!(
        "{look} For CPUs {rt}: WORD_3=0x{:x}, which gives quarters {ours} to these CPUs and {theirs} to the other \
            CPUs.",
        word(&quarters)
    )
}

fn parse(owners: &str) -> Result<Quarters, L3SplitRefusal> {
    let mut quarters: Quarters = Default::default();
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
    owned_by_all(quarters)
}

fn numbers(list: &str, what: &'static str) -> Result<CpuSet, L3SplitRefusal> {
    let set = CpuSet::parse_list(list)?;
    let beyond = set.iter().find(|number| *number >= FOUR);
    beyond.map_or(Ok(set), |number| Err(L3SplitRefusal::OutOfRange { what, number }))
}

fn notes(quarters: &Quarters) -> Vec<String> {
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
    fn every_word_is_read_back_or_leaves_a_core_without_cache() {
        for number in 1..=u16::MAX {
            match read(number) {
                Ok(quarters) => assert_eq!(word(&quarters), number),
                Err(why) => assert!(why.to_string().contains("would have no part"), "{why}"),
            }
        }
        assert_eq!(read(0).unwrap(), read(u16::MAX).unwrap());
        let of = |text| rk3568_l3(text).map(|split| split.word);
        assert_eq!((of("0xc333"), of("cfg-cc33"), of("0x0")), (Ok(0xc333), Ok(0xcc33), Ok(0)));
        // The word of three digits that one guide prints forgets core 3.
        assert!(of("0xc33").unwrap_err().to_string().starts_with("core 3 would have no part"));
        assert!(of("0xwhat").unwrap_err().to_string().contains("no word of four"));
        assert!(rk3568_l3("0xcc33").unwrap().notes[0].contains("shared by cores 0-1"));
    }

    #[test]
    fn every_choice_of_real_time_cores_gets_quarters_of_its_own() {
        for bits in 1u32..(1 << FOUR) - 1 {
            let rt: CpuSet = (0..FOUR).filter(|cpu| bits & (1 << cpu) != 0).collect();
            let quarters = for_cores(&rt).unwrap();
            let used = |is_rt: bool| -> CpuSet {
                (0..FOUR)
                    .filter(|cpu| rt.contains(*cpu) == is_rt)
                    .flat_map(|cpu| quarters[cpu as usize].iter())
                    .collect()
            };
            assert!(used(true).intersection(&used(false)).is_empty(), "{rt}");
            assert_eq!(read(word(&quarters)), Ok(quarters), "{rt}");
        }
        assert!(
            counsel(&[3].into_iter().collect())
                .contains("WORD_3=0xc333, which gives quarters 2-3 to these CPUs and 0-1")
        );
        assert!(!counsel(&(0..4).collect()).contains("WORD_3"));
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
