//! Passes late activations from the measuring loop to the thread that looks for their causes.
//!
//! The loop compares its latency with a threshold that the housekeeping side sets, and pushes larger ones into a ring.
//! It allocates nothing, never waits and never enters the kernel. If the ring is full, the activation is counted.

use super::ring::ring;
use punctual_hist::{MonoTime, Nanos};
use punctual_rt::Wake;
use rtrb::{Consumer, Producer};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Capacity of the ring, in activations.
const ROOM: usize = 4096;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeenActivation {
    pub release: MonoTime,
    pub woke: MonoTime,
    /// `false` for an ordinary activation, with which late ones are compared.
    pub late: bool,
}

impl SeenActivation {
    pub fn latency(&self) -> Nanos {
        self.woke.since(self.release)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrowdedOut {
    pub count: u64,
    pub latency: Nanos,
}

#[derive(Debug, Default)]
struct Shared {
    threshold: AtomicU64,
    /// Number of late activations for which the ring had no room, and the sum of their latencies.
    crowded_out: AtomicU64,
    crowded_out_ns: AtomicU64,
}

#[derive(Debug)]
pub struct LateTap {
    ring: Producer<SeenActivation>,
    shared: Arc<Shared>,
    /// Interval of ordinary activations: of this number, one is passed on.
    each: u64,
    until_next: u64,
}

#[derive(Debug)]
pub struct LateReader {
    ring: Consumer<SeenActivation>,
    shared: Arc<Shared>,
}

impl LateTap {
    /// Makes both sides. Activations with a latency above `threshold` are passed on, and one in `each` ordinary ones.
    /// Allocates: call this before the loop.
    pub fn new(threshold: Nanos, each: u64) -> (Self, LateReader) {
        let (producer, consumer) = ring(ROOM);
        let shared = Arc::new(Shared { threshold: AtomicU64::new(threshold.as_ns()), ..Shared::default() });
        let reader = LateReader { ring: consumer, shared: Arc::clone(&shared) };
        (Self { ring: producer, shared, each: each.max(1), until_next: each.max(1) }, reader)
    }

    /// Looks at one activation, and passes it on if necessary. Wait-free, allocates nothing.
    #[inline]
    pub fn see(&mut self, wake: &Wake) {
        let latency = wake.latency();
        self.until_next = self.until_next.saturating_sub(1);
        let late = latency.as_ns() > self.shared.threshold.load(Relaxed);
        if late || self.until_next == 0 {
            self.push(wake, late);
        }
    }

    #[cold]
    fn push(&mut self, wake: &Wake, late: bool) {
        if !late {
            self.until_next = self.each;
        }
        let seen = SeenActivation { release: wake.release, woke: wake.woke, late };
        if self.ring.push(seen).is_err() && late {
            let add = |counter: &AtomicU64, n: u64| counter.store(counter.load(Relaxed).saturating_add(n), Relaxed);
            add(&self.shared.crowded_out, 1);
            add(&self.shared.crowded_out_ns, seen.latency().as_ns());
        }
    }
}

impl LateReader {
    pub fn take(&mut self) -> Option<SeenActivation> {
        self.ring.pop().ok()
    }

    pub fn set_threshold(&self, threshold: Nanos) {
        self.shared.threshold.store(threshold.as_ns(), Relaxed);
    }

    pub fn threshold(&self) -> Nanos {
        Nanos::from_ns(self.shared.threshold.load(Relaxed))
    }

    pub fn crowded_out(&self) -> CrowdedOut {
        let Shared { crowded_out, crowded_out_ns, .. } = &*self.shared;
        CrowdedOut { count: crowded_out.load(Relaxed), latency: Nanos::from_ns(crowded_out_ns.load(Relaxed)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wake(n: u64, late_us: u64) -> Wake {
        let release = MonoTime::from_ns(n * 1_000_000);
        Wake { index: n, release, woke: release.plus(Nanos::from_us(late_us)), ..Wake::default() }
    }

    #[test]
    fn what_is_late_is_handed_over_and_each_tenth_of_the_rest() {
        let (mut tap, mut reader) = LateTap::new(Nanos::from_us(50), 10);
        (0..40).for_each(|n| tap.see(&wake(n, if n == 15 { 60 } else { 50 })));
        let seen: Vec<_> = std::iter::from_fn(|| reader.take()).collect();
        let at: Vec<_> = seen.iter().map(|s| (s.release.as_ns() / 1_000_000, s.late)).collect();
        assert_eq!(at, [(9, false), (15, true), (19, false), (29, false), (39, false)]);
        reader.set_threshold(Nanos::from_us(49));
        tap.see(&wake(40, 50));
        assert_eq!(reader.take().map(|s| s.late), Some(true));
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let (mut tap, reader) = LateTap::new(Nanos::ZERO, 1);
        (0..ROOM as u64 + 3).for_each(|n| tap.see(&wake(n, 7)));
        assert_eq!(reader.crowded_out(), CrowdedOut { count: 3, latency: Nanos::from_us(21) });
    }
}
