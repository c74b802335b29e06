//! Measurements of this machine, which run only when named: how often `compare` finds a difference where there is none
//! and how often it finds a planted hog, and whether `optimize` finds a planted knob. They need root, minutes and a
//! quiet machine, because other programs that come and go are found as well.
//!
//! `PAIRS=40 KNOWN=20 SECONDS=60 cargo test --release -p punctual --test it -- --ignored --nocapture
//! pairs_of_this_machine`, `BUDGET=12m RUN=3s cargo test --release -p punctual --test it -- --ignored --nocapture
//! a_planted_knob`.

use crate::optimize_privileged::{JOURNAL, last_cpu, untuned, values};
use crate::run::{Run, machine};
use punctual_hist::{MonoTime, Nanos};
use punctual_rt::{Policy, kernel, now, setup};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn asked(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

/// Occupies a CPU above the measured priority for 100 us at a release every 100 ms, until `stop` is set, but not while
/// `is_quiet` is set.
fn hog(cpu: u32, stop: &AtomicBool, is_quiet: &AtomicBool) {
    setup::pin_current(&[cpu]).unwrap();
    setup::set_policy(Policy::Fifo(95)).unwrap();
    let (every, length) = (Nanos::from_ms(100), Nanos::from_us(100));
    while !stop.load(Ordering::Relaxed) {
        // Releases lie at half milliseconds. The hog begins 10 us before one.
        let at = now().as_ns() / every.as_ns() * every.as_ns() + every.as_ns() + 490_000;
        let at = MonoTime::from_ns(at);
        kernel::sleep_until(at);
        while !is_quiet.load(Ordering::Relaxed) && now() < at.plus(length) {}
    }
}

/// Measures for `seconds` into the recording `name`. With `held`, a DMA latency of 0 us keeps the CPU out of idle
/// states.
fn measure(run: &Run, cpu: u32, seconds: u64, held: bool, name: &str) {
    let (cpu, duration) = (cpu.to_string(), format!("{seconds}s"));
    let mut words =
        vec!["measure", "--cpus", &cpu, "--duration", &duration, "--budget", "50us", "--quiet", "--out", name];
    if held {
        words.extend(["--dma-latency", "0"]);
    }
    let said = run.punctual(&words);
    assert!(said.code != 1, "{said:?}");
}

fn measure_beside_the_hog(run: &Run, cpu: u32, seconds: u64, name: &str) {
    let stop = Arc::new(AtomicBool::new(false));
    let told = stop.clone();
    let hog = std::thread::spawn(move || hog(cpu, &told, &AtomicBool::new(false)));
    measure(run, cpu, seconds, true, name);
    stop.store(true, Ordering::Relaxed);
    hog.join().unwrap();
}

fn verdict(run: &Run, first: &str, second: &str) -> String {
    let document = run.json(&["compare", first, second, "--json"]);
    document["verdict"].as_str().unwrap().to_owned()
}

/// Compares pairs of recordings. Each pair shares its first recording with the pair before, so that slow drift counts
/// as well. The first `KNOWN` pairs are also compared with known effects. The effect of idle states shows quickly, so
/// its runs take a quarter of the time.
#[test]
#[ignore = "needs root and a quiet machine, and takes as long as it measures"]
fn pairs_of_this_machine() {
    let _machine = machine();
    let (pairs, seconds) = (asked("PAIRS", 4), asked("SECONDS", 10));
    let (cpu, known) = (last_cpu(), asked("KNOWN", pairs).min(pairs));
    let (mut apart, mut hogs, mut idles) = (0, 0, 0);
    let run = Run::new();
    let mut first = "first.punctual".to_owned();
    measure(&run, cpu, seconds, true, &first);
    println!("{:>4} {:<22} {:<22} {:<22}", "pair", "against itself", "against the hog", "idle states let in");
    for pair in 0..pairs {
        let name = |what| format!("{pair}-{what}.punctual");
        let (second, hogged, idle) = (name("second"), name("hogged"), name("idle"));
        let (mut hog, mut let_in) = (String::new(), String::new());
        if pair < known {
            measure_beside_the_hog(&run, cpu, seconds, &hogged);
            measure(&run, cpu, seconds.div_ceil(4), false, &idle);
            (hog, let_in) = (verdict(&run, &first, &hogged), verdict(&run, &first, &idle));
            hogs += u64::from(["worse", "mixed"].contains(&hog.as_str()));
            idles += u64::from(["worse", "mixed"].contains(&let_in.as_str()));
        }
        measure(&run, cpu, seconds, true, &second);
        let same = verdict(&run, &first, &second);
        apart += u64::from(["better", "worse", "mixed"].contains(&same.as_str()));
        println!("{pair:>4} {same:<22} {hog:<22} {let_in:<22}");
        first = second;
    }
    println!("told apart from itself {apart} of {pairs}; hog found {hogs}, idle states found {idles} of {known}");
    assert!(apart * 20 <= pairs, "more than 5 %");
    assert!(hogs * 20 >= known * 19 && idles * 20 >= known * 19, "less than 95 %");
}

/// A script that acts as a knob: while it is set, a hog is kept away.
struct Planted {
    folder: tempfile::TempDir,
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Planted {
    /// Starts a hog that runs while this value lives, except when the knob is set.
    fn new(cpu: u32) -> Self {
        // Root runs no program from the folder for temporary files, because any user may write to it.
        let folder = tempfile::Builder::new().prefix("punctual-planted-").tempdir_in("/var/lib").unwrap();
        let (knob, state) = (folder.path().join("quiet"), folder.path().join("state"));
        let text = format!("#!/bin/sh\nexec /bin/sh -c 'echo \"$0\" >{}' \"$1\"\n", state.display());
        fs::write(&knob, text).unwrap();
        fs::set_permissions(&knob, fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let (stop, is_quiet) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (told, set) = (stop.clone(), is_quiet.clone());
        let watch = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                set.store(fs::read_to_string(&state).is_ok_and(|text| text.trim() == "on"), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let told = stop.clone();
        let hog = std::thread::spawn(move || hog(cpu, &told, &is_quiet));
        Self { folder, stop, threads: vec![watch, hog] }
    }

    fn knob(&self) -> String {
        format!("script:{}", self.folder.path().join("quiet").display())
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Of six knobs one matters. It must be found, listed first and recommended, and everything must be put back. The
/// variables `BUDGET=12m`, `RUN=3s`, `STRATEGY=race` and `KNOBS=a,b,..` change the defaults.
#[test]
#[ignore = "needs root and a quiet machine, and takes minutes"]
fn a_planted_knob_is_found_among_six() {
    let _machine = untuned();
    let asked = |name: &str, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.to_owned());
    let (cpu, run, before) = (last_cpu(), Run::new(), values());
    let planted = Planted::new(cpu);
    let others = asked("KNOBS", "rcu.normal,mem.compact,mem.stat_interval,wd.soft,irq.default");
    let (cpu, knobs) = (cpu.to_string(), format!("{others},{}", planted.knob()));
    let (budget, length, strategy) = (asked("BUDGET", "12m"), asked("RUN", "3s"), asked("STRATEGY", "one-at-a-time"));
    let words =
        ["optimize", "--cpus", &cpu, "--knobs", &knobs, "--time", &budget, "--run", &length, "--budget", "50us"];
    let more =
        ["--strategy", &strategy, "--dma-latency", "0", "--yes", "--out", "campaign", "--json", "--html", "page.html"];
    let begun = Instant::now();
    let said = run.punctual(&[words.as_slice(), more.as_slice()].concat());
    let document: Value = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    for candidate in document["candidates"].as_array().unwrap() {
        println!("{:<44} {:<20} {}", candidate["id"], candidate["verdict"], shown(candidate));
    }
    println!(
        "{} measurements in {:.0} s, recommended {}",
        document["runs"],
        begun.elapsed().as_secs_f64(),
        document["recommended"]
    );
    assert_eq!(document["candidates"].as_array().unwrap().len(), 6, "not all apply here; name others with KNOBS=");
    assert_eq!(document["candidates"][0]["id"], planted.knob(), "told first");
    assert_eq!(document["candidates"][0]["verdict"], "better");
    assert_eq!(values(), before);
    assert_eq!(fs::read_to_string(planted.folder.path().join("state")).unwrap().trim(), "off");
    assert!(!Path::new(JOURNAL).exists(), "no trace of us");
}

/// A line with the verdict on a candidate and its effects.
fn shown(candidate: &Value) -> String {
    let effects = candidate["effects"].as_array().unwrap().iter();
    let told = effects.map(|effect| {
        let of = |name: &str| effect[name].as_f64().map_or("?".to_owned(), |value| format!("{value:.2}"));
        format!("{} {} ({} to {})", effect["metric"].as_str().unwrap(), of("seen"), of("low"), of("high"))
    });
    told.collect::<Vec<_>>().join(", ")
}
