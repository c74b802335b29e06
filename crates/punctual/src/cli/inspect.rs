//! Options of `punctual inspect`.

use super::Brief;
use super::names::{TRACE_ENGINES, one_of};
use super::value::{parse_duration, parse_percent};
use clap::Args;
use punctual_hist::Nanos;
use punctual_numbers::inspect::{Engine, FailOn};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub struct InspectArgs {
    /// The running program: its process id, its name, or its systemd service, as in loop.service
    #[arg(value_name = "PROGRAM", required_unless_present = "command")]
    pub program: Option<String>,
    /// A program to start and to inspect, with its arguments; its output goes to standard error, and it is ended
    /// together with the processes that it started
    #[arg(value_name = "COMMAND", last = true, conflicts_with = "program")]
    pub command: Vec<OsString>,
    /// Also observe the processes that PROGRAM has started or will start; those of a COMMAND are always observed
    #[arg(long, conflicts_with = "command")]
    pub children: bool,
    /// Report only this thread, given by its id or its name
    #[arg(long, value_name = "THREAD")]
    pub thread: Option<String>,
    /// How long to observe; a COMMAND that still runs after this time is ended
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "10s")]
    pub duration: Nanos,
    /// Show the results so far while the program is observed, on the whole terminal
    #[arg(long)]
    pub live: bool,
    /// Largest latency you can live with; releases above it are counted
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Nanos>,
    /// Exit with 2 if a cycle has one of these: alloc, fault, syscall, lock, late=TIME; with 3 if this could not be observed
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_fail_on)]
    pub fail_on: Vec<FailOn>,
    /// Write JUnit XML to this file, for CI: one case for each condition of --fail-on in each thread
    #[arg(long, value_name = "PATH", requires = "fail_on")]
    pub junit: Option<PathBuf>,
    /// Write SARIF 2.1.0 to this file, for code-review tools: the operations in the cycles, with their source lines
    #[arg(long, value_name = "PATH")]
    pub sarif: Option<PathBuf>,
    /// Write an HTML page with all results, and pictures of late cycles
    #[arg(long, value_name = "PATH")]
    pub html: Option<PathBuf>,
    /// Write a line for each cycle to this file as comma-separated values: when it was released, when the thread woke and when
    /// it waited again
    #[arg(long, value_name = "PATH", conflicts_with = "no_trace")]
    pub cycles: Option<PathBuf>,
    /// Largest share of one CPU that the observation may use; if it uses more after its first seconds, it observes
    /// less, and says what it gives up
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = parse_percent)]
    pub cost: f64,
    /// Do not look for the causes of late cycles, and so do not record what else runs on the CPUs of the program
    #[arg(long)]
    pub no_causes: bool,
    /// Do not probe the allocator of the program. Such a probe is a breakpoint in the program's memory at malloc and
    /// similar functions, and is removed if it takes more than a hundredth of the time
    #[arg(long)]
    pub no_allocations: bool,
    /// Do not use the kernel's trace, only counters
    #[arg(long)]
    pub no_trace: bool,
    /// Use only this engine, and fail if it cannot be used; without this option, the first one that can be used
    #[arg(long, value_name = "ENGINE", conflicts_with = "no_trace", value_parser = one_of(TRACE_ENGINES))]
    pub engine: Option<Engine>,
    /// Say what would be observed and how, and do nothing
    #[arg(long, conflicts_with_all = ["json", "brief", "fail_on", "sarif", "html", "cycles", "live"])]
    pub dry_run: bool,
    #[command(flatten)]
    pub form: Brief,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

fn parse_fail_on(word: &str) -> Result<FailOn, String> {
    Ok(match word {
        "alloc" => FailOn::Alloc,
        "fault" => FailOn::Fault,
        "syscall" => FailOn::Syscall,
        "lock" => FailOn::Lock,
        _ => match word.strip_prefix("late=") {
            Some(limit) => FailOn::Late(parse_duration(limit)?),
            None => return Err("it is not one of alloc, fault, syscall, lock and late=TIME".to_owned()),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_read_and_other_words_are_refused() {
        assert_eq!(parse_fail_on("alloc"), Ok(FailOn::Alloc));
        assert_eq!(parse_fail_on("late=50us"), Ok(FailOn::Late(Nanos::from_us(50))));
        for word in ["", "late", "late=", "late=x", "faults"] {
            assert!(parse_fail_on(word).is_err(), "{word}");
        }
    }
}
