//! A bounded queue from one thread to one other: every value arrives, in order, or is refused and counted.
//!
//! For values of which only the newest matters there is [`latest`](crate::latest()).

use rtrb::{Consumer, Producer, PushError, RingBuffer};
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Makes a queue of at most `capacity` values, with its two ends. A capacity of 0 refuses everything.
///
/// # Panics
/// When memory for `capacity` values cannot be had.
///
/// # Real-time
/// Allocates, and touches every page of the queue so that pushing does not fault later: call before the loop. When the
/// second end is dropped, memory is freed: drop the real-time thread's end after its loop.
pub fn spsc<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let (mut producer, consumer) = RingBuffer::new(capacity);
    if let Ok(mut chunk) = producer.write_chunk_uninit(capacity) {
        let (slots, _) = chunk.as_mut_slices();
        // The detour keeps the compiler from asking for zeroed, untouched memory instead.
        for slot in core::hint::black_box(slots) {
            *slot = MaybeUninit::<T>::zeroed();
        }
        // Dropped without a commit: nothing was sent.
    }
    let refused = Arc::new(AtomicU64::new(0));
    (Sender { producer, refused: Arc::clone(&refused) }, Receiver { consumer, refused })
}

/// The sending end.
pub struct Sender<T> {
    producer: Producer<T>,
    refused: Arc<AtomicU64>,
}

impl<T> Sender<T> {
    /// Appends `value`.
    ///
    /// # Errors
    /// Gives the value back when the queue is full; [`refused`](Self::refused) counts it.
    ///
    /// # Real-time
    /// Wait-free. Allocates nothing, never enters the kernel.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), T> {
        self.producer.push(value).map_err(|PushError::Full(value)| {
            // The only writer: no atomic addition needed.
            self.refused.store(self.refused.load(Relaxed).wrapping_add(1), Relaxed);
            value
        })
    }

    /// Values for which there is room; may be more by the time it is used, never fewer.
    ///
    /// # Real-time
    /// Wait-free.
    #[inline]
    pub fn room(&self) -> usize {
        self.producer.slots()
    }

    /// Values refused so far because the queue was full.
    ///
    /// # Real-time
    /// Wait-free.
    #[inline]
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// Whether the receiving end is gone.
    ///
    /// # Real-time
    /// Wait-free.
    #[inline]
    pub fn is_abandoned(&self) -> bool {
        self.producer.is_abandoned()
    }
}

/// The receiving end.
pub struct Receiver<T> {
    consumer: Consumer<T>,
    refused: Arc<AtomicU64>,
}

impl<T> Receiver<T> {
    /// Takes the oldest value; `None` when there is none.
    ///
    /// # Real-time
    /// Wait-free. Allocates nothing, never enters the kernel.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.consumer.pop().ok()
    }

    /// Values waiting; may be more by the time it is used, never fewer.
    ///
    /// # Real-time
    /// Wait-free.
    #[inline]
    pub fn len(&self) -> usize {
        self.consumer.slots()
    }

    /// Whether nothing is waiting.
    ///
    /// # Real-time
    /// Wait-free.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.consumer.is_empty()
    }

    /// Values refused so far because the queue was full.
    ///
    /// # Real-time
    /// Wait-free.
    #[inline]
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// Whether the sending end is gone. Values it has sent before can still be taken.
    ///
    /// # Real-time
    /// Wait-free.
    #[inline]
    pub fn is_abandoned(&self) -> bool {
        self.consumer.is_abandoned()
    }
}
