//! `punctual fleet`: many machines.

mod ask;
mod names;
#[cfg(feature = "parquet")]
mod pack;
mod run;
mod schema;
mod sql;
#[cfg(feature = "parquet")]
mod store;

use crate::cli::FleetCommand;
use crate::exit::Exit;
use anyhow::Result;

pub fn run(command: &FleetCommand) -> Result<Exit> {
    match command {
        FleetCommand::Run(args) => run::run(args),
        #[cfg(feature = "parquet")]
        FleetCommand::Pack(args) => pack::run(args),
        #[cfg(not(feature = "parquet"))]
        FleetCommand::Pack(_) => anyhow::bail!(
            "{}; the tables are Parquet, and fleet ask and trend need no such build",
            crate::commands::left_out("Parquet")
        ),
        FleetCommand::Ask(args) => ask::run(args),
    }
}
