//! Tests of `punctual snapshot` on this machine: the snapshot gives the same findings as the machine, and nothing in it
//! identifies the machine.

use crate::run::{Run, Said};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// Knobs whose findings may change by themselves between two audits, for example because interrupts or processes have
/// moved, or because the host took time.
const UNSTEADY: [&str; 8] = [
    "agree.irq_counts",
    "clk.vdso",
    "irq.affinity",
    "irq.spurious_ipi",
    "leftovers",
    "mem.commit",
    "svc.timers",
    "virt.steal",
];

fn verdicts(report: &Value) -> BTreeMap<String, (Value, Value)> {
    let findings = report["findings"].as_array().unwrap().iter();
    findings.map(|f| (f["id"].as_str().unwrap().to_owned(), (f["state"].clone(), f["severity"].clone()))).collect()
}

/// Differences between a live audit and one of a snapshot, by file, need and knob.
fn differences() -> BTreeMap<String, String> {
    let (run, mut found) = (Run::new(), BTreeMap::new());
    for words in [&["snapshot", "--out", "masked.machine"][..], &["snapshot", "--raw", "-o", "raw.machine"]] {
        let said = run.punctual(words);
        assert_eq!((said.code, said.out.as_str()), (0, ""), "{said:?}");
    }
    for profile in ["periodic", "poll", "audio"] {
        for cpus in [&[][..], &["--cpus", "0"]] {
            let live = verdicts(&run.json(&[&["audit", "--json", "--profile", profile], cpus].concat()));
            for file in ["masked.machine", "raw.machine"] {
                let words = [&["audit", "--json", "--profile", profile, "--machine", file], cpus].concat();
                let captured = verdicts(&run.json(&words));
                assert_eq!(live.keys().collect::<Vec<_>>(), captured.keys().collect::<Vec<_>>());
                for (id, verdict) in live.iter().filter(|(id, _)| !UNSTEADY.contains(&id.as_str())) {
                    if captured[id] != *verdict {
                        let what = format!("{file} {profile} {cpus:?} {id}");
                        found.insert(what, format!("live {verdict:?}, captured {:?}", captured[id]));
                    }
                }
            }
        }
    }
    found
}

/// A busy machine changes between the two audits, so only what differs in each of several tries counts.
#[test]
fn a_snapshot_gives_the_findings_of_this_machine() {
    let mut each_time = differences();
    for _ in 0..3 {
        if each_time.is_empty() {
            return;
        }
        let again = differences();
        each_time.retain(|what, _| again.contains_key(what));
    }
    assert!(each_time.is_empty(), "{each_time:#?}");
}

#[test]
fn a_snapshot_does_not_tell_whose_machine_it_is() {
    let said = Run::new().punctual(&["snapshot"]);
    assert!(said.out.starts_with("punctual-machine 1\n# Written by punctual "), "{said:?}");
    assert!(said.out.contains("\n/proc/sys/kernel/hostname = masked-host\n"));
    assert!(!said.out.contains("environ ="));
    let text = said.out.to_lowercase();
    let secret = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_lowercase()).unwrap_or_default();
    let mut secrets = vec![secret("/etc/machine-id"), secret("/sys/class/dmi/id/product_serial")];
    secrets.push(secret("/sys/class/dmi/id/product_uuid"));
    for device in fs::read_dir("/sys/class/net").into_iter().flatten().flatten() {
        secrets.push(secret(&device.path().join("address").to_string_lossy()));
    }
    secrets.retain(|secret| secret.len() > 8 && secret.chars().any(|c| !"0:-f".contains(c)));
    let left: Vec<&String> = secrets.iter().filter(|secret| text.contains(secret.as_str())).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_snapshot_overwrites_nothing_and_says_what_is_wrong_with_one() {
    let run = Run::new();
    fs::write(run.path("s.machine"), "precious").unwrap();
    run.punctual(&["snapshot", "-o", "s.machine"]).refused(&["s.machine", "exists"]);
    assert_eq!(fs::read_to_string(run.path("s.machine")).unwrap(), "precious");
    let said = run.punctual(&["snapshot", "-o", "no/such/folder"]);
    said.refused(&["no/such/folder", "No such file", "create its folder"]);
    assert!(!said.err.contains("remove what is there"), "{said:?}");
    let said = run.punctual(&["snapshot", "-o", "/proc/version"]);
    said.refused(&["/proc/version", "remove what is there"]);
    run.punctual(&["audit", "--machine", "s.machine"]).refused(&["s.machine", "line 1", "punctual-machine 1"]);
    for (text, parts) in [
        (&b"punctual-machine 1\n/a = \xff\n"[..], &["line 2", "offset 24", "UTF-8"][..]),
        (b"punctual-machine 9\n", &["line 1", "newer"]),
        (b"punctual-machine 1\n/a = 1\nrubbish\n", &["line 3", "expected"]),
    ] {
        fs::write(run.path("bad.machine"), text).unwrap();
        run.punctual(&["audit", "--machine", "bad.machine"]).refused(parts);
    }
    run.punctual(&["audit", "--machine", "/dev/zero"]).refused(&["/dev/zero", "not a regular file"]);
    assert!(std::process::Command::new("mkfifo").arg(run.path("pipe")).status().unwrap().success());
    run.punctual(&["audit", "--machine", "pipe"]).refused(&["pipe", "not a regular file", "/dev/stdin"]);
    let whole = run.punctual(&["snapshot"]).out;
    assert!(whole.ends_with("\n# end\n"));
    for (text, code) in [(&whole[..30_000.min(whole.len() / 2)], 1), (&whole[..], 0)] {
        fs::write(run.path("piped.machine"), text).unwrap();
        let script = format!("cat piped.machine | {} audit --machine /dev/stdin", env!("CARGO_BIN_EXE_punctual"));
        let mut shell = std::process::Command::new("sh");
        let said = Said::of(shell.args(["-c", &script]).current_dir(run.dir.path()).output().unwrap());
        assert_eq!((said.code, said.err.contains("the file is cut")), (code, code == 1), "{}", said.err);
    }
    let crlf = "punctual-machine 1\r\n/sys/devices/system/cpu/online = 0-3\r\n";
    fs::write(run.path("crlf.machine"), crlf).unwrap();
    assert_eq!(run.punctual(&["audit", "--cpus", "3", "--machine", "crlf.machine"]).code, 3);
    for cpus in ["0-4096", "0-2147483647", "2147483648", "0,2,4-7,99", "-1", "0-0-0", "9999999999999999999999"] {
        fs::write(run.path("odd.machine"), format!("punctual-machine 1\n/sys/devices/system/cpu/online = {cpus}\n"))
            .unwrap();
        assert_eq!(run.punctual(&["audit", "--machine", "odd.machine"]).code, 3, "{cpus}");
    }
}
