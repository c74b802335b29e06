//! `punctual revert`: restores the exact values from before `tune`.

use super::preconditions::allowed_to_change;
use crate::cli::RevertArgs;
use crate::exit::Exit;
use crate::render;
use anyhow::Result;
use punctual_linux::apply::{Extent, Machine, revert};
use punctual_linux::trace;

pub fn run(args: &RevertArgs) -> Result<Exit> {
    allowed_to_change()?;
    let extent = args.to.map_or(Extent::All, Extent::DownTo);
    let reverted = revert(&Machine::here(), extent, args.leave_conflicts)?;
    let swept = trace::sweep();
    let text = if args.json {
        render::document(&reverted)?
    } else if args.form.brief {
        render::brief::reverted(&reverted)
    } else {
        let ended = swept.iter().map(|name| format!("Ended what a killed measurement left recording: {name}.\n"));
        render::for_people(|| render::tune::reverted(&reverted, render::style())) + &ended.collect::<String>()
    };
    render::print(&text)?;
    let is_whole = reverted.trouble.is_empty() && reverted.damage.is_empty() && reverted.unwritten.is_none();
    Ok(Exit::doubtful_if(!is_whole))
}
