//! A bounded queue from one thread to one other. Every value either arrives, in order, or is refused and counted.
//!
//! If only the newest value matters, use [`latest`](crate::latest()).

use rtrb::{Consumer, Producer, PushError, RingBuffer};
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Makes a queue of at most `capacity` values and returns its two ends. A queue of capacity 0 refuses everything.
///
/// # Panics
/// If memory for `capacity` values cannot be allocated.
///
/// # Real-time
/// Allocates, and touches every page of the queue so that pushing does not fault later: call before the loop. Dropping
/// the second of the two ends frees memory: drop the real-time thread's end after its loop.
pub fn spsc<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let (mut producer, consumer) = RingBuffer::new(capacity);
    if let Ok(mut chunk) = producer.write_chunk_uninit(capacity) {
        let (slots, _) = chunk.as_mut_slices();
        // `black_box` keeps the compiler from requesting zeroed memory that is not yet touched.
        for slot in core::hint::black_box(slots) {
            *slot = MaybeUninit::<T>::zeroed();
        }
        // The chunk is dropped without a commit, so nothing was sent.
    }
    let refused = Arc::new(AtomicU64::new(0));
    (Sender { producer, refused: Arc::clone(&refused) }, Receiver { consumer, refused })
}

/// The sending end of a queue.
pub struct Sender<T> {
    producer: Producer<T>,
    refused: Arc<AtomicU64>,
}

impl<T> Sender<T> {
    /// Appends `value`.
    ///
    /// # Errors
    /// Returns the value if the queue is full; [`refused`](Self::refused) counts it.
    ///
    /// # Real-time
    /// Wait-free. Allocates nothing, never enters the kernel.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), T> {
        self.producer.push(value).map_err(|PushError::Full(value)| {
            // Only this end writes the counter, so no atomic addition is needed.
            self.refused.store(self.refused.load(Relaxed).wrapping_add(1), Relaxed);
            value
        })
    }

    /// Number of values for which there is room. There may be more room when the result is used, never less.
    ///
    /// # Real-time
    /// Wait-free.
    #[inline]
    pub fn room(&self) -> usize {
        self.producer.slots()
    }

    /// Number of values refused so far because the queue was full.
    ///
    /// # Real-time
    /// Wait-free.
    #[inline]
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// Whether the receiving end was dropped.
    ///
    /// # Real-time
    /// Wait-free.
    #[inline]
    pub fn is_abandoned(&self) -> bool {
        self.producer.is_abandoned()
    }
}

/// The receiving end of a queue.
pub struct Receiver<T> {
    consumer: Consumer<T>,
    refused: Arc<AtomicU64>,
}

impl<T> Receiver<T> {
    /// Takes the oldest value; `None` if the queue is empty.
    ///
    /// # Real-time
    /// Wait-free. Allocates nothing, never enters the kernel.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.consumer.pop().ok()
    }

    /// Number of waiting values. There may be more when the result is used, never fewer.
    ///
    /// # Real-time
    /// Wait-free.
    #[inline]
    pub fn len(&self) -> usize {
        self.consumer.slots()
    }

    /// Whether the queue is empty.
    ///
    /// # Real-time
    /// Wait-free.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.consumer.is_empty()
    }

    /// Number of values refused so far because the queue was full.
    ///
    /// # Real-time
    /// Wait-free.
    #[inline]
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// Whether the sending end was dropped. Values that it sent can still be taken.
    ///
    /// # Real-time
    /// Wait-free.
    #[inline]
    pub fn is_abandoned(&self) -> bool {
        self.consumer.is_abandoned()
    }
}
