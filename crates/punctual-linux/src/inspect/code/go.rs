//! Functions of programs in Go, from the table by which they print their own stacks. It is there in stripped programs as well.
//!
//! ```text
//! header: version, count, start of the code, offsets -> pairs of (entry, description) -> description: entry, name -> name
//! ```

use object::{Object, ObjectSection};

/// Names of the section, in programs at fixed addresses and in position-independent ones.
const SECTIONS: [&str; 2] = [".gopclntab", ".data.rel.ro.gopclntab"];
/// The versions of the table from Go 1.18 and from Go 1.20 on, which differ in nothing that is read here.
const VERSIONS: [u32; 2] = [0xffff_fff0, 0xffff_fff1];
const WORD: u8 = 8;
/// The function that the kernel starts a program in, with the architecture and the system behind.
const ENTRY: &str = "_rt0_";

/// The functions of a program, with their addresses and lengths; empty if it is not in Go, or an older one.
pub fn functions(file: &object::File<'_>) -> Vec<(u64, u64, String)> {
    let section = SECTIONS.iter().find_map(|name| file.section_by_name(name)?.data().ok());
    section.and_then(|bytes| Table::of(bytes)?.functions(file)).unwrap_or_default()
}

struct Table<'a> {
    count: usize,
    /// Where the code begins; 0 from Go 1.26 on.
    start: u64,
    names: &'a [u8],
    /// Pairs of the distance of a function from the beginning of the code and the place of its description, and these.
    pairs: &'a [u8],
}

impl<'a> Table<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let is_known = VERSIONS.contains(&number(bytes, 0)?) && bytes.get(7) == Some(&WORD);
        let header = |nth: usize| Some(u64::from_le_bytes(*bytes.get(8 + 8 * nth..)?.first_chunk()?));
        let part = |nth: usize| bytes.get(usize::try_from(header(nth)?).ok()?..);
        let count = usize::try_from(header(0)?).ok().filter(|_| is_known)?;
        Some(Self { count, start: header(2)?, names: part(3)?, pairs: part(7)? })
    }

    fn functions(&self, file: &object::File<'_>) -> Option<Vec<(u64, u64, String)>> {
        let all: Vec<(u32, u32, String)> = (0..self.count).map_while(|nth| self.function(nth)).collect();
        let start = if self.start == 0 { started(file, &all)? } else { self.start };
        Some(all.into_iter().map(|(from, to, name)| (start + u64::from(from), to.into(), name)).collect())
    }

    /// Distance of a function from the beginning of the code, its length, and its name.
    fn function(&self, nth: usize) -> Option<(u32, u32, String)> {
        const PAIR: usize = 8;
        let (from, description) = (number(self.pairs, nth * PAIR)?, number(self.pairs, nth * PAIR + 4)?);
        let next = number(self.pairs, (nth + 1) * PAIR)?;
        let name = number(self.pairs, usize::try_from(description).ok()?.checked_add(4)?)?;
        let name = self.names.get(usize::try_from(name).ok()?..)?.split(|byte| *byte == 0).next()?;
        Some((from, next.checked_sub(from)?, String::from_utf8_lossy(name).into_owned()))
    }
}

/// Where the code begins in a program whose table does not say, by the function that it is entered in. `None` if it is entered
/// in another one, as with parts in C.
fn started(file: &object::File<'_>, functions: &[(u32, u32, String)]) -> Option<u64> {
    let (entry, ..) = functions.iter().find(|(from, length, name)| {
        let text = file.section_by_name(".text").map_or(0, |text| text.address());
        name.starts_with(ENTRY) && *length > 0 && text.checked_add(u64::from(*from)) == Some(file.entry())
    })?;
    file.entry().checked_sub(u64::from(*entry))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of two functions, whose code begins at this address.
    fn table(start: u64) -> Vec<u8> {
        let names = b"_rt0_amd64_linux\0main.step\0";
        let (header, pairs) = (8 + 8 * 8, 2 * 8 + 4);
        let mut bytes = VERSIONS[1].to_le_bytes().to_vec();
        bytes.extend([0, 0, 1, WORD]);
        let after = u64::try_from(header + names.len()).unwrap();
        for word in [2, 0, start, u64::try_from(header).unwrap(), 0, 0, 0, after] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(names);
        let descriptions = [pairs, pairs + 8].map(|at| u32::try_from(at).unwrap());
        for word in [0, descriptions[0], 0x40, descriptions[1], 0x60, 0, 0, 0x40, 17] {
            bytes.extend(u32::to_le_bytes(word));
        }
        bytes
    }

    #[test]
    fn the_table_tells_names_and_lengths() {
        let bytes = table(0x1000);
        let found = Table::of(&bytes).unwrap();
        let of = |nth| found.function(nth).unwrap();
        assert_eq!((of(0), of(1)), ((0, 0x40, "_rt0_amd64_linux".to_owned()), (0x40, 0x20, "main.step".to_owned())));
        assert_eq!((found.start, found.count), (0x1000, 2));
    }

    #[test]
    fn a_cut_or_unknown_table_tells_nothing_wrong() {
        let bytes = table(0x1000);
        for length in 0..bytes.len() {
            if let Some(found) = Table::of(&bytes[..length]) {
                assert!((0..2).filter_map(|nth| found.function(nth)).all(|(.., name)| name.len() < 17));
            }
        }
        let mut older = bytes;
        older[0] = 0xfb;
        assert!(Table::of(&older).is_none() && Table::of(&[]).is_none());
    }

    /// This test program is not in Go.
    #[test]
    fn a_program_in_another_language_has_none() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        assert!(functions(&object::File::parse(&*own).unwrap()).is_empty());
    }
}
