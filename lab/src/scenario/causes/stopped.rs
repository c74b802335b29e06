//! A machine that is stopped from outside, as a hypervisor would: for known times, in a known order.

use super::Bench;
use crate::kernel::Kernel;
use crate::program;
use crate::scenario::{Claim, Judged, Lab, Outfit, Scenario, Verdict};
use anyhow::{Context, Result};
use serde_json::Value;
use std::time::{Duration, Instant};

/// How often it is stopped.
const STOPS: u32 = 20;
/// The shortest stop, and by how much the next is longer.
const SHORTEST: Duration = Duration::from_millis(300);
const STEP: Duration = Duration::from_millis(40);
/// Between two stops.
const BETWEEN: Duration = Duration::from_millis(1200);

/// On a kernel that is tried for other causes as well.
pub const STOPPED: Scenario =
    Scenario { name: "stopped", claims: CLAIMS, wants: |spec| ["12-rt-amd64", "13-rt-amd64"].contains(&spec.id), run };

const CLAIMS: &[Claim] = &[Claim {
    id: "stopped.told",
    says: "a machine stopped from outside 20 times is explained as such, each time in order and to 10 % of the time",
}];

fn run(lab: &Lab, kernel: &Kernel) -> Result<Judged> {
    let mut bench = Bench::boot(lab, kernel, "stopped", Outfit::default())?;
    bench.output("settled", "sleep 3")?;
    let measure = "punctual measure --quiet --explain --windows 4096 --explain-threshold 100ms --warm-up 100ms --cpus 1 \
                   --period 10ms --duration 90s --out /tmp/recording >/tmp/log 2>&1";
    let begun = "for i in $(seq 300); do [ -s /tmp/recording ] && break; sleep 0.1; done; sleep 3";
    bench.output("measuring", &format!("{measure} & {begun}"))?;
    let truth = stop_and_go(bench.guest.process())?;
    bench.output(
        "measured",
        "for i in $(seq 1000); do pidof punctual >/dev/null || break; sleep 0.2; done; cat /tmp/log",
    )?;
    let recording = bench.fetch("/tmp/recording", "recording.punctual")?;
    let explanation: Value =
        serde_json::from_str(&bench.product("explain", &recording)?).context("read the explanation")?;
    let report: Value = serde_json::from_str(&bench.product("report", &recording)?).context("read the report")?;
    let told = told(&explanation, &report);
    lab.keep("stopped", kernel, "truth", &format!("stopped {truth:?}\ntold    {told:?}\n"))?;
    crate::say(&format!("stopped {} times, told {}", truth.len(), told.len()));
    Ok(vec![("stopped.told", Verdict::of(&compare(&truth, &told)))])
}

/// Stops the process and lets it go on; how long each stop was.
fn stop_and_go(process: u32) -> Result<Vec<Duration>> {
    let signal = |name: &str| program::read(program::find("kill")?.arg(name).arg(process.to_string())).map(|_| ());
    let mut truth = Vec::new();
    for place in 0..STOPS {
        std::thread::sleep(BETWEEN);
        signal("-STOP")?;
        let since = Instant::now();
        std::thread::sleep(SHORTEST + STEP * place);
        let went_on = signal("-CONT");
        truth.push(since.elapsed());
        went_on?;
    }
    Ok(truth)
}

/// How long each standstill was, in order: those that the explanation blames on the machine or the hypervisor, and those
/// that the report tells as such, in which no activation was late as none was let run.
fn told(explanation: &Value, report: &Value) -> Vec<Duration> {
    let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let epoch = explanation.get("epoch_ns").and_then(Value::as_u64).unwrap_or(0);
    let mut told: Vec<(u64, u64)> = list(explanation, "spikes").iter().filter_map(blamed).collect();
    told.extend(list(report, "events").iter().filter_map(|event| paused(event, epoch)));
    // A busy host holds a guest up for shorter times of its own.
    told.retain(|(_, length)| u128::from(*length) >= SHORTEST.as_nanos() * 9 / 10);
    told.sort_unstable();
    // One that is told by both is one.
    told.dedup_by(|later, earlier| later.0 < earlier.0 + earlier.1);
    told.into_iter().map(|(_, length)| Duration::from_nanos(length)).collect()
}

/// Beginning and length.
fn blamed(spike: &Value) -> Option<(u64, u64)> {
    let first = spike.get("causes")?.as_array()?.first()?;
    let is_one = ["paused", "hypervisor"].contains(&first.get("class")?.as_str()?);
    is_one.then_some((spike.get("release_ns")?.as_u64()?, first.get("time_ns")?.as_u64()?))
}

fn paused(event: &Value, epoch: u64) -> Option<(u64, u64)> {
    let is_one = event.get("kind")?.as_str()? == "paused";
    is_one.then_some((epoch + event.get("at_ns")?.as_u64()?, event.get("length_ns")?.as_u64()?))
}

/// As many, and each as long.
fn compare(truth: &[Duration], told: &[Duration]) -> Vec<String> {
    if truth.len() != told.len() {
        return vec![format!("stopped {} times, and {} are told: {told:?}", truth.len(), told.len())];
    }
    let is_off = |(was, said): &(&Duration, &Duration)| was.abs_diff(**said) > **was / 10;
    truth.iter().zip(told).filter(is_off).map(|(was, said)| format!("{was:?} is told as {said:?}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_and_length_must_both_be_right() {
        let ms = |all: &[u64]| all.iter().copied().map(Duration::from_millis).collect::<Vec<_>>();
        assert!(compare(&ms(&[300, 400]), &ms(&[310, 395])).is_empty());
        assert_eq!(compare(&ms(&[300, 400]), &ms(&[310, 500])).len(), 1);
        assert_eq!(compare(&ms(&[300, 400]), &ms(&[300])).len(), 1);
    }

    #[test]
    fn what_is_blamed_and_what_is_an_event_are_told_in_order() {
        let spike = |class: &str, at: u64| serde_json::json!({"release_ns": at * 100_000_000, "causes": [{"class": class, "time_ns": 500_000_000_u64}]});
        let spikes = [spike("paused", 140), spike("softirq", 101), spike("hypervisor", 102)];
        let explanation = serde_json::json!({"epoch_ns": 10_000_000_000_u64, "spikes": spikes});
        let event =
            |at: u64| serde_json::json!({"kind": "paused", "at_ns": at * 100_000_000, "length_ns": 700_000_000_u64});
        let report =
            serde_json::json!({"events": [event(20), event(1), {"kind": "moved", "at_ns": 3, "length_ns": 1}]});
        assert_eq!(told(&explanation, &report), [700, 700, 500].map(Duration::from_millis));
    }
}
