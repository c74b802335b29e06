//! Finds a phase for the releases at which the kernel's tick does not meet them.
//!
//! The tick fires at a fixed phase of `CLOCK_MONOTONIC`, every 1 to 10 ms. A release at the same instant is delayed by
//! all that the tick does. [`scan`] polls the clock for a while and notes gaps, during which the thread lost time.
//! [`choose`] finds the tick among the gaps, and the offset farthest from it.
//!
//! Releases at `offset + k·T` and ticks at `φ + j·H` come as close to each other as `offset − φ` modulo `gcd(T, H)`.
//! With T = 1 ms and H = 4 ms, every fourth release has the same distance to a tick, and only the offset modulo 1 ms
//! matters. So all gaps are mapped onto one circle of that length. The chosen offset is the point on the circle
//! farthest from the places where gaps recur.
//!
//! `choose` only computes; `scan` reads the clock and nothing else. Neither changes policy or affinity. The result
//! holds only for the CPU that the caller runs on, because every CPU may have its own tick phase.

#[cfg(test)]
mod tests;

use crate::sys;
use punctual_hist::{MonoTime, Nanos};
use std::time::Duration;

/// The largest number of gaps that are noted: 16 per millisecond for a second.
const ROOM: usize = 16_384;
const LONGEST: Nanos = Nanos::from_secs(10);
/// Gaps shorter than this are fluctuations of the clock readings.
const SHORTEST_GAP: Nanos = Nanos::from_us(1);
/// Two lengths whose greatest common divisor is smaller than this, in nanoseconds, count as having none.
const FINEST: u64 = 1_000;
/// The shortest length of a piece of the circle, in nanoseconds.
const PIECE: u64 = 2_000;
/// The largest number of pieces of the circle.
const PIECES: u64 = 512;

/// The result of a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// When the scan began to poll.
    pub began: MonoTime,
    /// When the scan ended.
    pub ended: MonoTime,
    /// The gaps in order of time: the last clock reading before each gap, and the time until the next reading.
    pub seen: Vec<(MonoTime, Nanos)>,
    /// Number of gaps for which there was no room.
    pub lost: u64,
    /// Gaps shorter than this were not noted: the larger of 1 us and eight times the usual duration of a clock reading.
    pub shortest: Nanos,
    /// The CPU that was scanned; `None` if the thread changed CPU, so that the gaps may belong to several CPUs.
    pub cpu: Option<u32>,
}

impl Gaps {
    /// Duration of the polling.
    pub const fn length(&self) -> Nanos {
        self.ended.since(self.began)
    }
}

/// A chosen offset for the releases, and the evidence for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Recommended phase of the releases on `CLOCK_MONOTONIC`, modulo [`circle`](Self::circle), and so modulo the
    /// period.
    pub offset: Nanos,
    /// Phase of the tick on `CLOCK_MONOTONIC`, modulo the tick length. `None` if no gap recurred with every tick: the
    /// CPU has no tick (`nohz_full`), the tick is too short to be seen, or the given tick length is wrong.
    pub tick_phase: Option<Nanos>,
    /// Number of ticks seen at that phase.
    pub ticks_seen: u64,
    /// Number of ticks that fit into the scan. The larger the share of ticks seen, the more certain is the tick phase.
    pub ticks_expected: u64,
    /// Length of the circle, the modulus of offsets: the greatest common divisor of period and tick length, to the
    /// microsecond.
    pub circle: Nanos,
    /// Distance from the offset to the nearest place where gaps recur. Half the circle if there is no such place; zero
    /// if no place is free, or if the thread lost most of the time of the scan.
    pub clearance: Nanos,
    /// Median length of the recurring gaps, which is the latency of a release at the tick.
    pub hit: Nanos,
    /// How long the clearance lasts. If period and tick length match only approximately (1 ms and a tick of 3.333333
    /// ms), the releases drift towards the tick, so start soon after the scan. `Nanos::MAX` if they match exactly.
    pub lasts: Nanos,
}

impl Choice {
    /// The first instant at or after `earliest` with the chosen phase.
    ///
    /// # Real-time
    /// Only computes; one division.
    pub fn align(&self, earliest: MonoTime) -> MonoTime {
        let off = offset_on(earliest, self.circle);
        let ahead = if self.offset >= off { self.offset - off } else { self.circle - (off - self.offset) };
        earliest + ahead
    }
}

/// Polls the clock for `length`, at most 10 s, on the current CPU, and notes the gaps. One second covers at least a
/// hundred ticks of any kernel.
///
/// Call it with the policy and affinity of the real-time thread to see the gaps that it will see. Other threads of this
/// CPU do not run meanwhile.
///
/// # Real-time
/// Not for the loop. Allocates before it polls. Polling does not enter the kernel if the clock is in the vDSO. Bounded
/// by `length`, and by a number of readings in case the clock stands still.
pub fn scan(length: Nanos) -> Gaps {
    let length = length.min(LONGEST);
    let read = sys::clock_read_cost();
    let shortest = (read * 8).max(SHORTEST_GAP);
    // The values are not zero, because zeroed pages would fault during the scan.
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

/// Chooses the offset for releases every `period` that is farthest from the recurring gaps in `gaps`. The tick has
/// precedence; `tick` is its nominal period, or zero if unknown.
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
    // If the thread lost most of the scan, a place without gaps means nothing.
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

/// Position of an instant on a circle of `length` that begins at the clock's origin.
fn offset_on(at: MonoTime, length: Nanos) -> Nanos {
    Nanos::from_ns(at.as_ns().checked_rem(length.as_ns()).unwrap_or(0))
}

/// The greatest common divisor of two lengths, up to deviations of less than a microsecond.
fn common_divisor(period: Nanos, tick: Nanos) -> Nanos {
    let (mut a, mut b) = (period.max(tick).as_ns(), period.min(tick).as_ns());
    let finest = FINEST.min(b >> 4);
    while b > finest {
        // The remainder closest to zero, positive or negative.
        let rest = a.checked_rem(b).unwrap_or(0);
        (a, b) = (b, rest.min(b.saturating_sub(rest)));
    }
    Nanos::from_ns(a.max(1))
}

/// Time until the releases have drifted by `clearance`.
fn lasting(clearance: Nanos, circle: Nanos, period: Nanos, tick: Nanos) -> Nanos {
    let slip = |length: Nanos| {
        let rest = offset_on(MonoTime::from_ns(length.as_ns()), circle);
        let off = rest.min(circle - rest);
        let part = off.as_secs_f64() / length.as_secs_f64();
        if off == rest { part } else { -part }
    };
    let speed = (slip(period) - slip(tick)).abs();
    let seconds = clearance.as_secs_f64() / speed;
    // Zero divided by zero, and times beyond the range of the clock, count as for ever.
    Duration::try_from_secs_f64(seconds).map_or(Nanos::MAX, Nanos::from)
}

/// The gaps of a scan, mapped onto a circle that is divided into pieces.
struct Ring {
    circle: Nanos,
    piece: u64,
    /// Number of gaps that touch each piece.
    touched: Vec<u64>,
    /// Gaps recur in a piece that at least this number of gaps touch.
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
        // Gaps recur in a piece that is touched more often than the quiet pieces, by one tick in eight plus five
        // standard deviations.
        ring.recurring = everywhere.saturating_add(everywhere.isqrt().saturating_mul(5)).saturating_add(often);
        // If a tick is known but no piece stands out, the tick touches every piece, and one tick in eight suffices.
        if has_tick && sorted.last().is_none_or(|most| *most < ring.recurring) {
            ring.recurring = often;
        }
        ring.touched = touched;
        ring
    }

    /// The pieces that a gap touches; each once, however long the gap is.
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

    /// For each piece, the distance on the circle to the nearest busy piece, in pieces.
    fn distances(&self) -> Vec<usize> {
        let pieces = self.touched.len();
        let mut away = vec![pieces; pieces];
        // Two rounds in either direction, so that distances across the end of the circle count.
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

    /// The middle of the piece for the releases, and the distance to the nearest busy piece. Among the pieces almost as
    /// far as the farthest, the one with the fewest gaps around it is taken.
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
        // The distance from the middle of one piece to the edge of another is shorter by half a piece.
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

/// The phase, modulo the tick length, at which most gaps begin, if at least half of the ticks have a gap there.
fn tick_of(gaps: &Gaps, tick: Nanos) -> Tick {
    let expected = gaps.length().whole(tick);
    let window = Nanos::from_ns((tick.as_ns() >> 6).min(20_000));
    let mut starts: Vec<u64> = gaps.seen.iter().map(|(start, _)| offset_on(*start, tick).as_ns()).collect();
    starts.sort_unstable();
    let count = starts.len();
    // Every start is repeated one tick later, so that a window may extend across the end of the circle.
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
