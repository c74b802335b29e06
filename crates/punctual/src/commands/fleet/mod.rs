//! `punctual fleet`: many machines.

mod run;

use crate::cli::FleetCommand;
use crate::exit::Exit;
use anyhow::Result;

pub fn run(command: &FleetCommand) -> Result<Exit> {
    match command {
        FleetCommand::Run(args) => run::run(args),
    }
}
