//! Compares two engines that look for causes, and two that record a program: BPF programs in the kernel, and the kernel's
//! own trace.

use crate::inspect_privileged::{LOOP, cycles_are_counted_by};
use crate::run::{Run, machine};
use punctual_hist::Nanos;
use punctual_rt::{Policy, kernel, now, setup};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const CPU: u32 = 0;
const BURST: Nanos = Nanos::from_us(2_500);
const PAUSE: Nanos = Nanos::from_ms(47);

/// Occupies the CPU in bursts until `stop` is set, or for 120 s.
fn hog(stop: &AtomicBool) {
    setup::pin_current(&[CPU]).unwrap();
    setup::set_policy(Policy::Fifo(95)).unwrap();
    let end = now().plus(Nanos::from_secs(120));
    while !stop.load(Relaxed) && now() < end {
        let until = now().plus(BURST);
        while now() < until {
            std::hint::spin_loop();
        }
        kernel::sleep_for(PAUSE);
    }
}

/// The explanation of a measurement, with this engine, while a hog runs in bursts.
fn explained(engine: &str) -> Value {
    let run = Run::new();
    let stop = Arc::new(AtomicBool::new(false));
    let until = Arc::clone(&stop);
    let hog = std::thread::Builder::new().name("hog95".into()).spawn(move || hog(&until)).unwrap();
    let words = ["measure", "--explain", "--explain-engine", engine, "--explain-threshold", "1500us", "-q"];
    let said = run.punctual(&[&words[..], &["--cpus", "0", "--duration", "5s", "--out", "e.punctual"]].concat());
    stop.store(true, Relaxed);
    hog.join().unwrap();
    assert!([0, 3].contains(&said.code), "{said:?}");
    run.json(&["explain", "e.punctual", "--json", "--full"])
}

#[test]
#[ignore = "needs root"]
fn both_engines_name_the_same_culprit() {
    let _machine = machine();
    for engine in ["tracefs", "bpf"] {
        let said = explained(engine);
        assert_eq!(said["tracing"]["rung"], engine, "{}", said["tracing"]);
        let tests = said["tracing"]["self_test"].as_array().unwrap();
        assert!(
            tests.iter().all(|test| test["expiries"] == test["timers"] && test["switches"] == test["timers"]),
            "{tests:?}"
        );
        let spikes = said["spikes"].as_array().unwrap();
        let first = |spike: &&Value| spike["causes"][0]["name"].as_str().is_some_and(|name| name.contains("hog95"));
        let named = spikes.iter().filter(first).count();
        println!("{engine}: {named} of {} late activations are put down to the hog", spikes.len());
        // On a busy host other delays occur as well.
        assert!(named >= 30 && named * 10 >= spikes.len() * 8, "{engine}: {named} of {}", spikes.len());
        assert!(said["causes"][0]["name"].as_str().unwrap().contains("hog95"), "{}", said["causes"]);
        let whole = spikes.iter().filter(|spike| spike["incomplete"].is_null()).count();
        assert!(whole * 10 >= spikes.len() * 9, "{engine}: only {whole} of {} are complete", spikes.len());
    }
}

#[test]
#[ignore = "needs root"]
fn the_cycles_that_bpf_sees_are_those_that_the_loop_counted_itself() {
    let _machine = machine();
    cycles_are_counted_by("bpf");
}

/// A thread that is not the first one of its process and starts another program there.
const STARTER: &str = "
#include <pthread.h>
#include <unistd.h>
static char **words;
static void *start(void *unused) { execv(words[1], words + 1); return unused; }
int main(int count, char **arguments) {
    pthread_t thread;
    words = arguments;
    if (count > 1) pthread_create(&thread, 0, start, 0);
    for (;;) pause();
}
";

#[test]
#[ignore = "needs root"]
fn bpf_follows_a_thread_that_starts_another_program_and_takes_the_number_of_the_first() {
    let _machine = machine();
    let run = Run::new();
    std::fs::write(run.path("starter.c"), STARTER).unwrap();
    let mut cc = std::process::Command::new("cc");
    let built = cc.arg("-o").arg(run.path("starter")).arg(run.path("starter.c")).arg("-lpthread").status();
    assert!(built.unwrap().success());
    let inspect = ["inspect", "--json", "--engine", "bpf", "--no-causes", "--duration", "30s", "--", "./starter"];
    let words = [&inspect[..], &[env!("CARGO_BIN_EXE_punctual")], &LOOP, &["--out", "loop.punctual"]].concat();
    let document = run.json(&words);
    let is_loop = |thread: &Value| thread["cycles"]["period_ns"] == 2_000_000;
    assert!(document["threads"].as_array().unwrap().iter().any(is_loop), "{document}");
    assert_eq!(document["end"], "program-ended");
}
