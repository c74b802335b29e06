//! The latest-value cell for C, whose values have a size that is known only at run time.
//!
//! The Rust cell needs the type of its value at compile time. So there is one cell type for each of five sizes, and a
//! value is stored in the smallest one that holds it.

use crate::error::{Failure, done, hot};
use crate::handle::{self, Single};
use punctual_rt::{LatestReader, LatestWriter, latest};
use std::ffi::{c_int, c_void};
use std::ptr;

/// The writing end of a latest-value cell, for one thread. Opaque.
pub struct prt_latest_writer([u8; 0]);

/// The reading end of a latest-value cell, for one thread. Opaque.
pub struct prt_latest_reader([u8; 0]);

/// The largest value a cell holds, in bytes.
pub const PRT_LATEST_BYTES_MAX: usize = 4096;

handled!(prt_latest_writer, 11: Single<Writer, ()>);
handled!(prt_latest_reader, 12: Single<Reader, ()>);

type Bytes<const N: usize> = [u64; N];

macro_rules! of_each_size {
    ($($name:ident: $end:ident)*) => {$(
        enum $name {
            Of16($end<Bytes<2>>),
            Of64($end<Bytes<8>>),
            Of256($end<Bytes<32>>),
            Of1024($end<Bytes<128>>),
            Of4096($end<Bytes<512>>),
        }
    )*};
}

of_each_size!(WriterOf: LatestWriter ReaderOf: LatestReader);

/// The writing end of a cell, and the size of a value in bytes.
pub struct Writer {
    cell: WriterOf,
    bytes: usize,
}

/// The reading end of a cell, and the size of a value in bytes.
pub struct Reader {
    cell: ReaderOf,
    bytes: usize,
}

/// Evaluates an expression with the cell inside an end, whatever its size is.
macro_rules! whichever {
    ($one:ident::of($end:expr), $cell:ident => $act:expr) => {
        match $end {
            $one::Of16($cell) => $act,
            $one::Of64($cell) => $act,
            $one::Of256($cell) => $act,
            $one::Of1024($cell) => $act,
            $one::Of4096($cell) => $act,
        }
    };
}

/// Copies the value at `from`, and fills the rest with zeros.
///
/// # Safety
/// `bytes` bytes can be read at `from`.
#[inline]
unsafe fn padded<const N: usize>(from: *const u8, bytes: usize) -> Bytes<N> {
    let mut value = [0u64; N];
    let bytes = bytes.min(size_of::<Bytes<N>>());
    // SAFETY: `bytes` is at most the size of the value; the rest is required of the caller under `# Safety` above.
    unsafe { ptr::copy_nonoverlapping(from, value.as_mut_ptr().cast::<u8>(), bytes) };
    value
}

/// # Safety
/// `bytes` bytes can be written at `to`.
#[inline]
unsafe fn read<const N: usize>(cell: &mut LatestReader<Bytes<N>>, to: *mut u8, bytes: usize) -> bool {
    let reading = cell.read();
    let bytes = bytes.min(size_of::<Bytes<N>>());
    // SAFETY: `bytes` is at most the size of the value; the rest is required of the caller under `# Safety` above.
    unsafe { ptr::copy_nonoverlapping(reading.value.as_ptr().cast::<u8>(), to, bytes) };
    reading.is_new
}

impl Writer {
    /// # Safety
    /// A value can be read at `from`.
    #[inline]
    unsafe fn write(&mut self, from: *const u8) {
        let bytes = self.bytes;
        whichever!(WriterOf::of(&mut self.cell), cell => {
            // SAFETY: required of the caller under `# Safety` above.
            cell.write(unsafe { padded(from, bytes) });
        });
    }
}

impl Reader {
    /// # Safety
    /// A value can be written at `to`.
    #[inline]
    unsafe fn read(&mut self, to: *mut u8) -> bool {
        let bytes = self.bytes;
        whichever!(ReaderOf::of(&mut self.cell), cell => {
            // SAFETY: required of the caller under `# Safety` above.
            unsafe { read(cell, to, bytes) }
        })
    }
}

/// Makes the two ends of the smallest cell that holds a value of `bytes` bytes.
fn make(bytes: usize, initial: &Bytes<512>) -> (Writer, Reader) {
    fn cell<const N: usize>(initial: &Bytes<512>) -> (LatestWriter<Bytes<N>>, LatestReader<Bytes<N>>) {
        latest(std::array::from_fn(|index| initial.get(index).copied().unwrap_or(0)))
    }
    macro_rules! ends {
        ($size:ident) => {{
            let (writer, reader) = cell(initial);
            (WriterOf::$size(writer), ReaderOf::$size(reader))
        }};
    }
    let (writer, reader) = match bytes {
        1..=16 => ends!(Of16),
        17..=64 => ends!(Of64),
        65..=256 => ends!(Of256),
        257..=1024 => ends!(Of1024),
        _ => ends!(Of4096),
    };
    (Writer { cell: writer, bytes }, Reader { cell: reader, bytes })
}

/// Makes a cell that keeps only the newest value, of `bytes` bytes, and holds `initial` at first. Each end may be used
/// by one thread at a time, and is closed on its own.
///
/// Not for the loop: allocates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_latest_open(
    bytes: usize,
    initial: *const c_void,
    writer: *mut *mut prt_latest_writer,
    reader: *mut *mut prt_latest_reader,
) -> c_int {
    done(|| {
        if initial.is_null() || writer.is_null() || reader.is_null() {
            return Err((-libc::EFAULT).into());
        }
        if !(1..=PRT_LATEST_BYTES_MAX).contains(&bytes) {
            return Err(Failure::new(-libc::EINVAL, "a latest value has 1 to 4096 bytes"));
        }
        // SAFETY: the C caller promises that a value can be read there.
        let initial = unsafe { padded(initial.cast(), bytes) };
        let (from, to) = make(bytes, &initial);
        let from = handle::open::<prt_latest_writer>(Single::new(from, ()))?;
        let to = handle::open::<prt_latest_reader>(Single::new(to, ())).inspect_err(|_| drop(handle::close(from)))?;
        // SAFETY: the C caller promises that the pointer is valid.
        unsafe { writer.write_unaligned(from) };
        // SAFETY: the same as for the block above.
        unsafe { reader.write_unaligned(to) };
        Ok(())
    })
}

/// Stores a copy of `value` as the newest value of the cell.
///
/// For the loop: never waits, bounded by copying one value. One thread only: when two threads write at the same moment,
/// one of them gets `-EBUSY` and writes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_latest_write(writer: *mut prt_latest_writer, value: *const c_void) -> c_int {
    if value.is_null() {
        return -libc::EFAULT;
    }
    // SAFETY: the C caller promises that a value can be read there.
    hot(handle::alone(writer, |writer, ()| unsafe { writer.write(value.cast()) }))
}

/// Copies the newest value to `value`. Returns 1 if it was written since the previous read, otherwise 0.
///
/// For the loop: never waits, bounded by copying one value. One thread only: when two threads read at the same moment,
/// one of them gets `-EBUSY` and its `value` is unchanged. Give each reader a cell of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_latest_read(reader: *mut prt_latest_reader, value: *mut c_void) -> c_int {
    if value.is_null() {
        return -libc::EFAULT;
    }
    // SAFETY: the C caller promises that a value can be written there.
    match handle::alone(reader, |reader, ()| unsafe { reader.read(value.cast()) }) {
        Ok(is_new) => c_int::from(is_new),
        Err(code) => code,
    }
}

/// Frees the writing end of a cell.
#[unsafe(no_mangle)]
pub extern "C" fn prt_latest_writer_close(writer: *mut prt_latest_writer) -> c_int {
    done(|| handle::free(writer))
}

/// Frees the reading end of a cell.
#[unsafe(no_mangle)]
pub extern "C" fn prt_latest_reader_close(reader: *mut prt_latest_reader) -> c_int {
    done(|| handle::free(reader))
}
