//! Tests that wrong words, paths and files are refused by name, before anything is measured and without a panic.

use crate::run::Run;
use std::fs;
use std::path::Path;

const MEASURE: [&str; 5] = ["measure", "--policy", "other", "--duration", "200ms"];

#[track_caller]
fn refused(words: &[&str], parts: &[&str]) {
    let run = Run::new();
    run.punctual(&[&MEASURE, words].concat()).refused(parts);
    let left = fs::read_dir(run.dir.path()).unwrap().count();
    assert_eq!(left, 0, "nothing was measured, so no file may be left behind");
}

#[test]
fn a_cpu_that_is_not_there() {
    refused(&["--cpus", "0,4000"], &["4000", "online"]);
    refused(&["--cpus", ""], &["names no CPU"]);
    refused(&["--cpus", "3-1"], &["backwards"]);
    refused(&["--cpus", "99999"], &["no machine has a CPU of that number"]);
}

#[test]
fn a_period_that_cannot_be() {
    refused(&["--period", "0s"], &["period"]);
    refused(&["--period", "1ns"], &["period"]);
    refused(&["--period", "5"], &["unit"]);
    refused(&["--period", "1h"], &["period"]);
    refused(&["--cpus", "0", "--period", "1=1ms"], &["name the same"]);
}

#[test]
fn a_priority_out_of_range() {
    let run = Run::new();
    for priority in ["0", "96", "99"] {
        run.punctual(&["measure", "--priority", priority, "--duration", "1s"]).refused(&["priority", "95"]);
    }
    run.punctual(&["measure", "--priority", "1000"]).refused(&["1000"]);
}

#[test]
fn a_core_that_this_kernel_does_not_have() {
    refused(&["--kernel", "evl"], &["SCHED_FIFO", "--policy"]);
    refused(&["--kernel", "evl", "--mechanism", "spin"], &["--mechanism"]);
    refused(&["--kernel", "evil"], &["evil", "linux, evl, cobalt"]);
    refused(&["--kernel", "cobalt", "--mechanism", "futex"], &["--mechanism absolute", "timerfd"]);
    refused(&["--kernel", "evl", "--mechanism", "timerfd"], &["only on Cobalt"]);
    refused(&["--context", "kernel"], &["--context kernel", "--kernel evl or --kernel cobalt"]);
    refused(&["--kernel", "linux,evl", "--context", "irq"], &["--context irq measures one kernel"]);
    refused(&["--kernel", "cobalt", "--context", "irq", "--explain"], &["--explain", "--context user"]);
    refused(&["--kernel", "evl", "--context", "kernel", "--period", "2s"], &["periods up to"]);
    refused(&["--gravity", "tune"], &["--gravity", "--kernel evl or --kernel cobalt"]);
    for kernels in ["evl,evl", "linux,evl,cobalt"] {
        refused(&["--kernel", kernels], &["two different ones", "--kernel linux,evl"]);
    }
    refused(&["--kernel", "linux,evl", "--rounds", "1"], &["--rounds"]);
    let run = Run::new();
    let cores =
        [("evl", "EVL", "/dev/evl/control", "CONFIG_EVL"), ("cobalt", "Cobalt", "/proc/xenomai", "CONFIG_XENOMAI")];
    for (word, name, path, option) in cores.into_iter().filter(|(.., path, _)| !Path::new(path).exists()) {
        run.punctual(&["measure", "--kernel", word, "--duration", "1s"]).refused(&[name, "has none", option]);
        let both = format!("linux,{word}");
        run.punctual(&["measure", "--kernel", &both, "--duration", "1s"]).refused(&[name, "has none", option]);
        let live = ["measure", "--kernel", &both, "--duration", "1s", "--live"];
        run.punctual(&live).refused(&["--live", "one kernel"]);
        assert_eq!(fs::read_dir(run.dir.path()).unwrap().count(), 0, "{path}: nothing was measured");
    }
}

#[test]
fn a_clock_that_is_not_there() {
    refused(&["--clock", "/dev/ptp250"], &["/dev/ptp250", "No such file", "ls /dev/ptp*"]);
    refused(&["--clock", "aux:9"], &["aux:0 to aux:7"]);
    refused(&["--clock", "sundial"], &["monotonic, realtime, tai"]);
    refused(&["--clock", "tai", "--mechanism", "spin"], &["--mechanism absolute", "leave --mechanism out"]);
    refused(&["--clock", "tai", "--kernel", "evl"], &["--kernel linux"]);
}

#[test]
fn an_endpoint_that_is_not_there() {
    refused(&["--mechanism", "rpmsg"], &["--endpoint /dev/rpmsg0"]);
    refused(&["--endpoint", "/dev/rpmsg0"], &["--mechanism rpmsg or --mechanism shm"]);
    refused(&["--mechanism", "rpmsg", "--endpoint", "/dev/rpmsg77", "--cpus", "0"], &["/dev/rpmsg77", "No such file"]);
    refused(&["--mechanism", "rpmsg", "--endpoint", "/dev/null", "--cpus", "0"], &["the other side closed it"]);
    refused(&["--mechanism", "shm", "--endpoint", "/dev/null@12"], &["a multiple of 8"]);
    refused(&["--mechanism", "shm", "--endpoint", "/dev/null", "--kernel", "evl"], &["--kernel linux"]);
}

#[test]
fn a_length_that_holds_no_activation() {
    let run = Run::new();
    run.punctual(&["measure", "--policy", "other", "--duration", "1us"]).refused(&["1 us", "no activation"]);
    run.punctual(&["measure", "--policy", "other", "--activations", "0"]).refused(&["activation"]);
}

#[test]
fn lengths_beyond_reason_and_budgets_beyond_the_period() {
    refused(&["--warm-up", "18446744073709551615"], &["too long"]);
    refused(&["--warm-up", "213503d"], &["too long"]);
    refused(&["--budget", "1ms"], &["below the period"]);
    refused(&["--load", "cpu", "--load-cpus", "4000"], &["4000", "online"]);
    refused(&["--period", "0=1ms,0=2ms"], &["twice"]);
    refused(&["--out", "r.html", "--html", "r.html"], &["r.html"]);
}

#[test]
fn a_load_nobody_knows() {
    let run = Run::new();
    run.punctual(&[&MEASURE[..], &["--load", "memroy"]].concat()).refused(&["memroy", "memory"]);
    run.punctual(&[&MEASURE[..], &["--load", "cpu,,cpu"]].concat()).refused(&["empty"]);
    run.punctual(&[&MEASURE[..], &["--load", "cpu:0"]].concat()).refused(&["never run"]);
}

#[test]
fn a_result_path_that_cannot_be_written_is_found_before_measuring() {
    let run = Run::new();
    let said = run.punctual(&["measure", "--policy", "other", "--duration", "1h", "--out", "/nonexistent/r.punctual"]);
    said.refused(&["/nonexistent/r.punctual", "No such file"]);
}

#[test]
fn a_result_is_never_overwritten() {
    let run = Run::new();
    fs::write(run.path("r.punctual"), "precious").unwrap();
    run.punctual(&[&MEASURE[..], &["--out", "r.punctual"]].concat()).refused(&["r.punctual", "exists"]);
    assert_eq!(fs::read_to_string(run.path("r.punctual")).unwrap(), "precious");
    run.punctual(&[&MEASURE[..], &["--out", "new.punctual", "--html", "r.punctual"]].concat()).refused(&["r.punctual"]);
    assert_eq!(fs::read_to_string(run.path("r.punctual")).unwrap(), "precious");
}

#[test]
fn files_that_are_no_recordings() {
    let run = Run::new();
    run.punctual(&["report", "missing.punctual"]).refused(&["missing.punctual"]);
    for (name, bytes) in [("empty", &b""[..]), ("text", b"hello, world\n"), ("random", &[0x9c; 4096])] {
        fs::write(run.path(name), bytes).unwrap();
        run.punctual(&["report", name]).refused(&[name]);
    }
    run.punctual(&["report", "."]).refused(&["."]);
}

#[test]
fn unknown_words() {
    let run = Run::new();
    run.punctual(&["mesure"]).refused(&["mesure", "measure"]);
    run.punctual(&["audit", "--explain", "sched.rt_runtme"]).refused(&["sched.rt_runtme", "sched.rt_runtime"]);
    run.punctual(&[]).refused(&["Usage"]);
    assert_eq!(run.punctual(&["--version"]).code, 0);
}
