//! `punctual lab`: measures kernels in emulated machines.

mod baseline;
mod bench;
mod bisect;
mod build;
mod compare;
mod gate;

use crate::cli::{LabArgs, LabVerb};
use crate::exit::Exit;
use crate::render;
use anyhow::{Result, bail};
use std::fmt::{self, Display, Formatter};
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// The user asked to end before everything was measured.
#[derive(Debug)]
struct Interrupted {
    results: PathBuf,
}

impl std::error::Error for Interrupted {}

impl Display for Interrupted {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let results = self.results.display();
        write!(out, "Interrupted; to continue, type the same command again: what was measured so far is in {results}")
    }
}

/// Exits with 3 if the user interrupted it, because results are missing then.
pub fn run(args: &LabArgs) -> Result<Exit> {
    let done = match &args.verb {
        LabVerb::Compare(verb) => compare::run(verb),
        LabVerb::Gate(verb) => gate::run(verb),
        LabVerb::Bisect(verb) => bisect::run(verb),
    };
    match done {
        Err(error) if error.is::<Interrupted>() => {
            render::say(&error.to_string());
            Ok(Exit::Doubtful)
        }
        Err(error) => match room(&error) {
            Some(remedy) => bail!("{error:#}. {remedy}"),
            None => Err(error),
        },
        done => done,
    }
}

/// What to do if the error is a full disk, or a limit that acts as one.
fn room(error: &anyhow::Error) -> Option<&'static str> {
    error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).find_map(|error| match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Some("Make room on that disk, then type the same command again: only what is missing is measured")
        }
        ErrorKind::FileTooLarge => Some(
            "Raise the limit on file sizes (ulimit -f), then type the same command again: only what is missing is measured",
        ),
        _ => None,
    })
}
