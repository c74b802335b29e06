//! Tests of `punctual inspect` with the kernel's trace. They need root.

use crate::causes_privileged::Tracefs;
use crate::run::{Run, assert_fits, until};
use serde_json::Value;

/// A loop in a language that every test machine has: our own measurement, observed as any other program.
const LOOP: [&str; 9] = ["measure", "--period", "2ms", "--duration", "2s", "--cpus", "0", "--policy", "other"];

fn inspected(run: &Run, own: &[&str]) -> Value {
    let program = env!("CARGO_BIN_EXE_punctual");
    let out = run.path("loop.punctual");
    let command: Vec<&str> =
        [&["inspect", "--json"], own, &["--", program], &LOOP[..], &["--out", out.to_str().unwrap()]].concat();
    let said = run.punctual(&command);
    let document = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    assert_fits("inspect-1", &document, "inspect");
    document
}

#[test]
#[ignore = "needs root"]
fn the_cycles_of_a_loop_are_those_that_it_counted_itself() {
    let Some(tracefs) = Tracefs::new() else { return println!("no tracefs here") };
    let document = inspected(&Run::new(), &["--duration", "30s"]);
    assert_eq!(document["engine"], "tracefs", "{}", document["refused"]);
    let threads = document["threads"].as_array().unwrap();
    let paced = threads.iter().find(|thread| {
        thread["pace"]["sleep"]["absolute"] == true && thread["cycles"]["period_ns"].as_u64() == Some(2_000_000)
    });
    let cycles = &paced.unwrap_or_else(|| panic!("{document}"))["cycles"];
    // 1000 releases are due; a busy machine may skip some, which are counted.
    let due = cycles["count"].as_u64().unwrap() + cycles["skipped"].as_u64().unwrap();
    assert!(document["lost"].as_u64().unwrap() > 0 || (990..=1_100).contains(&due), "{due}: {cycles}");
    assert!(document["start_up"]["calls"].as_u64().unwrap() > 0);
    assert_eq!(tracefs.left("punctual-"), [""; 0].map(String::from).to_vec());
}

#[test]
#[ignore = "needs root"]
fn what_a_killed_inspection_left_the_next_one_removes() {
    let Some(tracefs) = Tracefs::new() else { return println!("no tracefs here") };
    let run = Run::new();
    let here = std::process::id().to_string();
    let mut inspecting = run.command(&["inspect", &here, "--duration", "1h"]).spawn().unwrap();
    let name = format!("punctual-{}-", inspecting.id());
    until("the inspection traces", || tracefs.left(&name).len() == 2);
    inspecting.kill().unwrap();
    inspecting.wait().unwrap();
    assert_eq!(tracefs.left(&name).len(), 2, "nobody was left to remove them");
    let said = run.punctual(&["inspect", "-q", "--duration", "100ms", &here]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(tracefs.left(&name).len(), 0);
}
