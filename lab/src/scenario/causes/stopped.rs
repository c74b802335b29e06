//! Stops a machine from outside, as a hypervisor would, for known times at known instants.
//!
//! The guest uses the host's time, because with time counted in instructions it would not notice a stop. Its clock is
//! compared with the host's before and after, so that each stop can be found in its recording. A busy host does not let
//! a guest continue at once. The time that its threads waited for a CPU is read from the kernel, and a reported length
//! may include this time or not.

use super::Bench;
use crate::kernel::Kernel;
use crate::scenario::{Claim, Judged, Lab, Outfit, Scenario, Verdict};
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::time::{Duration, Instant};

/// Number of stops of the guest.
const STOPS: u32 = 24;
/// Stops last `SHORTEST`, `SHORTEST + STEP`, `SHORTEST + 2 * STEP` and so on, in a shuffled order.
const SHORTEST: Duration = Duration::from_millis(25);
const STEP: Duration = Duration::from_millis(8);
/// The guest runs for this time between two stops.
const BETWEEN: Duration = Duration::from_millis(900);
/// How long after a stop the guest's threads may still wait for a CPU for the first time.
const AFTER: Duration = Duration::from_millis(40);
/// Largest difference between the reported instant of a standstill and the true one. The clocks are compared over a
/// serial line, which is not exact.
const APART_NS: i64 = 100_000_000;
/// Percentage of stops that must be reported, with lengths correct to 10 %.
const PERCENT: usize = 95;

/// The scenario runs on the same kernels as the other scenarios about causes.
pub const STOPPED: Scenario =
    Scenario { name: "stopped", claims: CLAIMS, wants: |spec| ["12-rt-amd64", "13-rt-amd64"].contains(&spec.id), run };

const CLAIMS: &[Claim] = &[Claim {
    id: "stopped.told",
    says: "of 24 times that a machine was stopped from outside, for 25 to 209 ms, 95 % are told as such, to 10 % of the time",
}];

fn run(lab: &Lab, kernel: &Kernel) -> Result<Judged> {
    let mut bench = Bench::boot(lab, kernel, "stopped", Outfit::default())?;
    bench.output("settled", "sleep 3")?;
    let start = Instant::now();
    let measure = "punctual measure --quiet --explain --windows 4096 --explain-threshold 15ms --warm-up 100ms --cpus 1 \
                   --period 1ms --duration 50s --out /tmp/recording >/tmp/log 2>&1";
    let begun = "for i in $(seq 300); do [ -s /tmp/recording ] && break; sleep 0.1; done; sleep 15";
    bench.output("measuring", &format!("{measure} & {begun}"))?;
    let before = compare_clocks(&mut bench, start)?;
    let stops = stop_and_go(bench.guest.process(), start)?;
    let after = compare_clocks(&mut bench, start)?;
    bench.output(
        "measured",
        "for i in $(seq 1000); do pidof punctual >/dev/null || break; sleep 0.2; done; cat /tmp/log",
    )?;
    let recording = bench.fetch("/tmp/recording", "recording.punctual")?;
    let explanation: Value =
        serde_json::from_str(&bench.product("explain", &recording)?).context("read the explanation")?;
    let report: Value = serde_json::from_str(&bench.product("report", &recording)?).context("read the report")?;
    lab.keep("stopped", kernel, "explanation.json", &explanation.to_string())?;
    lab.keep("stopped", kernel, "report.json", &report.to_string())?;
    let told = told(&explanation, &report);
    let stops: Vec<Stop> = stops.into_iter().map(|stop| stop.on_the_clock_of_the_guest(before, after)).collect();
    let complaints = compare(&stops, &told);
    let mut text = format!("clocks {before:?} {after:?}\n");
    for stop in &stops {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{stop:?}: {:?}", nearest(stop, &told));
    }
    lab.keep("stopped", kernel, "truth", &text)?;
    let right = stops.len() - complaints.len();
    crate::say(&format!("{right} of {} stops are told to 10 %; {} standstills in all", stops.len(), told.len()));
    if right * 100 >= stops.len() * PERCENT {
        return Ok(vec![("stopped.told", Verdict::Held)]);
    }
    let first = format!("{right} of {} stops are told, and to 10 %", stops.len());
    let complaints: Vec<String> = std::iter::once(first).chain(complaints).collect();
    Ok(vec![("stopped.told", Verdict::of(&complaints))])
}

/// A stop of the guest: when it began (on the host's or the guest's clock), how long it lasted, and how long the
/// guest's threads waited for a CPU after it.
#[derive(Clone, Copy, Debug)]
struct Stop {
    from_ns: i64,
    length: Duration,
    waited: Duration,
}

/// One instant on two clocks: the host's, which counts from the start of the scenario, and the guest's.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    host_ns: i64,
    guest_ns: i64,
}

impl Stop {
    /// Converts a stop to the guest's clock. Clocks of emulated machines run at a rate of their own, which follows from
    /// two comparisons of the clocks.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a rate, and milliseconds of it")]
    fn on_the_clock_of_the_guest(self, before: Clocks, after: Clocks) -> Self {
        let rate = (after.guest_ns - before.guest_ns) as f64 / (after.host_ns - before.host_ns) as f64;
        let from_ns = before.guest_ns + ((self.from_ns - before.host_ns) as f64 * rate) as i64;
        Self { from_ns, length: self.length.mul_f64(rate), waited: self.waited.mul_f64(rate) }
    }
}

/// Reads the guest's monotonic clock, and takes the host's time in the middle of that reading. Because the guest may be
/// busy, the fastest of several readings is used.
fn compare_clocks(bench: &mut Bench<'_>, start: Instant) -> Result<Clocks> {
    let mut best: Option<(Duration, Clocks)> = None;
    for _ in 0..5 {
        let asked = start.elapsed();
        let output = bench.output("clock", "grep -m 1 '^now at' /proc/timer_list")?;
        let took = start.elapsed().saturating_sub(asked);
        let said = output.out.split_whitespace().find_map(|word| word.parse().ok());
        let guest_ns = said.with_context(|| format!("read the guest's clock in '{}'", output.out))?;
        if best.is_none_or(|(least, _)| took < least) {
            best = Some((took, Clocks { host_ns: nanoseconds(asked + took / 2), guest_ns }));
        }
    }
    best.map(|(_, clocks)| clocks).context("no try")
}

fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

/// Stops the process and continues it, [`STOPS`] times.
fn stop_and_go(process: u32, start: Instant) -> Result<Vec<Stop>> {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw).context("no process")?;
    let mut stops = Vec::new();
    for place in 0..STOPS {
        std::thread::sleep(BETWEEN);
        let before = waiting(process)?;
        kill_process(pid, Signal::STOP).context("stop the guest")?;
        let from = start.elapsed();
        // 7 and 24 have no common divisor, so each length occurs once.
        std::thread::sleep(SHORTEST + STEP * (place * 7 % STOPS));
        let to = start.elapsed();
        kill_process(pid, Signal::CONT).context("let the guest go on")?;
        std::thread::sleep(AFTER);
        let waited = longest(&before, &waiting(process)?);
        stops.push(Stop { from_ns: nanoseconds(from), length: to.saturating_sub(from), waited });
    }
    Ok(stops)
}

/// How long each thread of a process has been ready without getting a CPU.
fn waiting(process: u32) -> Result<BTreeMap<OsString, Duration>> {
    let tasks = format!("/proc/{process}/task");
    let mut waiting = BTreeMap::new();
    for task in fs::read_dir(&tasks).with_context(|| format!("read {tasks}"))? {
        let task = task.with_context(|| format!("read {tasks}"))?;
        // A thread may have ended meanwhile, and a kernel may not have this file. Then its waiting time is zero.
        let text = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        let ns = text.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        waiting.insert(task.file_name(), Duration::from_nanos(ns));
    }
    Ok(waiting)
}

/// The longest time that any thread waited between two readings.
fn longest(before: &BTreeMap<OsString, Duration>, after: &BTreeMap<OsString, Duration>) -> Duration {
    let waited = |(thread, after): (&OsString, &Duration)| Some(after.saturating_sub(*before.get(thread)?));
    after.iter().filter_map(waited).max().unwrap_or_default()
}

/// A standstill that the product reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told {
    from_ns: i64,
    length: Duration,
}

/// All reported standstills: late activations whose largest cause is a pause or the hypervisor, and the pauses among the
/// report's events, which need not delay an activation.
fn told(explanation: &Value, report: &Value) -> Vec<Told> {
    let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let epoch = explanation.get("epoch_ns").and_then(Value::as_u64).unwrap_or(0);
    let mut told: Vec<Told> = list(explanation, "spikes").iter().filter_map(blamed).collect();
    told.extend(list(report, "events").iter().filter_map(|event| paused(event, epoch)));
    told
}

fn told_at(from_ns: u64, length_ns: u64) -> Option<Told> {
    Some(Told { from_ns: i64::try_from(from_ns).ok()?, length: Duration::from_nanos(length_ns) })
}

/// The standstill to which a late activation is attributed, if that is its largest cause.
fn blamed(spike: &Value) -> Option<Told> {
    let causes = spike.get("causes")?.as_array()?;
    let is_one = |cause: &&Value| {
        let class = cause.get("class").and_then(Value::as_str);
        class.is_some_and(|class| ["paused", "hypervisor"].contains(&class))
    };
    causes.first().filter(is_one)?;
    let time = causes.iter().filter(is_one).filter_map(|cause| cause.get("time_ns")?.as_u64()).sum();
    told_at(spike.get("release_ns")?.as_u64()?, time)
}

/// The standstill of an event. The instant of an event is its end.
fn paused(event: &Value, epoch: u64) -> Option<Told> {
    let length = event.get("length_ns")?.as_u64()?;
    let is_one = event.get("kind")?.as_str()? == "paused";
    is_one.then_some(())?;
    told_at((epoch + event.get("at_ns")?.as_u64()?).saturating_sub(length), length)
}

/// By how much a reported length differs from that of the stop. It may include the time that threads waited for a CPU.
fn off(stop: &Stop, told: &Told) -> Duration {
    let longest = stop.length + stop.waited;
    stop.length.saturating_sub(told.length) + told.length.saturating_sub(longest)
}

/// The reported standstill whose length fits the stop best, among those that began within [`APART_NS`] of it.
fn nearest(stop: &Stop, told: &[Told]) -> Option<Told> {
    let near = told.iter().filter(|told| (told.from_ns - stop.from_ns).abs() <= APART_NS);
    near.min_by_key(|told| off(stop, told)).copied()
}

/// Complaints about stops that were not reported, or whose length is wrong by more than 10 %.
fn compare(stops: &[Stop], told: &[Told]) -> Vec<String> {
    let complaint = |stop: &Stop| match nearest(stop, told) {
        None => Some(format!("{:?} is not told", stop.length)),
        Some(told) if off(stop, &told) > stop.length / 10 => {
            Some(format!("{:?}, and {:?} of waiting, is told as {:?}", stop.length, stop.waited, told.length))
        }
        Some(_) => None,
    };
    stops.iter().filter_map(complaint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn stop(from_ms: i64, length_ms: u64, waited_ms: u64) -> Stop {
        let [length, waited] = [length_ms, waited_ms].map(Duration::from_millis);
        Stop { from_ns: from_ms * MS, length, waited }
    }

    fn one(from_ms: i64, length_ms: u64) -> Told {
        Told { from_ns: from_ms * MS, length: Duration::from_millis(length_ms) }
    }

    #[test]
    fn place_and_length_must_both_be_right() {
        let stops = [stop(1000, 100, 0), stop(3000, 200, 40)];
        assert!(compare(&stops, &[one(1001, 95), one(3000, 239)]).is_empty());
        assert_eq!(compare(&stops, &[one(1001, 95), one(3000, 271)]).len(), 1);
        assert_eq!(compare(&stops, &[one(1001, 85), one(3000, 200)]).len(), 1);
        assert_eq!(compare(&stops, &[one(2000, 100), one(3000, 200)]).len(), 1);
    }

    #[test]
    fn stops_are_put_on_a_clock_that_runs_slower() {
        let clocks = |host: i64, guest: i64| Clocks { host_ns: host * MS, guest_ns: guest * MS };
        let there = stop(1000, 100, 10).on_the_clock_of_the_guest(clocks(0, 5000), clocks(2000, 6000));
        assert_eq!((there.from_ns, there.length, there.waited.as_millis()), (5500 * MS, Duration::from_millis(50), 5));
    }

    #[test]
    fn what_is_blamed_and_what_is_an_event_are_told() {
        let cause = |class: &str, time: u64| serde_json::json!({"class": class, "time_ns": time});
        let spike = |first: &str| serde_json::json!({"release_ns": 7, "causes": [cause(first, 40), cause("wake-up", 5), cause("paused", 3)]});
        let explanation = serde_json::json!({"epoch_ns": 100, "spikes": [spike("hypervisor"), spike("softirq")]});
        let event = |kind: &str| serde_json::json!({"kind": kind, "at_ns": 30, "length_ns": 20});
        let report = serde_json::json!({"events": [event("paused"), event("moved")]});
        let told = told(&explanation, &report);
        assert_eq!(
            told.iter().map(|told| (told.from_ns, told.length.as_nanos())).collect::<Vec<_>>(),
            [(7, 43), (110, 20)]
        );
    }
}
