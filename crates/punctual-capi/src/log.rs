//! The log for C. A loop stores numbers and the id of a text. Texts are registered before the loop, because a C string
//! may not live long enough.

use crate::config::length;
use crate::error::{Code, Failure, cold, done, hot};
use crate::handle::{self, Single};
use crate::text;
use punctual_rt::Nanos;
use punctual_rt::log::{Drain, DrainThread, LogValue, LogWriter, VALUES_MAX, placeholders};
use std::ffi::{c_char, c_int};
use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Collects the records of loops and writes them out, in a thread of its own. Opaque.
pub struct prt_log([u8; 0]);

/// The writing end of a log, for one loop. Opaque.
pub struct prt_log_writer([u8; 0]);

/// A text that loops refer to. Opaque, and never closed: it stays valid while the program runs.
pub struct prt_log_text([u8; 0]);

handled!(prt_log, 13: Gathering);
handled!(prt_log_writer, 14: Single<LogWriter, Lost>);
handled!(prt_log_text, 15: Text);

/// The log's thread, and the number of records that refused calls lost, over all writers.
pub struct Gathering {
    drain: DrainThread,
    barred: Arc<AtomicU64>,
}

/// Counts of lost records of one writer, which any thread may read.
pub struct Lost {
    /// Records lost because the log was full.
    full: AtomicU64,
    /// Records lost because the call was refused.
    barred: AtomicU64,
    /// The sum of `barred` over all writers of the log.
    barred_in_all: Arc<AtomicU64>,
}

impl Lost {
    #[cold]
    fn bar(&self) {
        self.barred.fetch_add(1, Relaxed);
        self.barred_in_all.fetch_add(1, Relaxed);
    }
}

/// A registered text, and the number of its placeholders.
#[derive(Clone, Copy)]
pub struct Text {
    text: &'static str,
    places: usize,
}

const PATH_MAX: usize = 4096;
const TEXT_MAX: usize = 1024;
const NAME_MAX: usize = 255;
/// Upper limit of a writer's `capacity`, against mistaken arguments: the buffer is emptied at every interval of the
/// log.
const RECORDS_MAX: usize = 1 << 24;
const INTERVAL: Nanos = Nanos::from_ms(50);

/// Starts a log that writes lines to the file `text_path` and a trace to the file `trace_path`, which
/// <https://ui.perfetto.dev> displays. Either may be NULL to write no such file. A thread collects records every
/// `interval_ns` (0 for 50 ms), on the CPUs that the calling thread may use.
///
/// Not for the loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_log_open(
    text_path: *const c_char,
    trace_path: *const c_char,
    interval_ns: i64,
    log: *mut *mut prt_log,
) -> c_int {
    done(|| {
        let interval = match length("interval_ns", interval_ns)? {
            Nanos::ZERO => INTERVAL,
            interval => interval,
        };
        // SAFETY: the C caller promises NULL or a text that ends with NUL.
        let text_path = unsafe { text::optional(text_path, PATH_MAX, "text_path") }?;
        // SAFETY: the same as for the block above.
        let trace_path = unsafe { text::optional(trace_path, PATH_MAX, "trace_path") }?;
        let open = || {
            let mut drain = Drain::new();
            if let Some(path) = text_path {
                drain = drain.text(BufWriter::new(create(path)?));
            }
            if let Some(path) = trace_path {
                drain = drain.trace(BufWriter::new(create(path)?));
            }
            Ok(handle::open(Gathering { drain: drain.start(interval)?, barred: Arc::default() })?)
        };
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        unsafe { text::put(log, open) }
    })
}

fn create(path: &str) -> Result<File, Failure> {
    File::create(path).map_err(|error| failed(&format!("create {path}"), &error))
}

fn failed(what: &str, error: &std::io::Error) -> Failure {
    Failure::new(error.raw_os_error().unwrap_or(libc::EIO).saturating_neg(), format!("{what}: {error}"))
}

/// Adds a writing end to a log, with room for `capacity` records, for the thread that `name` describes.
///
/// Not for the loop: allocates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_log_writer_open(
    log: *mut prt_log,
    name: *const c_char,
    capacity: usize,
    writer: *mut *mut prt_log_writer,
) -> c_int {
    done(|| {
        // SAFETY: the C caller promises NULL or a text that ends with NUL.
        let name = unsafe { text::required(name, NAME_MAX, "name") }?;
        if !(1..=RECORDS_MAX).contains(&capacity) {
            return Err(Failure::new(-libc::EINVAL, format!("capacity {capacity} is not within 1 to {RECORDS_MAX}")));
        }
        let log = handle::shared(log)?;
        let open = || {
            let barred_in_all = Arc::clone(&log.barred);
            let lost = Lost { full: AtomicU64::new(0), barred: AtomicU64::new(0), barred_in_all };
            Ok(handle::open(Single::new(log.drain.writer(name, capacity), lost))?)
        };
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        unsafe { text::put(writer, open) }
    })
}

/// Declares that the calling thread is the writer: a trace then shows its records in the same row as the kernel's
/// events of this thread. Call it before the loop.
#[unsafe(no_mangle)]
pub extern "C" fn prt_log_writer_of_this_thread(writer: *mut prt_log_writer) -> c_int {
    done(|| Ok(handle::alone(writer, |writer, _| writer.of_this_thread())?))
}

/// Registers a text, or a name, that loops will refer to. Each `{}` in a text is replaced by one of up to four numbers.
///
/// Not for the loop: allocates memory that is never freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_log_text_open(text: *const c_char, id: *mut *mut prt_log_text) -> c_int {
    done(|| {
        // SAFETY: the C caller promises NULL or a text that ends with NUL.
        let text = unsafe { text::required(text, TEXT_MAX, "text") }?;
        let places = placeholders(text);
        if places > VALUES_MAX {
            return Err(Failure::new(-libc::EINVAL, "a text has places for at most four numbers"));
        }
        let keep = || Ok(handle::open(Text { text: Box::leak(text.into()), places })?);
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        unsafe { text::put(id, keep) }
    })
}

/// Calls `act` with a writer and a registered text. If the call is refused, the record is counted as lost.
#[inline]
fn with(
    writer: *const prt_log_writer,
    text: *const prt_log_text,
    act: impl FnOnce(&mut LogWriter, Text),
) -> Result<(), Code> {
    let store = || {
        let text = *handle::shared(text)?;
        handle::alone(writer, |writer, lost| {
            act(writer, text);
            lost.full.store(writer.lost(), Relaxed);
        })
    };
    store().inspect_err(|_| {
        if let Ok(writer) = handle::shared(writer) {
            writer.open.bar();
        }
    })
}

/// Stores the message `text` with as many of the numbers as it has placeholders. If the log is full, the record is lost
/// and counted.
///
/// For the loop: never waits. One thread only, as for all functions that write: when two threads write at the same
/// moment, one is refused with `-EBUSY`, and its record counts as lost.
#[unsafe(no_mangle)]
pub extern "C" fn prt_log_message(
    writer: *mut prt_log_writer,
    text: *const prt_log_text,
    a: i64,
    b: i64,
    c: i64,
    d: i64,
) -> c_int {
    let values = [a, b, c, d].map(LogValue::Signed);
    hot(with(writer, text, |writer, text| writer.message(text.text, values.get(..text.places).unwrap_or(&[]))))
}

/// Stores that the operation `name` begins. Operations must end in the reverse order of their beginnings.
///
/// For the loop: never waits. One thread only, as `prt_log_message`.
#[unsafe(no_mangle)]
pub extern "C" fn prt_log_begin(writer: *mut prt_log_writer, name: *const prt_log_text) -> c_int {
    hot(with(writer, name, |writer, name| writer.begin(name.text)))
}

/// Stores that the operation `name` ends.
///
/// For the loop: never waits. One thread only, as `prt_log_message`.
#[unsafe(no_mangle)]
pub extern "C" fn prt_log_end(writer: *mut prt_log_writer, name: *const prt_log_text) -> c_int {
    hot(with(writer, name, |writer, name| writer.end(name.text)))
}

/// Stores that the quantity `name` has the value `value` from now on.
///
/// For the loop: never waits. One thread only, as `prt_log_message`.
#[unsafe(no_mangle)]
pub extern "C" fn prt_log_counter(writer: *mut prt_log_writer, name: *const prt_log_text, value: f64) -> c_int {
    hot(with(writer, name, |writer, name| writer.counter(name.text, value)))
}

/// Writes to `count` how many records were lost so far, because the log was full or a call was refused. May be called
/// from any thread; the loop is not disturbed.
///
/// For the loop: never waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_log_lost(writer: *const prt_log_writer, count: *mut u64) -> c_int {
    let lost = handle::shared(writer).map(|writer| {
        let lost = &writer.open;
        lost.full.load(Relaxed).saturating_add(lost.barred.load(Relaxed))
    });
    // SAFETY: the C caller promises that the pointer is NULL or valid.
    hot(lost.and_then(|lost| unsafe { text::give(count, lost) }))
}

/// Frees the writing end of a log. The records stored with it are still written out.
#[unsafe(no_mangle)]
pub extern "C" fn prt_log_writer_close(writer: *mut prt_log_writer) -> c_int {
    done(|| handle::free(writer))
}

/// Writes out all stored records and ends the log's thread. Returns the negated errno of the first failure to write.
/// `records` and `lost`, which may be NULL, receive the numbers of written and lost records.
///
/// Blocks until everything is written: call after the loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_log_close(log: *mut prt_log, records: *mut u64, lost: *mut u64) -> c_int {
    cold(|| {
        let Gathering { drain, barred } = handle::close(log)?;
        let drained = drain.stop().map_err(|error| failed("write the log", &error))?;
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        unsafe { text::tell(records, drained.records) };
        // SAFETY: the same as for the block above.
        unsafe { text::tell(lost, drained.lost.saturating_add(barred.load(Relaxed))) };
        Ok(0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    fn opened() -> (*mut prt_log, *mut prt_log_writer, *mut prt_log_text) {
        let (mut log, mut writer, mut id) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: all pointers are valid.
        assert_eq!(unsafe { prt_log_open(ptr::null(), ptr::null(), 0, &raw mut log) }, 0);
        // SAFETY: all pointers are valid.
        assert_eq!(unsafe { prt_log_writer_open(log, c"loop".as_ptr(), 8, &raw mut writer) }, 0);
        // SAFETY: both pointers are valid.
        assert_eq!(unsafe { prt_log_text_open(c"{}".as_ptr(), &raw mut id) }, 0);
        (log, writer, id)
    }

    fn lost(writer: *const prt_log_writer) -> u64 {
        let mut count = u64::MAX;
        // SAFETY: the pointer is valid.
        assert_eq!(unsafe { prt_log_lost(writer, &raw mut count) }, 0);
        count
    }

    #[test]
    fn who_asks_what_was_lost_loses_no_record() {
        let (log, writer, text) = opened();
        let monitor = handle::shared(writer).unwrap();
        assert_eq!(prt_log_message(writer, text, 1, 0, 0, 0), 0);
        drop(monitor);
        assert_eq!(lost(writer), 0);
        assert_eq!(prt_log_writer_close(writer), 0);
        let (mut records, mut lost) = (0, 9);
        // SAFETY: the pointer is valid.
        assert_eq!(unsafe { prt_log_close(log, &raw mut records, &raw mut lost) }, 0);
        assert_eq!((records, lost), (1, 0));
    }

    #[test]
    fn a_record_that_is_refused_counts_as_lost() {
        let (log, writer, text) = opened();
        let while_another_writes =
            |_: &mut _, _: &_| (prt_log_message(writer, text, 1, 0, 0, 0), prt_log_counter(writer, text, 1.0));
        assert_eq!(handle::alone(writer, while_another_writes), Ok((-libc::EBUSY, -libc::EBUSY)));
        assert_eq!(lost(writer), 2, "while another writes");
        assert_eq!(prt_log_begin(writer, ptr::null()), -libc::EFAULT);
        assert_eq!(prt_log_writer_close(writer), 0);
        let mut lost = 0;
        // SAFETY: the pointer is valid.
        assert_eq!(unsafe { prt_log_close(log, ptr::null_mut(), &raw mut lost) }, 0);
        assert_eq!(lost, 3);
    }
}
