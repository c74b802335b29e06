//! `punctual fleet run`: runs a command on many hosts by the user's ssh, and fetches what it writes.
//!
//! Hosts and words -> results in a folder -> one list. A host that fails keeps no other from its turn.

use crate::cli::{Cli, Command, FleetRunArgs};
use crate::commands::files::read_at_most;
use crate::commands::here::typed;
use crate::exit::Exit;
use crate::render;
use crate::render::fleet::run::{FleetRun, HostRow, Listing, brief, text};
use crate::render::progress::ProgressLine;
use crate::render::words::command::Command as Again;
use anyhow::{Context, Result, bail};
use clap::Parser;
use punctual_linux::fleet::{self, Event, Folder, HostResult, MESSAGES_FILE, OUTPUT_FILE, Order, Outcome, Program};
use punctual_linux::interrupt;
use punctual_linux::recording::read_file;
use punctual_numbers::report::Report;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A longer list is no list of hosts.
const MOST_LIST_BYTES: u64 = 16 << 20;
/// Bytes of a file of a host in which its last line is looked for.
const MOST_TEXT_BYTES: u64 = 1 << 20;

pub fn run(args: &FleetRunArgs) -> Result<Exit> {
    can_be_run(&args.words)?;
    let list = read_at_most(&args.hosts, MOST_LIST_BYTES, "list of hosts")?;
    let hosts = fleet::hosts(&String::from_utf8_lossy(&list)).with_context(|| args.hosts.display().to_string())?;
    let order = order(args)?;
    let path = args.out.clone().unwrap_or_else(|| format!("punctual-fleet-{}", render::units::file_stamp()).into());
    let interrupted = interrupt::flag().context("listen for Ctrl-C")?;
    let folder = Folder::open(&path, &args.words)?;
    let progress = ProgressLine::new(!args.form.brief);
    let mut listing = Listing::new(hosts.len());
    let results = fleet::run(&order, &hosts, &folder, &interrupted, |event| {
        match event {
            Event::Started(host) => listing.started(host),
            Event::Ended(result) => progress.log(&listing.ended(result)),
        }
        progress.draw(&listing.line());
    });
    progress.clear();
    let results = results?;
    let hosts = results.iter().map(|result| row(&folder, result)).collect();
    let made = FleetRun { words: args.words.clone(), folder: path, hosts };
    render::print(&if args.json {
        render::document(&made)?
    } else if args.form.brief {
        brief(&made)
    } else {
        let again = Again::new(typed()).with("--out", &made.folder.display().to_string());
        text(&made, &again, render::style())
    })?;
    Ok(exit(&made))
}

/// Refuses a command with a mistake before any host is asked.
fn can_be_run(words: &[String]) -> Result<()> {
    let shown = words.join(" ");
    let cli = Cli::try_parse_from(["punctual"].into_iter().chain(words.iter().map(String::as_str)));
    match cli.map(|cli| cli.command) {
        Ok(Command::Fleet(_)) => bail!("`{shown}` would go on to other hosts: list those hosts here"),
        Ok(_) => Ok(()),
        Err(error) => {
            let text = error.render().to_string();
            let why = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            bail!("the hosts cannot run `punctual {shown}`: {why}")
        }
    }
}

fn order(args: &FleetRunArgs) -> Result<Order> {
    if let Some(config) = &args.ssh_config {
        File::open(config).with_context(|| format!("read the configuration of ssh {}", config.display()))?;
    }
    Ok(Order {
        words: args.words.clone(),
        program: args.program.clone(),
        bring: args.bring.iter().map(|path| Program::read(path)).collect::<Result<_, _>>()?,
        sudo: args.sudo,
        config: args.ssh_config.clone(),
        connect: args.connect_limit,
        limit: args.time_limit,
        at_once: args.at_once.into(),
        most_failures: args.stop_after.and_then(|most| usize::try_from(most).ok()),
    })
}

/// The result of a host, with what its first recording answers. Without a recording, the last line that the command
/// printed stands for its answer.
fn row(folder: &Folder, result: &HostResult) -> HostRow {
    let home = folder.of(&result.host);
    let is_recording = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "punctual");
    let recording = result.files.iter().find(is_recording).and_then(|path| read_file(&home.join(path)).ok());
    let is_error = matches!(result.outcome, Outcome::Ended { code: 1 });
    let said = last_line(&home.join(if is_error { MESSAGES_FILE } else { OUTPUT_FILE }));
    HostRow::new(result.clone(), recording.as_ref().map(Report::of), said)
}

fn last_line(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MOST_TEXT_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().rfind(|line| !line.trim().is_empty()).map(|line| line.trim().to_owned())
}

/// The gravest of all hosts. A host without a result makes the whole inconclusive, and if no host has one, the run has
/// failed.
fn exit(made: &FleetRun) -> Exit {
    if !made.hosts.iter().any(|row| matches!(row.result.outcome, Outcome::Ended { .. })) {
        return Exit::Error;
    }
    let of = |row: &HostRow| match row.result.outcome {
        Outcome::Ended { code: 0 } => Exit::Fine,
        Outcome::Ended { code: 2 } => Exit::Exceeded,
        Outcome::Ended { code: 1 } => Exit::Error,
        // Other codes come from the command of `tune --for`, or from a signal.
        _ => Exit::Doubtful,
    };
    made.hosts.iter().map(of).fold(Exit::Fine, Exit::and)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_a_mistake_reaches_no_host() {
        let refused = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            can_be_run(&words).unwrap_err().to_string()
        };
        assert_eq!(
            refused(&["check", "--budgt", "50us"]),
            "the hosts cannot run `punctual check --budgt 50us`: unexpected argument '--budgt' found"
        );
        assert!(refused(&["fleet", "run", "--hosts", "x", "--", "check"]).contains("list those hosts here"));
        assert!(can_be_run(&["check".to_owned(), "--brief".to_owned()]).is_ok());
    }
}
