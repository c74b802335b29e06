//! `punctual`: parses the command line and runs the command.

#![cfg_attr(
    not(feature = "every-verb"),
    allow(dead_code, unused_imports, reason = "a program with few verbs is made of the same modules")
)]

mod cli;
mod commands;
mod exit;
mod render;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};
use cli::{Cli, Colour, Command, Lang};
use exit::Exit;
use std::process::ExitCode;

/// The internal word that makes this program the guard of another one's trace.
const TRACE_GUARD: &str = "__trace-guard";

fn main() -> ExitCode {
    // As the first program of a guest it is handed words of the kernel's command line that mean nothing here.
    if cfg!(feature = "every-verb") && punctual_lab::inside::is_guest() {
        return punctual_lab::inside::run();
    }
    // A guard lives as long as the trace, and needs none of the memory that parsing takes.
    if punctual_linux::trace::guards_if_asked(TRACE_GUARD) {
        return ExitCode::SUCCESS;
    }
    let locale = || Lang::of_locale(|name| std::env::var(name).ok());
    Lang::asked(std::env::args_os()).unwrap_or_else(locale).speak();
    let program = render::for_people(|| render::help::in_language(Cli::command()));
    let parsed = program.try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    render::colour(match cli.color {
        Colour::Auto => None,
        Colour::Always => Some(true),
        Colour::Never => Some(false),
    });
    if let Some(lang) = cli.lang {
        lang.speak();
    }
    let done = match cli.command {
        Command::Measure(args) => commands::measure::run(&args),
        Command::Export(args) => commands::export::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Load(args) => commands::internal::load(&args),
        Command::Read => commands::internal::read(),
        _ if !cfg!(feature = "every-verb") => commands::unknown(),
        Command::Check(args) => commands::check::run(&args),
        Command::Audit(args) => commands::audit::run(&args),
        Command::Init(args) => commands::init::run(&args),
        Command::Lint(args) => commands::lint::run(&args),
        Command::Tune(args) => commands::tune::run(&args),
        Command::Status(args) => commands::status::run(&args),
        Command::Revert(args) => commands::revert::run(&args),
        Command::Boot => commands::boot::run(),
        Command::Guard { words } => commands::internal::guard(&words),
        Command::HoldLatency { us } => commands::internal::hold_latency(us),
        Command::Merge(args) => commands::merge::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Watch(args) => commands::watch::run(&args),
        Command::Optimize(args) => commands::optimize::run(&args),
        Command::Campaign(args) => commands::campaign::run(&args),
        Command::Snapshot(args) => commands::snapshot::run(&args),
        Command::Share(args) => commands::share::run(&args),
        Command::Fleet(command) => commands::fleet::run(&command),
        Command::Torture(args) => commands::torture::run(&args),
        Command::Lab(args) => commands::lab::run(&args),
        Command::Trend(args) => commands::trend::run(&args),
        Command::Man(args) => commands::internal::install_man(args.form),
        Command::Completions(args) => commands::internal::install_completions(args.form),
        Command::Knobs => commands::internal::knobs(),
        Command::WriteMan { dir } => commands::internal::man(&dir),
        Command::WriteCompletions { dir } => commands::internal::completions(&dir),
    };
    done.unwrap_or_else(|error| {
        render::error(&error);
        Exit::Error
    })
    .into()
}

/// Reports a usage error, with exit code 1 as for every error. Help and version are not errors.
fn usage(error: &clap::Error) -> ExitCode {
    let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    render::usage(error);
    if asked { Exit::Fine } else { Exit::Error }.into()
}
