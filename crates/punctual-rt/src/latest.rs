//! A cell that passes on only the newest value, for example set points to a loop or measurements out of it.
//!
//! There are three slots: one belongs to the writer, one to the reader, and one lies in the middle. Either side
//! exchanges its own slot for the middle one in one atomic step. So neither side ever waits, retries or sees half a
//! value.

#![allow(unsafe_code, reason = "slots are owned in turn; each block says why it is sound")]

use crate::atomics::{Arc, AtomicU8, Cell, Ordering};

/// Bits of the state that hold the number of the middle slot.
const SLOT: u8 = 0b011;
/// Set while the middle slot holds a value that the reader has not taken.
const NEW: u8 = 0b100;

/// Each slot has cache lines of its own, so that writing one does not slow down reading another.
#[repr(align(64))]
struct Slot<T>(Cell<T>);

struct Slots<T> {
    first: Slot<T>,
    second: Slot<T>,
    third: Slot<T>,
    /// Number of the slot in the middle, and whether its value is [`NEW`].
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

/// Makes a cell that holds `initial` and returns its two ends. Until the first write, the reader gets `initial` as not
/// new.
///
/// # Real-time
/// Allocates: call before the loop. Dropping the second of the two ends frees memory: drop the real-time thread's end
/// after its loop.
pub fn latest<T: Copy + Send>(initial: T) -> (LatestWriter<T>, LatestReader<T>) {
    let slot = || Slot(Cell::new(initial));
    let slots = Arc::new(Slots { first: slot(), second: slot(), third: slot(), middle: AtomicU8::new(1) });
    (LatestWriter { slots: Arc::clone(&slots), own: 0 }, LatestReader { slots, own: 2 })
}

/// The writing end of a latest-value cell.
pub struct LatestWriter<T> {
    slots: Arc<Slots<T>>,
    own: u8,
}

impl<T: Copy + Send> LatestWriter<T> {
    /// Replaces the value of the cell. Returns whether the reader had taken the previous value; `false` if it was not
    /// read, or if it was the initial value.
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

/// The result of reading a latest-value cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading<T> {
    /// The newest value.
    pub value: T,
    /// Whether the value was written since the previous read.
    pub is_new: bool,
}

/// The reading end of a latest-value cell.
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
        // Relaxed suffices, because the exchange below orders the accesses. A value written at this very moment is
        // found by the next read.
        let is_new = self.slots.middle.load(Ordering::Relaxed) & NEW != 0;
        if is_new {
            self.own = self.slots.middle.swap(self.own, Ordering::AcqRel) & SLOT;
        }
        let value = self.slots.slot(self.own).with(|slot| {
            // SAFETY: slot `own` belongs to this end alone. Its value was written before the slot was exchanged or the
            // cell was made.
            unsafe { slot.read() }
        });
        Reading { value, is_new }
    }
}
