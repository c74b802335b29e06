//! Starts other programs, mainly Cargo.

use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A command that runs, in the repository, the Cargo that started this program.
pub fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    settle(command.args(arguments).current_dir(root));
    command
}

static FROM_SCRATCH: AtomicBool = AtomicBool::new(false);

/// Turns off incremental builds for the rest of this process. They cost time and disk space, and a run of all checks
/// builds each crate only once.
pub fn build_from_scratch() {
    FROM_SCRATCH.store(true, Relaxed);
}

/// Applies the build settings that every Cargo below this process must share, because otherwise one would rebuild what
/// another has built. Settings of the user have precedence.
pub fn settle(command: &mut Command) -> &mut Command {
    if FROM_SCRATCH.load(Relaxed) && std::env::var_os("CARGO_INCREMENTAL").is_none() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// Cargo options that all steps share, except for the build without features. They select the whole workspace even for
/// a single test program: Cargo unites the features of dependencies over the selected packages, so another selection
/// would rebuild most of them.
pub const WHOLE: [&str; 3] = ["--workspace", "--features", "punctual/parquet,punctual/png"];

/// Cargo options that build the programs. They include the examples, which need the dependencies of tests: Cargo then
/// selects the same features as for tests, and does not build the workspace twice.
pub const PROGRAMS: [&str; 2] = ["--bins", "--examples"];

pub fn programs(root: &Path) -> Result<PathBuf> {
    programs_with(root, &[])
}

/// Builds the programs with more features.
pub fn programs_with(root: &Path, features: &[&str]) -> Result<PathBuf> {
    let mut command = whole(root, "build", &["--quiet"]);
    pass_through(command.args(PROGRAMS).args(features))?;
    Ok(target_folder(root)?.join("debug"))
}

pub fn whole(root: &Path, verb: &str, words: &[&str]) -> Command {
    let mut command = cargo(root, &[verb]);
    command.args(WHOLE).args(words);
    command
}

/// A command that runs Cargo of another toolchain through rustup, which is kept from installing anything.
pub fn cargo_of(toolchain: &str, root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.arg(format!("+{toolchain}")).args(arguments).current_dir(root);
    command.env("RUSTUP_AUTO_INSTALL", "0").env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTDOC");
    settle(&mut command);
    command
}

pub fn has_toolchain(toolchain: &str, root: &Path) -> bool {
    answers(&mut cargo_of(toolchain, root, &["--version"]))
}

/// Whether a program of this name exists and answers `--version`.
pub fn has_program(name: &str) -> bool {
    answers(Command::new(name).arg("--version"))
}

pub fn has_target(target: &str, root: &Path) -> Result<bool> {
    let folder = read(Command::new("rustc").args(["--print", "target-libdir", "--target", target]).current_dir(root))?;
    Ok(Path::new(folder.trim()).is_dir())
}

pub fn target_folder(root: &Path) -> Result<PathBuf> {
    let said = read(&mut cargo(root, &["metadata", "--no-deps", "--format-version", "1"]))?;
    let folder = said.split_once("\"target_directory\":\"").and_then(|(_, rest)| rest.split_once('"'));
    folder.map(|(folder, _)| PathBuf::from(folder)).context("find `target_directory` in what Cargo says")
}

/// Whether a command succeeds. Its output is not shown.
pub fn answers(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Runs a command and shows its output.
pub fn show(command: &mut Command) -> Result<()> {
    println!("$ {}", shown(command));
    succeed(command)
}

fn succeed(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    let status = command.status().with_context(|| format!("start `{shown}`"))?;
    ensure!(status.success(), "`{shown}` ended with {status}");
    Ok(())
}

/// Like [`show`], but announces the command on standard error, because standard output belongs to the program alone.
pub fn pass_through(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", shown(command));
    succeed(command)
}

/// Runs a command, shows its standard output, and passes each line of it to `see`.
pub fn show_and_see(command: &mut Command, mut see: impl FnMut(&str)) -> Result<()> {
    let shown = shown(command);
    println!("$ {shown}");
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("start `{shown}`"))?;
    if let Some(output) = child.stdout.take() {
        let mut lines = BufReader::new(output);
        let mut line = Vec::new();
        // Lines are read as bytes, because a test may print text that is not UTF-8.
        while lines.read_until(b'\n', &mut line).with_context(|| format!("read the output of `{shown}`"))? > 0 {
            std::io::stdout().write_all(&line).context("write to standard output")?;
            see(String::from_utf8_lossy(&line).trim_end());
            line.clear();
        }
    }
    let status = child.wait().with_context(|| format!("wait for `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

/// Runs a command and returns its standard output as text.
pub fn read(command: &mut Command) -> Result<String> {
    let bytes = read_bytes(command)?;
    String::from_utf8(bytes).with_context(|| format!("read the output of `{}` as text", shown(command)))
}

/// Runs a command and returns its standard output.
fn read_bytes(command: &mut Command) -> Result<Vec<u8>> {
    let shown = shown(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("start `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.stdout)
}

/// Passes `input` to a command and returns its standard output.
pub fn filter(command: &mut Command, input: &[u8]) -> Result<Vec<u8>> {
    let shown = shown(command);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().with_context(|| format!("start `{shown}`"))?;
    let stdin = child.stdin.take();
    // Written by another thread: the command may write before it has read everything.
    let output = std::thread::scope(|scope| {
        scope.spawn(|| stdin.map(|mut stdin| stdin.write_all(input)));
        child.wait_with_output()
    });
    let output = output.with_context(|| format!("wait for `{shown}`"))?;
    ensure!(output.status.success(), "`{shown}` ended with {}", output.status);
    Ok(output.stdout)
}

/// The command as a user would type it: the name of the program without its path.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program()).to_string_lossy();
    let words = command.get_args().map(|word| word.to_string_lossy());
    std::iter::once(name).chain(words).collect::<Vec<_>>().join(" ")
}

/// Whether this process runs as root, so that privileged tests can run.
pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_typed() {
        assert_eq!(shown(Command::new("/opt/x/bin/cargo").args(["fmt", "--check"])), "cargo fmt --check");
    }

    #[test]
    fn a_filter_gets_all_of_its_input() {
        let input = vec![b'x'; 1 << 20];
        assert!(filter(&mut Command::new("cat"), &input).unwrap() == input);
        assert!(filter(Command::new("sh").args(["-c", "exit 3"]), b"").is_err());
    }

    #[test]
    fn a_failing_program_is_an_error_that_names_it() {
        let error = show(Command::new("false").arg("x")).unwrap_err();
        assert!(error.to_string().starts_with("`false x` ended with"), "{error}");
        let error = show(&mut Command::new("no-such-program-here")).unwrap_err();
        assert!(error.to_string().contains("start `no-such-program-here`"), "{error}");
    }

    #[test]
    fn lines_are_seen_even_when_the_program_fails() {
        let mut seen = Vec::new();
        let script = "echo one; printf two; echo; exit 3";
        let result = show_and_see(Command::new("sh").args(["-c", script]), |line| seen.push(line.to_owned()));
        assert!(result.is_err());
        assert_eq!(seen, ["one", "two"]);
    }
}
