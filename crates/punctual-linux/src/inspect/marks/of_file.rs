//! What a file says of its marks: where they are, and what they are called.

use object::{File, Object, ObjectSection, ObjectSegment, ObjectSymbol, ReadRef, Symbol};
use punctual_numbers::inspect::{Mark, OtherMarks, PROVIDER};
use std::collections::BTreeSet;

/// Providers of probes that are in every program, on distributions that build their libraries with them.
const OF_THE_SYSTEM: [&str; 6] = ["libc", "libm", "libpthread", "rtld", "libgcc", "libstdcxx"];
/// A probe that a note describes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Note {
    provider: String,
    name: String,
    /// Where in the file its instruction is.
    offset: u64,
    /// Whether it is passed over until its reader sets a variable of the program.
    is_off: bool,
}

/// Before the name of a tracepoint, that of the function in ROS 2's library that is called there, whether anybody traces or
/// not; and the provider that LTTng-UST has for them.
const ROS2_FUNCTION: &str = "ros_trace_";
const ROS2: &str = "ros2";

/// The marks of a file.
#[derive(Debug, Default)]
pub struct OfFile {
    /// Each with the place of its instruction in the file.
    pub marks: Vec<(u64, Mark)>,
    pub others: Vec<OtherMarks>,
}

impl OfFile {
    /// Reads what the file says. The path tells libraries of other systems.
    pub fn read<'d, R: ReadRef<'d>>(path: &str, bytes: Option<R>) -> Self {
        let file = bytes.and_then(|bytes| File::parse(bytes).ok());
        let (mut marks, providers) = file.as_ref().map(|file| paired(notes(file))).unwrap_or_default();
        let mut others: Vec<OtherMarks> = recognised(path).into_iter().collect();
        if let (Some(file), true) = (&file, others.contains(&OtherMarks::Ros2)) {
            let (callbacks, _) = paired(functions(file));
            // Their beginning and end are read here, so nothing is out of reach that a loop is about.
            others.retain(|_| callbacks.is_empty());
            marks.extend(callbacks);
        }
        others.extend(providers.into_iter().map(|provider| OtherMarks::Usdt { provider }));
        Self { marks, others }
    }
}

/// The functions that ROS 2 calls at its tracepoints.
fn functions<'d, R: ReadRef<'d>>(file: &File<'d, R>) -> Vec<Note> {
    let defined = file.dynamic_symbols().filter(ObjectSymbol::is_definition);
    let note = |symbol: Symbol<'d, '_, R>| {
        let name = symbol.name().ok()?.strip_prefix(ROS2_FUNCTION)?.to_owned();
        Some(Note { provider: ROS2.to_owned(), name, offset: in_file(file, symbol.address())?, is_off: false })
    };
    defined.filter_map(note).collect()
}

/// Where the address is in the file.
fn in_file<'d, R: ReadRef<'d>>(file: &File<'d, R>, address: u64) -> Option<u64> {
    file.segments().find_map(|segment| {
        let (from, length) = segment.file_range();
        let into = address.checked_sub(segment.address()).filter(|into| *into < length)?;
        from.checked_add(into)
    })
}

/// Tracepoints of other systems, which are known by their libraries.
fn recognised(path: &str) -> Option<OtherMarks> {
    let name = path.rsplit('/').next().unwrap_or_default();
    match () {
        () if name.starts_with("liblttng-ust") => Some(OtherMarks::LttngUst),
        () if name.starts_with("libtracetools") => Some(OtherMarks::Ros2),
        () if name.contains("perfetto") => Some(OtherMarks::Perfetto),
        () => None,
    }
}

/// The probes of a file that are marks, ours first, and the providers of others. Those of another provider are marks if they
/// lie at both ends of the same.
fn paired(notes: Vec<Note>) -> (Vec<(u64, Mark)>, BTreeSet<String>) {
    let (mut own, mut pairs, mut others) = (Vec::new(), Vec::new(), BTreeSet::new());
    for Note { provider, name, offset, is_off } in notes {
        if OF_THE_SYSTEM.contains(&provider.as_str()) {
            continue;
        }
        if provider == PROVIDER {
            own.extend(Mark::named(&name).map(|mark| (offset, mark)));
        } else if let Some(mark) = Mark::of_other(&provider, &name).filter(|_| !is_off) {
            pairs.push((provider, offset, mark));
        } else {
            others.insert(provider);
        }
    }
    let around = |is_begin: bool| -> BTreeSet<String> {
        let of_kind = pairs.iter().filter(|(_, _, mark)| matches!(mark, Mark::Begin(_)) == is_begin);
        of_kind.filter_map(|(_, _, mark)| mark.around().map(str::to_owned)).collect()
    };
    let (begin, end) = (around(true), around(false));
    for (provider, offset, mark) in pairs {
        if mark.around().is_some_and(|around| begin.contains(around) && end.contains(around)) {
            own.push((offset, mark));
        } else {
            others.insert(provider);
        }
    }
    (own, others)
}

/// The probes that a file describes in notes of the format of `SystemTap`, version 3.
fn notes<'d, R: ReadRef<'d>>(file: &File<'d, R>) -> Vec<Note> {
    let Some(data) = file.section_by_name(".note.stapsdt").and_then(|section| section.data().ok()) else {
        return Vec::new();
    };
    let base = file.section_by_name(".stapsdt.base").map(|section| section.address());
    let width = if file.is_64() { 8 } else { 4 };
    let mut found = Vec::new();
    let mut rest = data;
    while let Some((contents, after)) = next_note(rest) {
        rest = after;
        let Some((addresses, names)) = contents.split_at_checked(3 * width) else { continue };
        let address = |place: usize| {
            let bytes = addresses.get(place * width..(place + 1) * width).unwrap_or_default();
            bytes.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte))
        };
        // Without the section, as after a linker has collected garbage, the note has no address of it.
        let moved = base.filter(|_| address(1) != 0).map_or(0, |base| base.wrapping_sub(address(1)));
        let mut words = names.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        let (Some(provider), Some(name)) = (words.next(), words.next()) else { continue };
        let is_off = address(2) != 0;
        found.extend(in_file(file, address(0).wrapping_add(moved)).map(|offset| Note {
            provider,
            name,
            offset,
            is_off,
        }));
    }
    found
}

/// The contents of the first note that is a probe, and what follows it.
fn next_note(mut rest: &[u8]) -> Option<(&[u8], &[u8])> {
    const PROBE: usize = 3;
    loop {
        let number =
            |at: usize| -> Option<usize> { usize::try_from(u32::from_le_bytes(*rest.get(at..)?.first_chunk()?)).ok() };
        let [name, length, kind] = [number(0)?, number(4)?, number(8)?];
        let begin = name.checked_next_multiple_of(4)?.checked_add(12)?;
        let end = begin.checked_add(length)?;
        let owner = rest.get(12..12_usize.checked_add(name)?)?;
        let contents = rest.get(begin..end)?;
        let after = rest.get(end.checked_next_multiple_of(4)?..).unwrap_or_default();
        if kind == PROBE && owner == b"stapsdt\0" {
            return Some((contents, after));
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    const HEADER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../punctual-capi/include");
    const PROGRAM: &str = "#include <punctual_marks.h>\n\
        void bare(void) {}\n\
        void marked(void) { PUNCTUAL_CYCLE_BEGIN(); PUNCTUAL_STAGE(control); PUNCTUAL_CYCLE_END(); }\n\
        int main(void) { marked(); bare(); return 0; }\n";

    /// Compiles a program with marks; `None` without this compiler.
    fn compiled(compiler: &str, folder: &Path, more: &[&str]) -> Option<Vec<u8>> {
        let (source, program) = (folder.join("marks.c"), folder.join("marks"));
        fs::write(&source, PROGRAM).unwrap();
        let mut command = Command::new(compiler);
        command.args(["-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I", HEADER]);
        let language = if compiler.ends_with("++") { ["-std=c++98", "-xc++"] } else { ["-std=c89", "-xc"] };
        command.args(language).args(more);
        let done = command.arg(&source).arg("-o").arg(&program).output().ok()?;
        assert!(done.status.success(), "{compiler}: {}", String::from_utf8_lossy(&done.stderr));
        Some(fs::read(program).unwrap())
    }

    fn notes_of(bytes: &[u8]) -> Vec<Note> {
        File::parse(bytes).map(|file| notes(&file)).unwrap_or_default()
    }

    fn names(bytes: &[u8]) -> Vec<String> {
        let mut notes = notes_of(bytes);
        notes.retain(|note| note.provider == PROVIDER);
        notes.sort_by_key(|note| note.offset);
        notes.into_iter().map(|note| note.name).collect()
    }

    /// Size of a function's code.
    fn size(bytes: &[u8], function: &str) -> u64 {
        use object::ObjectSymbol;
        let file = File::parse(bytes).unwrap();
        // C++ writes the types of the arguments behind the name.
        let is_it =
            |name: &str| name.trim_start_matches("_Z").trim_start_matches(char::is_numeric).starts_with(function);
        file.symbols().find(|symbol| symbol.name().is_ok_and(is_it)).unwrap().size()
    }

    /// Without `-c` cross compilers would need a C library for their target.
    #[test]
    fn a_mark_is_one_nop_to_every_compiler() {
        let dir = tempfile::tempdir().unwrap();
        let own = if cfg!(target_arch = "x86_64") { 1 } else { 4 };
        let compilers = [
            ("cc", own),
            ("c++", own),
            ("clang", own),
            ("aarch64-linux-gnu-gcc", 4),
            ("arm-linux-gnueabihf-gcc", 2),
            ("riscv64-linux-gnu-gcc", 2),
        ];
        for (compiler, nop) in compilers {
            let Some(bytes) = compiled(compiler, dir.path(), &["-c"]) else {
                assert_ne!(compiler, "cc", "the tests need a C compiler: apt install gcc");
                continue;
            };
            assert_eq!(size(&bytes, "marked"), size(&bytes, "bare") + 3 * nop, "{compiler}");
        }
    }

    #[test]
    fn the_marks_of_a_program_are_found_also_when_it_is_stripped() {
        let dir = tempfile::tempdir().unwrap();
        for more in [&["-pie"][..], &["-no-pie", "-s"], &["-static", "-s"], &["-flto", "-Wl,--gc-sections", "-s"]] {
            let bytes = compiled("cc", dir.path(), more).unwrap();
            assert_eq!(names(&bytes), ["cycle_begin", "stage_control", "cycle_end"], "{more:?}");
            let notes = notes_of(&bytes);
            let nop: &[u8] = if cfg!(target_arch = "x86_64") { &[0x90] } else { &[] };
            for note in notes.iter().filter(|note| note.provider == PROVIDER) {
                let at = usize::try_from(note.offset).unwrap();
                assert!(bytes[at..].starts_with(nop), "{more:?}: no nop at {at:#x}");
            }
        }
    }

    #[test]
    fn probes_of_others_are_marks_if_they_come_in_pairs() {
        let note = |provider: &str, name: &str, offset, is_off| Note {
            provider: provider.to_owned(),
            name: name.to_owned(),
            offset,
            is_off,
        };
        let (followed, others) = paired(vec![
            note("ros2", "callback_start", 1, false),
            note("ros2", "callback_end", 2, false),
            note("ros2", "rcl_init", 3, false),
            note("python", "function__entry", 4, true),
            note("python", "function__return", 5, true),
            note("app", "frame_begin", 6, false),
            note("libc", "lll_lock_wait", 7, false),
            note(PROVIDER, "cycle_begin", 8, false),
        ]);
        let callback = "ros2:callback".to_owned();
        assert_eq!(followed, [(8, Mark::CycleBegin), (1, Mark::Begin(callback.clone())), (2, Mark::End(callback))]);
        assert_eq!(others.into_iter().collect::<Vec<_>>(), ["app", "python", "ros2"]);
    }

    #[test]
    fn the_marks_of_the_library_are_those_of_the_header() {
        punctual_rt::marks::cycle_begin();
        punctual_rt::mark_stage!(control);
        punctual_rt::marks::cycle_end();
        let own = fs::read("/proc/self/exe").unwrap();
        assert!(
            ["cycle_begin", "stage_control", "cycle_end"].iter().all(|name| names(&own).contains(&(*name).to_owned()))
        );
    }

    #[test]
    fn what_is_no_note_is_none() {
        assert!(notes_of(b"").is_empty() && notes_of(b"\x7fELF").is_empty());
        for rest in [
            &b"\xff\xff\xff\xff\xff\xff\xff\xff\x03\0\0\0"[..],
            b"\0\0\0\0",
            b"\x08\0\0\0\xff\0\0\0\x03\0\0\0stapsdt\0",
        ] {
            assert_eq!(next_note(rest), None, "{rest:?}");
        }
        assert_eq!(recognised("/opt/ros/lib/libtracetools.so"), Some(OtherMarks::Ros2));
        assert_eq!(recognised("/usr/lib/liblttng-ust.so.1"), Some(OtherMarks::LttngUst));
    }

    #[test]
    fn the_callbacks_of_ros_2_are_told_by_the_functions_at_their_tracepoints() {
        let dir = tempfile::tempdir().unwrap();
        let (source, library) = (dir.path().join("tracetools.c"), dir.path().join("libtracetools.so"));
        let text = "void ros_trace_rcl_init(const void *p) {(void)p;}\n\
            void ros_trace_callback_start(const void *p, _Bool b) {(void)p; (void)b;}\n\
            void ros_trace_callback_end(const void *p) {(void)p;}\n";
        fs::write(&source, text).unwrap();
        let mut compiler = Command::new("cc");
        let made = compiler.args(["-O2", "-shared", "-fPIC", "-s"]).arg(&source).arg("-o").arg(&library).status();
        assert!(made.expect("the tests need a C compiler: apt install gcc").success());
        let bytes = fs::read(&library).unwrap();
        let path = library.to_str().unwrap();
        let found = OfFile::read(path, Some(&*bytes));
        let callback = "ros2:callback".to_owned();
        let mut marks: Vec<Mark> = found.marks.iter().map(|(_, mark)| mark.clone()).collect();
        marks.sort();
        assert_eq!(marks, [Mark::Begin(callback.clone()), Mark::End(callback)]);
        assert_eq!(found.others, []);
        let file = File::parse(&*bytes).unwrap();
        let start = file.dynamic_symbols().find(|symbol| symbol.name() == Ok("ros_trace_callback_start")).unwrap();
        let at = in_file(&file, start.address()).unwrap();
        assert!(found.marks.iter().any(|(offset, mark)| *offset == at && matches!(mark, Mark::Begin(_))), "{found:?}");
        // Another library with such functions is none of ROS 2, and one of ROS 2 without them is out of reach.
        assert!(OfFile::read("/usr/lib/libother.so", Some(&*bytes)).marks.is_empty());
        assert_eq!(OfFile::read(path, None::<&[u8]>).others, [OtherMarks::Ros2]);
    }
}
