//! Queues from a measuring thread to the thread that reads its records.

use rtrb::{Consumer, Producer, RingBuffer};

/// Makes both ends of a queue. Allocates, and touches all of its pages so that the loop does not fault on them: call
/// this before the loop.
pub(super) fn ring<T: Copy + Default>(room: usize) -> (Producer<T>, Consumer<T>) {
    let (mut producer, mut consumer) = RingBuffer::new(room);
    while producer.push(T::default()).is_ok() {}
    while consumer.pop().is_ok() {}
    (producer, consumer)
}
