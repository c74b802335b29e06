//! `punctual lab`: measures kernels in emulated machines.

mod baseline;
mod bench;
mod bisect;
mod build;
mod compare;
mod gate;

use crate::cli::{LabArgs, LabVerb};
use crate::exit::Exit;
use anyhow::Result;

pub fn run(args: &LabArgs) -> Result<Exit> {
    match &args.verb {
        LabVerb::Compare(verb) => compare::run(verb),
        LabVerb::Gate(verb) => gate::run(verb),
        LabVerb::Bisect(verb) => bisect::run(verb),
    }
}
