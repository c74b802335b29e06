//! The examples run, end on their own, and print what they promise: as the user who runs the tests and, if that is
//! root, as an ordinary user too. Their punctuality is not judged here.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The user `nobody` of most distributions. Any user that owns nothing works.
const ORDINARY: u32 = 65_534;

/// The lines of each Rust block in a page, without indentation.
fn blocks(page: &str) -> Vec<String> {
    let of_rust = page.split("```rust").skip(1).filter_map(|rest| rest.split_once('\n')?.1.split("```").next());
    of_rust.map(|block| block.trim().lines().map(str::trim).collect::<Vec<_>>().join("\n")).collect()
}

/// Path of an example: Cargo puts examples beside the folder of this test program.
fn example(name: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let path = here.parent().and_then(|deps| deps.parent()).unwrap().join("examples").join(name);
    assert!(path.is_file(), "{} is not built: `cargo build --examples` does", path.display());
    path
}

fn said(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}:\n{out}\n{err}", output.status);
    out.into_owned()
}

/// Runs an example for a second.
fn run(name: &str) -> String {
    run_for(name, "1")
}

fn run_for(name: &str, seconds: &str) -> String {
    said(&Command::new(example(name)).arg(seconds).output().unwrap())
}

/// Runs an example for a second as an ordinary user, from a folder that this user can read; `None` without the right to
/// do so.
fn run_as_ordinary_user(name: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join(name);
    std::fs::copy(example(name), &program).unwrap();
    for path in [folder.path(), &program] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    loop {
        match Command::new(&program).arg("1").uid(ORDINARY).gid(ORDINARY).output() {
            Ok(output) => return Some(said(&output)),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return None,
            // Another thread of this test forked while the file was being copied, and has not started its own program
            // yet.
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// The number before the text `after`.
fn number(text: &str, after: &str) -> u64 {
    let before = text.split(after).next().unwrap_or_default();
    let word = before.split_whitespace().next_back().unwrap_or_default();
    word.parse().unwrap_or_else(|_| panic!("no number before `{after}` in:\n{text}"))
}

#[test]
fn hello_periodic_runs_a_thousand_releases() {
    for said in [Some(run("hello_periodic")), run_as_ordinary_user("hello_periodic")].into_iter().flatten() {
        // If the machine stood still, the releases lost in an outage were due as well.
        assert!(number(&said, " due\n") >= 1_000 && said.contains("  latency "), "{said}");
    }
}

#[test]
fn what_an_ordinary_user_is_refused_is_said() {
    let Some(said) = run_as_ordinary_user("hello_periodic") else { return };
    assert!(said.contains("refused: scheduling policy: "), "{said}");
}

#[test]
fn ethercat_shaped_finds_the_clock_of_the_bus() {
    let settled = run_for("ethercat_shaped", "4");
    let last = settled.lines().find_map(|line| line.strip_prefix("last second: phase error mean ")).unwrap();
    let before = |unit| last.split(unit).next().and_then(|text| text.split(' ').next_back()?.parse::<f64>().ok());
    let (mean_us, ppm) = (before(" us, sd").unwrap(), before(" ppm, ").unwrap());
    // The bus clock began 400 us ahead. It gains 30 ppm, and 4 ppm more at present, which is over 30 us per second
    // without a servo.
    assert!(mean_us.abs() < 5.0 && (ppm - 34.0).abs() < 5.0, "{settled}");
    for said in [Some(run("ethercat_shaped")), run_as_ordinary_user("ethercat_shaped")].into_iter().flatten() {
        let last = said.lines().find(|line| line.starts_with("last second: ")).unwrap_or_default();
        assert!(last.contains("phase error mean") && last.contains(" ppm, "), "{said}");
    }
}

#[test]
fn producer_consumer_hands_over_every_sample_and_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.perfetto");
    let output = Command::new(example("producer_consumer")).arg("1").arg(&trace).output().unwrap();
    let said = said(&output);
    let (received, refused) = (number(&said, " samples received"), number(&said, " refused,"));
    assert!(received > 0 && received + refused == number(&said, " activations in"), "{said}");
    assert!(number(&said, " log records") >= received, "{said}");
    // Each cycle stores three records with a time each, so the trace cannot be shorter.
    assert!(std::fs::metadata(&trace).unwrap().len() > received * 3 * 8, "{said}");
}

#[test]
fn what_is_not_a_number_of_seconds_is_refused() {
    for name in ["hello_periodic", "ethercat_shaped", "producer_consumer"] {
        let output = Command::new(example(name)).arg("soon").output().unwrap();
        assert!(!output.status.success() && output.stdout.is_empty(), "{name}");
    }
}

/// A core that was asked for and is not there is one clear error, and no task on Linux instead.
#[test]
fn a_core_that_this_kernel_lacks_is_refused_with_its_remedy() {
    let cores = [("evl", "EVL", "/dev/evl", "CONFIG_EVL=y"), ("cobalt", "Cobalt", "/proc/xenomai", "CONFIG_XENOMAI=y")];
    for (word, name, trace, option) in cores.into_iter().filter(|core| !std::path::Path::new(core.2).exists()) {
        let output = Command::new(example("hello_periodic")).args(["1", word]).output().unwrap();
        let refused = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{refused}");
        let expected =
            format!("the {name} core cannot pace the task: the running kernel has none; boot a kernel with {option}");
        assert!(refused.contains(&expected) && refused.lines().count() == 1, "{refused} ({trace} is not there)");
    }
    let output = Command::new(example("hello_periodic")).args(["1", "xenomai"]).output().unwrap();
    assert!(!output.status.success(), "no back end has that name");
}

#[test]
fn the_pages_show_what_is_compiled() {
    let flush = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    // The blocks of the crate's README are not compared with an example, because the documentation tests compile them.
    let of_crate = blocks(include_str!("../README.md"));
    let examples = [include_str!("../examples/hello_periodic.rs"), include_str!("../examples/ethercat_shaped.rs")];
    let pages = [
        (blocks(include_str!("../../../book/src/punctual-rt.md")), examples.map(flush).to_vec()),
        (blocks(include_str!("../../../README.md")), of_crate),
    ];
    for (blocks, sources) in pages {
        assert_eq!(blocks.len(), sources.len(), "each block is an excerpt");
        for (block, source) in blocks.iter().zip(sources) {
            let mut rest = source.as_str();
            for line in block.lines() {
                let found = rest.find(line).unwrap_or_else(|| panic!("`{line}` is no longer in:\n{source}"));
                rest = &rest[found..];
            }
        }
    }
}
