//! Compares rtla's auto-analysis with `punctual explain` on delays of the same kind and on the same kernel. One runs
//! after the other, because the kernel has one timerlat tracer.
//!
//! rtla prints one stop at a time, as text for people. The largest part is taken from that text.

use super::{Bench, Planter, TURNS, luggage, try_kind};
use crate::kernel::Kernel;
use crate::scenario::{Claim, Judged, Lab, Scenario, Verdict};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;

/// The scenario runs on kernels with the tracer that rtla needs.
pub const RTLA: Scenario =
    Scenario { name: "rtla", claims: CLAIMS, wants: |spec| ["12-rt-amd64", "13-rt-amd64"].contains(&spec.id), run };

const CLAIMS: &[Claim] = &[Claim {
    id: "rtla.same",
    says: "what rtla's auto-analysis names at 20 stops or more, `punctual explain` names for the same kind, in 90 % of them",
}];

/// Kinds that the module plants for both programs, each with the priority of rtla's thread. Functions of timers are
/// left out: their interrupt also serves rtla's own timer, and rtla reports only that this interrupt was late.
const KINDS: [(&str, u32); 4] = [("irqoff", 90), ("preemptoff", 90), ("stopper", 90), ("kworker", 40)];
/// Number of stops of each kind (`STOPS`), and how often rtla is started at most to get them (`TRIES`), because it does
/// not analyse every stop.
const STOPS: usize = 5;
const TRIES: u32 = 8;
/// Length of our own measurement in seconds, which suffices to rank the causes.
const SECONDS: u32 = 2;
/// A verdict needs at least `LEAST` stops, and `PERCENT` % of them must agree.
const LEAST: usize = 20;
const PERCENT: usize = 90;

fn run(lab: &Lab, kernel: &Kernel) -> Result<Judged> {
    let files = luggage::files(lab, kernel)?;
    let mut bench = Bench::by_instructions(lab, kernel, "rtla", &files)?;
    let mut all = Vec::new();
    for (kind, priority) in KINDS {
        let plant = format!("insmod {} kind={kind} cpu=0 length_us=2000 every_us=20000 count=4000", luggage::MODULE);
        // The options do what `-a` does, except for writing the trace and stacks to files, which takes a guest a
        // minute.
        let rtla = format!(
            "timeout 60 {} timerlat hist -k -c 0 -H 1 -p 1000 -P f:{priority} -i 1000 -T 1000 -d 3s -E 20",
            luggage::RTLA
        );
        let threads = threads(&bench.output(&format!("plant-{kind}"), &format!("{plant}; ps -o pid,comm"))?.out);
        let mut stops = Vec::new();
        for number in 0..TRIES {
            if stops.len() >= STOPS {
                break;
            }
            let output = bench.output(&format!("rtla-{kind}-{number}"), &format!("{TURNS}; {rtla}; kill $turns"))?;
            stops.extend(stops_of(&output.out, &threads));
        }
        bench.output(&format!("planted-{kind}"), "rmmod lab_plant")?;
        crate::say(&format!("{kind}: {stops:?}"));
        let ours = try_kind(&mut bench, kind, Planter::Module(priority), SECONDS)
            .and_then(|_| Ok((bench.kept(&format!("{kind}.json"))?, bench.kept(&format!("{kind}.truth"))?)));
        let ours = ours.and_then(|(text, truth)| {
            Ok(first(&serde_json::from_str(&text).context("read the explanation")?, &sections(&truth)))
        });
        let ours = ours.unwrap_or_else(|error| {
            crate::say(&format!("{kind}: {error:#}"));
            None
        });
        all.extend(stops.into_iter().map(|stop| (kind, stop, ours.clone())));
    }
    Ok(vec![("rtla.same", judge(&all))])
}

/// A kind, a stop that rtla analysed, and the cause that `punctual explain` ranks first.
type Pair = (&'static str, Stop, Option<(String, String)>);

fn judge(all: &[Pair]) -> Verdict {
    let is_good = |(_, stop, ours): &&Pair| ours.as_ref().is_some_and(|ours| is_same(stop, ours));
    let same = all.iter().filter(is_good).count();
    crate::say(&format!("rtla: the same at {same} of {} stops", all.len()));
    if all.len() >= LEAST && same * 100 >= all.len() * PERCENT {
        return Verdict::Held;
    }
    let told = |(kind, stop, ours): &Pair| format!("{kind}: rtla says {stop:?}, we rank first {ours:?}");
    let mut complaints = vec![format!("the same at {same} of {} stops", all.len())];
    complaints.extend(all.iter().filter(|pair| !is_good(pair)).map(told));
    complaints.dedup();
    Verdict::Failed(complaints.join("\n"))
}

/// Names of threads by their ids. rtla prints the id of the thread that ran, and sometimes the name of another thread.
fn threads(listed: &str) -> BTreeMap<String, String> {
    let thread = |line: &str| {
        let (number, name) = line.trim().split_once(' ')?;
        Some((number.to_owned(), name.trim().trim_matches(['[', ']']).to_owned()))
    };
    listed.lines().filter_map(thread).collect()
}

/// Begin and end of each planted section.
fn sections(truth: &str) -> Vec<(u64, u64)> {
    let section = |line: &str| {
        let mut words = line.split_whitespace().skip(2).map_while(|word| word.parse().ok());
        words.next().zip(words.next())
    };
    truth.lines().filter_map(section).collect()
}

/// Class and name of the cause that is ranked first most often, among late activations of which planted sections took
/// at least half of the latency.
fn first(explanation: &Value, sections: &[(u64, u64)]) -> Option<(String, String)> {
    let mut times: BTreeMap<(String, String), u32> = BTreeMap::new();
    for spike in explanation.get("spikes")?.as_array()? {
        let time = |key: &str| spike.get(key).and_then(Value::as_u64).unwrap_or(0);
        let (from, to) = (time("release_ns"), time("woke_ns"));
        let planted: u64 = sections.iter().map(|(start, end)| to.min(*end).saturating_sub(from.max(*start))).sum();
        let cause =
            spike.get("causes").and_then(|causes| causes.get(0)).filter(|_| planted * 2 >= to.saturating_sub(from));
        let word = |key: &str| cause.and_then(|cause| cause.get(key)).and_then(Value::as_str).map(str::to_owned);
        if let Some(class) = word("class") {
            *times.entry((class, word("name").unwrap_or_default())).or_default() += 1;
        }
    }
    times.into_iter().max_by_key(|(_, times)| *times).map(|(cause, _)| cause)
}

/// The result of rtla's analysis of one stop: the heading of the largest part of the latency, and the thread or
/// function to which it belongs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Stop {
    heading: String,
    who: String,
}

/// The stops that rtla analysed in its output, except those of an idle CPU: while a guest is idle, its time is the
/// host's, and no planted kind leaves the CPU idle.
fn stops_of(text: &str, threads: &BTreeMap<String, String>) -> Vec<Stop> {
    let stops = text.split("hit stop tracing, analyzing it").skip(1).map(|text| stop(text, threads));
    stops.filter(|stop| !stop.who.starts_with("swapper/")).collect()
}

/// Parses one stop, and selects its largest part. Headings begin at the left margin; the names of threads and functions
/// follow below them.
fn stop(text: &str, threads: &BTreeMap<String, String>) -> Stop {
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
        let who = who.rsplit_once(':').map_or(who, |(name, number)| threads.get(number).map_or(name, String::as_str));
        if heading == "Blocking thread" {
            who.clone_into(&mut blocking);
        }
        let time: f64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
        if time > largest {
            largest = time;
            found = Stop { heading: heading.to_owned(), who: who.to_owned() };
        }
    }
    // If the timer's interrupt itself was late, the time belongs to the thread that ran.
    if is_irq { Stop { heading: "IRQ latency".to_owned(), who: blocking } } else { found }
}

/// Whether rtla's result and our class and name mean the same cause.
fn is_same(stop: &Stop, (class, name): &(String, String)) -> bool {
    let is_one_of = |classes: &[&str]| classes.contains(&class.as_str());
    // For a kernel worker, rtla knows the thread, and we know the function.
    let is_named = || name.contains(&stop.who) || (class == "worker" && stop.who.starts_with("kworker"));
    match stop.heading.as_str() {
        // Each of these causes delays interrupts of the CPU.
        "IRQ latency" => {
            is_one_of(&["irq-off", "stop-machine", "timer-callback", "ipi", "hard-irq"]) && name.contains(&stop.who)
        }
        // The thread had the CPU when the timer expired, and kept it. rtla does not check priorities, so it does not
        // know why.
        "Blocking thread" => is_one_of(&["preempt-off", "irq-off", "worker"]) && is_named(),
        // rtla does not know which timer it was.
        "IRQ interference" => is_one_of(&["timer-callback", "timer-interrupt", "hard-irq", "ipi", "vector"]),
        "Softirq interference" => is_one_of(&["softirq"]) && is_named(),
        "Thread interference" => {
            is_one_of(&["higher-priority", "same-priority", "stop-machine", "worker", "softirq"]) && is_named()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The text has the form of rtla 6.12, with invented numbers and names.
    const THREAD: &str = "## CPU 1 hit stop tracing, analyzing it ##
  IRQ handler delay:                                         0.00 us (0.00 %)
  IRQ latency:                                               1.00 us
  Timerlat IRQ duration:                                    20.00 us (1.30 %)
  Blocking thread:                                        1500.00 us (98.00 %)
                       some-thread:175                    1500.00 us
    Blocking thread stack trace
                -> timerlat_irq
------------------------------------------------------------------------
  Thread latency:                                         1521.00 us (100%)
";
    const IRQ: &str = "## CPU 1 hit stop tracing, analyzing it ##
  IRQ handler delay:                                         0.00 us (0.00 %)
  IRQ latency:                                            1900.00 us
  Blocking thread:
                       swapper/1:171
------------------------------------------------------------------------
     IRQ latency:                                         1900.00 us (100%)
";

    fn stop(heading: &str, who: &str) -> Stop {
        Stop { heading: heading.to_owned(), who: who.to_owned() }
    }

    #[test]
    fn the_largest_part_is_taken() {
        assert_eq!(
            stops_of(
                &format!("{THREAD}\n{IRQ}\n{}", IRQ.replace(":171", ":0")),
                &threads("  PID COMMAND\n  171 [lab-irqoff]\n")
            ),
            [stop("Blocking thread", "some-thread"), stop("IRQ latency", "lab-irqoff")]
        );
    }

    #[test]
    fn class_and_name_must_both_agree() {
        let ours = |class: &str, name: &str| (class.to_owned(), name.to_owned());
        let said = stop("Blocking thread", "some-thread");
        assert!(is_same(&said, &ours("preempt-off", "some-thread")));
        assert!(!is_same(&said, &ours("preempt-off", "another")));
        assert!(!is_same(&said, &ours("softirq", "some-thread")));
        let worker = stop("Blocking thread", "kworker/0:1+eve");
        assert!(is_same(&worker, &ours("worker", "kworker: lab_plant_work")));
        assert!(!is_same(&said, &ours("worker", "kworker: lab_plant_work")));
        let pair = ("preemptoff", said, Some(ours("preempt-off", "some-thread")));
        assert_eq!(judge(&vec![pair.clone(); 20]), Verdict::Held);
        assert!(matches!(judge(&vec![pair; 19]), Verdict::Failed(_)));
    }

    #[test]
    fn what_is_ours_is_what_most_planted_ones_are_blamed_on() {
        let spike = |from: u64, class: &str| serde_json::json!({"release_ns": from, "woke_ns": from + 100, "causes": [{"class": class, "name": "x"}]});
        let spikes = [
            spike(0, "irq-off"),
            spike(1000, "irq-off"),
            spike(5000, "softirq"),
            spike(6000, "softirq"),
            spike(7000, "softirq"),
        ];
        let truth = sections("irqoff x 0 90\nirqoff x 1000 1090\nnonsense\n");
        assert_eq!(first(&serde_json::json!({"spikes": spikes}), &truth), Some(("irq-off".to_owned(), "x".to_owned())));
    }
}
