//! A program or library: its functions, its lines, and how to get from a function to its caller.

use super::go;
use super::made::{MADE, Names};
use super::names::readable;
use gimli::{BaseAddresses, CieOrFde, EhFrame, EhFrameOffset, NativeEndian, UnwindContext, UnwindSection};
use gimli::{CfaRule, EndianSlice, RegisterRule};
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::ops::Range;

/// A file larger than this is not read.
const FILE_MAX: u64 = 512 << 20;
/// Where distributions put separate symbols.
const DEBUG: &str = "/usr/lib/debug/.build-id";

pub type Bytes<'a> = EndianSlice<'a, NativeEndian>;

#[derive(Debug, Default)]
pub struct Module {
    name: String,
    file: Option<File>,
    /// Where the names of functions are told that are in no file; `None` for a file.
    made: Option<Names>,
    image: OnceCell<Image>,
    functions: OnceCell<BTreeMap<u64, (u64, String)>>,
    frames: OnceCell<Vec<Frame>>,
}

#[derive(Debug, Default)]
struct Image {
    bytes: Vec<u8>,
    /// A file with the symbols that were taken out of this one; empty if there is none.
    debug: Vec<u8>,
    /// Segments: offset in the file, length, address.
    segments: Vec<(u64, u64, u64)>,
}

/// Code with one description of its frames.
#[derive(Clone, Copy, Debug)]
struct Frame {
    from: u64,
    to: u64,
    offset: usize,
}

/// How the caller's registers follow from those of a function at one address. Registers have the numbers of DWARF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The frame's address is this register's value and this distance.
    pub frame: (u16, i64),
    pub saved: Vec<(u16, Saved)>,
}

/// Where a register of the caller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// In memory, at this distance from the frame's address.
    At(i64),
    /// Its value is at this distance from the frame's address.
    Is(i64),
    In(u16),
    Unknown,
}

impl Module {
    /// Opens the file at `path`, which the process `pid` has mapped to these addresses.
    pub fn open(pid: u32, path: &str, at: &Range<u64>) -> Self {
        if path == MADE {
            return Self { name: MADE.to_owned(), made: Some(Names::of(pid)), ..Self::default() };
        }
        let path = path.trim_end_matches(" (deleted)");
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        // The first also leads to a file that was deleted or replaced, and the second into a container.
        let mapped = format!("/proc/{pid}/map_files/{:x}-{:x}", at.start, at.end);
        let places = [mapped, format!("/proc/{pid}/root{path}"), path.to_owned()];
        let is_file = |file: &File| file.metadata().is_ok_and(|file| file.is_file() && file.len() <= FILE_MAX);
        let open = |place: &String| File::open(place).ok().filter(is_file);
        let file = path.starts_with('/').then(|| places.iter().find_map(open)).flatten();
        Self { name, file, ..Self::default() }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the program made this code while it ran.
    pub fn is_made(&self) -> bool {
        self.made.is_some()
    }

    fn image(&self) -> &Image {
        self.image.get_or_init(|| self.file.as_ref().and_then(Image::read).unwrap_or_default())
    }

    /// The address in the module's own numbering, from the offset in its file.
    pub fn address_of(&self, in_file: u64) -> u64 {
        let holds = |(from, length, _): &&(u64, u64, u64)| (*from..from.saturating_add(*length)).contains(&in_file);
        let segment = self.image().segments.iter().find(holds);
        segment.map_or(in_file, |(from, _, address)| (in_file - from).wrapping_add(*address))
    }

    /// The offset in the file, from the address in the module's own numbering.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        let holds = |(_, length, from): &&(u64, u64, u64)| (*from..from.saturating_add(*length)).contains(&address);
        self.image().segments.iter().find(holds).map(|(in_file, _, from)| address - from + in_file)
    }

    /// The addresses of functions with these names.
    pub fn find(&self, names: &[&'static str]) -> Vec<(&'static str, u64)> {
        let image = self.image();
        let mut found = Vec::new();
        for file in [&image.bytes, &image.debug].into_iter().filter_map(|bytes| object::File::parse(&**bytes).ok()) {
            for symbol in file.dynamic_symbols().chain(file.symbols()) {
                let is_code = symbol.kind() == SymbolKind::Text && symbol.is_definition();
                let name = symbol.name().ok().filter(|_| is_code);
                // A symbol of the C library may carry its version.
                let plain = name.map(|name| name.split('@').next().unwrap_or(name));
                let wanted = names.iter().find(|wanted| Some(**wanted) == plain);
                found.extend(wanted.map(|wanted| (*wanted, symbol.address())));
            }
        }
        found
    }

    /// The function at an address, with the distance from its beginning.
    pub fn function(&self, address: u64) -> Option<(&str, u64)> {
        let read = || self.made.as_ref().map_or_else(|| self.image().functions(), Names::read);
        let functions = self.functions.get_or_init(read);
        let (start, (length, name)) = functions.range(..=address).next_back()?;
        (*length == 0 || address - start < *length).then_some((name.as_str(), address - start))
    }

    /// The lines of the source, if the module or its separate symbols tell them.
    pub fn lines(&self) -> Option<addr2line::Context<Bytes<'_>>> {
        let of = |bytes| {
            let file = object::File::parse(bytes).ok()?;
            file.section_by_name(".debug_line")?;
            let section = |id: gimli::SectionId| -> Result<Bytes<'_>, gimli::Error> {
                let data = file.section_by_name(id.name()).and_then(|section| plain(&section, bytes));
                Ok(EndianSlice::new(data.unwrap_or_default(), NativeEndian))
            };
            addr2line::Context::from_dwarf(gimli::Dwarf::load(section).ok()?).ok()
        };
        let image = self.image();
        of(image.bytes.as_slice()).or_else(|| of(image.debug.as_slice()))
    }

    /// How to get to the caller of the function at an address; `None` if the module does not say.
    pub fn rule(&self, address: u64) -> Option<Rule> {
        let (section, bases) = self.image().unwind_section()?;
        let frames = self.frames.get_or_init(|| frames(&section, &bases));
        let after = frames.partition_point(|frame| frame.from <= address);
        let frame = frames.get(after.checked_sub(1)?).filter(|frame| address < frame.to)?;
        let fde = section.fde_from_offset(&bases, EhFrameOffset(frame.offset), EhFrame::cie_from_offset).ok()?;
        let mut context = UnwindContext::new();
        let row = fde.unwind_info_for_address(&section, &bases, &mut context, address).ok()?;
        let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else { return None };
        let saved = |(register, rule): &(gimli::Register, RegisterRule<usize>)| {
            let saved = match rule {
                RegisterRule::Offset(distance) => Saved::At(*distance),
                RegisterRule::ValOffset(distance) => Saved::Is(*distance),
                RegisterRule::Register(other) => Saved::In(other.0),
                RegisterRule::SameValue => Saved::In(register.0),
                _ => Saved::Unknown,
            };
            (register.0, saved)
        };
        Some(Rule { frame: (register.0, *offset), saved: row.registers().map(saved).collect() })
    }
}

/// The contents of a section in the file, unless it is compressed.
fn plain<'a>(section: &object::Section<'a, '_>, bytes: &'a [u8]) -> Option<&'a [u8]> {
    let range = section.compressed_file_range().ok()?;
    let (from, length) = (usize::try_from(range.offset).ok()?, usize::try_from(range.uncompressed_size).ok()?);
    let is_plain = range.format == object::CompressionFormat::None;
    bytes.get(from..from.checked_add(length)?).filter(|_| is_plain)
}

impl Image {
    fn read(mut file: &File) -> Option<Self> {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        let parsed = object::File::parse(&*bytes).ok()?;
        let segment = |segment: object::Segment<'_, '_>| {
            let (from, length) = segment.file_range();
            (from, length, segment.address())
        };
        let segments = parsed.segments().map(segment).collect();
        let debug = parsed.symbols().next().is_none().then(|| separate(&parsed)).flatten();
        Some(Self { debug: debug.unwrap_or_default(), segments, bytes })
    }

    /// Functions by address, with their lengths.
    fn functions(&self) -> BTreeMap<u64, (u64, String)> {
        let mut functions = BTreeMap::new();
        for file in [&self.bytes, &self.debug].into_iter().filter_map(|bytes| object::File::parse(&**bytes).ok()) {
            let is_code = |symbol: &object::Symbol<'_, '_>| symbol.kind() == SymbolKind::Text && symbol.is_definition();
            for symbol in file.dynamic_symbols().chain(file.symbols()).filter(is_code) {
                let name = symbol.name().unwrap_or_default();
                functions.insert(symbol.address(), (symbol.size(), readable(name)));
            }
            for (address, length, name) in go::functions(&file) {
                functions.entry(address).or_insert((length, name));
            }
        }
        functions
    }

    fn unwind_section(&self) -> Option<(EhFrame<Bytes<'_>>, BaseAddresses)> {
        let file = object::File::parse(&*self.bytes).ok()?;
        let section = file.section_by_name(".eh_frame")?;
        let text = file.section_by_name(".text").map_or(0, |text| text.address());
        let bases = BaseAddresses::default().set_eh_frame(section.address()).set_text(text);
        let mut frames = EhFrame::new(plain(&section, &self.bytes)?, NativeEndian);
        if cfg!(target_arch = "aarch64") {
            frames.set_vendor(gimli::Vendor::AArch64);
        }
        Some((frames, bases))
    }
}

fn frames(section: &EhFrame<Bytes<'_>>, bases: &BaseAddresses) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut entries = section.entries(bases);
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let Ok(fde) = partial.parse(EhFrame::cie_from_offset) else { continue };
        let (from, to) = (fde.initial_address(), fde.initial_address().saturating_add(fde.len()));
        frames.push(Frame { from, to, offset: fde.offset() });
    }
    frames.sort_by_key(|frame| frame.from);
    frames
}

/// The separate symbols of a file, if this machine has them.
fn separate(file: &object::File<'_>) -> Option<Vec<u8>> {
    let id = file.build_id().ok()??;
    let (first, rest) = id.split_first()?;
    let rest: Vec<String> = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = format!("{DEBUG}/{first:02x}/{}.debug", rest.concat());
    fs::metadata(&path).ok().filter(|file| file.len() <= FILE_MAX)?;
    fs::read(path).ok()
}
