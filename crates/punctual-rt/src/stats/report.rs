//! A snapshot as a page of text: latency first, because that is what a drive or converter on the bus sees; then the
//! jitter of periods with its meaning; then the rest.
//!
//! This module uses only the snapshot and the given idle states of the CPU.

use super::{CycleRecord, IdleState, Mode, OUTAGE, Rhythm, Snapshot, modes};
use crate::backend::Backend;
use crate::wake::Class;
use punctual_hist::{Counts, Nanos};
use std::fmt;

/// Number of the worst activations that are printed.
const SHOWN_WORST: usize = 5;

/// The report of a snapshot; its [`fmt::Display`] is the text.
pub struct Report<'a> {
    snapshot: &'a Snapshot,
    idle: Option<&'a [IdleState]>,
}

impl<'a> Report<'a> {
    /// Makes the report of `snapshot`.
    pub fn new(snapshot: &'a Snapshot) -> Self {
        Self { snapshot, idle: None }
    }

    /// Adds the CPU's idle states, so that the report can name the one that may cause two kinds of wake-up.
    #[must_use]
    pub fn with_idle_states(mut self, states: &'a [IdleState]) -> Self {
        self.idle = Some(states);
        self
    }

    /// The humps in the distribution of the kernel's sleeps, if there were enough sleeps, otherwise of the latency.
    ///
    /// # Real-time
    /// Allocates, and reads all counts: not for the loop.
    pub fn modes(&self) -> Vec<Mode> {
        modes(self.distribution().1)
    }

    fn distribution(&self) -> (&'static str, &'a Counts) {
        let snapshot = self.snapshot;
        let mostly_slept = snapshot.overshoot.count() >= snapshot.latency.count() / 2;
        if mostly_slept { ("sleep overshoot", &snapshot.overshoot) } else { ("latency", &snapshot.latency) }
    }

    /// The idle state whose exit latency, or the difference to that of a lighter state, is similar to the distance
    /// between the first and the last hump; `None` if there is only one hump, or no state fits.
    ///
    /// # Real-time
    /// Allocates, and reads all counts: not for the loop.
    pub fn idle_suspect(&self) -> Option<&'a IdleState> {
        let modes = self.modes();
        let gap = modes.last()?.centre - modes.first()?.centre;
        suspect(gap, self.idle?)
    }
}

/// The idle state whose exit latency, or its difference to that of a lighter state, is nearest to `gap` and within a
/// factor of two. The figures of drivers are only approximate.
fn suspect(gap: Nanos, states: &[IdleState]) -> Option<&IdleState> {
    let enabled = || states.iter().filter(|state| state.enabled);
    let lighter = |than: &IdleState| enabled().filter(|s| s.number < than.number).map(|s| s.exit_latency).collect();
    let farness = |state: &IdleState| {
        let lighter: Vec<Nanos> = lighter(state);
        let steps = lighter.into_iter().chain([Nanos::ZERO]).map(|lighter| state.exit_latency - lighter);
        let ratio = |step: Nanos| (step.as_secs_f64() / gap.as_secs_f64().max(1e-9)).ln().abs();
        steps.map(ratio).fold(f64::INFINITY, f64::min)
    };
    let nearest = enabled().map(|state| (farness(state), state)).min_by(|a, b| a.0.total_cmp(&b.0));
    nearest.filter(|(farness, _)| *farness <= std::f64::consts::LN_2).map(|(_, state)| state)
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.title(f)?;
        if self.snapshot.counters.activations == 0 {
            return Ok(());
        }
        self.latency(f)?;
        self.periods(f)?;
        self.body(f)?;
        self.wakes(f)?;
        self.back_end(f)?;
        self.losses(f)?;
        self.humps(f)?;
        self.worst(f)
    }
}

impl Report<'_> {
    fn title(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.snapshot;
        let elapsed = s.counters.last_woke - s.counters.first_woke;
        write!(f, "{}: process {}, period {}", s.name, s.pid, length(s.period))?;
        if let Some(cpu) = s.cpu {
            write!(f, ", set up for CPU {cpu}")?;
        }
        writeln!(f, "; {} activations in {}", s.counters.activations, length(elapsed))?;
        if !s.coherent {
            line(f, "", format_args!("the loop wrote during every try: the numbers below may differ by a few cycles"))?;
        }
        Ok(())
    }

    fn latency(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.snapshot;
        line(f, "latency", Spread(&s.latency))?;
        if let Some(budget) = s.budget {
            line(f, "", format_args!("{} later than the budget of {}", s.counters.over_budget, length(budget)))?;
        }
        if !s.early.is_empty() {
            line(f, "early", Spread(&s.early))?;
        }
        Ok(())
    }

    fn periods(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.snapshot;
        line(f, "period error", Spread(&s.period_error))?;
        let Some(periods) = &s.periods else { return Ok(()) };
        let rhythm = s.rhythm().unwrap_or(Rhythm::TooFew);
        let Some(rho) = periods.autocorrelation() else {
            return line(f, "", format_args!("lag-1 autocorrelation: {rhythm}"));
        };
        if let (Some(sd), Some(ratio)) = (periods.sd_ns(), periods.ratio()) {
            let words = "times that of the wake-ups; expected ratio if latencies are independent: 1.41";
            line(f, "", format_args!("standard deviation {:.3} us, {ratio:.2} {words}", sd / 1e3))?;
            let all = s.counters.activations.saturating_sub(1);
            if periods.count < all {
                let words = "those around missed or timed-out releases are left out";
                line(f, "", format_args!("over {} of {all} periods: {words}", periods.count))?;
            }
        }
        line(f, "", format_args!("lag-1 autocorrelation {rho:+.3}: {rhythm}"))
    }

    fn body(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.snapshot;
        if !s.execution.is_empty() {
            line(f, "execution", Spread(&s.execution))?;
        }
        if s.response.is_empty() {
            return Ok(());
        }
        line(f, "response", Spread(&s.response))?;
        if let Some(deadline) = s.deadline {
            line(
                f,
                "",
                format_args!("{} later than the deadline of {}", s.counters.deadline_misses, length(deadline)),
            )?;
        }
        Ok(())
    }

    fn wakes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.snapshot;
        if !s.overshoot.is_empty() {
            line(f, "overslept", Spread(&s.overshoot))?;
        }
        if let (Some(share), false) = (s.spin_share(), s.polled.is_empty()) {
            line(f, "polled", Spread(&s.polled))?;
            line(f, "", format_args!("{:.2} % of the time", share * 100.0))?;
        }
        let classes: Vec<String> =
            s.classes().map(|(class, n)| format!("{n} {}", words_of(class, s.follows_events))).collect();
        line(f, "how it woke", classes.join(", "))
    }

    fn back_end(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.snapshot;
        match (s.backend, s.in_band_switches) {
            (Backend::Linux, _) => Ok(()),
            (core, 0) => line(f, "out-of-band", format_args!("on {core}, never taken in-band")),
            (core, n) => line(f, "out-of-band", format_args!("on {core}, taken in-band {n} times")),
        }
    }

    fn losses(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (s, c) = (self.snapshot, &self.snapshot.counters);
        let due = c.activations.saturating_add(c.missed).saturating_add(c.lost_in_outages);
        line(f, "missed", format_args!("{} releases of {due} due", c.missed))?;
        if c.outages > 0 {
            let words = "late and two releases missed";
            line(f, "outages", format_args!("{}, at least {} {words}", c.outages, length(OUTAGE)))?;
            line(f, "", format_args!("{} releases were lost in them and are not among the missed", c.lost_in_outages))?;
        }
        if s.suspended > Nanos::ZERO {
            line(f, "suspended", format_args!("{}: the machine slept, the grid did not see it", length(s.suspended)))?;
        }
        Ok(())
    }

    fn humps(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modes = self.modes();
        let (Some(first), Some(last)) = (modes.first(), modes.last()) else { return Ok(()) };
        let each: Vec<String> =
            modes.iter().map(|mode| format!("{:.1} % near {}", mode.share * 100.0, length(mode.centre))).collect();
        let gap = length(last.centre - first.centre);
        line(f, "modes", format_args!("{} has {} humps, {gap} apart", self.distribution().0, modes.len()))?;
        line(f, "", each.join(", "))?;
        match (self.idle_suspect(), self.idle) {
            (Some(state), _) => {
                let exit = length(state.exit_latency);
                line(
                    f,
                    "",
                    format_args!(
                        "idle state {} takes {exit} to leave and may be why: forbid it, and look again",
                        state.name
                    ),
                )
            }
            (None, None) => line(f, "", "idle states were not looked at"),
            (None, Some([])) if self.snapshot.cpu.is_none() => {
                line(f, "", "idle states were not looked at, for the task was set up for no single CPU")
            }
            (None, Some([])) => line(f, "", "the kernel shows no idle states of this CPU"),
            (None, Some(_)) => line(f, "", "no idle state of this CPU takes about that long to leave"),
        }
    }

    fn worst(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, record) in self.snapshot.worst.iter().take(SHOWN_WORST).enumerate() {
            let name = if n == 0 { "worst" } else { "" };
            line(f, name, Worst { record, snapshot: self.snapshot })?;
        }
        Ok(())
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, words: impl fmt::Display) -> fmt::Result {
    writeln!(f, "  {name:<14}{words}")
}

/// The figures of a distribution. A percentile for which there are too few values is printed as a dash.
struct Spread<'a>(&'a Counts);

impl fmt::Display for Spread<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.0;
        let or_dash = |value: Option<Nanos>| value.map_or_else(|| "-".to_owned(), length);
        write!(f, "min {:<9}", or_dash(counts.min()))?;
        for (name, ppm) in [("p50", 500_000), ("p99", 990_000), ("p99.9", 999_000)] {
            write!(f, "{name} {:<9}", or_dash(counts.percentile_ppm(ppm)))?;
        }
        write!(f, "max {:<9}of {}", or_dash(counts.max()), counts.count())
    }
}

struct Worst<'a> {
    record: &'a CycleRecord,
    snapshot: &'a Snapshot,
}

impl fmt::Display for Worst<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let r = self.record;
        let after = r.woke - self.snapshot.started;
        write!(f, "{} late: activation {} after {:.6} s, ", length(r.latency()), r.index, after.as_secs_f64())?;
        f.write_str(words_of(r.class, self.snapshot.follows_events))?;
        if let Some(overshoot) = r.overshoot {
            write!(f, ", overslept {}", length(overshoot))?;
        }
        if r.polled > Nanos::ZERO {
            write!(f, ", polled {}", length(r.polled))?;
        }
        if let Some(execution) = r.execution() {
            write!(f, ", ran {}", length(execution))?;
        }
        if r.missed > 0 { write!(f, ", {} missed", r.missed) } else { Ok(()) }
    }
}

fn words_of(class: Class, follows_events: bool) -> &'static str {
    match class {
        // It is not known when the outside event should have come, so it cannot be called on time.
        Class::OnTime if follows_events => "came",
        Class::OnTime => "on time",
        Class::PastOnArrival => "past before the wait",
        Class::LateFromSleep => "late from sleep",
        Class::HitWhilePolling => "hit while polling",
        Class::Preempted => "pre-empted while polling",
        Class::Interrupted => "interrupted while polling",
        Class::Early => "early",
        Class::TimedOut => "timed out",
    }
}

/// A length of time with three digits and a unit.
fn length(time: Nanos) -> String {
    let ns = time.as_ns();
    if ns < 1_000 {
        return format!("{ns} ns");
    }
    let seconds = time.as_secs_f64();
    let (value, unit) = match ns {
        0..1_000_000 => (seconds * 1e6, "us"),
        1_000_000..1_000_000_000 => (seconds * 1e3, "ms"),
        1_000_000_000.. => (seconds, "s"),
    };
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_three_digits() {
        let of = |ns: u64| length(Nanos::from_ns(ns));
        assert_eq!([of(0), of(999), of(1_000), of(9_999)], ["0 ns", "999 ns", "1.00 us", "10.0 us"]);
        assert_eq!([of(35_120), of(250_000_000), of(u64::MAX)], ["35.1 us", "250 ms", "18446744074 s"]);
    }

    #[test]
    fn the_suspect_is_the_state_or_the_step_nearest_to_the_gap() {
        let state = |number, exit_us, enabled| IdleState { enabled, ..IdleState::of(number, "", exit_us) };
        let states = [state(0, 0, true), state(1, 2, true), state(2, 33, true), state(3, 133, true)];
        let named = |us: u64| suspect(Nanos::from_us(us), &states).map(|s| s.number);
        assert_eq!((named(30), named(100), named(2), named(400)), (Some(2), Some(3), Some(1), None));
        assert_eq!(suspect(Nanos::from_us(30), &[state(2, 33, false)]), None, "a forbidden state is not entered");
        assert_eq!(suspect(Nanos::ZERO, &[]), None);
    }
}
