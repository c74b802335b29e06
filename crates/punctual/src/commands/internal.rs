//! Commands the program gives to itself, or that only the build uses.

use crate::cli::{Cli, LoadArgs};
use crate::exit::Exit;
use anyhow::{Context, Result};
use clap::{Command, CommandFactory, ValueEnum};
use punctual_hist::Nanos;
use std::path::Path;

/// Runs one load until standard input closes.
pub fn load(args: &LoadArgs) -> Result<Exit> {
    punctual_linux::load::worker_main(&args.name, &args.on, &args.dir, Nanos::from_secs(args.seconds))?;
    Ok(Exit::Fine)
}

pub const READ: &str = "__read";

/// Reads files in the place of another process of this program.
pub fn read() -> Result<Exit> {
    punctual_linux::live::answer().context("standard input is not a stream of questions from this program")?;
    Ok(Exit::Fine)
}

/// Waits, and puts things back when nobody else is left to.
pub fn guard(words: &[String]) -> Result<Exit> {
    punctual_linux::apply::guard::run(&punctual_linux::apply::Machine::here(), words)?;
    Ok(Exit::Fine)
}

/// Asks for short sleeps of the CPUs until this process is ended.
pub fn hold_latency(us: u32) -> Result<Exit> {
    let _held = punctual_linux::apply::LatencyRequest::global(Nanos::from_us(us.into()))
        .map_err(|error| anyhow::anyhow!("the sleep of the CPUs is not limited: {error}; run this as root"))?;
    loop {
        std::thread::park();
    }
}

/// The commands a user is told of.
fn public() -> Command {
    let all = Cli::command();
    let shown = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let mut public = Command::new("punctual").version(env!("CARGO_PKG_VERSION")).subcommands(shown);
    if let Some(about) = all.get_about() {
        public = public.about(about.clone());
    }
    public.subcommand_required(true)
}

pub fn man(dir: &Path) -> Result<Exit> {
    clap_mangen::generate_to(public(), dir).with_context(|| format!("write man pages into {}", dir.display()))?;
    Ok(Exit::Fine)
}

/// Writes completions for every shell clap knows.
pub fn completions(dir: &Path) -> Result<Exit> {
    for shell in clap_complete::Shell::value_variants() {
        clap_complete::generate_to(*shell, &mut public(), "punctual", dir)
            .with_context(|| format!("write completions into {}", dir.display()))?;
    }
    Ok(Exit::Fine)
}
