//! Marks that a program set in its own code: where they are, and when its threads pass them.
//!
//! Marks are USDT probes: notes in the program's files say where they are. The kernel reports when a thread passes one, through
//! events that end with this process, so nothing is left in the program whatever happens. Tracepoints that exist in user space
//! only are recognised, and said to be out of reach, but for the callbacks of ROS 2. Probes of other providers are followed if
//! their names come in pairs, such as `callback_start` and `callback_end`.

mod of_file;

use self::of_file::OfFile;
use super::members::Members;
use super::procfs::text;
use crate::sys::files;
use crate::sys::samples::{Ring, SampleEvent};
use object::ReadCache;
use punctual_hist::MonoTime;
use punctual_numbers::inspect::{Mark, MarkReport, MarkTally, Marked, Setup};
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
/// `PERF_RECORD_SAMPLE` and `PERF_RECORD_LOST`.
const SAMPLE: u32 = 9;
const LOST: u32 = 2;

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
        let file = format!("/proc/{pid}/root{path}");
        let is_read = fs::metadata(&file).is_ok_and(|file| file.is_file() && file.len() <= FILE_MAX);
        // Only the parts are read that tell of marks.
        let bytes = is_read.then(|| fs::File::open(&file).ok()).flatten().map(ReadCache::new);
        let OfFile { marks, others } = OfFile::read(path, bytes.as_ref());
        for other in others {
            if !found.others.contains(&other) {
                found.others.push(other);
            }
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

/// A sample of an event: its number, the process and the thread, and the time.
fn sample(contents: &[u8], names: &BTreeMap<u64, Mark>) -> Option<Marked> {
    let mark = names.get(&word(contents, 0)?)?.clone();
    let [pid_and_tid, at] = [word(contents, 8)?, word(contents, 16)?];
    Some(Marked { at: MonoTime::from_ns(at), tid: Tid::try_from(pid_and_tid >> 32).ok()?, mark })
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn only_code_of_files_is_looked_in() {
        assert_eq!(code("7f00-7f10 r-xp 00000000 fe:00 12   /opt/a b/lib.so"), Some("/opt/a b/lib.so"));
        assert_eq!(code("7f00-7f10 r-xp 00000000 00:00 0    [vdso]"), None);
    }
}
