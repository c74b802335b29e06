//! Where to put releases so that the kernel's tick does not meet them.
//!
//! The tick fires at a fixed phase of `CLOCK_MONOTONIC`, every 1 to 10 ms; a release that lands on it is late by all
//! that the tick does. [`scan`] polls the clock for a while and notes when time was taken from it; [`choose`] finds the
//! tick among those gaps and the offset farthest from it.
//!
//! Releases at `offset + k·T` and ticks at `φ + j·H` come as near to each other as `offset − φ` is modulo `gcd(T, H)`:
//! with T = 1 ms and H = 4 ms every fourth release has the same distance to a tick, and no other offset than one modulo
//! 1 ms changes it. So all gaps are laid onto one circle of that length, and the offset is the point of it farthest from
//! those places where gaps recur.
//!
//! `choose` is pure; `scan` reads the clock and nothing else. Neither changes policy or affinity. The result holds only for
//! the CPU that the caller runs on, as every CPU may have its own tick phase.

#[cfg(test)]
mod tests;

use crate::sys;
use punctual_hist::{MonoTime, Nanos};

/// How many gaps are noted at most: 16 per millisecond for a second.
const ROOM: usize = 16_384;
/// The longest scan.
const LONGEST: Nanos = Nanos::from_secs(10);
/// Shorter gaps are the clock's own noise.
const SHORTEST_GAP: Nanos = Nanos::from_us(1);
/// Two lengths, in nanoseconds, whose greatest common divisor is smaller count as having none.
const FINEST: u64 = 1_000;
/// The shortest piece of the circle, in nanoseconds.
const PIECE: u64 = 2_000;
/// The largest number of pieces of the circle.
const PIECES: u64 = 512;

/// What a scan saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// When the scan began to poll.
    pub began: MonoTime,
    /// When the scan ended.
    pub ended: MonoTime,
    /// Each gap: the last instant the clock was read before it, and how long it took until it was read again. In order.
    pub seen: Vec<(MonoTime, Nanos)>,
    /// Gaps for which there was no room.
    pub lost: u64,
    /// Gaps shorter than this were not noted: the larger of 1 us and eight times what reading the clock usually takes.
    pub shortest: Nanos,
    /// The CPU that was scanned; `None` when the thread was moved meanwhile, so that the gaps may be of several CPUs.
    pub cpu: Option<u32>,
}

impl Gaps {
    /// How long it polled.
    pub const fn length(&self) -> Nanos {
        self.ended.since(self.began)
    }
}

/// An offset for the releases, and what it rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Releases belong at this phase of `CLOCK_MONOTONIC`, modulo [`circle`](Self::circle), and so modulo the period.
    pub offset: Nanos,
    /// The tick's phase of `CLOCK_MONOTONIC` modulo the tick length; `None` when no gap came back tick after tick: the
    /// CPU has none (`nohz_full`), it is too short to be seen, or the tick length given is wrong.
    pub tick_phase: Option<Nanos>,
    /// Ticks seen at that phase.
    pub ticks_seen: u64,
    /// Ticks that fit into the scan. The share of them that was seen says how sure the tick phase is.
    pub ticks_expected: u64,
    /// The modulus of offsets: the greatest common divisor of period and tick length, to the microsecond.
    pub circle: Nanos,
    /// Distance from the offset to the nearest place where gaps recur: half the circle when there is none, zero when no
    /// place is free, or most of the scan was taken by others.
    pub clearance: Nanos,
    /// Usual (median) length of the gaps that recur: what a release on the tick would have been late by.
    pub hit: Nanos,
    /// How long the clearance lasts. Where the period and the tick length fit to each other only nearly (1 ms and a tick of
    /// 3.333333 ms), the releases wander towards the tick, so start soon after the scan. `Nanos::MAX` when they fit exactly.
    pub lasts: Nanos,
}

impl Choice {
    /// The first instant not before `earliest` that has the chosen phase.
    ///
    /// # Real-time
    /// Pure; one division.
    pub fn align(&self, earliest: MonoTime) -> MonoTime {
        let off = offset_on(earliest, self.circle);
        let ahead = if self.offset >= off { self.offset - off } else { self.circle - (off - self.offset) };
        earliest + ahead
    }
}

/// Polls the clock for `length`, at most 10 s, on the CPU it is called on, and notes the gaps. A second sees every tick
/// of any kernel at least a hundred times.
///
/// To see what a real-time thread sees, call it with that thread's policy and affinity; other threads of this CPU will
/// not run meanwhile.
///
/// # Real-time
/// Not for the loop. Allocates before it polls; polls without entering the kernel where the clock is in the vDSO; bounded
/// by `length`, and by a count of polls should the clock stand still.
pub fn scan(length: Nanos) -> Gaps {
    let length = length.min(LONGEST);
    let read = sys::clock_read_cost();
    let shortest = (read * 8).max(SHORTEST_GAP);
    // Not zeros, which would be pages yet to be faulted in.
    let mut room = vec![(MonoTime::from_ns(1), Nanos::from_ns(1)); ROOM];
    let (mut slots, mut lost, mut noted) = (room.iter_mut(), 0u64, 0usize);
    let cpu = sys::current_cpu();
    let began = sys::now();
    let mut former = began;
    for _ in 0..length.whole(read.max(Nanos::from_ns(10))).saturating_mul(4) {
        let now = sys::now();
        let gap = now - former;
        if gap >= shortest {
            match slots.next() {
                Some(slot) => (*slot, noted) = ((former, gap), noted.saturating_add(1)),
                None => lost = lost.saturating_add(1),
            }
        }
        former = now;
        if now - began >= length {
            break;
        }
    }
    room.truncate(noted);
    Gaps {
        began,
        ended: former,
        seen: room,
        lost,
        shortest,
        cpu: Some(cpu).filter(|before| *before == sys::current_cpu()),
    }
}

/// The offset for releases every `period` that keeps farthest from what `gaps` shows to recur, the tick (nominally every
/// `tick`; zero when not known) first of all.
///
/// A `period` of zero is taken as 1 ns.
///
/// # Real-time
/// Not for the loop: allocates a few kilobytes, and takes up to some milliseconds when there are thousands of gaps.
pub fn choose(gaps: &Gaps, period: Nanos, tick: Nanos) -> Choice {
    let period = period.max(Nanos::from_ns(1));
    let tick_or_period = if tick == Nanos::ZERO { period } else { tick };
    let circle = common_divisor(period, tick_or_period);
    let found = tick_of(gaps, tick);
    let ring = Ring::of(gaps, circle, gaps.length().whole(tick_or_period), found.phase.is_some());
    let (offset, clearance) = ring.quietest();
    // Where most of the scan was taken from it, what it did not see says nothing.
    let taken = gaps.seen.iter().fold(Nanos::ZERO, |sum, (_, gap)| sum + *gap);
    let clearance = if taken * 2 > gaps.length() { Nanos::ZERO } else { clearance };
    Choice {
        offset,
        tick_phase: found.phase,
        ticks_seen: found.seen,
        ticks_expected: gaps.length().whole(tick),
        circle,
        clearance,
        hit: ring.usual_hit(gaps),
        lasts: lasting(clearance, circle, period, tick_or_period),
    }
}

/// Where on a circle of `length` from the clock's origin.
fn offset_on(at: MonoTime, length: Nanos) -> Nanos {
    Nanos::from_ns(at.as_ns().checked_rem(length.as_ns()).unwrap_or(0))
}

/// The greatest length both are multiples of, but for less than a microsecond.
fn common_divisor(period: Nanos, tick: Nanos) -> Nanos {
    let (mut a, mut b) = (period.max(tick).as_ns(), period.min(tick).as_ns());
    let finest = FINEST.min(b >> 4);
    while b > finest {
        // The remainder nearest to zero, from either side.
        let rest = a.checked_rem(b).unwrap_or(0);
        (a, b) = (b, rest.min(b.saturating_sub(rest)));
    }
    Nanos::from_ns(a.max(1))
}

/// How long until the releases have wandered over `clearance`.
fn lasting(clearance: Nanos, circle: Nanos, period: Nanos, tick: Nanos) -> Nanos {
    let slip = |length: Nanos| {
        let rest = offset_on(MonoTime::from_ns(length.as_ns()), circle);
        let off = rest.min(circle - rest);
        let part = off.as_secs_f64() / length.as_secs_f64();
        if off == rest { part } else { -part }
    };
    let speed = (slip(period) - slip(tick)).abs();
    let seconds = clearance.as_secs_f64() / speed;
    // Zero over zero, and what is longer than the clock can count, are for ever.
    if seconds < 1e9 { whole_ns(seconds) } else { Nanos::MAX }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, below 2^63")]
fn whole_ns(seconds: f64) -> Nanos {
    Nanos::from_ns((seconds * 1e9) as u64)
}

/// The gaps of a scan, laid onto a circle.
struct Ring {
    circle: Nanos,
    piece: u64,
    /// How many gaps touch each piece.
    touched: Vec<u64>,
    /// From this number on, the gaps of a piece are called recurring.
    recurring: u64,
}

impl Ring {
    fn of(gaps: &Gaps, circle: Nanos, ticks: u64, has_tick: bool) -> Self {
        let pieces = circle.whole(Nanos::from_ns(PIECE)).clamp(1, PIECES);
        let piece = circle.as_ns().div_ceil(pieces).max(1);
        let mut touched = vec![0u64; usize::try_from(circle.as_ns().div_ceil(piece).max(1)).unwrap_or(1)];
        let mut ring = Self { circle, piece, touched: Vec::new(), recurring: u64::MAX };
        for gap in &gaps.seen {
            ring.places(*gap, touched.len()).for_each(|place| {
                touched.get_mut(place).into_iter().for_each(|count| *count = count.saturating_add(1));
            });
        }
        let mut sorted = touched.clone();
        sorted.sort_unstable();
        let everywhere = sorted.get(sorted.len() >> 3).copied().unwrap_or(0);
        let often = (ticks >> 3).max(2);
        // One tick in eight more than what is everywhere, by more than chance heaps up there …
        ring.recurring = everywhere.saturating_add(everywhere.isqrt().saturating_mul(5)).saturating_add(often);
        // … unless a tick is known and stands out nowhere: then it is what is everywhere.
        if has_tick && sorted.last().is_none_or(|most| *most < ring.recurring) {
            ring.recurring = often;
        }
        ring.touched = touched;
        ring
    }

    /// The pieces that a gap touches; each once, however long it is.
    fn places(&self, (start, length): (MonoTime, Nanos), pieces: usize) -> impl Iterator<Item = usize> + use<> {
        let from = offset_on(start, self.circle).as_ns();
        let to = from.saturating_add(length.as_ns().min(self.circle.as_ns()));
        let index = |at: u64| usize::try_from(at.checked_div(self.piece).unwrap_or(0)).unwrap_or(usize::MAX);
        let (first, last) = (index(from), index(to));
        let count = last.saturating_sub(first).saturating_add(1).min(pieces);
        (first..first.saturating_add(count)).map(move |n| n.checked_rem(pieces).unwrap_or(0))
    }

    fn is_busy(&self, place: usize) -> bool {
        self.touched.get(place).is_some_and(|count| *count >= self.recurring)
    }

    /// For each piece how many pieces away the nearest busy one is, on the circle.
    fn distances(&self) -> Vec<usize> {
        let pieces = self.touched.len();
        let mut away = vec![pieces; pieces];
        // Twice round in both directions, so that what lies across the seam counts.
        let mut spread = |order: &mut dyn Iterator<Item = usize>| {
            let mut since = pieces;
            for n in order {
                let place = n.checked_rem(pieces).unwrap_or(0);
                since = if self.is_busy(place) { 0 } else { since.saturating_add(1) };
                away.get_mut(place).into_iter().for_each(|least| *least = since.min(*least));
            }
        };
        let twice = pieces.saturating_mul(2);
        spread(&mut (0..twice));
        spread(&mut (0..twice).rev());
        away
    }

    /// The middle of the piece to put releases at, and how far the nearest busy piece is: of those nearly as far as the
    /// farthest, the one whose surroundings were touched least.
    fn quietest(&self) -> (Nanos, Nanos) {
        let away = self.distances();
        let farthest = away.iter().copied().max().unwrap_or(0);
        let nearly = farthest.saturating_sub(farthest >> 2);
        let noise = |place: usize| {
            let pieces = self.touched.len();
            let around = (0..5).map(|n: usize| place.saturating_add(pieces).saturating_add(n).saturating_sub(2));
            around.filter_map(|n| self.touched.get(n.checked_rem(pieces)?)).sum::<u64>()
        };
        let candidates = away.iter().enumerate().filter(|(_, away)| **away >= nearly);
        let best = candidates.min_by_key(|(place, away)| (noise(*place), usize::MAX.saturating_sub(**away)));
        let (place, away) = best.map_or((0, 0), |(place, away)| (place, *away));
        let pieces = |n: usize| self.piece.saturating_mul(u64::try_from(n).unwrap_or(u64::MAX));
        let middle = pieces(place).saturating_add(self.piece >> 1);
        // From the middle of one to the edge of the other, half a piece is lost.
        let clear = pieces(away).saturating_sub(self.piece >> 1).min(self.circle.as_ns() >> 1);
        let offset = offset_on(MonoTime::from_ns(middle), self.circle);
        (offset, Nanos::from_ns(if away == 0 { 0 } else { clear }))
    }

    /// Median length of the gaps that begin in busy pieces.
    fn usual_hit(&self, gaps: &Gaps) -> Nanos {
        let pieces = self.touched.len();
        let busy = gaps.seen.iter().filter(|gap| self.places(**gap, pieces).next().is_some_and(|n| self.is_busy(n)));
        let mut lengths: Vec<Nanos> = busy.map(|(_, length)| *length).collect();
        lengths.sort_unstable();
        lengths.get(lengths.len() >> 1).copied().unwrap_or_default()
    }
}

struct Tick {
    phase: Option<Nanos>,
    seen: u64,
}

/// The phase, modulo the tick length, at which most gaps begin, if that is at least half of the ticks.
fn tick_of(gaps: &Gaps, tick: Nanos) -> Tick {
    let expected = gaps.length().whole(tick);
    let window = Nanos::from_ns((tick.as_ns() >> 6).min(20_000));
    let mut starts: Vec<u64> = gaps.seen.iter().map(|(start, _)| offset_on(*start, tick).as_ns()).collect();
    starts.sort_unstable();
    let count = starts.len();
    // Once more a tick later, so that a window may lie across the seam.
    starts.extend_from_within(..);
    starts.iter_mut().skip(count).for_each(|start| *start = start.saturating_add(tick.as_ns()));
    let mut best: &[u64] = &[];
    for from in 0..count {
        let rest = starts.get(from..from.saturating_add(count)).unwrap_or_default();
        let end = rest.first().copied().unwrap_or(0).saturating_add(window.as_ns());
        let within = rest.get(..rest.partition_point(|start| *start < end)).unwrap_or_default();
        if within.len() > best.len() {
            best = within;
        }
    }
    let seen = u64::try_from(best.len()).unwrap_or(u64::MAX);
    let middle = best.get(best.len() >> 1).map(|start| offset_on(MonoTime::from_ns(*start), tick));
    let sure = expected >= 4 && seen >= expected.div_ceil(2);
    Tick { phase: middle.filter(|_| sure), seen }
}
