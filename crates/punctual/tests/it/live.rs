//! Tests of `--live` on a terminal of its own: what keys do, and that the terminal is restored afterwards.

use crate::run::{PATIENCE, Run, Said};
use rustix::fs::{Mode, OFlags, fcntl_setfl, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const CTRL_C: &[u8] = b"\x03";
const CTRL_S: &[u8] = b"\x13";
const CTRL_Z: &[u8] = b"\x1a";
const LEFT: &str = "\x1b[?25h\x1b[?1049l";

struct Session {
    run: Run,
    master: OwnedFd,
    slave: OwnedFd,
    child: Child,
    seen: String,
    before: String,
}

impl Session {
    fn start(words: &[&str], stdout: Option<File>) -> Self {
        Self::start_on(120, &[&["--live"], words].concat(), stdout)
    }

    fn start_on(columns: u16, words: &[&str], stdout: Option<File>) -> Self {
        let measure = ["measure", "--policy", "other", "--cpus", "0", "--warm-up", "10", "--out", "r.punctual"];
        Self::of(columns, &[&measure[..], words].concat(), stdout)
    }

    /// Starts the program with these words.
    fn of(columns: u16, words: &[&str], stdout: Option<File>) -> Self {
        let run = Run::new();
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        fcntl_setfl(&master, OFlags::NONBLOCK).unwrap();
        let before = modes(&slave);
        let end = || Stdio::from(slave.try_clone().unwrap());
        let mut command = Command::new("setsid");
        command.args(["-c", env!("CARGO_BIN_EXE_punctual")]).args(words).current_dir(run.dir.path());
        command.env("TERM", "xterm").env("NO_COLOR", "1").stdin(end()).stderr(end());
        command.stdout(stdout.map_or_else(end, Stdio::from));
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        Self { run, master, child: command.spawn().unwrap(), seen: String::new(), before, slave }
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.master, size).unwrap();
    }

    fn press(&self, keys: &[u8]) {
        assert_eq!(rustix::io::write(&self.master, keys), Ok(keys.len()));
    }

    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap().success());
    }

    fn read(&mut self) {
        let mut bytes = [0; 4096];
        while let Ok(length @ 1..) = rustix::io::read(&self.master, &mut bytes) {
            self.seen.push_str(&String::from_utf8_lossy(&bytes[..length]));
        }
    }

    #[track_caller]
    fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        loop {
            self.read();
            if holds(self) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "never {what}; seen: {:?}", self.seen);
            sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the program writes this text after the text that was found last.
    #[track_caller]
    fn shows(&mut self, text: &str) {
        self.until(text, |session| session.seen.contains(text));
        self.seen.clear();
    }

    fn is_taken(&self) -> bool {
        !tcgetattr(&self.slave).unwrap().local_modes.contains(LocalModes::ICANON)
    }

    fn is_stopped(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    }

    /// Waits for the end of the program without reading its output.
    #[track_caller]
    fn ends(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "does not end");
            sleep(Duration::from_millis(20));
        }
    }

    /// Waits for the end and checks that the terminal's settings are restored.
    #[track_caller]
    fn ends_well(&mut self) -> ExitStatus {
        let status = self.ends();
        self.read();
        assert!(self.seen.contains(LEFT), "the cursor is back: {:?}", self.seen);
        assert_eq!(modes(&self.slave), self.before);
        status
    }

    fn report(&self) -> serde_json::Value {
        self.run.json(&["report", "r.punctual", "--json"])
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn modes(tty: &OwnedFd) -> String {
    format!("{:?}", tcgetattr(tty).unwrap())
}

#[test]
fn keys_do_what_they_say_and_the_recording_is_whole() {
    let mut session = Session::start(&["--duration", "1h"], None);
    session.shows("now p50");
    assert!(session.is_taken());
    session.press(b"m");
    session.shows("mark 1 is in the recording");
    session.press(b"p");
    session.shows("PAUSED");
    session.press(b"p");
    session.shows("p pause");
    session.press(b"\x1bOPr");
    session.shows("since the reset");
    session.resize(30, 5);
    session.shows("us  p r m q");
    session.resize(100, 20);
    session.shows("now p50");
    session.press(b"q");
    let status = session.ends_well();
    assert!(matches!(status.code(), Some(0 | 3)), "{status:?}");
    let report = session.report();
    assert_eq!(report["end"], "interrupted");
    let notes = report["notes"].to_string();
    assert!(notes.contains("mark 1, set by hand, ") && notes.contains("into the run"), "{notes}");
}

#[test]
fn an_inspection_shows_what_is_known_and_ends_with_a_key() {
    let words = ["inspect", "--no-trace", "--live", "--duration", "1h", "--", "sleep", "3600"];
    let mut session = Session::of(80, &words, None);
    session.shows("observed for");
    assert!(session.is_taken());
    session.press(b"p");
    session.shows("PAUSED, observing goes on");
    session.press(b"q");
    let status = session.ends_well();
    assert_eq!(status.code(), Some(0), "{}", session.seen);
    assert!(session.seen.contains("the inspection was interrupted"), "the report follows: {}", session.seen);
}

#[test]
fn whatever_ends_the_run_the_terminal_is_what_it_was() {
    let ended = |duration: &str, end: &dyn Fn(&Session), reason: &str| {
        let mut session = Session::start(&["--duration", duration], None);
        session.shows("now p50");
        end(&session);
        let status = session.ends_well();
        assert!(matches!(status.code(), Some(0 | 3)), "{status:?}");
        assert_eq!(session.report()["end"], reason);
    };
    ended("1h", &|session| session.press(CTRL_C), "interrupted");
    ended("1h", &|session| session.signal("-TERM"), "interrupted");
    ended("1h", &|session| session.signal("-HUP"), "interrupted");
    ended("10s", &|_| {}, "completed");
}

#[test]
fn an_impatient_user_gets_his_terminal_back_too() {
    let mut session = Session::start(&["--duration", "1h"], None);
    session.shows("now p50");
    for _ in 0..20 {
        // An error is ignored, because the program may have ended by now.
        let _ = Command::new("kill").args(["-TERM", &session.child.id().to_string()]).stderr(Stdio::null()).status();
        sleep(Duration::from_millis(10));
    }
    session.ends_well();
}

#[test]
fn stopped_it_leaves_the_terminal_and_takes_it_again() {
    let mut session = Session::start(&["--duration", "1h"], None);
    session.shows("now p50");
    session.press(CTRL_Z);
    session.until("stopped", Session::is_stopped);
    session.read();
    assert!(!session.is_taken() && session.seen.contains(LEFT), "{:?}", session.seen);
    assert_eq!(modes(&session.slave), session.before);
    session.signal("-CONT");
    session.shows("now p50");
    assert!(session.is_taken());
    session.press(b"q");
    session.ends_well();
    let notes = session.report()["notes"].to_string();
    assert!(notes.contains("stopped by a signal") && notes.contains("went on"), "{notes}");
}

#[test]
fn a_terminal_that_takes_no_output_delays_nobody() {
    let run = Run::new();
    let results = File::create(run.path("results")).unwrap();
    let mut session = Session::start(&["--duration", "4s", "--json"], Some(results));
    session.until("taken", Session::is_taken);
    session.press(CTRL_S);
    session.ends();
    assert_eq!(modes(&session.slave), session.before);
    let results = std::fs::read_to_string(run.path("results")).unwrap();
    assert!(results.starts_with('{'), "results go where they were sent: {results}");
    let report = session.report();
    assert_eq!(report["end"], "completed");
    assert!(report["measured_ns"].as_u64().unwrap() >= 3_900_000_000, "{report}");
}

/// The lines that a terminal of `columns` columns shows after `written`. It understands only the control sequences that
/// this program uses.
fn screen(written: &str, columns: usize) -> Vec<String> {
    let (mut lines, mut column) = (vec![String::new()], 0);
    let mut chars = written.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => column = 0,
            '\n' => lines.push(String::new()),
            '\x1b' => {
                let sequence: String = std::iter::from_fn(|| chars.next_if(|c| !c.is_ascii_alphabetic())).collect();
                assert_eq!((sequence.as_str(), chars.next()), ("[", Some('K')), "another sequence");
                let line: String = lines.pop().unwrap().chars().take(column).collect();
                lines.push(line);
            }
            c => {
                if column == columns {
                    (lines, column) = ([lines, vec![String::new()]].concat(), 0);
                }
                let line = lines.last_mut().unwrap();
                let rest: String = line.chars().skip(column + 1).collect();
                *line = line.chars().take(column).chain([c]).collect::<String>() + &rest;
                column += 1;
            }
        }
    }
    lines
}

#[test]
fn ctrl_c_leaves_nothing_of_the_progress_line() {
    for columns in [80, 40, 20] {
        let run = Run::new();
        let results = File::create(run.path("results")).unwrap();
        let words = ["--duration", "1h", "--load", "none"];
        let mut session = Session::start_on(columns, &words, Some(results));
        session.until("progress", |session| session.seen.contains("idle 1/1"));
        session.press(CTRL_C);
        let status = session.ends();
        assert!(matches!(status.code(), Some(0 | 3)), "{status:?}");
        session.read();
        let shown = screen(&session.seen, usize::from(columns));
        // The terminal itself echoes the key as `^C`.
        let left: Vec<&String> = shown.iter().filter(|line| line.contains("1/1") || line.contains("left")).collect();
        assert!(left.is_empty() && session.seen.contains("^C"), "{columns}: {shown:?}");
        assert_eq!(modes(&session.slave), session.before);
    }
}

#[test]
fn without_a_terminal_nothing_is_measured() {
    let refused = |command: &mut Command, parts: &[&str]| {
        let run = Run::new();
        command.args([env!("CARGO_BIN_EXE_punctual"), "measure", "--live", "--policy", "other", "--out", "r.punctual"]);
        command.current_dir(run.dir.path()).stdin(Stdio::null());
        Said::of(command.output().unwrap()).refused(parts);
        assert!(!run.path("r.punctual").exists(), "nothing is left behind");
    };
    refused(Command::new("setsid").env("TERM", "xterm"), &["--live needs a terminal", "leave --live away"]);
    refused(Command::new("setsid").env("TERM", "dumb"), &["TERM is \"dumb\""]);
}
