//! `punctual campaign FILE`: carries out a written-down experiment, and shows all its cells on one page.
//!
//! ```text
//! file -> Plan -> Experiment -> (cell after cell, across boots) -> recordings -> result -> text | JSON | page
//! ```
//! `punctual_optimize::experiment` decides which cell comes next. The state is saved after each measurement, so an
//! interruption costs one measurement at most. Settings of a cell are a transaction of the journal with a guard, as in
//! `optimize`, and boots use the same boot entry and unit.

mod boots;
mod cell;
mod file;
mod result;

use super::optimize::kept::Folder;
use super::optimize::told::{between_boots, unattended};
use super::optimize::trip;
use super::optimize::{asked, nothing_else};
use super::preconditions::none_under_way;
use super::session;
use super::tune::is_agreed;
use crate::cli::CampaignArgs;
use crate::commands::files::{unused, write_new};
use crate::exit::Exit;
use crate::render::{self, campaign as shown, units};
use anyhow::{Context, Result, anyhow};
use cell::{Bed, cells};
use file::{Plan, parse};
use punctual_linux::apply::Machine;
use punctual_linux::{interrupt, under_way};
use punctual_optimize::across::Ending;
use punctual_optimize::experiment::{Experiment, Kept, read, write};
use std::fs;
use std::path::{Path, PathBuf};

const STATE: &str = "experiment.json";

pub fn run(args: &CampaignArgs) -> Result<Exit> {
    let Some(path) = &args.resume else { return begin(args) };
    if args.at_boot {
        return unattended(&Machine::here(), path, "campaign", |folder| resume(args, folder));
    }
    resume(args, &Folder::open(path)?)
}

fn resume(args: &CampaignArgs, folder: &Folder) -> Result<Exit> {
    let file = folder.path().join(STATE);
    let text =
        fs::read_to_string(&file).with_context(|| format!("read {}: no campaign was begun here", file.display()))?;
    let mut kept = read(&text).with_context(|| format!("read {}", file.display()))?;
    let plan = parse(&kept.text, Path::new(&kept.file))?;
    if kept.experiment.next().is_none() && kept.across.is_none() {
        return tell(args, folder, &kept, &plan, true);
    }
    if let Some(across) = kept.across.as_mut().filter(|_| !args.at_boot) {
        across.take_up();
    }
    allowed(&plan, Some(folder.path()))?;
    go_on(args, folder, kept, &plan)
}

/// Refuses to go on without the privileges that the campaign takes, or while something else measures or changes this
/// machine.
fn allowed(plan: &Plan, own: Option<&Path>) -> Result<()> {
    if plan.cells.iter().all(|cell| cell.boot.is_empty() && cell.knobs.is_empty()) {
        return none_under_way();
    }
    nothing_else(own)?;
    if plan.cells.iter().any(|cell| !cell.boot.is_empty()) { asked::no_line_waits() } else { Ok(()) }
}

fn begin(args: &CampaignArgs) -> Result<Exit> {
    let path = args.file.as_deref().ok_or_else(|| anyhow!("name a campaign file"))?;
    let text = fs::read_to_string(path).with_context(|| format!("read the campaign file {}", path.display()))?;
    let plan = parse(&text, path)?;
    let bed = Bed::here(&plan, args.shorten)?;
    let experiment = Experiment::new(cells(&plan, &bed), plan.order, plan.seed, plan.repetitions);
    let intended = shown::Intended::of(&plan.title, &bed.lengths(&plan)?, &experiment);
    if args.dry_run {
        render::print(&if args.json { render::document(&intended)? } else { intended.text(render::style()) })?;
        return Ok(Exit::Fine);
    }
    allowed(&plan, None)?;
    let takes_boots = experiment.takes_boots();
    if !args.form.brief && !args.json {
        render::say(intended.text(render::style()).trim_end());
    }
    let changes = takes_boots || plan.cells.iter().any(|cell| !cell.knobs.is_empty());
    if changes && !args.yes && !is_agreed("Carry this out? [y/N] ")? {
        render::say("Nothing was changed.");
        return Ok(Exit::Fine);
    }
    let folder = Folder::make(&folder(args, takes_boots)?)?;
    let kept = Kept {
        file: path.display().to_string(),
        text,
        shorten: args.shorten,
        experiment,
        across: takes_boots.then(trip::begun).transpose()?,
    };
    save(&folder, &kept)?;
    go_on(args, &folder, kept, &plan)
}

/// The campaign's folder. If the campaign takes boots, root resumes it, so no other user may be able to write to it.
fn folder(args: &CampaignArgs, takes_boots: bool) -> Result<PathBuf> {
    let home = if takes_boots { "/var/lib/" } else { "" };
    let stem = || PathBuf::from(format!("{home}punctual-campaign-{}", units::file_stamp()));
    let path = args.out.clone().unwrap_or_else(|| unused(&stem(), ""));
    if takes_boots { asked::folder_across_boots(&path) } else { Ok(path) }
}

fn go_on(args: &CampaignArgs, folder: &Folder, kept: Kept, plan: &Plan) -> Result<Exit> {
    let carried_out = carry_out(args, folder, kept, plan);
    // At boot the error is written to a file, which says by itself how to go on.
    carried_out.map_err(|error| if args.at_boot { error } else { resumable(folder, &error) })
}

/// An error that ends with the command that goes on.
fn resumable(folder: &Folder, error: &anyhow::Error) -> anyhow::Error {
    anyhow!(
        "{}\nWhat was measured is kept. Once this is mended, go on with:\n  {}",
        render::words::told(error),
        command(folder)
    )
}

fn carry_out(args: &CampaignArgs, folder: &Folder, mut kept: Kept, plan: &Plan) -> Result<Exit> {
    let interrupted =
        interrupt::flag().context("signal handlers cannot be installed, and a signal could end this halfway")?;
    let bed = Bed::here(plan, kept.shorten)?;
    for cell in &plan.cells {
        session::check_loads(&bed.scenario(cell)?.load_phases, folder.path())?;
    }
    let note = under_way::say_so(folder.path());
    if let Err(error) = &note {
        render::say(&format!("Other measurements on this machine are not warned of this campaign: {error}"));
    }
    if kept.across.is_some() {
        let ending = boots::drive(args, folder, &mut kept, plan, &bed, &interrupted)?;
        drop(note);
        return told_of_boots(args, folder, &kept, plan, &ending);
    }
    while let Some((place, repetition)) = kept.experiment.next() {
        if !args.json && !args.form.brief {
            render::say(&shown::step(&kept.experiment, place, repetition));
        }
        let cell = &plan.cells[place];
        let path = recording(folder, &cell.name, repetition);
        let Some(outcome) = bed.measured(cell, &path, folder.path(), &interrupted)? else {
            render::say(&format!("Interrupted; to continue: {}", command(folder)));
            return Ok(Exit::Doubtful);
        };
        punctual_optimize::across::Course::take(&mut kept.experiment, &[place], outcome);
        save(folder, &kept)?;
    }
    drop(note);
    tell(args, folder, &kept, plan, true)
}

/// The path of a recording. A recording that an interruption cut off is removed.
fn recording(folder: &Folder, cell: &str, repetition: u32) -> PathBuf {
    let path = recording_of(folder.path(), cell, repetition);
    let _ = fs::remove_file(&path);
    path
}

fn recording_of(folder: &Path, cell: &str, repetition: u32) -> PathBuf {
    folder.join(format!("{cell}-{:04}.punctual", repetition + 1))
}

fn save(folder: &Folder, kept: &Kept) -> Result<()> {
    let text = write(kept).context("a campaign cannot be written as JSON")?;
    folder.write_result(STATE, &text)
}

fn command(folder: &Folder) -> String {
    format!("punctual campaign --resume {}", folder.display())
}

fn told_of_boots(args: &CampaignArgs, folder: &Folder, kept: &Kept, plan: &Plan, ending: &Ending) -> Result<Exit> {
    if let Some(exit) = between_boots(ending, args.at_boot, &command(folder))? {
        return Ok(exit);
    }
    if let Ending::Ended { is_home } = ending {
        return tell(args, folder, kept, plan, *is_home);
    }
    render::say(&format!("Interrupted, and its boot entry put back; to continue: {}", command(folder)));
    Ok(Exit::Doubtful)
}

/// Shows the result, and writes it to the campaign's folder in each form, because no user may be present.
fn tell(args: &CampaignArgs, folder: &Folder, kept: &Kept, plan: &Plan, is_home: bool) -> Result<Exit> {
    let result = result::of(folder.path(), kept, plan, is_home)?;
    let page = shown::html(&result)?;
    folder.write_result("result.html", &page)?;
    folder.write_result("result.json", &render::document(&result)?)?;
    folder.write_result("result.txt", &shown::text(&result, render::sheet::Style::default()))?;
    if let Some(path) = &args.html {
        write_new(path, &page)?;
    }
    render::print(&match (args.json, args.form.brief) {
        (true, _) => render::document(&result)?,
        (_, true) => shown::brief(&result),
        _ => shown::text(&result, render::style()),
    })?;
    let is_doubtful = result.gave_up.is_some() || result.cells.iter().any(|cell| cell.refused.is_some());
    Ok(Exit::doubtful_if(is_doubtful))
}
