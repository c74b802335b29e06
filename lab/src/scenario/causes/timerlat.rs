//! Tests the kernel's own noise tracer in addition to the trace: its results must agree, and its options, which all
//! instances share, must be restored.

use super::{Bench, TURNS};
use crate::kernel::Kernel;
use crate::product;
use crate::scenario::{Claim, Judged, Lab, Scenario, Verdict};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeMap;

/// The scenario runs on a kernel whose tracer works without threads of its own.
pub const TIMERLAT: Scenario =
    Scenario { name: "timerlat", claims: CLAIMS, wants: |spec| spec.id == "13-rt-amd64", run };

const CLAIMS: &[Claim] = &[
    Claim {
        id: "timerlat.rung",
        says: "asked for, the kernel's noise tracer looks on, agrees with the trace in 95 % of 100 cases or more, and a \
               planted thread is named as it is without",
    },
    Claim {
        id: "timerlat.restored",
        says: "its options, shared by all, are what they were: at the end, after SIGTERM, and after SIGKILL at the next \
               start",
    },
    Claim {
        id: "timerlat.refused",
        says: "where another instance uses it, it goes on there, and is done without here",
    },
];

/// A verdict needs at least this number of late activations.
const CASES_LEAST: u64 = 100;
/// Prints the settings of the tracer that must be restored.
const FACTS: &str = "cd /sys/kernel/tracing; cat osnoise/options osnoise/cpus current_tracer; ls instances; cd /";
const MEASURE: &str = "punctual measure --quiet --explain --warm-up 100ms --cpus 0 --priority 90 --period 997us \
                       --windows 300 --explain-threshold 900us --out";
/// Separates the settings during the measurement from those after its end.
const ENDED: &str = "ended:";
/// Waits until the product has changed the tracer's options, and one second more.
const BEGUN: &str = "for i in $(seq 200); do grep -q NO_OSNOISE_WORKLOAD /sys/kernel/tracing/osnoise/options && break; \
                     sleep 0.1; done; sleep 1";

fn run(lab: &Lab, kernel: &Kernel) -> Result<Judged> {
    let planter = product::build_package(&lab.root, kernel.spec.arch, "causes")?.context("no planter for a guest")?;
    let files: Vec<_> =
        std::iter::once(("/usr/bin/causes".to_owned(), planter.program)).chain(planter.libraries).collect();
    let mut bench = Bench::by_instructions(lab, kernel, "timerlat", &files)?;
    let before = bench.output("before", FACTS)?.out;
    let without = explained(&mut bench, "tracefs")?;
    let with = explained(&mut bench, "timerlat")?;
    let rung = looks_on(&without, &with);
    let mut restored = left_as_it_was("at the end", &before, &bench.output("after", FACTS)?.out);
    restored.extend(stopped(&mut bench, &before)?);
    Ok(vec![
        ("timerlat.rung", Verdict::of(&rung)),
        ("timerlat.restored", Verdict::of(&restored)),
        ("timerlat.refused", Verdict::of(&refused(&mut bench)?)),
    ])
}

/// Plants a thread, and returns the explanation of a measurement with this engine.
fn explained(bench: &mut Bench<'_>, engine: &str) -> Result<Value> {
    let plant = "causes plant hog --cpu 0 --for 60 --burst-us 2000 --every-us 12000 --priority 95 --name lab-hog --out \
                 /tmp/truth";
    let command = format!(
        "rm -f /tmp/recording; {TURNS}; {plant} & p=$!; sleep 0.2; {MEASURE} /tmp/recording --duration 3s \
         --explain-engine {engine}; kill $turns $p"
    );
    let measured = bench.output(&format!("{engine}-measured"), &command)?;
    let recording = bench.fetch("/tmp/recording", &format!("{engine}.punctual")).context(measured.err)?;
    let explanation = bench.product("explain", &recording)?;
    bench.lab.keep("timerlat", bench.kernel, &format!("{engine}.json"), &explanation)?;
    serde_json::from_str(&explanation).context("read the explanation")
}

/// Complaints if the explanation with the tracer differs from the one without.
fn looks_on(without: &Value, with: &Value) -> Vec<String> {
    let text = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let number = |path: &str| with.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let mut wrong = Vec::new();
    for (value, rung) in [(without, "tracefs"), (with, "timerlat")] {
        let said = text(value, "/tracing/rung");
        if said != rung {
            wrong.push(format!("asked for {rung}, looked on by '{said}'"));
        }
    }
    if !without.to_string().contains("not asked for: --explain-engine timerlat") {
        wrong.push("without it nothing says that it could be asked for".to_owned());
    }
    for event in ["osnoise:irq_noise", "osnoise:thread_noise"] {
        if !with.pointer("/tracing/events").is_some_and(|events| events.to_string().contains(event)) {
            wrong.push(format!("{event} was not recorded"));
        }
    }
    let (same, different) = (number("/second_opinion/same"), number("/second_opinion/different"));
    crate::say(&format!("the same in {same} cases, different in {different}"));
    if same + different < CASES_LEAST || same * 100 < (same + different) * 95 {
        wrong.push(format!("the two agree in {same} cases and differ in {different}"));
    }
    let (before, now) = (most_often(without), most_often(with));
    if before != now || now[1] != "lab-hog" {
        wrong.push(format!("without it {before:?} is blamed most often, with it {now:?}"));
    }
    wrong
}

/// Class and name of the cause that is the largest one of most late activations. Delays by the emulator, which runs the
/// CPUs in turn, are less frequent than planted ones, and longer.
fn most_often(explanation: &Value) -> [String; 2] {
    let spikes = explanation.get("spikes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut counts: BTreeMap<[String; 2], u32> = BTreeMap::new();
    for first in spikes.iter().filter_map(|spike| spike.pointer("/causes/0")) {
        let word = |key: &str| first.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        *counts.entry([word("class"), word("name")]).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(cause, _)| cause).unwrap_or_default()
}

/// Ends measurements by signals. Returns complaints about settings that were not restored.
fn stopped(bench: &mut Bench<'_>, before: &str) -> Result<Vec<String>> {
    let run = |signal: &str| {
        format!(
            "rm -f /tmp/stopped; {MEASURE} /tmp/stopped --duration 60s --explain-engine timerlat >/tmp/log 2>&1 & p=$!; \
             {BEGUN}; {FACTS}; echo {ENDED}; kill -{signal} $p; wait $p; {FACTS}"
        )
    };
    let told = |said: &str| -> Result<String> {
        let (during, after) = said.split_once(&format!("{ENDED}\n")).context("both halves of what was to be said")?;
        let is_on = during.contains("NO_OSNOISE_WORKLOAD") && during.contains("punctual-");
        ensure!(is_on, "it was ended before it had changed anything: {said}");
        Ok(after.to_owned())
    };
    let terminated = told(&bench.output("terminated", &run("TERM"))?.out)?;
    let mut wrong = left_as_it_was("after SIGTERM", before, &terminated);
    let killed = told(&bench.output("killed", &run("KILL"))?.out)?;
    ensure!(killed.contains("NO_OSNOISE_WORKLOAD"), "SIGKILL left nothing behind to be put back: {killed}");
    let next = bench
        .output("next", &format!("rm -f /tmp/next; {MEASURE} /tmp/next --duration 1s >/tmp/log 2>&1; {FACTS}"))?
        .out;
    wrong.extend(left_as_it_was("at the start after SIGKILL", before, &next));
    Ok(wrong)
}

fn left_as_it_was(when: &str, before: &str, after: &str) -> Vec<String> {
    let is = |before: &str| !before.trim().is_empty() && before == after;
    if is(before) { Vec::new() } else { vec![format!("{when}: was '{}', is '{}'", before.trim(), after.trim())] }
}

/// Measures while another instance uses the tracer. Returns complaints.
fn refused(bench: &mut Bench<'_>) -> Result<Vec<String>> {
    let theirs = "/sys/kernel/tracing/instances/theirs";
    bench.output("theirs", &format!("mkdir {theirs} && echo timerlat >{theirs}/current_tracer"))?;
    let before = bench.output("theirs-before", &format!("{FACTS}; cat {theirs}/current_tracer"))?.out;
    let measure = format!("rm -f /tmp/refused; {MEASURE} /tmp/refused --duration 1s --explain-engine timerlat");
    let measured = bench.output("refused-measured", &measure)?;
    let after = bench.output("theirs-after", &format!("{FACTS}; cat {theirs}/current_tracer"))?.out;
    bench.output("theirs-gone", &format!("echo nop >{theirs}/current_tracer; rmdir {theirs}"))?;
    let recording = bench.fetch("/tmp/refused", "refused.punctual").context(measured.err)?;
    let explanation = bench.product("explain", &recording)?;
    Ok(is_refused(&before, &after, &explanation))
}

fn is_refused(before: &str, after: &str, explanation: &str) -> Vec<String> {
    let mut wrong = left_as_it_was("beside another's tracer", before, after);
    if before.lines().last() != Some("timerlat") {
        wrong.push("the other's tracer did not run".to_owned());
    }
    if !explanation.contains("the tracing instance theirs uses it") {
        wrong.push("nothing says who uses it".to_owned());
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(rung: &str, cause: &str, same: u64, different: u64) -> Value {
        json!({
            "tracing": {
                "rung": rung,
                "events": ["osnoise:irq_noise", "osnoise:thread_noise"],
                "refused": {"timerlat": "not asked for: --explain-engine timerlat"}
            },
            "spikes": [
                {"causes": [{"class": "timer-interrupt", "name": ""}]},
                {"causes": [{"class": "higher-priority", "name": cause}]},
                {"causes": [{"class": "higher-priority", "name": cause}]}
            ],
            "second_opinion": {"same": same, "different": different}
        })
    }

    #[test]
    fn it_must_look_on_agree_and_name_the_same() {
        let without = said("tracefs", "lab-hog", 0, 0);
        assert_eq!(looks_on(&without, &said("timerlat", "lab-hog", 95, 5)), [""; 0]);
        for wrong in [
            said("tracefs", "lab-hog", 100, 0),
            said("timerlat", "other", 100, 0),
            said("timerlat", "lab-hog", 90, 0),
            said("timerlat", "lab-hog", 900, 100),
            json!({}),
        ] {
            assert!(!looks_on(&without, &wrong).is_empty(), "{wrong}");
        }
        assert!(!looks_on(&json!({}), &said("timerlat", "lab-hog", 100, 0)).is_empty());
    }

    #[test]
    fn what_is_not_as_it_was_is_told() {
        assert!(left_as_it_was("x", "a\n", "a\n").is_empty());
        assert_eq!(left_as_it_was("x", "a\n", "b\n").len(), 1);
        assert_eq!(left_as_it_was("x", "", "").len(), 1, "nothing read is nothing shown");
    }

    #[test]
    fn another_one_must_go_on_and_be_named() {
        let why = "the tracing instance theirs uses it";
        assert!(is_refused("a\ntimerlat\n", "a\ntimerlat\n", why).is_empty());
        assert!(!is_refused("a\ntimerlat\n", "a\nnop\n", why).is_empty());
        assert!(!is_refused("a\nnop\n", "a\nnop\n", why).is_empty());
        assert!(!is_refused("a\ntimerlat\n", "a\ntimerlat\n", "").is_empty());
    }
}
