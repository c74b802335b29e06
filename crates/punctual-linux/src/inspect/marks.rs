//! Marks that a program set in its own code: where they are, and when its threads pass them.
//!
//! Marks are USDT probes: notes in the program's files say where they are. The kernel reports when a thread passes one, through
//! events that end with this process, so nothing is left in the program whatever happens. Tracepoints that exist in user space
//! only are recognised, and said to be out of reach. Probes of other providers are followed if their names come in pairs, such
//! as `callback_start` and `callback_end`.

use super::members::Members;
use super::procfs::text;
use crate::sys::files;
use crate::sys::samples::{Ring, SampleEvent};
use object::{Object, ObjectSection, ObjectSegment};
use punctual_hist::MonoTime;
use punctual_numbers::inspect::{Mark, MarkReport, MarkTally, Marked, OtherMarks, PROVIDER, Setup};
use punctual_numbers::trace::Tid;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::{fs, io};

/// A file larger than this is not read.
const FILE_MAX: u64 = 512 << 20;
/// The kernel's number of its source of events in the code of programs.
const UPROBE: &str = "/sys/bus/event_source/devices/uprobe/type";
/// Pages of each thread's ring: 4 000 marks between two readings.
const RING_PAGES: usize = 32;
/// Largest numbers of marks and of threads that are followed. Each mark takes an open file for each thread, and each thread
/// up to 1 MB of histograms.
const PLACES_MAX: usize = 32;
const THREADS_MAX: usize = 16;
/// Files for all of them, and for what else is open.
const FILES: u64 = 2_048;
/// Providers of probes that are in every program, on distributions that build their libraries with them.
const OF_THE_SYSTEM: [&str; 6] = ["libc", "libm", "libpthread", "rtld", "libgcc", "libstdcxx"];
/// `PERF_RECORD_SAMPLE` and `PERF_RECORD_LOST`.
const SAMPLE: u32 = 9;
const LOST: u32 = 2;

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

/// A mark in a file of a process.
#[derive(Clone, Debug)]
struct Place {
    pid: u32,
    path: String,
    offset: u64,
    mark: Mark,
}

/// The marks of a program, and the threads that are followed over them.
#[derive(Default)]
pub struct Marks {
    kind: Option<u32>,
    places: Vec<Place>,
    looked_in: BTreeSet<(u32, String)>,
    followed: BTreeMap<u32, Followed>,
    /// By number of the event, the mark.
    names: BTreeMap<u64, Mark>,
    found: MarkReport,
    passed: MarkTally,
}

/// What tells of one thread. The ring is closed after the events that write to it.
#[derive(Default)]
struct Followed {
    events: Vec<SampleEvent>,
    ring: Option<Ring>,
    /// Number of places, from the first, that were tried.
    places: usize,
}

impl Marks {
    pub fn new() -> Self {
        let kind = text(UPROBE).and_then(|number| number.trim().parse().ok());
        Self { kind, ..Self::default() }
    }

    /// Looks for marks in files that were mapped since the last look, and follows threads that are new, those of the
    /// highest priority first.
    pub fn look(&mut self, members: &Members) {
        for pid in members.processes.keys() {
            let maps = text(&format!("/proc/{pid}/maps")).unwrap_or_default();
            let mapped: BTreeSet<&str> = maps.lines().filter_map(code).collect();
            for path in mapped {
                if self.looked_in.insert((*pid, path.to_owned())) {
                    self.look_in(*pid, path);
                }
            }
        }
        if self.places.is_empty() {
            return;
        }
        files::allow(FILES);
        let has_marks = |pid: u32| self.places.iter().any(|place| place.pid == pid);
        let mut threads: Vec<_> = members.threads.iter().filter(|(_, thread)| has_marks(thread.pid)).collect();
        threads.sort_by_key(|(tid, thread)| {
            let priority = thread.last.setup.as_ref().and_then(Setup::kernel_priority);
            (priority.unwrap_or(i32::MAX), **tid)
        });
        for (tid, thread) in threads {
            if self.followed.len() < THREADS_MAX || self.followed.contains_key(tid) {
                if let Err(error) = self.follow(thread.pid, *tid) {
                    self.found.refused.get_or_insert(error.to_string());
                }
            } else {
                self.found.unfollowed.insert(*tid);
            }
        }
    }

    fn look_in(&mut self, pid: u32, path: &str) {
        let Self { found, places, .. } = self;
        let mut add = |other: OtherMarks| {
            if !found.others.contains(&other) {
                found.others.push(other);
            }
        };
        recognised(path).into_iter().for_each(&mut add);
        let file = format!("/proc/{pid}/root{path}");
        let is_read = fs::metadata(&file).is_ok_and(|file| file.is_file() && file.len() <= FILE_MAX);
        let Some(bytes) = is_read.then(|| fs::read(&file).ok()).flatten() else { return };
        let (marks, others) = marks(notes(&bytes));
        for provider in others {
            add(OtherMarks::Usdt { provider });
        }
        for (offset, mark) in marks {
            let is_followed = places.len() < PLACES_MAX;
            places.extend(is_followed.then(|| Place { pid, path: file.clone(), offset, mark }));
            found.unfollowed_places += u64::from(!is_followed);
        }
        found.places = places.len() as u64;
    }

    /// Opens an event for each place of the process that the thread is not followed over yet.
    fn follow(&mut self, pid: u32, tid: u32) -> io::Result<()> {
        let kind = self.kind.ok_or_else(|| io::Error::other("this kernel has no uprobes"))?;
        let followed = self.followed.entry(tid).or_default();
        let from = std::mem::replace(&mut followed.places, self.places.len());
        for place in self.places.iter().skip(from).filter(|place| place.pid == pid) {
            let path = CString::new(place.path.as_str())?;
            let event = match SampleEvent::at_code(kind, tid, &path, place.offset) {
                // The thread has ended in the meantime.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(()),
                opened => opened?,
            };
            match followed.events.first() {
                Some(first) => event.write_to(first)?,
                None => followed.ring = Some(Ring::of(&event, RING_PAGES)?),
            }
            self.names.insert(event.id()?, place.mark.clone());
            event.switch(true)?;
            followed.events.push(event);
        }
        Ok(())
    }

    /// Reads the marks that were passed since the last call.
    pub fn drain(&mut self) {
        let Self { followed, names, found, passed, .. } = self;
        for ring in followed.values_mut().filter_map(|followed| followed.ring.as_mut()) {
            ring.read(|kind, _, contents| match kind {
                SAMPLE => sample(contents, names).into_iter().for_each(|mark| passed.take(mark)),
                LOST => found.lost += word(contents, 8).unwrap_or(0),
                _ => {}
            });
        }
    }

    /// What was found up to the last reading; `None` if the program has marks of no kind.
    pub fn report(&self) -> Option<MarkReport> {
        let is_any = self.found.places > 0 || !self.found.others.is_empty();
        is_any.then(|| MarkReport { threads: self.passed.threads(), ..self.found.clone() })
    }
}

/// The path of a mapping, if it is code of a file.
fn code(line: &str) -> Option<&str> {
    let mut words = line.splitn(6, ' ');
    let permissions = words.nth(1)?;
    let path = words.nth(3)?.trim_start();
    (permissions.contains('x') && path.starts_with('/')).then_some(path)
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
fn marks(notes: Vec<Note>) -> (Vec<(u64, Mark)>, BTreeSet<String>) {
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

/// A sample of an event: its number, the process and the thread, and the time.
fn sample(contents: &[u8], names: &BTreeMap<u64, Mark>) -> Option<Marked> {
    let mark = names.get(&word(contents, 0)?)?.clone();
    let [pid_and_tid, at] = [word(contents, 8)?, word(contents, 16)?];
    Some(Marked { at: MonoTime::from_ns(at), tid: Tid::try_from(pid_and_tid >> 32).ok()?, mark })
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The probes that a file describes in notes of the format of `SystemTap`, version 3.
fn notes(bytes: &[u8]) -> Vec<Note> {
    let Ok(file) = object::File::parse(bytes) else { return Vec::new() };
    let Some(data) = file.section_by_name(".note.stapsdt").and_then(|section| section.data().ok()) else {
        return Vec::new();
    };
    let base = file.section_by_name(".stapsdt.base").map(|section| section.address());
    let width = if file.is_64() { 8 } else { 4 };
    let in_file = |address: u64| {
        file.segments().find_map(|segment| {
            let (from, length) = segment.file_range();
            let into = address.checked_sub(segment.address()).filter(|into| *into < length)?;
            from.checked_add(into)
        })
    };
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
        found.extend(in_file(address(0).wrapping_add(moved)).map(|offset| Note { provider, name, offset, is_off }));
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

    fn names(bytes: &[u8]) -> Vec<String> {
        let mut notes = notes(bytes);
        notes.retain(|note| note.provider == PROVIDER);
        notes.sort_by_key(|note| note.offset);
        notes.into_iter().map(|note| note.name).collect()
    }

    /// Size of a function's code.
    fn size(bytes: &[u8], function: &str) -> u64 {
        use object::ObjectSymbol;
        let file = object::File::parse(bytes).unwrap();
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
            let notes = notes(&bytes);
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
        let (followed, others) = marks(vec![
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

    /// The test's own thread is followed over the marks of the library.
    #[test]
    fn marks_that_a_thread_passes_are_told() {
        let pass = || {
            punctual_rt::marks::cycle_begin();
            punctual_rt::mark_stage!(control);
            punctual_rt::marks::cycle_end();
        };
        let own = u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
        let mut members = Members::new(std::process::id(), false);
        members.look();
        members.threads.retain(|tid, _| *tid == own);
        let mut marks = Marks::new();
        marks.look(&members);
        pass();
        pass();
        marks.drain();
        let report = marks.report().unwrap();
        if let Some(why) = report.refused {
            assert!(!rustix::process::geteuid().is_root() || marks.kind.is_none(), "{why}");
            return println!("NOT RUN: {why}");
        }
        let [thread] = report.threads.as_slice() else { panic!("{report:?}") };
        let stages: Vec<_> = thread.cycles.stages.iter().map(|stage| (stage.name.as_str(), stage.times)).collect();
        assert_eq!((thread.tid, thread.cycles.cycles, thread.cycles.unpaired), (own, 2, 0), "{report:?}");
        assert_eq!(stages, [("control", 2)], "{report:?}");
        assert_eq!((report.lost, report.unfollowed_places, report.unfollowed.len()), (0, 0, 0));
        // A second look opens nothing anew.
        marks.look(&members);
        pass();
        marks.drain();
        assert_eq!(marks.report().unwrap().threads[0].cycles.cycles, 3);
    }

    #[test]
    fn what_is_no_note_is_none() {
        assert!(notes(b"").is_empty() && notes(b"\x7fELF").is_empty());
        for rest in [
            &b"\xff\xff\xff\xff\xff\xff\xff\xff\x03\0\0\0"[..],
            b"\0\0\0\0",
            b"\x08\0\0\0\xff\0\0\0\x03\0\0\0stapsdt\0",
        ] {
            assert_eq!(next_note(rest), None, "{rest:?}");
        }
        assert_eq!(code("7f00-7f10 r-xp 00000000 fe:00 12   /opt/a b/lib.so"), Some("/opt/a b/lib.so"));
        assert_eq!(code("7f00-7f10 r-xp 00000000 00:00 0    [vdso]"), None);
        assert_eq!(recognised("/opt/ros/lib/libtracetools.so"), Some(OtherMarks::Ros2));
        assert_eq!(recognised("/usr/lib/liblttng-ust.so.1"), Some(OtherMarks::LttngUst));
    }
}
