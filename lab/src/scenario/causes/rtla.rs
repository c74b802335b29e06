//! rtla's auto-analysis beside `punctual explain`: the same kind of delay, explained by both on the same kernel, one after
//! the other, as the kernel has one timerlat tracer.
//!
//! rtla tells one stop at a time, as text for people; from it the largest part is taken.

use super::{Bench, luggage};
use crate::scenario::Verdict;
use anyhow::Result;
use serde_json::Value;

/// Kinds of the module that both are asked about, and at which priority rtla's thread runs.
const KINDS: [(&str, u32); 5] = [("irq", 90), ("kworker", 40), ("stopper", 90), ("preemptoff", 90), ("irqoff", 90)];
/// Stops of each kind.
const STOPS: u32 = 6;
/// So many in all make a verdict, and so many of a hundred must agree.
const LEAST: usize = 20;
const PERCENT: usize = 90;

/// Whether both name the same.
pub fn agrees(bench: &mut Bench<'_>) -> Result<Verdict> {
    let (mut same, mut all) = (0, 0);
    let mut complaints = Vec::new();
    for (kind, priority) in KINDS {
        let plant = format!("insmod {} kind={kind} cpu=1 length_us=2000 every_us=20000 count=4000", luggage::MODULE);
        let rtla =
            format!("{} timerlat hist -k -c 1 -p 1000 -P f:{priority} -a 1000 --warm-up 1 -d 6s -E 20", luggage::RTLA);
        let stops = format!("for i in $(seq {STOPS}); do cd /run/lab && {rtla}; done");
        let output = bench.output(&format!("rtla-{kind}"), &format!("{plant}; {stops}; rmmod lab_plant"))?;
        let ours = bench.explained.get(kind).and_then(first);
        for stop in stops_of(&output.out) {
            all += 1;
            match &ours {
                Some(ours) if is_same(&stop, ours) => same += 1,
                Some((class, name)) => complaints.push(format!("{kind}: rtla says {stop:?}, we say {class} `{name}`")),
                None => complaints.push(format!("{kind}: rtla says {stop:?}, we say nothing")),
            }
        }
    }
    crate::say(&format!("rtla: the same at {same} of {all} stops"));
    if all >= LEAST && same * 100 >= all * PERCENT {
        return Ok(Verdict::Held);
    }
    complaints.dedup();
    Ok(Verdict::Failed(format!("the same at {same} of {all} stops\n{}", complaints.join("\n"))))
}

/// Class and name of the cause that the product ranks first.
fn first(explanation: &Value) -> Option<(String, String)> {
    let cause = explanation.get("causes")?.as_array()?.first()?;
    let word = |key: &str| cause.get(key).and_then(Value::as_str).map(str::to_owned);
    Some((word("class")?, word("name").unwrap_or_default()))
}

/// What rtla makes of a stop: under which heading the largest part stands, and whose it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Stop {
    heading: String,
    who: String,
}

/// Every stop that is analysed in what it printed.
fn stops_of(text: &str) -> Vec<Stop> {
    text.split("hit stop tracing, analyzing it").skip(1).map(stop).collect()
}

/// The largest part of one. Headings stand at the left; whose the time is, below them.
fn stop(text: &str) -> Stop {
    let mut heading = "";
    let (mut largest, mut found) = (0.0, Stop::default());
    let mut blocking = String::new();
    let mut is_irq = false;
    for line in text.lines().take_while(|line| !line.contains("(100%)") || line.contains("IRQ latency")) {
        let indent = line.len() - line.trim_start().len();
        if line.contains("->") || line.contains("stack trace") {
            continue;
        }
        if let Some((word, rest)) = line.trim().split_once(": ").filter(|_| indent < 8) {
            if rest.contains("(100%)") {
                is_irq = true;
                break;
            }
            heading = word;
            continue;
        }
        heading = line.trim().strip_suffix(':').filter(|_| indent < 8).unwrap_or(heading);
        let mut words = line.split_whitespace();
        let Some(who) = words.next().filter(|_| indent >= 8) else { continue };
        let who = who.rsplit_once(':').map_or(who, |(name, _)| name);
        if heading == "Blocking thread" {
            who.clone_into(&mut blocking);
        }
        let time: f64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
        if time > largest {
            largest = time;
            found = Stop { heading: heading.to_owned(), who: who.to_owned() };
        }
    }
    // The timer's interrupt itself was late: under the thread that ran.
    if is_irq { Stop { heading: "IRQ latency".to_owned(), who: blocking } } else { found }
}

/// Whether a class and a name of ours say the same.
fn is_same(stop: &Stop, (class, name): &(String, String)) -> bool {
    let is_one_of = |classes: &[&str]| classes.contains(&class.as_str());
    // Of a worker rtla knows the thread, and we the function.
    let is_named = || name.contains(&stop.who) || (class == "worker" && stop.who.starts_with("kworker"));
    match stop.heading.as_str() {
        "IRQ latency" => is_one_of(&["irq-off", "timer-callback", "ipi", "hard-irq"]) && name.contains(&stop.who),
        "Blocking thread" => is_one_of(&["preempt-off", "irq-off"]) && is_named(),
        // Which timer it was, rtla does not know.
        "IRQ interference" => is_one_of(&["timer-callback", "timer-interrupt", "hard-irq", "ipi", "vector"]),
        "Softirq interference" => is_one_of(&["softirq"]) && is_named(),
        "Thread interference" => {
            is_one_of(&["higher-priority", "same-priority", "stop-machine", "worker", "softirq"]) && is_named()
        }
        _ => false,
    }
}
