//! From addresses in a process to places in its code.

use super::procfs::text;
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use punctual_numbers::inspect::Code;
use punctual_numbers::trace::Address;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;

/// A file larger than this is not searched for symbols.
const FILE_MAX: u64 = 512 << 20;

/// The code that a process has mapped, and the path of its program.
#[derive(Clone, Debug, Default)]
pub struct Maps {
    pieces: Vec<Piece>,
    program: String,
}

#[derive(Clone, Debug)]
struct Piece {
    from: u64,
    to: u64,
    offset: u64,
    path: String,
}

impl Maps {
    /// `None` if the process is gone or not shown to this user.
    pub fn read(pid: u32) -> Option<Self> {
        let program = fs::read_link(format!("/proc/{pid}/exe")).ok()?.display().to_string();
        let pieces: Vec<Piece> = text(&format!("/proc/{pid}/maps"))?.lines().filter_map(piece).collect();
        (!pieces.is_empty()).then_some(Self { pieces, program })
    }

    fn find(&self, Address(at): Address) -> Option<&Piece> {
        self.pieces.iter().find(|piece| (piece.from..piece.to).contains(&at))
    }

    /// The address of the program's own code in a call stack, or else the innermost one that lies in any file.
    fn own(&self, stack: &[Address]) -> Option<(Address, &Piece)> {
        let placed = || stack.iter().filter_map(|at| Some((*at, self.find(*at)?)));
        placed().find(|(_, piece)| piece.path == self.program).or_else(|| placed().next())
    }
}

/// A line `FROM-TO PERMISSIONS OFFSET DEVICE INODE PATH` of `/proc/PID/maps`, if it is code.
fn piece(line: &str) -> Option<Piece> {
    let mut words = line.splitn(6, ' ');
    let (from, to) = words.next()?.split_once('-')?;
    let permissions = words.next()?;
    let offset = words.next()?;
    let path = words.nth(2)?.trim_start();
    let hex = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let is_code = permissions.contains('x') && !path.is_empty();
    is_code.then_some(Piece { from: hex(from)?, to: hex(to)?, offset: hex(offset)?, path: path.to_owned() })
}

/// Looks up places, and reads each file once.
pub struct Places {
    maps: Maps,
    pid: u32,
    files: RefCell<BTreeMap<String, Symbols>>,
}

impl Places {
    pub fn new(maps: Maps, pid: u32) -> Self {
        Self { maps, pid, files: RefCell::default() }
    }

    pub fn locate(&self, stack: &[Address]) -> Option<Code> {
        let (Address(at), piece) = self.maps.own(stack)?;
        let in_file = at - piece.from + piece.offset;
        let module = piece.path.rsplit('/').next().unwrap_or_default().to_owned();
        let mut files = self.files.borrow_mut();
        let symbols = files.entry(piece.path.clone()).or_insert_with(|| Symbols::read(self.pid, &piece.path));
        let (symbol, offset) = symbols.find(in_file);
        Some(Code { module, symbol, offset })
    }
}

#[derive(Default)]
struct Symbols {
    /// Segments of code: offset in the file, length, address.
    segments: Vec<(u64, u64, u64)>,
    /// Functions by address, with their lengths.
    functions: BTreeMap<u64, (u64, String)>,
}

impl Symbols {
    /// The symbols of a file as the process sees it, or of the file of that name if the process has ended.
    fn read(pid: u32, path: &str) -> Self {
        let path = path.trim_end_matches(" (deleted)");
        let inside = format!("/proc/{pid}/root{path}");
        [inside.as_str(), path].into_iter().find_map(of_file).unwrap_or_default()
    }

    /// The function at an offset of the file with the distance from its beginning, or only the address.
    fn find(&self, in_file: u64) -> (Option<String>, u64) {
        let holds = |(from, length, _): &&(u64, u64, u64)| (*from..from + length).contains(&in_file);
        let address = self.segments.iter().find(holds).map_or(in_file, |(from, _, address)| in_file - from + address);
        let before = self.functions.range(..=address).next_back();
        let found = before.filter(|(start, (length, _))| *length == 0 || address < **start + length);
        found.map_or((None, address), |(start, (_, name))| (Some(name.clone()), address - start))
    }
}

fn of_file(path: &str) -> Option<Symbols> {
    let size = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
    if size > FILE_MAX {
        return None;
    }
    let bytes = fs::read(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let segment = |segment: object::Segment<'_, '_>| {
        let (from, length) = segment.file_range();
        (from, length, segment.address())
    };
    let functions = file
        .dynamic_symbols()
        .chain(file.symbols())
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
        .filter_map(|symbol| Some((symbol.address(), (symbol.size(), readable(symbol.name().ok()?)))));
    Some(Symbols { segments: file.segments().map(segment).collect(), functions: functions.collect() })
}

/// The name as a programmer wrote it, for the simple mangled names of C++ and Rust; others stay as they are.
fn readable(name: &str) -> String {
    let (nested, mut rest) = match (name.strip_prefix("_ZN"), name.strip_prefix("_Z")) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => return name.to_owned(),
    };
    let mut parts = Vec::new();
    while let Some(end) = rest.find(|c: char| !c.is_ascii_digit()).filter(|end| *end > 0) {
        let (digits, after) = rest.split_at(end);
        let Some((part, after)) = digits.parse().ok().and_then(|length| after.split_at_checked(length)) else { break };
        parts.push(part);
        rest = after;
        if !nested {
            break;
        }
    }
    // Rust adds a hash as the last part.
    let is_hash =
        |part: &&str| part.len() == 17 && part.starts_with('h') && part[1..].bytes().all(|b| b.is_ascii_hexdigit());
    if parts.last().is_some_and(is_hash) {
        parts.pop();
    }
    if parts.is_empty() { name.to_owned() } else { parts.join("::") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_they_were_written() {
        for (mangled, name) in [
            ("step", "step"),
            ("_Z4stepv", "step"),
            ("_ZN7Planner4stepEd", "Planner::step"),
            ("_ZN4main4step17h0123456789abcdefE", "main::step"),
            ("_ZN", "_ZN"),
            ("_ZN99xE", "_ZN99xE"),
        ] {
            assert_eq!(readable(mangled), name);
        }
    }

    #[test]
    fn only_code_of_files_is_kept() {
        let code = piece("55a0-55b0 r-xp 00001000 fe:00 1234                       /usr/bin/a b").unwrap();
        assert_eq!((code.from, code.to, code.offset, code.path.as_str()), (0x55a0, 0x55b0, 0x1000, "/usr/bin/a b"));
        for other in ["55a0-55b0 rw-p 0 fe:00 1 /usr/bin/a", "55a0-55b0 r-xp 0 00:00 0 ", "", "x"] {
            assert!(piece(other).is_none(), "{other}");
        }
    }

    #[test]
    fn an_address_of_this_program_has_its_function() {
        let maps = Maps::read(std::process::id()).unwrap();
        let places = Places::new(maps, std::process::id());
        let here = Address(an_address_of_this_program_has_its_function as *const () as usize as u64);
        let code = places.locate(&[Address(1), here]).unwrap();
        let symbol = code.symbol.unwrap();
        assert!(symbol.contains("an_address_of_this_program_has_its_function"), "{symbol}");
        assert_eq!(places.locate(&[]), None);
        assert_eq!(places.locate(&[Address(1)]), None);
    }
}
