//! Tests of `punctual inspect` with the kernel's trace. They need root.

use crate::causes_privileged::Tracefs;
use crate::run::{Run, Said, assert_fits, guards_of, kill_guard_of, until};
use serde_json::Value;
use std::process::Stdio;

/// A loop in a language that every test machine has: our own measurement, observed as any other program.
pub const LOOP: [&str; 9] = ["measure", "--period", "2ms", "--duration", "2s", "--cpus", "0", "--policy", "other"];

/// The document of an inspection of [`LOOP`] by this engine, and the process id of the inspection.
fn inspected(run: &Run, engine: &str) -> (Value, u32) {
    let inspect = ["inspect", "--json", "--engine", engine, "--duration", "30s", "--", env!("CARGO_BIN_EXE_punctual")];
    let words = [&inspect[..], &LOOP[..], &["--out", "loop.punctual"]].concat();
    let inspecting = run.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = inspecting.id();
    let said = Said::of(inspecting.wait_with_output().unwrap());
    let document = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    assert_fits("inspect-1", &document, "inspect");
    (document, id)
}

#[test]
#[ignore = "needs root"]
fn the_cycles_of_a_loop_are_those_that_it_counted_itself() {
    cycles_are_counted_by("tracefs");
}

pub fn cycles_are_counted_by(engine: &str) {
    let Some(tracefs) = Tracefs::new() else { return println!("no tracefs here") };
    let run = Run::new();
    let (document, id) = inspected(&run, engine);
    assert_eq!(document["engine"], engine, "{}", document["refused"]);
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value}: {document}"));
    let threads = document["threads"].as_array().unwrap();
    let paced = threads.iter().find(|thread| {
        thread["pace"]["sleep"]["absolute"] == true && thread["cycles"]["period_ns"].as_u64() == Some(2_000_000)
    });
    let cycles = &paced.unwrap_or_else(|| panic!("{document}"))["cycles"];
    // The thread also sleeps outside its grid, before the first release and after the last: 14 to 16 times were seen.
    let own = run.json(&["report", "loop.punctual", "--json"]);
    let ran = number(&own["warm_up"][0]["activations"]) + number(&own["cpus"][0]["ran"]);
    let count = number(&cycles["count"]);
    assert!(count <= ran + 100, "{count} of {ran}: {cycles}");
    assert!(count >= ran || number(&document["lost"]) > 0, "{count} of {ran}: {cycles}");
    // One of its sleeps is until the first nanosecond of the clock, which is no release.
    assert!(number(&cycles["latency_due"]["max_ns"]) < number(&document["observed_ns"]), "{cycles}");
    assert!(number(&document["start_up"]["calls"]) > 0);
    assert_eq!(tracefs.left(&format!("punctual-{id}-")), [""; 0]);
}

/// A loop that writes in each cycle, and goes on until it is ended.
const WRITES: &str = r#"
#include <time.h>
#include <unistd.h>
int main(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    for (;;) {
        t.tv_nsec += 2000000;
        if (t.tv_nsec >= 1000000000) { t.tv_nsec -= 1000000000; t.tv_sec++; }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
        if (write(2, "", 0) != 0) return 1;
    }
}
"#;

#[test]
#[ignore = "needs root"]
fn an_inspection_that_may_take_nearly_nothing_gives_up_all_but_the_cycles_and_says_so() {
    if Tracefs::new().is_none() {
        return println!("no tracefs here");
    }
    let run = Run::new();
    std::fs::write(run.path("writes.c"), WRITES).unwrap();
    let mut cc = std::process::Command::new("cc");
    let built = cc.args(["-O2", "-o"]).arg(run.path("writes")).arg(run.path("writes.c")).status();
    assert!(built.unwrap().success());
    let words =
        ["--json", "--cost", "0.001", "--no-causes", "--no-allocations", "--fail-on", "lock", "--duration", "12s"];
    let said = run.punctual(&[&["inspect"], &words[..], &["--", "./writes"]].concat());
    assert_eq!(said.code, 3, "locks were not looked for to the end: {said:?}");
    let document: Value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    let cost = &document["cost"];
    let given_up: Vec<&Value> = cost["given_up"].as_array().unwrap().iter().map(|of| &of["what"]).collect();
    assert_eq!(given_up, ["stacks", "inside"], "{cost}");
    assert!(cost["record_ns"].as_u64().unwrap() > 0 && cost["own"].as_f64().unwrap() > 0.0, "{cost}");
    let thread = &document["threads"][0];
    assert!(thread["cost"]["records"].as_f64().unwrap() > 1.0, "{}", thread["cost"]);
    // Its cycles are followed to the end, and what is in them as long as it was recorded.
    let inside = thread["cycles"]["in_the_way"].as_array().unwrap();
    let writes = inside.iter().filter(|row| row["call"] == "write");
    let written: u64 = writes.clone().map(|row| row["cycles"].as_u64().unwrap()).sum();
    let among = writes.map(|row| row["among"].as_u64().unwrap()).max().unwrap();
    let cycles = thread["cycles"]["count"].as_u64().unwrap();
    assert!(written.abs_diff(among) < 5 && among + 100 < cycles, "{written} of {among}, {cycles} in all: {inside:?}");
}

#[test]
#[ignore = "needs root"]
fn a_process_that_the_command_starts_is_observed_as_well() {
    if Tracefs::new().is_none() {
        return println!("no tracefs here");
    }
    let run = Run::new();
    // The shell must wait for its child, and not become it.
    let inner = format!("{} {} --out loop.punctual; exit 0", env!("CARGO_BIN_EXE_punctual"), LOOP.join(" "));
    let document = run.json(&["inspect", "--json", "--no-causes", "--duration", "30s", "--", "sh", "-c", &inner]);
    let children: Vec<&Value> = document["children"].as_array().unwrap().iter().map(|child| &child["pid"]).collect();
    let is_loop = |thread: &&Value| thread["cycles"]["period_ns"] == 2_000_000;
    let paced = document["threads"].as_array().unwrap().iter().find(is_loop).unwrap_or_else(|| panic!("{document}"));
    assert!(children.contains(&&paced["pid"]) && paced["pid"] != document["program"]["pid"], "{document}");
    assert_eq!(document["end"], "program-ended");
}

/// A loop in C that marks its cycles and two stages, and ends by itself after 300 cycles.
const MARKED: &str = r#"
#include <time.h>
#include "punctual_marks.h"
#include "other_marks.h"
int main(void) {
    struct timespec t;
    int cycle;
    clock_gettime(CLOCK_MONOTONIC, &t);
    for (cycle = 0; cycle < 300; cycle++) {
        t.tv_nsec += 5000000;
        if (t.tv_nsec >= 1000000000) { t.tv_nsec -= 1000000000; t.tv_sec++; }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
        PUNCTUAL_CYCLE_BEGIN();
        PUNCTUAL_STAGE(read);
        OTHER_MARK_("callback_start");
        PUNCTUAL_STAGE(control);
        OTHER_MARK_("callback_end");
        OTHER_MARK_("published");
        PUNCTUAL_CYCLE_END();
    }
    return 0;
}
"#;

#[test]
#[ignore = "needs root"]
fn the_marks_of_a_stripped_c_program_are_told() {
    if Tracefs::new().is_none() {
        return println!("no tracefs here");
    }
    let run = Run::new();
    let source = run.path("marked.c");
    std::fs::write(&source, MARKED).unwrap();
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../punctual-capi/include");
    // The same probes of another provider.
    let header = std::fs::read_to_string(format!("{include}/punctual_marks.h")).unwrap();
    let other = header.replace("PUNCTUAL_", "OTHER_").replace("\\\"punctual\\\"", "\\\"ros2\\\"");
    std::fs::write(run.path("other_marks.h"), other).unwrap();
    let mut cc = std::process::Command::new("cc");
    let built = cc.args(["-O2", "-s", "-static", "-I", include, "-o"]).arg(run.path("marked")).arg(&source).status();
    assert!(built.unwrap().success());
    let said = run.punctual(&["inspect", "--no-causes", "--duration", "30s", "--html", "page.html", "--", "./marked"]);
    assert!(said.out.contains("Marks in the program") && said.out.contains("control"), "{said:?}");
    assert!(std::fs::read_to_string(run.path("page.html")).unwrap().contains("Marks in the program"));
    let document = run.json(&["inspect", "--json", "--no-causes", "--duration", "30s", "--", "./marked"]);
    let marks = &document["marks"];
    let [thread] = marks["threads"].as_array().unwrap().as_slice() else { panic!("{marks}") };
    // Cycles before the program was found and followed are not seen.
    let cycles = thread["cycles"].as_u64().unwrap();
    assert!((100..=300).contains(&cycles) && marks["places"] == 6, "{marks}");
    assert_eq!((&marks["refused"], &marks["lost"]), (&Value::Null, &Value::from(0)), "{marks}");
    let stages: Vec<&Value> = thread["stages"].as_array().unwrap().iter().map(|stage| &stage["name"]).collect();
    assert_eq!(stages, ["read", "control", "ros2:callback"], "{marks}");
    assert_eq!(marks["others"], serde_json::json!([{"system": "usdt", "provider": "ros2"}]), "{marks}");
}

/// A loop that calls its defect through a function made at run time, as interpreters do, and tells its name to perf.
const MADE: &str = r#"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) static void interpreted(void) {
    if (write(2, ".", 1) == 1) __asm__ volatile("" ::: "memory");
}
int main(void) {
    /* sub $8, %rsp; call *%rdi; add $8, %rsp; ret */
    static const unsigned char code[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd7, 0x48, 0x83, 0xc4, 8, 0xc3};
    void *made = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[64];
    struct timespec t;
    int cycle;
    memcpy(made, code, sizeof code);
    mprotect(made, 4096, PROT_READ | PROT_EXEC);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *names = fopen(path, "w");
    fprintf(names, "%lx %zx py::Axis.step:/opt/axis.py\n", (unsigned long)made, sizeof code);
    fclose(names);
    clock_gettime(CLOCK_MONOTONIC, &t);
    for (cycle = 0; cycle < 300; cycle++) {
        t.tv_nsec += 5000000;
        if (t.tv_nsec >= 1000000000) { t.tv_nsec -= 1000000000; t.tv_sec++; }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
        ((void (*)(void (*)(void)))made)(interpreted);
    }
    return 0;
}
"#;

/// Name of what is written in the cycles of [`MADE`], built under this name.
fn writer(run: &Run, name: &str) -> Value {
    std::fs::write(run.path("made.c"), MADE).unwrap();
    let mut cc = std::process::Command::new("cc");
    let built = cc.args(["-O2", "-o"]).arg(run.path(name)).arg(run.path("made.c")).status();
    assert!(built.unwrap().success());
    let program = format!("./{name}");
    let document = run.json(&["inspect", "--json", "--no-causes", "--duration", "30s", "--", &program]);
    // The program leaves its names, as Python and node do.
    let _ = std::fs::remove_file(format!("/tmp/perf-{}.map", document["program"]["pid"]));
    assert!(!document["blind"].as_array().unwrap().contains(&Value::from("script")), "{document}");
    let rows = document["threads"][0]["cycles"]["in_the_way"].as_array().unwrap();
    let write = rows.iter().find(|row| row["intruder"] == "write").unwrap_or_else(|| panic!("{document}"));
    write.clone()
}

#[test]
#[ignore = "needs root"]
fn code_made_at_run_time_has_the_name_that_the_program_tells() {
    if Tracefs::new().is_none() || !cfg!(target_arch = "x86_64") {
        return println!("NOT RUN: no tracefs, or another architecture");
    }
    let run = Run::new();
    // A program is told by its own function, and the one that was made called it.
    let own = writer(&run, "axis");
    assert_eq!(
        (&own["code"]["symbol"], &own["callers"][0]["symbol"]),
        (&"interpreted".into(), &"Axis.step".into()),
        "{own}"
    );
    // An interpreter is told by the function of its script.
    let script = writer(&run, "python3.99");
    assert_eq!((&script["code"]["symbol"], &script["code"]["file"]), (&"Axis.step".into(), &"/opt/axis.py".into()));
}

#[test]
#[ignore = "needs root"]
fn what_a_killed_inspection_left_goes_by_its_guard_or_the_next_one() {
    let Some(tracefs) = Tracefs::new() else { return println!("no tracefs here") };
    let run = Run::new();
    let here = std::process::id().to_string();
    let begun = || {
        let inspecting = run.command(&["inspect", "--engine", "tracefs", &here, "--duration", "1h"]).spawn().unwrap();
        let name = format!("punctual-{}-", inspecting.id());
        until("the inspection traces", || !tracefs.left(&name).is_empty());
        until("it has a guard", || !guards_of(inspecting.id()).is_empty());
        (inspecting, name)
    };
    let end = |mut inspecting: std::process::Child| {
        inspecting.kill().unwrap();
        inspecting.wait().unwrap();
        inspecting.id()
    };
    let (inspecting, name) = begun();
    let ended = end(inspecting);
    until("the guard removes the instances", || tracefs.left(&name).is_empty());
    until("the guard ends", || guards_of(ended).is_empty());
    let (inspecting, name) = begun();
    kill_guard_of(inspecting.id());
    end(inspecting);
    assert!(!tracefs.left(&name).is_empty(), "nobody was left to remove them");
    let said = run.punctual(&["inspect", "-q", "--duration", "100ms", &here]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(tracefs.left(&name).len(), 0);
}
