//! Runs the tests of the program's commands on the program as it is built for ARM64, which QEMU emulates.
//!
//! Only the program is emulated. The tests run on this machine, in namespaces of their own: there the kernel starts
//! programs for ARM64 with QEMU, and the emulated program lies where the tests expect theirs. Nothing outside of these
//! namespaces changes.

use crate::run;
use crate::step::StepOutcome;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "aarch64-unknown-linux-musl";
const QEMU: &str = "qemu-aarch64-static";

/// Makes the kernel start programs for ARM64 with QEMU. The numbers are how such a file begins, and which of their bits
/// count. By the flag F, QEMU is opened once, here; by P, it passes on the name by which a program was started.
const REGISTER: &str = r"mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
starts='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
counts='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
printf ':arm64:M::%s:%s:%s:FP' $starts $counts $(command -v qemu-aarch64-static) >/proc/sys/fs/binfmt_misc/register";

/// Puts the program for ARM64, `$1`, in the place of this machine's, `$2`, and runs the words that follow. A build at the
/// same time would put a new one there, which the tests would take instead without a word.
const INSTEAD: &str = r#"mount --bind "$1" "$2"; emulated=$1; place=$2; shift 2; "$@"
[ "$emulated" -ef "$place" ] || { echo "$place was built anew meanwhile" >&2; exit 1; }"#;

/// Tests that are run, by the beginning of their names: those of what asks the kernel, or measures. The others read and
/// write files, which is the same on every machine; but `live::` needs what [`TERMINAL`] says, and `campaign::` real-time
/// priorities, which nobody has in namespaces of their own.
const TESTS: [&str; 8] =
    ["inspect::", "interrupted::", "long::", "measuring::", "need::", "round_trip::", "torture::", "watch::"];

const TERMINAL: &str = "QEMU's emulation of processes does not know the system call for a terminal's modes (TCGETS2)";
const MOMENT: &str = "it must meet a moment of a short run, which an emulated program on a busy machine misses";
const WEEKS: &str = "weeks of made-up values take the emulator minutes";
const PNG: &str = "the program is built without it, as for the guests of the lab";

/// Tests of these that are left out, by the beginning of their names, and why they would fail.
const LEFT_OUT: [(&str, &str); 7] = [
    ("round_trip::a_message_goes_to_the_other_side_and_back", TERMINAL),
    ("round_trip::a_side_that_falls_silent_ends_the_run_and_what_was_measured_is_kept", TERMINAL),
    ("interrupted::kill_9_at_any_moment_leaves_a_readable_recording", MOMENT),
    ("long::interrupted_under_loads_it_goes_on_with_what_is_left_of_each", MOMENT),
    ("long::killed_it_goes_on_with_what_was_left", MOMENT),
    ("watch::three_weeks_fit_and_the_spike_of_day_5_is_explained", WEEKS),
    ("long::a_png_has_pixels", PNG),
];

/// Builds the program and runs the tests. `see` gets each line that they print.
pub fn step(root: &Path, see: impl FnMut(&str)) -> StepOutcome {
    match missing(root) {
        Ok(None) => StepOutcome::of(tested(root, see)),
        Ok(Some(lacks)) => StepOutcome::NotRun(lacks),
        Err(error) => StepOutcome::Failed(format!("{error:#}")),
    }
}

/// What this machine lacks.
fn missing(root: &Path) -> Result<Option<String>> {
    if !run::has_target(TARGET, root)? {
        return Ok(Some(format!("no standard library for {TARGET} (rustup target add {TARGET})")));
    }
    if !run::has_program(QEMU) {
        return Ok(Some(format!("no {QEMU} (apt install qemu-user-static)")));
    }
    let lacks = "the kernel gives no namespaces in which it starts programs of other machines (it takes Linux 6.7)";
    Ok((!run::answers(&mut within("true", &[]))).then(|| lacks.to_owned()))
}

fn tested(root: &Path, see: impl FnMut(&str)) -> Result<()> {
    let target = run::target_folder(root)?;
    let mut build = run::cargo(root, &["build", "--quiet", "--package", "punctual", "--package", "causes"]);
    // The command is the one by which the lab builds for its guests, so nothing is built twice. As there, warnings are not
    // shown: clippy finds those that concern the program.
    build.args(["--target", TARGET]).env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld");
    run::read(&mut build)?;
    let emulated = target.join(TARGET).join("debug/punctual");
    let tests = tests(root)?;
    let listed = run::read(Command::new(&tests).arg("--list"))?;
    for name in TESTS.iter().chain(LEFT_OUT.iter().map(|(name, _)| name)) {
        ensure!(listed.lines().any(|line| line.starts_with(name)), "no test has a name that begins with {name}");
    }
    let mut command = within(INSTEAD, &[&emulated, &target.join("debug/punctual"), &tests]);
    command.args(TESTS);
    for (name, why) in LEFT_OUT {
        println!("left out: {name}: {why}");
        command.args(["--skip", name]);
    }
    run::show_and_see(command.current_dir(root.join("crates/punctual")), see)
}

/// The program that contains the tests, built for this machine.
fn tests(root: &Path) -> Result<PathBuf> {
    let words = ["--test", "it", "--no-run", "--quiet", "--message-format", "json"];
    let said = run::read(&mut run::whole(root, "test", &words))?;
    let manifest = root.join("crates/punctual/Cargo.toml");
    let found = said.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_ours = message.pointer("/target/name")?.as_str()? == "it"
            && Path::new(message.get("manifest_path")?.as_str()?) == manifest;
        is_ours.then(|| message.get("executable")?.as_str().map(PathBuf::from))?
    });
    found.context("find the tests of the commands in what Cargo says")
}

/// A command that runs a script in namespaces in which the kernel starts programs for ARM64.
fn within(script: &str, words: &[&Path]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-ec", &format!("{REGISTER}\n{script}"), "sh"]);
    command.args(words);
    command
}
