//! Tests of `punctual fleet run`, with a program that stands in for the OpenSSH client.

use crate::run::{Run, Said, assert_fits, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Stands in for ssh: the name of a host tells what it does, and commands run on this machine, which they outlive as they
/// do on a host.
const SSH: &str = r#"#!/bin/sh
for word; do [ "$word" = -V ] && exit 0; [ "$word" = -O ] && exit 0; done
while [ "$1" != -- ]; do shift; done
host=$2 far=$3
case $host in
  refuses) echo "ssh: connect to host refuses port 22: Connection refused" >&2; exit 255 ;;
  silent) exec sleep 1000 ;;
  without) PATH=/usr/bin:/bin exec sh -c "$far" ;;
  noisy) echo "Welcome to noisy" ;;
  lost) case $far in *trap*) printf '\npunctual-fleet/1 0\nhalf of an arch'; echo "Connection to lost closed" >&2; exit 255 ;; esac ;;
esac
exec 3<&0
setsid sh -c "$far" <&3 3<&- &
wait $!
"#;

struct Fleet {
    run: Run,
}

impl Fleet {
    fn new(hosts: &str) -> Self {
        let run = Run::new();
        fs::create_dir(run.path("bin")).unwrap();
        fs::write(run.path("bin/ssh"), SSH).unwrap();
        fs::set_permissions(run.path("bin/ssh"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(run.path("hosts"), hosts).unwrap();
        Self { run }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.run.command(&["fleet", "run", "--hosts", "hosts", "--out", "results"]);
        let own = Path::new(env!("CARGO_BIN_EXE_punctual")).parent().unwrap();
        let path = [&self.run.path("bin"), own, Path::new("/usr/sbin"), Path::new("/usr/bin"), Path::new("/bin")];
        command.args(words).env("PATH", std::env::join_paths(path).unwrap());
        command
    }

    fn said(&self, words: &[&str]) -> Said {
        Said::of(self.command(words).output().unwrap())
    }

    fn document(&self, words: &[&str]) -> (i32, Value) {
        let said = self.said(&[&["--json"], words].concat());
        let document = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"));
        assert_fits("fleet-run-1", &document, "fleet run");
        (said.code, document)
    }

    /// Waits until no host has a folder of ours.
    #[track_caller]
    fn until_nothing_stays(&self) {
        until("nothing of ours is left on the hosts", || {
            let mut entries = fs::read_dir(self.run.dir.path()).unwrap();
            !entries.any(|entry| entry.unwrap().file_name().to_string_lossy().starts_with("punctual-fleet."))
        });
    }
}

const LINT: [&str; 6] = ["--", "lint", "--cmdline", "quiet isolcpus=1", "--cpus", "4"];

#[test]
fn a_command_runs_on_many_hosts_and_those_that_fail_keep_no_other_from_it() {
    let fleet = Fleet::new("good\nrefuses\nwithout # has no punctual\nnoisy\nlost\n");
    let (code, document) = fleet.document(&LINT);
    let outcomes: Vec<String> =
        document["hosts"].as_array().unwrap().iter().map(|host| host["outcome"].to_string()).collect();
    let why = |at: usize, kind: &str| document["hosts"][at]["outcome"][kind]["why"].as_str().unwrap_or_default();
    assert_eq!(why(1, "unreachable"), "ssh: connect to host refuses port 22: Connection refused", "{outcomes:?}");
    assert!(why(2, "no-program").contains("not found"), "{outcomes:?}");
    assert_eq!(why(4, "lost"), "Connection to lost closed", "{outcomes:?}");
    for at in [0, 3] {
        let host = &document["hosts"][at];
        assert_eq!(
            (&host["outcome"]["ended"]["code"], &host["version"]),
            (&0.into(), &env!("CARGO_PKG_VERSION").into())
        );
        let output =
            fs::read_to_string(fleet.run.path("results").join(host["host"].as_str().unwrap()).join("output.txt"));
        assert!(output.unwrap().contains("isolcpus"), "{host}");
    }
    assert_eq!(code, 3, "results are missing");
    fleet.until_nothing_stays();
}

#[test]
fn a_second_run_tries_only_the_hosts_without_a_result() {
    let fleet = Fleet::new("good\nrefuses\n");
    let said = fleet.said(&LINT);
    let again = "punctual fleet run --hosts hosts --out results -- lint --cmdline";
    assert!(
        said.code == 3 && said.out.contains("1 OF 2 HOSTS ANSWERED: 1 fine") && said.out.contains(again),
        "{said:?}"
    );
    assert!(said.err.contains("punctual: refuses: not reached"), "{said:?}");
    let mark = fleet.run.path("results/good/mark");
    fs::write(&mark, "").unwrap();
    let ssh = fs::read_to_string(fleet.run.path("bin/ssh")).unwrap();
    fs::write(fleet.run.path("bin/ssh"), ssh.replace("refuses)", "away)")).unwrap();
    let said = fleet.said(&LINT);
    assert!(said.code == 0 && said.out.contains("ALL 2 HOSTS ANSWERED: 2 fine."), "{said:?}");
    assert!(mark.exists(), "the first host was run again");
    fleet.said(&["--", "lint", "--cmdline", "quiet"]).refused(&["results of another command", "--out"]);
    let brief = fleet.said(&[&["--brief"], LINT.as_slice()].concat());
    assert_eq!(brief.out, "FLEET hosts=2 fine=2 exceeded=0 doubtful=0 error=0 missing=0 folder=results\n");
}

#[test]
fn recordings_come_back_with_their_answer_and_odd_words_reach_no_shell() {
    let fleet = Fleet::new("good\n");
    let odd = "a'b\"c $(touch pwned) `touch pwned`; touch pwned \\.punctual";
    let words =
        ["--", "measure", "--policy", "other", "--cpus", "0", "--duration", "300ms", "--budget", "900us", "--out", odd];
    let (code, document) = fleet.document(&words);
    let host = &document["hosts"][0];
    assert_eq!(host["files"][0].as_str(), Some(odd), "{host}");
    assert_ne!(code, 1, "{host}");
    assert!(["held", "not-held", "inconclusive"].contains(&host["answer"].as_str().unwrap()), "{host}");
    let report = fleet.run.json(&["report", &format!("results/good/{odd}"), "--json"]);
    assert!(report["cpus"][0]["due"].as_u64() > Some(0));
    assert!(!fleet.run.path("pwned").exists() && !fleet.run.path("results/good/pwned").exists());
}

#[test]
fn a_command_beyond_its_time_is_ended_on_the_host_too() {
    let fleet = Fleet::new("good\n");
    let words = ["measure", "--policy", "other", "--cpus", "0", "--duration", "1h", "--out", "a.punctual"];
    let (code, document) = fleet.document(&[&["--time-limit", "1s", "--"], words.as_slice()].concat());
    assert_eq!((code, &document["hosts"][0]["outcome"]), (1, &"too-long".into()), "{document}");
    fleet.until_nothing_stays();
}

#[test]
fn a_host_that_never_answers_is_given_up() {
    let fleet = Fleet::new("silent\n");
    let (code, document) = fleet.document(&[&["--connect-limit", "1s"], LINT.as_slice()].concat());
    let why = &document["hosts"][0]["outcome"]["unreachable"]["why"];
    assert_eq!((code, why), (1, &"it does not answer".into()), "{document}");
}

#[test]
fn an_interrupt_ends_the_commands_on_the_hosts() {
    let fleet = Fleet::new("good\nnoisy\n");
    let words = ["--at-once", "1", "--json", "--", "measure", "--policy", "other", "--cpus", "0", "--duration", "1h"];
    let child = fleet.command(&words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let begun = || {
        let folders = fs::read_dir(fleet.run.dir.path()).unwrap().flatten();
        let mut written = folders.filter_map(|entry| fs::read_dir(entry.path().join("work")).ok()).flatten().flatten();
        written.any(|file| file.path().extension().is_some_and(|ending| ending == "punctual"))
    };
    until("a measurement has begun", begun);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let said = Said::of(child.wait_with_output().unwrap());
    let document: Value = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let outcomes = [0, 1].map(|at: usize| document["hosts"][at]["outcome"].clone());
    assert_eq!((said.code, outcomes), (1, ["interrupted".into(), "not-started".into()]));
    fleet.until_nothing_stays();
}

#[test]
fn a_program_is_brought_along_and_leaves_nothing() {
    let fleet = Fleet::new("without\n");
    let own = env!("CARGO_BIN_EXE_punctual");
    let (code, document) = fleet.document(&[&["--bring", own], LINT.as_slice()].concat());
    assert_eq!((code, &document["hosts"][0]["outcome"]["ended"]["code"]), (0, &0.into()), "{document}");
    fleet.until_nothing_stays();
    assert!(!fleet.run.path("results/without/punctual").exists());
}

#[test]
fn no_further_host_is_started_after_too_many_failures() {
    let fleet = Fleet::new("refuses\nwithout\ngood\n");
    let (_, document) = fleet.document(&[&["--at-once", "1", "--stop-after", "1"], LINT.as_slice()].concat());
    let outcomes: Vec<bool> =
        document["hosts"].as_array().unwrap().iter().map(|host| host["outcome"] == "not-started").collect();
    // A second host may have begun before the failure of the first one was counted.
    assert_eq!((outcomes[0], outcomes[2]), (false, true), "{document}");
}

#[test]
fn mistakes_are_told_before_any_host_is_asked() {
    let fleet = Fleet::new("good\n-oProxyCommand=reboot\n");
    fleet.said(&LINT).refused(&["hosts: line 2", "begins with `-`"]);
    fleet.said(&["--", "chek"]).refused(&["the hosts cannot run `punctual chek`"]);
    fleet.said(&["--"]).refused(&["COMMAND"]);
    fs::write(fleet.run.path("hosts"), "good\n").unwrap();
    fleet.said(&[&["--bring", "hosts"], LINT.as_slice()].concat()).refused(&["hosts is no program"]);
    fleet.said(&[&["--ssh-config", "none"], LINT.as_slice()].concat()).refused(&["configuration of ssh none"]);
    fs::create_dir(fleet.run.path("results")).unwrap();
    fs::write(fleet.run.path("results/letter"), "").unwrap();
    fleet.said(&LINT).refused(&["results has files", "--out"]);
    fs::remove_dir_all(fleet.run.path("results")).unwrap();
    Said::of(fleet.command(&LINT).env("PATH", "/nonexistent").output().unwrap()).refused(&["openssh-client"]);
    assert!(!fleet.run.path("results/good").exists());
}
