//! Tests of the watch of a program, with the kernel's trace. They need root.

use crate::causes_privileged::Tracefs;
use crate::run::{Run, until};
use crate::watch::wait_for;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const LOOP: &str = include_str!("watched_loop.c");
/// The latency that the loop plants is beyond it.
const BUDGET: &str = "100ms";

/// A loop under two names that nothing else on this machine has.
struct Program {
    name: String,
    other: String,
}

impl Program {
    fn build(run: &Run, name: &str) -> Self {
        let [name, other] = [name, "other"].map(|name| format!("{name}{}", std::process::id()));
        std::fs::write(run.path("loop.c"), LOOP).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-O2", "-Wall", "-Werror", "-pthread", "-o"]).arg(run.path(&name)).arg(run.path("loop.c"));
        assert!(cc.status().unwrap().success());
        std::fs::copy(run.path(&name), run.path(&other)).unwrap();
        Self { name, other }
    }

    fn start(&self, run: &Run) -> Started {
        Started(Command::new(run.path(&self.name)).arg(run.path("own")).arg(run.path(&self.other)).spawn().unwrap())
    }
}

/// A process that ends with the test.
struct Started(Child);

impl Started {
    fn id(&self) -> u32 {
        self.0.id()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    fn end(mut self, by: Signal) {
        self.signal(by);
        self.0.wait().unwrap();
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// A watch of the program, which writes its messages to a file.
fn watch(run: &Run, program: &str, more: &[&str]) -> Started {
    let said = std::fs::File::options().create(true).append(true).open(run.path("said")).unwrap();
    let mut watch = run.command(&["watch", program, "--wait", "--store", "store"]);
    Started(watch.args(more).stdout(Stdio::null()).stderr(said).spawn().unwrap())
}

/// Waits for a segment about this process under this name, in which both of its threads are followed.
fn follows(run: &Run, name: &str, pid: u32, main: &str) {
    let begins = format!("threads of {name} ({pid}) were watched");
    let threads = [format!(" {main} ("), " axis (".to_owned()];
    wait_for(run, &format!("segment: {begins}"), |document| {
        let mut notes = document["notes"].as_array().unwrap().iter().filter_map(Value::as_str);
        notes.any(|note| note.starts_with(&begins) && threads.iter().all(|thread| note.contains(thread)))
    });
}

/// What the loop itself recorded under this name: its planted latency, the largest time from a release to the end of the
/// wait after it, and the releases that it skipped.
fn own(run: &Run, name: &str) -> [u64; 3] {
    let own = text(&run.path("own"));
    let lines = own.lines().filter(|line| line.split(' ').next() == Some(name));
    let numbers = |line: &str| line.split(' ').skip(1).map(|number| number.parse().unwrap()).collect::<Vec<u64>>();
    lines.map(numbers).fold([0; 3], |largest, line| std::array::from_fn(|at| largest[at].max(line[at])))
}

/// Figures of all days of the threads with this name: largest latency, activations, skipped releases, late activations.
fn figures(document: &Value, name: &str) -> [u64; 4] {
    let days = document["days"].as_array().unwrap();
    let threads = days.iter().flat_map(|day| day["cpus"].as_array().unwrap()).filter(|thread| thread["thread"] == name);
    threads.fold([0; 4], |[max, ran, skipped, late], thread| {
        let of = |figure: &str| thread[figure].as_u64().unwrap_or(0);
        [max.max(of("max_ns")), ran + of("ran"), skipped + of("skipped"), late + of("over_budget")]
    })
}

#[test]
#[ignore = "needs root"]
fn the_threads_of_a_program_are_followed_whatever_it_does() {
    let Some(tracefs) = Tracefs::new() else { return println!("NOT RUN: no tracefs") };
    let run = &Run::new();
    let program = Program::build(run, "loop");
    let on_late = "echo $PUNCTUAL_THREAD $PUNCTUAL_LATENCY_NS >> acted";
    let options = ["--budget", BUDGET, "--on-late", on_late, "--cost", "100"];
    let watching = watch(run, &program.name, &options);
    until("it waits for the program", || text(&run.path("said")).contains(&program.name));
    // The first life of the program, with a planted cycle.
    let first = program.start(run);
    follows(run, &program.name, first.id(), &program.name);
    first.signal(Signal::USR1);
    until("the action", || text(&run.path("acted")).contains(&program.name));
    first.end(Signal::TERM);
    // The second life, in which it becomes another one, and gets another name.
    let second = program.start(run);
    follows(run, &program.name, second.id(), &program.name);
    second.signal(Signal::HUP);
    follows(run, &program.other, second.id(), &program.other);
    second.signal(Signal::USR2);
    follows(run, "renamed", second.id(), "renamed");
    // The watch is killed. Its guard cleans up, and another watch goes on.
    let instances = format!("punctual-{}-", watching.id());
    assert!(!tracefs.left(&instances).is_empty());
    watching.end(Signal::KILL);
    until("nothing is left attached", || tracefs.left(&instances).is_empty());
    let before = text(&run.path("said")).len();
    let watching = watch(run, &second.id().to_string(), &options[..2]);
    until("the other watch begins", || text(&run.path("said")).len() > before);
    wait_for(run, "gap of the kill", |document| {
        document["gaps"].as_array().unwrap().iter().any(|gap| gap["reason"] == "killed")
    });
    watching.end(Signal::INT);
    second.end(Signal::TERM);
    judge(run, &program);
}

fn judge(run: &Run, program: &Program) {
    let document = run.json(&["report", "store", "--json"]);
    let [planted, largest, skipped] = own(run, &program.name);
    let found = figures(&document, &program.name);
    assert!((planted..=largest).contains(&found[0]), "{found:?} of {planted} to {largest}: {document}");
    assert!(planted > 0 && found[2] >= skipped && found[3] > 0, "{found:?}, {skipped} skipped: {document}");
    for name in [&program.other, "renamed", "axis"] {
        assert!(figures(&document, name)[1] > 0, "{name}: {document}");
    }
    let reasons: Vec<&Value> = document["gaps"].as_array().unwrap().iter().map(|gap| &gap["reason"]).collect();
    assert_eq!(reasons, ["program-ended", "next-segment", "next-segment", "killed"], "{document}");
    let [from, to, watched, gaps] =
        ["from_unix_ns", "to_unix_ns", "watched_ns", "unwatched_ns"].map(|name| document[name].as_u64().unwrap());
    assert!((watched + gaps).abs_diff(to - from) < 1_000_000_000, "{document}");
}

/// Without causes, which would be given up first, part of the time is given up after ten seconds.
#[test]
#[ignore = "needs root"]
fn what_costs_too_much_is_watched_in_part_and_only_that_time_counts() {
    if Tracefs::new().is_none() {
        return println!("NOT RUN: no tracefs");
    }
    let run = &Run::new();
    let program = Program::build(run, "part");
    let watched = program.start(run);
    let watching = watch(run, &watched.id().to_string(), &["--no-trace", "--cost", "0.0001"]);
    let at_least = |document: &Value, name: &str, s: u64| document[name].as_u64().unwrap_or(0) >= s * 1_000_000_000;
    wait_for(run, "time that is not watched", |document| at_least(document, "unwatched_ns", 5));
    watching.end(Signal::INT);
    watched.end(Signal::TERM);
    let document = run.json(&["report", "store", "--json"]);
    assert!(text(&run.path("said")).contains("one second in 50 "), "{}", text(&run.path("said")));
    for (name, period) in [(program.name.as_str(), 5_000_000), ("axis", 4_000_000)] {
        let [_, ran, skipped, _] = figures(&document, name);
        let (due, watched) = ((ran + skipped) * period, document["watched_ns"].as_u64().unwrap());
        assert!(due.abs_diff(watched) < watched / 10, "{name}: {due} of {watched}: {document}");
    }
}
