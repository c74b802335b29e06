//! The log for C. A loop stores numbers and which text they belong to; the texts are told beforehand, for C has no
//! texts of which it is certain that they stay.

use crate::config::length;
use crate::error::{Code, Failure, cold, done, hot};
use crate::handle::{self, Handled};
use crate::text;
use punctual_rt::Nanos;
use punctual_rt::log::{Drain, DrainThread, LogWriter, VALUES_MAX, Value, placeholders};
use std::ffi::{c_char, c_int};
use std::fs::File;
use std::io::BufWriter;

/// Gathers what loops store and writes it out, in a thread of its own. Opaque.
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct prt_log([u8; 0]);

/// One loop's end of a log. Opaque.
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct prt_log_writer([u8; 0]);

/// A text that loops refer to. Opaque, and never closed: it may be referred to as long as the program runs.
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct prt_log_text([u8; 0]);

impl Handled for prt_log {
    const KIND: u8 = 13;
    type Value = DrainThread;
}

impl Handled for prt_log_writer {
    const KIND: u8 = 14;
    type Value = LogWriter;
}

impl Handled for prt_log_text {
    const KIND: u8 = 15;
    type Value = Text;
}

/// A text, and how many numbers it has places for.
#[derive(Clone, Copy)]
pub struct Text {
    text: &'static str,
    places: usize,
}

const PATH_MAX: usize = 4096;
const TEXT_MAX: usize = 1024;
const NAME_MAX: usize = 255;
/// A loop that needs more between two rounds of the drain has another problem.
const RECORDS_MAX: usize = 1 << 24;
const INTERVAL: Nanos = Nanos::from_ms(50);

/// Starts a log that writes lines to the file `text_path` and a trace to `trace_path`, which <https://ui.perfetto.dev>
/// shows; NULL for neither. Its thread looks for records every `interval_ns`, 50 ms for 0, and runs where the calling
/// thread may.
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
        // SAFETY: null, or a text that ends, says the caller.
        let text_path = unsafe { text::optional(text_path, PATH_MAX, "text_path") }?;
        // SAFETY: as before.
        let trace_path = unsafe { text::optional(trace_path, PATH_MAX, "trace_path") }?;
        let open = || {
            let mut drain = Drain::new();
            if let Some(path) = text_path {
                drain = drain.text(BufWriter::new(create(path)?));
            }
            if let Some(path) = trace_path {
                drain = drain.trace(BufWriter::new(create(path)?));
            }
            Ok(handle::open(drain.start(interval)?)?)
        };
        // SAFETY: null or valid, says the caller.
        unsafe { text::put(log, open) }
    })
}

fn create(path: &str) -> Result<File, Failure> {
    File::create(path).map_err(|error| {
        let code = error.raw_os_error().unwrap_or(libc::EIO).saturating_neg();
        Failure::new(code, format!("create {path}: {error}"))
    })
}

/// One more end of a log, with room for `capacity` records, for the thread that `name` describes.
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
        // SAFETY: null, or a text that ends, says the caller.
        let name = unsafe { text::required(name, NAME_MAX, "name") }?;
        if !(1..=RECORDS_MAX).contains(&capacity) {
            return Err(Failure::new(-libc::EINVAL, format!("capacity {capacity} is not within 1 to {RECORDS_MAX}")));
        }
        let log = handle::shared(log)?;
        // SAFETY: null or valid, says the caller.
        unsafe { text::put(writer, || Ok(handle::open(log.writer(name, capacity))?)) }
    })
}

/// Tells the log that the calling thread is the one that writes: a trace then shows its records in the row in which it
/// shows what the kernel did to this thread. Call before the loop.
#[unsafe(no_mangle)]
pub extern "C" fn prt_log_writer_of_this_thread(writer: *mut prt_log_writer) -> c_int {
    done(|| {
        handle::alone(writer)?.of_this_thread();
        Ok(())
    })
}

/// Tells a text, or a name, that loops will refer to. In a text each `{}` stands for the next of up to four numbers.
///
/// Not for the loop: allocates, and keeps it for ever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_log_text_open(text: *const c_char, id: *mut *mut prt_log_text) -> c_int {
    done(|| {
        // SAFETY: null, or a text that ends, says the caller.
        let text = unsafe { text::required(text, TEXT_MAX, "text") }?;
        let places = placeholders(text);
        if places > VALUES_MAX {
            return Err(Failure::new(-libc::EINVAL, "a text has places for at most four numbers"));
        }
        let keep = || Ok(handle::open(Text { text: Box::leak(text.into()), places })?);
        // SAFETY: null or valid, says the caller.
        unsafe { text::put(id, keep) }
    })
}

/// Does something with a loop's end of a log, and a text.
#[inline]
fn with(
    writer: *const prt_log_writer,
    text: *const prt_log_text,
    act: impl FnOnce(&mut LogWriter, Text),
) -> Result<(), Code> {
    let text = *handle::shared(text)?;
    act(&mut *handle::alone(writer)?, text);
    Ok(())
}

/// Something happened: `text`, with as many of the numbers as it has places. Lost, and counted, when the log is full.
///
/// For the loop: wait-free.
#[unsafe(no_mangle)]
pub extern "C" fn prt_log_message(
    writer: *mut prt_log_writer,
    text: *const prt_log_text,
    a: i64,
    b: i64,
    c: i64,
    d: i64,
) -> c_int {
    let values = [a, b, c, d].map(Value::Signed);
    hot(with(writer, text, |writer, text| writer.message(text.text, values.get(..text.places).unwrap_or(&[]))))
}

/// What `name` stands for begins; what begins must end, the last one first.
///
/// For the loop: wait-free.
#[unsafe(no_mangle)]
pub extern "C" fn prt_log_begin(writer: *mut prt_log_writer, name: *const prt_log_text) -> c_int {
    hot(with(writer, name, |writer, name| writer.begin(name.text)))
}

/// What `name` stands for ends.
///
/// For the loop: wait-free.
#[unsafe(no_mangle)]
pub extern "C" fn prt_log_end(writer: *mut prt_log_writer, name: *const prt_log_text) -> c_int {
    hot(with(writer, name, |writer, name| writer.end(name.text)))
}

/// The quantity `name` is `value` from now on.
///
/// For the loop: wait-free.
#[unsafe(no_mangle)]
pub extern "C" fn prt_log_counter(writer: *mut prt_log_writer, name: *const prt_log_text, value: f64) -> c_int {
    hot(with(writer, name, |writer, name| writer.counter(name.text, value)))
}

/// How many records were lost so far because the log was full.
///
/// For the loop: wait-free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_log_lost(writer: *mut prt_log_writer, count: *mut u64) -> c_int {
    let lost = handle::alone(writer).map(|writer| writer.lost());
    // SAFETY: null or valid, says the caller.
    hot(lost.and_then(|lost| unsafe { text::give(count, lost) }))
}

/// Frees a loop's end of a log; what it stored is written all the same.
#[unsafe(no_mangle)]
pub extern "C" fn prt_log_writer_close(writer: *mut prt_log_writer) -> c_int {
    done(|| handle::free(writer))
}

/// Writes out all that was stored, ends the log's thread, and reports: the first failure to write as its errno.
/// `records` and `lost`, which may be NULL, tell how many records were written and lost.
///
/// Blocks until everything is written: call after the loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_log_close(log: *mut prt_log, records: *mut u64, lost: *mut u64) -> c_int {
    cold(|| {
        let drained = handle::close(log)?.stop().map_err(|error| {
            let code = error.raw_os_error().unwrap_or(libc::EIO).saturating_neg();
            Failure::new(code, format!("write the log: {error}"))
        })?;
        // SAFETY: null or valid, says the caller.
        unsafe { text::tell(records, drained.records) };
        // SAFETY: as before.
        unsafe { text::tell(lost, drained.lost) };
        Ok(0)
    })
}
