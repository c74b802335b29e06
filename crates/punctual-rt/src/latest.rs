//! A cell that hands over the newest value only: set points to a loop, measurements out of it.
//!
//! Three slots: one belongs to the writer, one to the reader, and the third lies between them, to be exchanged by
//! either side for its own in one atomic step. So no side ever waits, retries or sees half a value.

#![allow(unsafe_code, reason = "slots are owned in turn; each block says why it is sound")]

use crate::atomics::{Arc, AtomicU8, Cell, Ordering};

/// Bits of the state that tell which slot lies in the middle.
const SLOT: u8 = 0b011;
/// Set while the middle slot holds a value the reader has not had.
const NEW: u8 = 0b100;

/// On cache lines of its own, so that writing one slot does not slow down reading another.
#[repr(align(64))]
struct Slot<T>(Cell<T>);

struct Slots<T> {
    first: Slot<T>,
    second: Slot<T>,
    third: Slot<T>,
    /// Which slot is in the middle, and whether it is [`NEW`].
    middle: AtomicU8,
}

// SAFETY: a slot is accessed only by the side that owns its number; numbers change hands by the atomic exchange of
// `middle` (AcqRel), so accesses by different threads are ordered. T itself moves between threads, hence `T: Send`.
unsafe impl<T: Send> Sync for Slots<T> {}

impl<T> Slots<T> {
    #[inline]
    fn slot(&self, number: u8) -> &Cell<T> {
        match number {
            0 => &self.first.0,
            1 => &self.second.0,
            _ => &self.third.0,
        }
    }
}

/// Makes a cell that holds `initial`, with its two ends. The reader gets `initial` as not new until the first write.
///
/// # Real-time
/// Allocates: call before the loop. When the second end is dropped, memory is freed: drop the real-time thread's end
/// after its loop.
pub fn latest<T: Copy + Send>(initial: T) -> (LatestWriter<T>, LatestReader<T>) {
    let slot = || Slot(Cell::new(initial));
    let slots = Arc::new(Slots { first: slot(), second: slot(), third: slot(), middle: AtomicU8::new(1) });
    (LatestWriter { slots: Arc::clone(&slots), own: 0 }, LatestReader { slots, own: 2 })
}

/// The writing end.
pub struct LatestWriter<T> {
    slots: Arc<Slots<T>>,
    own: u8,
}

impl<T: Copy + Send> LatestWriter<T> {
    /// Replaces what the cell holds. Returns whether the reader had taken the value before; `false` says it was
    /// overwritten unseen (or is the initial one).
    ///
    /// # Real-time
    /// Wait-free (one atomic exchange). Allocates nothing, never enters the kernel. Bounded by copying one `T`.
    #[inline]
    pub fn write(&mut self, value: T) -> bool {
        self.slots.slot(self.own).with_mut(|slot| {
            // SAFETY: slot `own` belongs to this end alone until the exchange below.
            unsafe { slot.write(value) }
        });
        let previous = self.slots.middle.swap(self.own | NEW, Ordering::AcqRel);
        self.own = previous & SLOT;
        previous & NEW == 0
    }
}

/// What a read found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading<T> {
    /// The newest value written.
    pub value: T,
    /// Whether it was written since the last read.
    pub is_new: bool,
}

/// The reading end.
pub struct LatestReader<T> {
    slots: Arc<Slots<T>>,
    own: u8,
}

impl<T: Copy + Send> LatestReader<T> {
    /// The newest value.
    ///
    /// # Real-time
    /// Wait-free (at most one atomic exchange). Allocates nothing, never enters the kernel. Bounded by copying one `T`.
    #[inline]
    pub fn read(&mut self) -> Reading<T> {
        // Relaxed: the exchange that follows orders; a value missed by a hair is found by the next read.
        let is_new = self.slots.middle.load(Ordering::Relaxed) & NEW != 0;
        if is_new {
            self.own = self.slots.middle.swap(self.own, Ordering::AcqRel) & SLOT;
        }
        let value = self.slots.slot(self.own).with(|slot| {
            // SAFETY: slot `own` belongs to this end alone; it was written before it was exchanged or made.
            unsafe { slot.read() }
        });
        Reading { value, is_new }
    }
}
