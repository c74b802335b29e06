//! How long it takes to parse and audit the capture of a very large machine: 256 CPUs, 3000 interrupt lines, 40 queues,
//! 2000 tasks. The goal is at most 300 ms.

#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]

#[path = "../tests/it/generated.rs"]
mod generated;

use generated::Shape;
use punctual_facts::machine::Machine;
use punctual_facts::profile::{Kind, Need};
use punctual_facts::tree::{MemTree, masked};
use punctual_tuning::audit::audit;
use punctual_tuning::capture::capture;
use punctual_tuning::knobs::{ALL, Case, Check};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The time of the shortest of several runs of `work`, because disturbances can only lengthen a run.
fn shortest<T>(mut work: impl FnMut() -> T) -> Duration {
    let run = |_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed()
    };
    (0..5).map(run).min().unwrap_or_default()
}

fn show(what: &str, time: Duration) {
    println!("{what:<44} {:>8.1} ms", time.as_secs_f64() * 1e3);
}

fn main() {
    for (name, shape) in [
        ("256 CPUs, 3000 interrupts", Shape::large()),
        ("1024 CPUs, 3000 interrupts", Shape { possible: 1024, online: (0..1024).collect(), ..Shape::large() }),
    ] {
        let text = shape.machine().to_string();
        println!("{name}: {} knobs, a snapshot of {} kB", ALL.len(), text.len() / 1000);
        let tree = match MemTree::parse(&text) {
            Ok(tree) => tree,
            Err(e) => return println!("the generated machine is wrong: {e}"),
        };
        show("parse", shortest(|| MemTree::parse(&text)));
        show("read the machine", shortest(|| Machine::read(&tree)));
        for kind in Kind::ALL {
            let need = Need { kind, ..Need::default() };
            show(&format!("audit, {}", kind.name()), shortest(|| audit(&tree, &Machine::read(&tree), &need)));
        }
        let whole = || MemTree::parse(&text).map(|tree| audit(&tree, &Machine::read(&tree), &Need::default()).len());
        show("audit --machine: parse and audit", shortest(whole));
        show("capture", shortest(|| capture(&tree)));
        show("mask", shortest(|| masked(&tree)));
        slowest(&tree);
        println!();
    }
}

/// Prints the knobs whose judgement takes longest.
fn slowest(tree: &MemTree) {
    let (machine, need) = (Machine::read(tree), Need::default());
    let mut times: Vec<(Duration, &str)> = ALL
        .iter()
        .filter_map(|knob| {
            let Check::Probe(probe) = knob.check else { return None };
            let time = shortest(|| {
                let case = Case::new(tree, &machine, &need);
                let _ = black_box(probe(&case));
            });
            Some((time, knob.id))
        })
        .collect();
    times.sort_unstable();
    for (time, id) in times.iter().rev().take(6) {
        show(&format!("  {id}, by itself"), *time);
    }
}
