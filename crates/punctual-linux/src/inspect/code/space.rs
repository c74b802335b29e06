//! The code that a process has mapped.

use super::super::procfs::text;
use super::made::{MADE, is_made};
use super::module::Module;
use punctual_numbers::trace::Address;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

/// The kernel's name of the page that it adds to a program with probes.
const PROBES: &str = "[uprobes]";

/// A stretch of code: of a file that is mapped, or in memory that has no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub from: u64,
    pub to: u64,
    /// Where in the file the stretch begins.
    pub offset: u64,
    pub path: String,
}

/// A function by its name, where it is in a file and in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub name: &'static str,
    pub path: String,
    pub in_file: u64,
    pub address: u64,
}

/// The mapped code of each process.
pub type Spaces = BTreeMap<u32, Space>;

/// The mapped code of one process. Files are opened when they are first seen, so that they can be read even after the
/// process has ended or the file was replaced.
#[derive(Clone, Debug, Default)]
pub struct Space {
    pid: u32,
    /// By the end of the stretch.
    pieces: BTreeMap<u64, (Piece, Rc<Module>)>,
    modules: BTreeMap<String, Rc<Module>>,
    /// Number of changes so far.
    version: u64,
}

impl Space {
    pub fn of(pid: u32) -> Self {
        Self { pid, ..Self::default() }
    }

    /// The same code in a process that was just copied from this one.
    pub fn copied_to(&self, pid: u32) -> Self {
        Self { pid, ..self.clone() }
    }

    pub fn version(&self) -> u64 {
        self.version
    }

    /// Reads what the process has mapped now. Nothing changes if the process is gone or not shown to this user.
    pub fn read(&mut self) {
        let maps = text(&format!("/proc/{}/maps", self.pid)).unwrap_or_default();
        let pieces: Vec<Piece> = maps.lines().filter_map(piece).collect();
        if !pieces.is_empty() {
            self.clear();
            for piece in pieces {
                self.add(piece);
            }
        }
    }

    /// The process has started another program.
    pub fn clear(&mut self) {
        self.version += 1;
        self.pieces.clear();
    }

    /// Adds a mapping, which replaces those that it covers.
    pub fn add(&mut self, mut piece: Piece) {
        self.version += 1;
        if is_made(&piece.path) {
            // Its names are told by their addresses in memory.
            (piece.offset, piece.path) = (piece.from, MADE.to_owned());
        }
        let covered: Vec<u64> = self
            .pieces
            .range(piece.from + 1..)
            .take_while(|(_, (old, _))| old.from < piece.to)
            .map(|(to, _)| *to)
            .collect();
        for to in covered {
            self.pieces.remove(&to);
        }
        let module = self
            .modules
            .get(&piece.path)
            .cloned()
            .unwrap_or_else(|| Rc::new(Module::open(self.pid, &piece.path, &(piece.from..piece.to))));
        self.modules.insert(piece.path.clone(), Rc::clone(&module));
        self.pieces.insert(piece.to, (piece, module));
    }

    /// Functions with one of these names, in all modules but the loader, which has an allocator for itself.
    pub fn functions(&self, names: &[&'static str]) -> Vec<Function> {
        let mut found = Vec::new();
        for (piece, module) in self.pieces.values().filter(|(_, module)| !module.name().starts_with("ld-")) {
            for (name, address) in module.find(names) {
                let in_file = module.offset_of(address);
                let Some(inside) = in_file.and_then(|at| at.checked_sub(piece.offset)) else { continue };
                let at = piece.from.saturating_add(inside);
                let is_new = !found.iter().any(|other: &Function| other.address == at);
                if let (true, true, Some(in_file)) = (at < piece.to, is_new, in_file) {
                    let path = format!("/proc/{}/root{}", self.pid, piece.path);
                    found.push(Function { name, path, in_file, address: at });
                }
            }
        }
        found
    }

    /// Whether the kernel runs probed instructions here, which faults once for each program. That is our doing.
    pub fn is_of_probes(&self, at: Address) -> bool {
        self.find(at).is_some_and(|(module, _)| module.name() == PROBES)
    }

    /// The instructions from an address on, as they are now; `None` if the process has ended or may not be read.
    pub fn instructions<const N: usize>(&self, Address(at): Address) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        File::open(format!("/proc/{}/mem", self.pid)).ok()?.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }

    /// The module at an address, with the address in the module's own numbering.
    pub fn find(&self, Address(at): Address) -> Option<(&Module, u64)> {
        let (_, (piece, module)) = self.pieces.range(at + 1..).next().filter(|(_, (piece, _))| piece.from <= at)?;
        Some((module, module.address_of(at - piece.from + piece.offset)))
    }
}

/// A line `FROM-TO PERMISSIONS OFFSET DEVICE INODE PATH` of `/proc/PID/maps`, if it is code.
fn piece(line: &str) -> Option<Piece> {
    let mut words = line.splitn(6, ' ');
    let (from, to) = words.next()?.split_once('-')?;
    let permissions = words.next()?;
    let offset = words.next()?;
    let path = words.nth(2).unwrap_or_default().trim_start();
    let hex = |digits: &str| u64::from_str_radix(digits, 16).ok();
    permissions.contains('x').then_some(Piece {
        from: hex(from)?,
        to: hex(to)?,
        offset: hex(offset)?,
        path: path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_is_kept() {
        let code = piece("55a0-55b0 r-xp 00001000 fe:00 1234                       /usr/bin/a b").unwrap();
        assert_eq!((code.from, code.to, code.offset, code.path.as_str()), (0x55a0, 0x55b0, 0x1000, "/usr/bin/a b"));
        let made = piece("55a0-55b0 r-xp 0 00:00 0").unwrap();
        assert_eq!((made.from, made.path.as_str()), (0x55a0, ""));
        for other in ["55a0-55b0 rw-p 0 fe:00 1 /usr/bin/a", "55a0-55b0 rw-p 0 00:00 0 ", "", "x"] {
            assert!(piece(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_new_mapping_replaces_what_it_covers() {
        let mut space = Space::of(u32::MAX);
        let piece = |from, to, path: &str| Piece { from, to, offset: 0, path: path.to_owned() };
        space.add(piece(0x1000, 0x3000, "/none/one"));
        space.add(piece(0x3000, 0x4000, "/none/other"));
        space.add(piece(0x8000, 0x9000, "[uprobes]"));
        assert!(space.is_of_probes(Address(0x8080)) && !space.is_of_probes(Address(0x1000)));
        let name = |space: &Space, at| space.find(Address(at)).map(|(module, _)| module.name().to_owned());
        assert_eq!(name(&space, 0x1000).as_deref(), Some("one"));
        assert_eq!((name(&space, 0xfff), name(&space, 0x4000)), (None, None));
        space.add(piece(0x2000, 0x3000, "/none/new"));
        assert_eq!(name(&space, 0x2fff).as_deref(), Some("new"));
        assert_eq!(name(&space, 0x3000).as_deref(), Some("other"));
        space.clear();
        assert_eq!(name(&space, 0x2fff), None);
    }
}
