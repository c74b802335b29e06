//! Runs rounds in separate processes: the loop in C++, and the loop of an ordinary user.

use crate::round::{Plan, Taken};
use anyhow::{Context, Result, bail, ensure};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Source text of the C++ loop, which the compiler reads from its standard input.
const SOURCE: &str = include_str!("../cpp/sleep_absolute.cpp");
/// User id of `nobody` in most distributions. Any user without privileges would do.
const ORDINARY: u32 = 65_534;

/// First argument with which this program runs one round, prints the result and ends.
pub const ONE_ROUND: &str = "--one-round";

/// The compiled C++ loop: path of the program, which is removed when the value is dropped.
#[derive(Debug)]
pub struct Cpp(PathBuf);

impl Cpp {
    /// Compiles the loop into a new file in `folder`.
    pub fn build(folder: &Path) -> Result<Self> {
        let program = folder.join(format!("waits-cpp-{}", std::process::id()));
        let mut command = Command::new("c++");
        command.args(["-O2", "-std=c++17", "-Wall", "-Wextra", "-x", "c++", "-", "-o"]).arg(&program);
        let mut child = command.stdin(Stdio::piped()).spawn().context("start `c++`")?;
        // `built` is made before the compiler ends, so that the file is removed even if the build fails.
        let built = Self(program);
        if let Some(mut input) = child.stdin.take() {
            input.write_all(SOURCE.as_bytes()).context("hand the source to `c++`")?;
        }
        let status = child.wait().context("wait for `c++`")?;
        ensure!(status.success(), "`c++` ended with {status}");
        Ok(built)
    }

    pub fn round(&self, plan: &Plan) -> Result<Taken> {
        read(Command::new(&self.0).args(words(plan)))
    }
}

impl Drop for Cpp {
    fn drop(&mut self) {
        // A program that stays in the temporary directory does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Runs a round of this program as an ordinary user, without the real-time class.
pub fn unprivileged(plan: &Plan, strategy: &str) -> Result<Taken> {
    let mut command = Command::new("/proc/self/exe");
    command.args([ONE_ROUND, strategy]).args(words(&Plan { priority: None, ..*plan }));
    if rustix::process::geteuid().is_root() {
        command.uid(ORDINARY).gid(ORDINARY);
    }
    read(&mut command)
}

/// The plan as arguments, in the order that [`plan_of`] and the C++ program expect.
fn words(plan: &Plan) -> [String; 6] {
    let Plan { cpu, priority, period, offset, settling, cycles } = plan;
    [
        cpu.to_string(),
        priority.unwrap_or(0).to_string(),
        period.as_ns().to_string(),
        offset.as_ns().to_string(),
        settling.to_string(),
        cycles.to_string(),
    ]
}

/// Reads a plan from the arguments that [`words`] made.
pub fn plan_of(words: &[String]) -> Result<Plan> {
    let numbers = words.iter().map(|word| word.parse::<u64>().with_context(|| format!("read `{word}` as a number")));
    let numbers = numbers.collect::<Result<Vec<u64>>>()?;
    let [cpu, priority, period, offset, settling, cycles] = numbers.as_slice() else {
        bail!("a plan has 6 words, not {}", numbers.len());
    };
    let priority = u8::try_from(*priority).context("the priority")?;
    Ok(Plan {
        cpu: u32::try_from(*cpu).context("the CPU")?,
        priority: Some(priority).filter(|priority| *priority > 0),
        period: punctual_rt::Nanos::from_ns(*period),
        offset: punctual_rt::Nanos::from_ns(*offset),
        settling: *settling,
        cycles: *cycles,
    })
}

fn read(command: &mut Command) -> Result<Taken> {
    let output = command.stdin(Stdio::null()).output().context("start a round")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "a round ended with {}: {}", output.status, complaint.trim());
    Taken::from_lines(&String::from_utf8_lossy(&output.stdout))
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_rt::Nanos;

    fn plan(priority: Option<u8>) -> Plan {
        let cpu = punctual_rt::setup::granted().unwrap().cpus[0];
        let (period, offset) = (Nanos::from_ms(1), Nanos::from_us(400));
        Plan { cpu, priority, period, offset, settling: 3, cycles: 30 }
    }

    #[test]
    fn a_plan_reads_back() {
        for priority in [None, Some(90)] {
            let plan = plan(priority);
            assert_eq!(format!("{:?}", plan_of(&words(&plan)).unwrap()), format!("{plan:?}"));
        }
        assert!(plan_of(&["1".to_owned()]).is_err());
    }

    #[test]
    fn the_loop_in_cpp_accounts_for_each_release() {
        if Command::new("c++").arg("--version").output().is_err() {
            return;
        }
        let cpp = Cpp::build(&std::env::temp_dir()).unwrap();
        let taken = cpp.round(&plan(None)).unwrap();
        assert!(taken.errors.len() as u64 + taken.missed >= 30, "{taken:?}");
        assert!(taken.errors.iter().all(|error| *error >= 0), "no sleep ends early: {taken:?}");
    }
}
