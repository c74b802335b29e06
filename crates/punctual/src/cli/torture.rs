//! Options of `punctual torture`.

use super::Brief;
use super::names::{TESTS, one_of};
use super::value::{parse_cpus, parse_duration};
use clap::Args;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use punctual_linux::torture::Test;
use std::path::PathBuf;

/// Priority of the real-time threads. There is room below it for a chain of locks.
const PRIORITY: u8 = 50;

#[derive(Args, Clone, Debug)]
pub struct TortureArgs {
    /// What is tested
    #[arg(value_name = "TEST", value_parser = one_of(TESTS))]
    pub test: Test,
    /// CPUs to test; one CPU of the machine always runs ordinary threads only [default: every CPU this process may use]
    #[arg(long, value_name = "LIST", value_parser = parse_cpus)]
    pub cpus: Option<CpuSet>,
    /// How long to test
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "10s")]
    pub duration: Nanos,
    /// Threads on each CPU, or timers of each kind [default: 16; 4 with fpu]
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,
    /// SCHED_FIFO priority of the first real-time thread, 1 to 95; no thread has a higher one
    #[arg(long, value_name = "N", default_value_t = PRIORITY)]
    pub priority: u8,
    /// Spoil one register once, to check that switches or fpu notices it: the exit code must then be 2
    #[arg(long)]
    pub plant: bool,
    /// First run the tests of Xenomai 3 (smokey) or Xenomai 4 (evl test), if they are installed
    #[arg(long)]
    pub own_tests: bool,
    /// Directory for the files of the load that the test heap runs [default: the current one]
    #[arg(long, value_name = "DIR", default_value = ".", hide = true)]
    pub load_dir: PathBuf,
    #[command(flatten)]
    pub form: Brief,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}
