//! What only root can try. Ignored by default; `cargo xtask ci` runs these when it is root and says so when it is not.

use crate::run::{Run, Said};
use std::process::Command;

/// The program with these words under `wrapper`, which needs root.
fn under(run: &Run, wrapper: &[&str], words: &str) -> Said {
    let script = format!("{} {words}", env!("CARGO_BIN_EXE_punctual"));
    let (program, args) = wrapper.split_first().unwrap();
    let mut command = Command::new(program);
    command.args(args).arg(script).current_dir(run.dir.path()).env("NO_COLOR", "1");
    Said::of(command.output().unwrap())
}

#[test]
#[ignore = "needs root"]
fn an_ordinary_user_gets_an_answer_and_is_told_what_root_would_add() {
    let run = Run::new();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(run.dir.path(), open).unwrap();
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "sh", "-c"];
    let said = under(&run, &nobody, "check --duration 1s --load none --out c.punctual");
    assert!(said.code == 3 || said.code == 2, "{said:?}");
    for part in ["ordinary task", "SCHED_OTHER", "RLIMIT_RTPRIO", "root"] {
        assert!(said.out.contains(part), "no '{part}' in {said:?}");
    }
    let said = under(&run, &nobody, "measure --duration 1s --out m.punctual");
    said.refused(&["RLIMIT_RTPRIO", "--policy other"]);
}

#[test]
#[ignore = "needs root"]
fn a_machine_without_sys_still_gets_an_answer() {
    let run = Run::new();
    let program = env!("CARGO_BIN_EXE_punctual");
    let script = format!("mount -t tmpfs none /sys && exec {program} check --duration 1s --load none --out c.punctual");
    let output = Command::new("unshare").args(["--mount", "sh", "-c", &script]).current_dir(run.dir.path()).output();
    let said = Said::of(output.unwrap());
    assert!((2..=3).contains(&said.code) || said.code == 0, "{said:?}");
    assert!(said.out.contains("unknown"), "{said:?}");
}

#[test]
#[ignore = "needs root"]
fn the_real_time_class_is_granted_and_verified() {
    let run = Run::new();
    for policy in ["fifo", "rr", "deadline"] {
        let words = ["measure", "--policy", policy, "--priority", "10", "--duration", "300ms", "--json", "--cpus", "0"];
        let report = run.json(&words);
        assert_eq!(report["cpus"][0]["due"], 300, "{policy}");
    }
}
