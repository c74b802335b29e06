//! Recordings on a real file system, in good and in bad conditions.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use punctual_hist::{MonoTime, Nanos};
use punctual_linux::keeper::RecordingKeeper;
use punctual_linux::recording::{RecordingError, RecordingWriter, read_file};
use punctual_numbers::placement::Placement;
use punctual_numbers::recording::{
    Clock, CpuInterval, End, EndReason, Frame, Header, Interval, RecTime, Recording, Unreadable,
};
use punctual_numbers::scenario::{Amount, Mechanism, Policy, ProbeThread, Scenario, TimerPhase};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Environment variable with the path to which child processes of these tests write.
const CHILD_PATH: &str = "PUNCTUAL_TEST_RECORDING";

fn header() -> Frame {
    let scenario = Scenario {
        threads: vec![ProbeThread { cpu: 0, period: Nanos::from_ms(1) }],
        policy: Policy::Other,
        mechanism: Mechanism::Absolute,
        phase: TimerPhase::Auto,
        warm_up: Amount::Activations(0),
        length: Amount::Time(Nanos::MAX),
        budget: None,
        limit: None,
        dma_latency_us: None,
        load_phases: Vec::new(),
        load_cpus: None,
        suite: None,
    };
    Frame::Header(Box::new(Header {
        tool_version: "test".to_owned(),
        started_unix_ns: 0,
        epoch: MonoTime::from_ns(0),
        scenario,
        machine: Vec::new(),
        placement: Placement::default(),
        clock: Clock::default(),
        checkpoint: Nanos::from_secs(1),
    }))
}

/// An interval of one second with `number + 1` samples.
fn interval(number: u64) -> Frame {
    let cpu = CpuInterval { cpu: 0, ran: vec![(100, number + 1)], ..CpuInterval::default() };
    Frame::Interval(Interval {
        start: RecTime::after_epoch(Nanos::from_secs(number)),
        length: Nanos::from_secs(1),
        phase: 0,
        cpus: vec![cpu],
    })
}

/// Number of intervals in the recording, after checking that these are the first ones and none is missing.
fn intervals_in(recording: &Recording) -> u64 {
    let count = recording.covered.whole(Nanos::from_secs(1));
    let ran = recording.cpus.get(&0).map_or(0, |cpu| cpu.ran.count());
    assert_eq!(ran, count * (count + 1) / 2, "the intervals in the file are not the first {count}");
    count
}

fn directory_and_path() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.punctual");
    (directory, path)
}

#[test]
fn what_was_written_is_read() {
    let (_directory, path) = directory_and_path();
    let mut writer = RecordingWriter::create(&path).unwrap();
    writer.append(&header()).unwrap();
    for number in 0..5000 {
        writer.append(&interval(number)).unwrap();
    }
    let end = End { at: RecTime::after_epoch(Nanos::from_secs(5000)), reason: EndReason::Completed, write_error: None };
    writer.append(&Frame::End(end)).unwrap();
    assert_eq!(writer.good_bytes(), std::fs::metadata(&path).unwrap().len());
    writer.finish().unwrap();
    assert_eq!(writer.dropped(), 0);
    let recording = read_file(&path).unwrap();
    assert_eq!((intervals_in(&recording), recording.cut_off), (5000, None));
}

#[test]
fn what_cannot_be_written_is_folded_and_the_recording_says_so() {
    let (_directory, path) = directory_and_path();
    let mut keeper = RecordingKeeper::create(&path).unwrap();
    keeper.keep(header()).unwrap();
    assert!(keeper.note(MonoTime::from_ns(5), "x".repeat(9 << 20)).is_err(), "longer than any frame");
    keeper.keep(Frame::End(End { at: RecTime::EPOCH, reason: EndReason::Completed, write_error: None })).unwrap();
    keeper.finish().unwrap();
    assert!(keeper.failure().is_some_and(|why| why.contains("run.punctual: write recording: ")));
    let (recording, file) = (keeper.into_recording().unwrap(), read_file(&path).unwrap());
    assert_eq!((recording.marks.len(), file.marks.len()), (1, 0));
    assert_eq!(recording.marks[0].at, RecTime::after_epoch(Nanos::from_ns(5)));
    assert!(recording.end.and_then(|end| end.write_error).is_some());
}

#[test]
fn a_recording_is_never_overwritten() {
    let (_directory, path) = directory_and_path();
    std::fs::write(&path, "precious").unwrap();
    let error = RecordingWriter::create(&path).unwrap_err();
    assert!(matches!(error, RecordingError::Exists { .. }));
    assert!(error.to_string().contains("run.punctual: create recording: the file exists"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
}

#[test]
fn a_path_that_cannot_be_written_is_found_at_once() {
    let (directory, _) = directory_and_path();
    let error = RecordingWriter::create(&directory.path().join("missing/run.punctual")).unwrap_err().to_string();
    assert!(error.contains("missing/run.punctual: create recording: No such file or directory"), "{error}");
}

#[test]
fn what_cannot_be_read_is_said_to_be_so_and_why() {
    let (directory, path) = directory_and_path();
    let error = |content: &[u8]| {
        std::fs::write(&path, content).unwrap();
        read_file(&path).unwrap_err()
    };
    for (content, wanted) in [
        (&b""[..], "it is empty"),
        (b"#!/bin/sh", "it is not a recording of punctual"),
        (b"punctual recording 7\n", "written by a newer punctual (format 7, this one reads up to 1)"),
        (b"punctual recording 1\n1234", "it ends before its header does"),
    ] {
        let told = error(content).to_string();
        assert!(told.contains("run.punctual: read recording: ") && told.contains(wanted), "{told}");
    }
    let newer = error(b"punctual recording 2\n");
    assert!(matches!(newer, RecordingError::Unreadable { reason: Unreadable::Newer { format: 2 }, .. }));
    let missing = read_file(&directory.path().join("no.punctual")).unwrap_err().to_string();
    assert!(missing.contains("no.punctual: read recording: No such file or directory"), "{missing}");
    let folder = read_file(directory.path()).unwrap_err();
    assert!(matches!(folder, RecordingError::Read { .. }), "{folder}");
}

/// Runs one of the ignored tests below in a process of its own, started by `sh` after the commands in `prepare`.
fn child(test: &str, prepare: &str, path: &Path) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{prepare} exec \"$0\" \"$@\"")).arg(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", test]).env(CHILD_PATH, path);
    command
}

fn child_path() -> PathBuf {
    std::env::var_os(CHILD_PATH).expect("only run by another test, which says where to write").into()
}

#[test]
#[ignore = "the child process of killed_at_any_moment_what_was_synced_is_there"]
fn writes_until_killed() {
    let mut writer = RecordingWriter::create(&child_path()).unwrap();
    writer.append(&header()).unwrap();
    writer.checkpoint().unwrap();
    let mut out = std::io::stdout();
    // The loop ends when the parent has ended, because then the pipe breaks.
    for number in 0.. {
        writer.append(&interval(number)).unwrap();
        if number % 8 == 7 {
            writer.checkpoint().unwrap();
            writeln!(out, "\n{}", number + 1).unwrap();
        }
    }
}

#[test]
fn killed_at_any_moment_what_was_synced_is_there() {
    let (directory, _) = directory_and_path();
    let mut longest = 0;
    for round in 0..50u64 {
        let path = directory.path().join(format!("{round}.punctual"));
        let mut child = child("writes_until_killed", "", &path).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // The child is killed after its first checkpoint, at a moment that differs between rounds.
        let first = lines.by_ref().find_map(|line| line.unwrap().parse::<u64>().ok()).unwrap();
        std::thread::sleep(Duration::from_micros(round * 7919 % 20_000));
        child.kill().unwrap();
        let synced = lines.map_while(Result::ok).filter_map(|line| line.parse().ok()).fold(first, u64::max);
        child.wait().unwrap();
        let recording = read_file(&path).unwrap();
        let found = intervals_in(&recording);
        assert!(found >= synced, "round {round}: {synced} intervals were on the disk, {found} are in the file");
        assert!(recording.cut_off.unwrap().good_bytes <= std::fs::metadata(&path).unwrap().len());
        longest = longest.max(found);
    }
    assert!(longest > 8, "every child was killed before it had written anything of note");
}

#[test]
#[ignore = "the child process of a_file_size_limit_leaves_a_readable_file"]
fn writes_until_refused() {
    let mut writer = RecordingWriter::create(&child_path()).unwrap();
    writer.append(&header()).unwrap();
    let refused = (0..).map(interval).map(|frame| writer.append(&frame)).find_map(Result::err).unwrap();
    let told = refused.to_string();
    assert!(told.contains("File too large"), "{told}");
    assert!(writer.append(&interval(0)).is_ok(), "told once");
    assert_eq!(writer.dropped(), 2);
    let length = std::fs::metadata(child_path()).unwrap().len();
    assert_eq!(length, writer.good_bytes(), "half a frame was left at the end");
}

#[test]
fn a_file_size_limit_leaves_a_readable_file() {
    let (_directory, path) = directory_and_path();
    let output = child("writes_until_refused", "ulimit -f 4;", &path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
    let recording = read_file(&path).unwrap();
    assert!(intervals_in(&recording) > 10);
    let length = std::fs::metadata(&path).unwrap().len();
    assert_eq!(recording.cut_off.unwrap().good_bytes, length);
    assert!(length <= 4096, "{length}");
}
