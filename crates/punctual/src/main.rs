//! Makes a Linux machine punctual, keeps an application punctual, and proves both.

mod commands;
mod render;

use clap::{Parser, Subcommand};
use std::io::Write;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "punctual", version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// What on this machine stands between it and real time
    Audit(commands::audit::AuditArgs),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            let code = u8::from(e.use_stderr());
            return if e.print().is_ok() { ExitCode::from(code) } else { ExitCode::FAILURE };
        }
    };
    let Verb::Audit(args) = cli.verb;
    match commands::audit::run(&args) {
        Ok(code) => ExitCode::from(code),
        Err(e) => {
            // Nobody is left to tell when standard error is closed.
            let _ = writeln!(anstream::stderr(), "punctual: {e:#}");
            ExitCode::FAILURE
        }
    }
}
