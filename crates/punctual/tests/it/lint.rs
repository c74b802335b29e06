//! `punctual lint` as a user runs it.

use crate::run::{Run, Said, assert_fits, captured, repository};
use serde_json::Value;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

const KERNEL: [&str; 6] = ["--kernel", "6.12", "--flavour", "stock", "--arch", "x86_64"];

fn lint(words: &[&str]) -> Said {
    Run::new().punctual(&[&["lint"], words].concat())
}

fn of_line(line: &str, words: &[&str]) -> Said {
    lint(&[&["--cmdline", line], words, &KERNEL[..]].concat())
}

fn with_input(words: &[&str], input: &[u8]) -> Said {
    let run = Run::new();
    let mut command = run.command(&[&["lint"], words, &KERNEL[..]].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    Said::of(child.wait_with_output().unwrap())
}

#[test]
fn worst_comes_first_and_says_what_to_write() {
    let output = of_line("quiet irqpoll noht pcie_aspm=off", &[]);
    let text = output.out;
    assert_eq!(output.code, 0, "{text}");
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no '{part}' in\n{text}"));
    assert!(at("harmful           irqpoll") < at("unknown           noht") && at("noht") < at("quiet: "), "{text}");
    assert!(at("-> nosmt") < at("accepted, but     pcie_aspm=off"), "{text}");
    assert!(!text.contains('\u{1b}'), "colours in a pipe");
}

#[test]
fn exit_code_follows_what_counts_as_failure() {
    let code = |line: &str, level: &str| of_line(line, &["--fail-on", level]).code;
    assert_eq!(code("quiet root=/dev/sda1 splash", "warn"), 0);
    assert_eq!(code("noht", "fail"), 2);
    assert_eq!(code("isolcpus=2-3n", "fail"), 2);
    assert_eq!(code("pcie_aspm=off", "fail"), 0);
    assert_eq!(code("pcie_aspm=off", "warn"), 2);
    assert_eq!(code("processor.max_cstate=0", "warn"), 2);
}

#[test]
fn json_fits_its_schema() {
    let guide = std::fs::read_to_string(repository("fixtures/cmdlines/guide-2025.txt")).unwrap();
    for flavour in ["stock", "rt", "cobalt", "evl"] {
        for kernel in ["3.10", "6.6", "7.3", "8.1"] {
            let words = ["--cmdline", &guide, "--kernel", kernel, "--flavour", flavour, "--arch", "aarch64"];
            let document = Run::new().json(&[&["lint", "--json"], &words[..]].concat());
            assert_fits("lint-2", &document, &format!("{kernel} {flavour}"));
            assert_eq!(document["words"].as_array().unwrap().len(), guide.split_whitespace().count());
        }
    }
}

#[test]
fn the_line_comes_from_where_it_is_asked_for() {
    let output = with_input(&["--cmdline", "-", "--json"], b"quiet\r\nnoht\n");
    assert!(output.out.contains("\"noht\"") && !output.out.contains("\\r"), "{}", output.out);

    let output = lint(&["--machine", &captured("rt-tuned")]);
    assert_eq!(output.code, 0);
    assert!(output.out.contains("isolcpus"), "{}", output.out);
    assert_eq!(lint(&[]).code, 0, "this machine's own line");
}

#[test]
fn bytes_that_are_no_text_do_no_harm() {
    let run = Run::new();
    let mut command = run.command(&[&["lint"], &KERNEL[..]].concat());
    let output = command.arg("--cmdline").arg(OsStr::from_bytes(b"a\xff=\x1b[31m \xa0 quiet")).output();
    let output = Said::of(output.unwrap());
    assert_eq!(output.code, 0);
    assert!(!output.out.contains('\u{1b}'));
}

#[test]
fn mistakes_are_told_with_a_remedy() {
    for (args, part) in [
        (&["--kernel", "new"][..], "6.12"),
        (&["--arch", "vax"], "aarch64"),
        (&["--cpus", "0"], "1.."),
        (&["--machine", "/does/not/exist"], "is the path right"),
    ] {
        lint(args).refused(&[part]);
    }
}

/// SARIF for a boot loader's file names the line and column of each word.
#[test]
fn sarif_shows_the_word_where_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grub");
    std::fs::write(&path, "GRUB_TIMEOUT=5\n# GRUB_CMDLINE_LINUX=\"noht\"\nGRUB_CMDLINE_LINUX=\"quiet irqpoll\"\n")
        .unwrap();
    let file = path.to_str().unwrap();
    let output = lint(&[&["--sarif", "--file", file, "--fail-on", "fail"], &KERNEL[..]].concat());
    assert_eq!(output.code, 2);
    let document: Value = serde_json::from_str(&output.out).unwrap();
    let results = document["runs"][0]["results"].as_array().unwrap();
    let [result] = results.as_slice() else { panic!("{results:#?}") };
    assert_eq!((&result["ruleId"], &result["level"]), (&"cmdline.harmful".into(), &"error".into()));
    let message = result["message"]["text"].as_str().unwrap();
    assert!(message.contains("that no handler claims. Instead: find"), "{message}");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], format!("file://{file}"));
    assert_eq!(place["region"], serde_json::json!({ "startLine": 3, "startColumn": 27, "endColumn": 34 }));
}

/// The boot loader's file is as RHEL ships it, with a comment in Latin-1.
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
    let output = lint(&[&["--file", path.to_str().unwrap(), "--fail-on", "warn"], &KERNEL[..]].concat());
    let text = output.out;
    assert_eq!(output.code, 0, "{text}");
    assert!(text.starts_with("4 words") && text.contains("decided at boot"), "{text}");
}

#[test]
fn a_file_that_holds_no_line_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cmdline.txt");
    let refused = |why: &str| {
        lint(&[&["--file", path.to_str().unwrap()], &KERNEL[..]].concat()).refused(&[why]);
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
        // A program that hangs is ended after 20 s, which fails the test.
        let output = Command::new("timeout")
            .args(["20", env!("CARGO_BIN_EXE_punctual")])
            .args(command)
            .arg(&pipe)
            .output()
            .unwrap();
        Said::of(output).refused(&["not a regular file"]);
    }
    assert!(with_input(&["--file", "/dev/stdin"], b"quiet nosmt\n").out.starts_with("2 words for"));
}

#[test]
fn one_word_is_not_words() {
    let text = |line: &str| of_line(line, &[]).out;
    assert!(text("quiet").starts_with("1 word for kernel 6.12"), "{}", text("quiet"));
    assert!(text("").starts_with("0 words for kernel 6.12") && text("").trim_end().ends_with("x86-64"), "{}", text(""));
    assert!(text("quiet -- a").contains("the word after it is for init"), "{}", text("quiet -- a"));
    assert!(text("quiet -- a b").contains("the 2 words after it are for init"), "{}", text("quiet -- a b"));
    assert!(text("quiet --").contains("no word follows it"), "{}", text("quiet --"));
}
