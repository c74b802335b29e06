//! A bounded queue from one thread to another for C. The size of its elements is known only at run time, so it uses a
//! queue of bytes instead of the typed queue of the Rust library.

use crate::error::{Code, Failure, done, hot};
use crate::handle::{self, Single};
use crate::text;
use rtrb::{Consumer, Producer, RingBuffer};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// The sending end of a queue, for one thread. Opaque.
pub struct prt_spsc_sender([u8; 0]);

/// The receiving end of a queue, for one thread. Opaque.
pub struct prt_spsc_receiver([u8; 0]);

handled!(prt_spsc_sender, 9: Single<Sender, ()>);
handled!(prt_spsc_receiver, 10: Single<Receiver, Arc<QueueCounts>>);

/// Counts of a queue that any thread may read. Each count is written by one end only.
#[derive(Default)]
pub struct QueueCounts {
    sent: AtomicU64,
    taken: AtomicU64,
    refused: AtomicU64,
}

/// Adds one to a count that only the caller writes, so no atomic addition is needed.
#[inline]
fn count(number: &AtomicU64) {
    number.store(number.load(Relaxed).wrapping_add(1), Release);
}

/// The sending end of a queue. Elements are stored as bytes, always whole elements.
pub struct Sender {
    bytes: Producer<u8>,
    element: usize,
    seen: Arc<QueueCounts>,
}

/// The receiving end of a queue.
pub struct Receiver {
    bytes: Consumer<u8>,
    element: usize,
}

/// The largest size of a queue in bytes.
const BYTES_MAX: u64 = 1 << 32;

impl Sender {
    /// # Safety
    /// One element can be read at `from`.
    #[inline]
    unsafe fn push(&mut self, from: *const u8) -> Result<(), Code> {
        let Ok(mut room) = self.bytes.write_chunk_uninit(self.element) else {
            count(&self.seen.refused);
            return Err(-libc::EAGAIN);
        };
        let (first, second) = room.as_mut_slices();
        let rest = from.wrapping_add(first.len());
        // SAFETY: both parts together have the size of the caller's element, and only this call writes to them.
        unsafe { std::ptr::copy_nonoverlapping(from, first.as_mut_ptr().cast::<u8>(), first.len()) };
        // SAFETY: the same as for the block above.
        unsafe { std::ptr::copy_nonoverlapping(rest, second.as_mut_ptr().cast::<u8>(), second.len()) };
        // SAFETY: the whole chunk was just written.
        unsafe { room.commit_all() };
        count(&self.seen.sent);
        Ok(())
    }
}

impl Receiver {
    /// # Safety
    /// One element can be written at `to`.
    #[inline]
    unsafe fn pop(&mut self, to: *mut u8, seen: &QueueCounts) -> Result<(), Code> {
        let Ok(waiting) = self.bytes.read_chunk(self.element) else { return Err(-libc::EAGAIN) };
        let (first, second) = waiting.as_slices();
        let rest = to.wrapping_add(first.len());
        // SAFETY: both parts together are one element, which the caller has room for.
        unsafe { std::ptr::copy_nonoverlapping(first.as_ptr(), to, first.len()) };
        // SAFETY: the same as for the block above.
        unsafe { std::ptr::copy_nonoverlapping(second.as_ptr(), rest, second.len()) };
        waiting.commit_all();
        count(&seen.taken);
        Ok(())
    }
}

/// Makes a queue of at most `capacity` elements of `element_bytes` bytes each. Each end may be used by one thread at a
/// time, and is closed on its own.
///
/// Not for the loop: allocates, and touches all memory of the queue, so that pushing does not fault later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_spsc_open(
    element_bytes: usize,
    capacity: usize,
    sender: *mut *mut prt_spsc_sender,
    receiver: *mut *mut prt_spsc_receiver,
) -> c_int {
    done(|| {
        if sender.is_null() || receiver.is_null() {
            return Err((-libc::EFAULT).into());
        }
        let (from, to) = make(element_bytes, capacity)?;
        let seen = Arc::clone(&from.seen);
        let from = handle::open::<prt_spsc_sender>(Single::new(from, ()))?;
        let to = handle::open::<prt_spsc_receiver>(Single::new(to, seen)).inspect_err(|_| drop(handle::close(from)))?;
        // SAFETY: the C caller promises that the pointer is valid.
        unsafe { sender.write_unaligned(from) };
        // SAFETY: the same as for the block above.
        unsafe { receiver.write_unaligned(to) };
        Ok(())
    })
}

fn make(element: usize, capacity: usize) -> Result<(Sender, Receiver), Failure> {
    if element == 0 || capacity == 0 {
        return Err(Failure::new(
            -libc::EINVAL,
            "a queue needs elements of at least one byte and room for at least one",
        ));
    }
    let bytes = element.checked_mul(capacity).filter(|bytes| *bytes as u64 <= BYTES_MAX);
    let bytes = bytes.ok_or(Failure::new(-libc::ENOMEM, "the queue would be larger than 4 GiB"))?;
    // The allocation is tried first, because `RingBuffer::new` would end the program if it failed.
    let mut trial = Vec::<u8>::new();
    trial.try_reserve_exact(bytes).map_err(|_| Failure::from(-libc::ENOMEM))?;
    drop(trial);
    let (mut producer, consumer) = RingBuffer::new(bytes);
    if let Ok(mut room) = producer.write_chunk_uninit(bytes) {
        let (slots, _) = room.as_mut_slices();
        // `black_box` keeps the compiler from requesting zeroed memory that is not yet touched.
        std::hint::black_box(slots).fill(MaybeUninit::zeroed());
        // The chunk is dropped without a commit, so nothing was sent.
    }
    Ok((Sender { bytes: producer, element, seen: Arc::default() }, Receiver { bytes: consumer, element }))
}

/// Appends a copy of the element at `element`; `-EAGAIN` when the queue is full.
///
/// For the loop: never waits. One thread only: when two threads push at the same moment, one gets `-EBUSY` and sends
/// nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_spsc_push(sender: *mut prt_spsc_sender, element: *const c_void) -> c_int {
    if element.is_null() {
        return -libc::EFAULT;
    }
    // SAFETY: the C caller promises that one element can be read there.
    hot(handle::alone(sender, |sender, ()| unsafe { sender.push(element.cast()) }).and_then(|pushed| pushed))
}

/// Moves the oldest element to `element`; `-EAGAIN` when the queue is empty.
///
/// For the loop: never waits. One thread only: when two threads pop at the same moment, one gets `-EBUSY` and takes
/// nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_spsc_pop(receiver: *mut prt_spsc_receiver, element: *mut c_void) -> c_int {
    if element.is_null() {
        return -libc::EFAULT;
    }
    // SAFETY: the C caller promises that one element can be written there.
    hot(handle::alone(receiver, |receiver, seen| unsafe { receiver.pop(element.cast(), seen) })
        .and_then(|popped| popped))
}

/// Writes the number of waiting elements to `count`. May be called from any thread; neither end is disturbed. An
/// element that is being sent or taken at this moment may or may not be included.
///
/// For the loop: never waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_spsc_waiting(receiver: *const prt_spsc_receiver, count: *mut usize) -> c_int {
    let waiting = handle::shared(receiver).map(|receiver| {
        let seen = &receiver.open;
        // `sent` is read first, so that no element is counted that is sent after this call began.
        let sent = seen.sent.load(Acquire);
        usize::try_from(sent.saturating_sub(seen.taken.load(Acquire))).unwrap_or(usize::MAX)
    });
    // SAFETY: the C caller promises that the pointer is NULL or valid.
    hot(waiting.and_then(|waiting| unsafe { text::give(count, waiting) }))
}

/// Writes to `count` how many elements were refused so far because the queue was full. May be called from any thread;
/// neither end is disturbed.
///
/// For the loop: never waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_spsc_refused(receiver: *const prt_spsc_receiver, count: *mut u64) -> c_int {
    let refused = handle::shared(receiver).map(|receiver| receiver.open.refused.load(Acquire));
    // SAFETY: the C caller promises that the pointer is NULL or valid.
    hot(refused.and_then(|refused| unsafe { text::give(count, refused) }))
}

/// Frees the sending end of a queue. Elements that were sent can still be taken.
#[unsafe(no_mangle)]
pub extern "C" fn prt_spsc_sender_close(sender: *mut prt_spsc_sender) -> c_int {
    done(|| handle::free(sender))
}

/// Frees the receiving end of a queue.
#[unsafe(no_mangle)]
pub extern "C" fn prt_spsc_receiver_close(receiver: *mut prt_spsc_receiver) -> c_int {
    done(|| handle::free(receiver))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    #[test]
    fn who_counts_what_waits_keeps_nobody_from_sending_or_taking() {
        let (mut sender, mut receiver) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: both pointers are valid.
        assert_eq!(unsafe { prt_spsc_open(8, 2, &raw mut sender, &raw mut receiver) }, 0);
        let onlooker = handle::shared(receiver).unwrap();
        let mut element = 5_u64;
        for expected in [0, 0, -libc::EAGAIN] {
            // SAFETY: the pointer is valid for one element.
            assert_eq!(unsafe { prt_spsc_push(sender, (&raw const element).cast()) }, expected);
        }
        // SAFETY: there is room for one element.
        assert_eq!(unsafe { prt_spsc_pop(receiver, (&raw mut element).cast()) }, 0);
        drop(onlooker);
        let (mut waiting, mut refused) = (0, 0);
        let taking = handle::alone(receiver, |_, _| {
            // SAFETY: the pointer is valid.
            assert_eq!(unsafe { prt_spsc_waiting(receiver, &raw mut waiting) }, 0, "while one takes");
            // SAFETY: the pointer is valid.
            assert_eq!(unsafe { prt_spsc_refused(receiver, &raw mut refused) }, 0, "while one takes");
        });
        assert!(taking.is_ok());
        assert_eq!((waiting, refused), (1, 1));
        assert_eq!((prt_spsc_sender_close(sender), prt_spsc_receiver_close(receiver)), (0, 0));
    }
}
