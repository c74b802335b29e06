//! Tests of `tune`, `status` and `revert` on the machine that runs them. They need root and are ignored by default.
//! They change one harmless value, one test at a time, and put it back.

use crate::optimize_privileged::{JOURNAL, untuned};
use crate::run::{Run, Said, assert_fits, until};

use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How often the kernel folds its memory statistics, in seconds.
const VALUE: &str = "/proc/sys/vm/stat_interval";
const KNOB: &str = "mem.stat_interval";

/// This machine, locked for one test, and the value to restore.
struct Live {
    run: Run,
    original: String,
    _machine: File,
}

impl Live {
    fn new() -> Self {
        let machine = untuned();
        let original = value();
        fs::write(VALUE, "1").unwrap();
        Self { run: Run::new(), original, _machine: machine }
    }

    fn tune(&self, words: &[&str]) -> Command {
        self.run.command(&[&["tune", "--only", KNOB, "--until-reboot", "--yes"], words].concat())
    }

    fn tuned(&self, words: &[&str]) -> Said {
        Said::of(self.tune(words).stdin(Stdio::null()).output().unwrap())
    }

    #[track_caller]
    fn is_as_it_was(&self) {
        assert_eq!(value(), "1");
        assert!(!Path::new(JOURNAL).exists(), "no trace of us");
        let said = self.run.punctual(&["status"]);
        assert!(said.code == 0 && said.out.contains("Nothing is applied"), "{said:?}");
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.run.command(&["revert", "--leave-conflicts"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        let _ = fs::write(VALUE, &self.original);
    }
}

fn value() -> String {
    fs::read_to_string(VALUE).unwrap().trim().to_owned()
}

#[track_caller]
fn comes_to(wanted: &str) {
    until(&format!("{VALUE} is {wanted}"), || value() == wanted);
}

/// Waits until nothing is left of the journal.
#[track_caller]
fn journal_goes() {
    until("the journal goes", || !Path::new(JOURNAL).exists());
}

#[test]
#[ignore = "needs root"]
fn with_nothing_applied_there_is_nothing_to_tell_confirm_or_put_back() {
    let live = Live::new();
    live.is_as_it_was();
    let said = live.run.punctual(&["revert"]);
    assert!(said.code == 0 && said.out.contains("the machine is as it was"), "{said:?}");
    live.run.punctual(&["status", "--confirm"]).refused(&["nothing is applied", "nothing to confirm"]);
    let reverted = live.run.json(&["revert", "--json"]);
    assert_fits("revert-2", &reverted, "nothing to put back");
    assert_eq!((&reverted["closed"], reverted["undone"].as_array().unwrap().len()), (&true.into(), 0));
    assert_fits("status-2", &live.run.json(&["status", "--json"]), "nothing is applied");
    live.is_as_it_was();
}

#[test]
#[ignore = "needs root"]
fn applied_told_and_put_back() {
    let live = Live::new();
    let said = live.tuned(&[]);
    assert!(said.code == 0 && said.out.contains("done") && said.out.contains(KNOB), "{said:?}");
    assert_eq!(value(), "10");
    let said = live.run.punctual(&["status"]);
    assert!(said.code == 0 && said.out.contains("in force") && said.out.contains(VALUE), "{said:?}");
    let status = live.run.json(&["status", "--json"]);
    assert_fits("status-2", &status, "in force");
    assert_eq!(status["rows"][0]["effective"], "10");
    let reverted = live.run.json(&["revert", "--json"]);
    assert_fits("revert-2", &reverted, "put back");
    assert_eq!((&reverted["undone"][0]["how"], &reverted["closed"]), (&"restored".into(), &true.into()));
    live.is_as_it_was();
}

#[test]
#[ignore = "needs root"]
fn what_drifted_is_told_and_goes_back_to_what_it_was() {
    let live = Live::new();
    let applied = live.tuned(&["--json"]);
    let applied: serde_json::Value = serde_json::from_str(&applied.out).unwrap();
    assert_fits("tune-2", &applied, "applied");
    assert_eq!(
        (&applied["applied"]["changes"][0]["fate"], &applied["applied"]["stands"]),
        (&"done".into(), &true.into())
    );
    fs::write(VALUE, "7").unwrap();
    let said = live.run.punctual(&["status"]);
    assert!(said.code == 2 && said.out.contains("drifted"), "{said:?}");
    assert_fits("status-2", &live.run.json(&["status", "--json"]), "drifted");
    // Although another program has changed the value, the revert restores the value from before `tune`.
    let reverted = live.run.json(&["revert", "--json"]);
    assert_fits("revert-2", &reverted, "drifted and put back");
    assert_eq!(reverted["trouble"].as_array().unwrap().len(), 0);
    live.is_as_it_was();
}

#[test]
#[ignore = "needs root"]
fn later_transactions_go_back_and_earlier_ones_stand() {
    let live = Live::new();
    assert_eq!(live.tuned(&[]).code, 0);
    // Another program changes the value, and it is tuned again.
    fs::write(VALUE, "2").unwrap();
    assert_eq!(live.tuned(&[]).code, 0);
    assert_eq!(value(), "10");
    let said = live.run.punctual(&["revert", "--to", "1"]);
    assert!(said.code == 0 && value() == "2", "{said:?}");
    fs::write(VALUE, "10").unwrap();
    let said = live.run.punctual(&["revert"]);
    assert_eq!(said.code, 0, "{said:?}");
    live.is_as_it_was();
}

#[test]
#[ignore = "needs root"]
fn nobody_to_ask_is_no_consent() {
    let live = Live::new();
    let mut command = live.run.command(&["tune", "--only", KNOB, "--until-reboot"]);
    let said = Said::of(command.stdin(Stdio::null()).output().unwrap());
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("nothing was changed") && said.err.contains("--yes"), "{said:?}");
    assert!(said.out.contains("1 change"), "the plan is shown all the same: {said:?}");
    live.is_as_it_was();
}

#[test]
#[ignore = "needs root"]
fn an_ordinary_user_may_plan_and_is_told_what_applying_takes() {
    let live = Live::new();
    let as_nobody = |words: &str| {
        let script = format!("cd / && exec {} {words}", env!("CARGO_BIN_EXE_punctual"));
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "sh", "-c", &script]);
        Said::of(command.env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap())
    };
    let said = as_nobody(&format!("tune --dry-run --only {KNOB} --until-reboot"));
    assert!(said.code == 0 && said.out.contains(VALUE), "{said:?}");
    for words in [format!("tune --yes --only {KNOB} --until-reboot"), "revert".to_owned()] {
        let said = as_nobody(&words);
        assert_eq!(said.code, 1, "{words}: {said:?}");
        for part in ["root", "nothing was changed", "sudo"] {
            assert!(said.err.contains(part), "{words}: no '{part}' in {said:?}");
        }
    }
    let said = as_nobody("status");
    assert!(said.code == 0 && said.out.contains("Nothing is applied"), "{said:?}");
    // Settings that root applied are recorded in a journal that only root may read.
    assert_eq!(live.tuned(&[]).code, 0);
    let said = as_nobody("status");
    assert!(said.code == 3 && said.out.contains(JOURNAL), "{said:?}");
    as_nobody("revert").refused(&["root"]);
    assert_eq!(live.run.punctual(&["revert"]).code, 0);
    live.is_as_it_was();
}

#[test]
#[ignore = "needs root"]
fn for_a_command_and_not_a_moment_longer() {
    let live = Live::new();
    let said = live.tuned(&["--for", "sh", "-c", &format!("cat {VALUE}; exit 7")]);
    assert_eq!((said.code, said.out.as_str()), (7, "10\n"), "the command's code and output are its own: {said:?}");
    live.is_as_it_was();
    let said = live.tuned(&["--for", "sh", "-c", "kill -9 $$"]);
    assert_eq!(said.code, 128 + 9, "{said:?}");
    live.is_as_it_was();
    let said = live.tuned(&["--for", "/nonexistent/program"]);
    said.refused(&["/nonexistent/program", "No such file"]);
    live.is_as_it_was();
}

#[test]
#[ignore = "needs root"]
fn killed_while_the_command_runs_the_guard_puts_it_back() {
    let live = Live::new();
    for signal in [Signal::KILL, Signal::TERM, Signal::INT] {
        let mut command = live.tune(&["--for", "sleep", "300"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        comes_to("10");
        kill_process(Pid::from_child(&child), signal).unwrap();
        comes_to("1");
        child.wait().unwrap();
        journal_goes();
        live.is_as_it_was();
    }
}

#[test]
#[ignore = "needs root"]
fn unconfirmed_it_goes_back_by_itself() {
    let live = Live::new();
    let said = live.tuned(&["--confirm-within", "15s"]);
    assert!(said.code == 0 && said.out.contains("status --confirm"), "{said:?}");
    assert_eq!(value(), "10");
    let said = live.run.punctual(&["status"]);
    assert!(said.out.contains("will be put back in"), "{said:?}");
    comes_to("1");
    journal_goes();
    live.is_as_it_was();
    live.run.punctual(&["status", "--confirm"]).refused(&["nothing is applied"]);
}

#[test]
#[ignore = "needs root"]
fn confirmed_it_stays_until_it_is_put_back() {
    let live = Live::new();
    assert_eq!(live.tuned(&["--confirm-within", "6s"]).code, 0);
    let said = live.run.punctual(&["status", "--confirm"]);
    assert!(said.code == 0 && said.out.contains("is confirmed and stays"), "{said:?}");
    std::thread::sleep(Duration::from_secs(7));
    assert_eq!(value(), "10");
    assert_eq!(live.run.punctual(&["revert"]).code, 0);
    live.is_as_it_was();
}
