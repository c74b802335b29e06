//! The self-test, the set of followed threads, and the end of everything with the process.

use super::*;
use aya::programs::loaded_programs;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn record(flags: u8, seen: Seen) -> Record {
    Record { at: MonoTime::default(), cpu: 0, tid: 7, context: Context { flags, preempt: 0 }, seen }
}

#[test]
fn a_sleep_is_told_completely_or_it_is_said_what_is_missing() {
    let number = u32::try_from(libc::SYS_clock_nanosleep).unwrap();
    let mut records = vec![
        record(0, Seen::Enter { number, arguments: [1, 0] }),
        record(0, Seen::Armed { expires: 5 }),
        record(0, Seen::Switch { prev: 7, prev_state: 1, next: 0, next_prio: 120 }),
        record(0, Seen::Waking { tid: 7 }),
    ];
    assert_eq!(untold(&records, 7), Some("that an interrupt woke it"));
    records.push(record(FLAG_HARDIRQ, Seen::Waking { tid: 7 }));
    assert_eq!(untold(&records, 7), Some("that it left the call"));
    records.push(record(0, Seen::Exit { number, result: 0 }));
    assert_eq!(untold(&records, 7), None);
    records[0].seen = Seen::Enter { number, arguments: [0, 0] };
    assert_eq!(untold(&records, 7), Some("that it entered the call"), "arguments are read from the wrong registers");
}

fn all() -> CpuSet {
    CpuSet::parse_list(std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap().trim()).unwrap()
}

#[test]
#[ignore = "needs root"]
fn threads_that_a_followed_one_starts_are_followed_until_they_end() {
    let mut follower = Follower::open(&all()).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let parent = std::thread::spawn(move || {
        tell.send(u32::try_from(gettid().as_raw_nonzero().get()).unwrap()).unwrap();
        wait.recv().unwrap();
        let child = std::thread::Builder::new().name("its child".into());
        let child = child.spawn(|| u32::try_from(gettid().as_raw_nonzero().get()).unwrap()).unwrap();
        child.join().unwrap()
    });
    follower.follow(&[told.recv().unwrap()]).unwrap();
    follower.switch(true).unwrap();
    go.send(()).unwrap();
    let child = parent.join().unwrap();
    let mut records = Vec::new();
    let is_followed = || follower.word(child).unwrap().load(Relaxed) >> (child % 64) & 1 == 1;
    let began = Instant::now();
    // The thread has told its number before the kernel is done with it.
    while is_followed() && began.elapsed() < Duration::from_secs(60) {
        std::thread::yield_now();
    }
    assert!(!is_followed(), "the bit of a thread that ended is left for the next one with its number");
    follower.drain(&mut records);
    let child = Tid::try_from(child).unwrap();
    let is_its = |record: &Record| matches!(record.seen, Seen::Begun { tid, is_thread: true, .. } if tid == child);
    assert!(records.iter().any(is_its), "{records:?}");
    let is_named = |seen: &Seen| matches!(seen, Seen::Renamed { tid, name } if *tid == child && &**name == "its child");
    assert!(records.iter().any(|record| is_named(&record.seen)), "{records:?}");
    assert!(records.iter().any(|record| record.tid == child && matches!(record.seen, Seen::Enter { .. })));
    assert_eq!(follower.lost(), 0);
}

/// A process of its own for the next test: records until it is killed.
const HOLDER: &str = "trace::bpf::program::tests::holds_an_engine_until_it_is_killed";
const HOLDS: &str = "PUNCTUAL_TEST_HOLDS_BPF";

#[test]
#[ignore = "needs root"]
fn holds_an_engine_until_it_is_killed() {
    if std::env::var_os(HOLDS).is_none() {
        return;
    }
    let follower = Follower::open(&all()).unwrap();
    follower.switch(true).unwrap();
    println!("it records");
    loop {
        std::thread::park();
    }
}

/// Programs that end meanwhile are errors.
fn loaded() -> BTreeSet<u32> {
    loaded_programs().flatten().map(|program| program.id()).collect()
}

#[test]
#[ignore = "needs root"]
fn nothing_is_left_in_the_kernel_after_the_process_was_killed() {
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", HOLDER, "--include-ignored", "--nocapture"])
        .env(HOLDS, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.ends_with("it records")));
    let folder = format!("/proc/{}/fdinfo", holder.id());
    let texts = std::fs::read_dir(folder).unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let id = |text: &str| text.lines().find_map(|line| line.strip_prefix("prog_id:")?.trim().parse().ok());
    let its: BTreeSet<u32> = texts.filter_map(|text| id(&text)).collect();
    assert!(its.len() > 10 && its.is_subset(&loaded()), "{its:?}");
    holder.kill().unwrap();
    holder.wait().unwrap();
    let began = Instant::now();
    // The kernel frees programs soon after their last user is gone.
    while !its.is_disjoint(&loaded()) {
        assert!(began.elapsed() < Duration::from_secs(60), "{its:?} are still there");
        std::thread::yield_now();
    }
}
