//! `punctual lint` as a user runs it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const KERNEL: [&str; 6] = ["--kernel", "6.12", "--flavour", "stock", "--arch", "x86_64"];

fn lint(args: &[&OsStr]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_punctual")).arg("lint").args(args).output().unwrap()
}

fn words(args: &[&str]) -> Output {
    lint(&args.iter().map(OsStr::new).collect::<Vec<_>>())
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn worst_comes_first_and_says_what_to_write() {
    let output = words(&[&["--cmdline", "quiet irqpoll noht pcie_aspm=off"], &KERNEL[..]].concat());
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no '{part}' in\n{text}"));
    assert!(at("harmful           irqpoll") < at("unknown           noht") && at("noht") < at("quiet: "), "{text}");
    assert!(at("-> nosmt") < at("accepted, but     pcie_aspm=off"), "{text}");
    assert!(!text.contains('\u{1b}'), "colours in a pipe");
}

#[test]
fn exit_code_follows_what_counts_as_failure() {
    let code = |line: &str, level: &str| {
        words(&[&["--cmdline", line, "--fail-on", level], &KERNEL[..]].concat()).status.code().unwrap()
    };
    assert_eq!(code("quiet root=/dev/sda1 splash", "warn"), 0);
    assert_eq!(code("noht", "fail"), 2);
    assert_eq!(code("isolcpus=2-3n", "fail"), 2);
    assert_eq!(code("pcie_aspm=off", "fail"), 0);
    assert_eq!(code("pcie_aspm=off", "warn"), 2);
    assert_eq!(code("processor.max_cstate=0", "warn"), 2);
}

#[test]
fn json_fits_its_schema() {
    let schema: serde_json::Value = serde_json::from_str(include_str!("../../../schemas/lint-1.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let guide =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cmdlines/guide-2025.txt"))
            .unwrap();
    for flavour in ["stock", "rt", "cobalt", "evl"] {
        for kernel in ["3.10", "6.6", "7.3", "8.1"] {
            let output =
                words(&["--json", "--cmdline", &guide, "--kernel", kernel, "--flavour", flavour, "--arch", "aarch64"]);
            let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
            let wrong: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
            assert!(wrong.is_empty(), "{wrong:?}");
            assert_eq!(document["words"].as_array().unwrap().len(), guide.split_whitespace().count());
        }
    }
}

#[test]
fn the_line_comes_from_where_it_is_asked_for() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["lint", "--cmdline", "-", "--json"])
        .args(KERNEL)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"quiet\r\nnoht\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(stdout(&output).contains("\"noht\"") && !stdout(&output).contains("\\r"), "{}", stdout(&output));

    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines/rt-tuned.machine");
    let output = lint(&[OsStr::new("--machine"), machine.as_os_str()]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("isolcpus"), "{}", stdout(&output));
    assert_eq!(words(&[]).status.code(), Some(0), "this machine's own line");
}

#[test]
fn bytes_that_are_no_text_do_no_harm() {
    let mut args: Vec<&OsStr> = KERNEL.iter().map(OsStr::new).collect();
    args.extend([OsStr::new("--cmdline"), OsStr::from_bytes(b"a\xff=\x1b[31m \xa0 quiet")]);
    let output = lint(&args);
    assert_eq!(output.status.code(), Some(0));
    assert!(!stdout(&output).contains('\u{1b}'));
}

#[test]
fn mistakes_are_told_with_a_remedy() {
    for (args, part) in [
        (&["--kernel", "new"][..], "6.12"),
        (&["--arch", "vax"], "aarch64"),
        (&["--cpus", "0"], "1.."),
        (&["--machine", "/does/not/exist"], "is the path right"),
    ] {
        let output = words(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(part), "no '{part}' in {said}");
    }
}

/// A boot loader's file, judged: its words keep their places.
#[test]
fn sarif_shows_the_word_where_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grub");
    std::fs::write(&path, "GRUB_TIMEOUT=5\n# GRUB_CMDLINE_LINUX=\"noht\"\nGRUB_CMDLINE_LINUX=\"quiet irqpoll\"\n")
        .unwrap();
    let file = path.to_str().unwrap();
    let output = words(&[&["--sarif", "--file", file, "--fail-on", "fail"], &KERNEL[..]].concat());
    assert_eq!(output.status.code(), Some(2));
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let results = document["runs"][0]["results"].as_array().unwrap();
    let [result] = results.as_slice() else { panic!("{results:#?}") };
    assert_eq!((&result["ruleId"], &result["level"]), (&"cmdline.harmful".into(), &"error".into()));
    let message = result["message"]["text"].as_str().unwrap();
    assert!(message.contains("nobody claims. Instead: find"), "{message}");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], format!("file://{file}"));
    assert_eq!(place["region"], serde_json::json!({ "startLine": 3, "startColumn": 27, "endColumn": 34 }));
}

/// As RHEL ships it, with a remark in Latin-1.
#[test]
fn what_a_shell_fills_in_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grub");
    std::fs::write(
        &path,
        b"# f\xfcr sp\xe4ter\nGRUB_CMDLINE_LINUX=\"noht\"\n\
          GRUB_CMDLINE_LINUX=\"crashkernel=auto $([ -x /usr/sbin/kd ] && /usr/sbin/kd || :) \\\n  rhgb quiet\"\n",
    )
    .unwrap();
    let output = words(&[&["--file", path.to_str().unwrap(), "--fail-on", "warn"], &KERNEL[..]].concat());
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.starts_with("4 words") && text.contains("decided at boot"), "{text}");
}

#[test]
fn a_file_that_holds_no_line_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cmdline.txt");
    let refused = |why: &str| {
        let output = words(&[&["--file", path.to_str().unwrap()], &KERNEL[..]].concat());
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && stderr.contains(why), "{stderr}");
    };
    refused("cannot read");
    std::fs::write(&path, "# only a remark\n").unwrap();
    refused("holds no command line");
    std::fs::write(&path, "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n")
        .unwrap();
    refused("none of its words");
    std::fs::write(&path, vec![b'a'; 100_000]).unwrap();
    refused("is larger than");
}

#[test]
fn a_pipe_nobody_writes_into_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for command in [&["lint", "--file"][..], &["report"]] {
        // A program that hangs is ended, and the test with it fails.
        let output = Command::new("timeout")
            .args(["20", env!("CARGO_BIN_EXE_punctual")])
            .args(command)
            .arg(&pipe)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && said.contains("not a regular file"), "{command:?}: {said}");
    }
    let mut child = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["lint", "--file", "/dev/stdin"])
        .args(KERNEL)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"quiet nosmt\n").unwrap();
    assert!(stdout(&child.wait_with_output().unwrap()).starts_with("2 words for"));
}

#[test]
fn one_word_is_not_words() {
    let text = |line: &str| stdout(&words(&[&["--cmdline", line], &KERNEL[..]].concat()));
    assert!(text("quiet").starts_with("1 word for 6.12"), "{}", text("quiet"));
    assert!(text("").starts_with("0 words for 6.12") && text("").trim_end().ends_with("x86-64"), "{}", text(""));
    assert!(text("quiet -- a").contains("the word behind it is init's"), "{}", text("quiet -- a"));
    assert!(text("quiet -- a b").contains("the 2 words behind it are init's"), "{}", text("quiet -- a b"));
    assert!(text("quiet --").contains("no word stands behind it"), "{}", text("quiet --"));
}
