//! `punctual optimize`: tries settings of knobs, measures each of them, and shows which ones help.
//!
//! ```text
//! words -> asked -> candidates -> Design -> rounds | across (set -> measured -> put back ...) -> Standing -> told
//! ```
//! `punctual_optimize` decides what to do next; this module does it. Each setting is a transaction of the journal with
//! a guard, as `tune --for` makes them, so that it is put back however the process ends. The campaign's file (`kept`)
//! holds what was measured. Campaigns across boots are in `across`.

mod across;
pub mod asked;
pub mod bench;
pub mod candidates;
pub mod kept;
pub mod ours;
mod rounds;
#[cfg(test)]
pub mod simulated;
pub mod time;
pub mod told;
pub mod trip;

use super::preconditions::{allowed_to_change, no_campaign_but, none_measures, nothing_waits, put_back_abandoned};
use super::session;
use super::tune::is_agreed;
use crate::cli::{Cli, Command, NeedArgs, OptimizeArgs};
use crate::commands::need::{Stated, Terms};
use crate::exit::Exit;
use crate::render::{self, optimize as shown};
use anyhow::{Context, Result, bail};
use bench::Bench;
use candidates::{Selection, find};
use clap::Parser;
use kept::Folder;
use punctual_hist::Nanos;
use punctual_linux::apply::Machine;
use punctual_linux::{interrupt, under_way};
use punctual_numbers::scenario::Scenario;
use punctual_optimize::Campaign;
use punctual_optimize::format::{Doubts, Kept};
use std::path::Path;

pub fn run(args: &OptimizeArgs) -> Result<Exit> {
    let Some(path) = &args.resume else { return begin(args) };
    if args.at_boot {
        return told::unattended(&Machine::here(), path, "optimize", |folder| resume(args, folder));
    }
    resume(args, &Folder::open(path)?)
}

fn resume(args: &OptimizeArgs, folder: &Folder) -> Result<Exit> {
    let mut kept = folder.kept()?;
    let words = std::iter::once("punctual".to_owned()).chain(in_words_of_today(kept.arguments.clone()));
    let Ok(Cli { command: Command::Optimize(begun), .. }) = Cli::try_parse_from(words) else {
        bail!(
            "{}: this version does not understand the options of this campaign, which another version began",
            folder.display()
        );
    };
    let ways =
        OptimizeArgs { json: args.json, html: args.html.clone(), form: args.form, at_boot: args.at_boot, ..*begun };
    nothing_else(Some(folder.path()))?;
    if kept.across.is_some() {
        asked::no_line_waits()?;
    }
    let mut found = find(&ways)?;
    if let Some(across) = &mut kept.across {
        // A change that is in force only because of the campaign's boot entry is still a candidate.
        found.not_tried.retain(|not| kept.campaign.design.candidates.iter().all(|tried| tried.id != not.id));
        if !args.at_boot {
            across.take_up();
        }
    }
    let scenario = asked::scenario(&ways, &found)?;
    go_on(&ways, folder, kept, &found, scenario)
}

/// Refuses to go on while another process or campaign changes or measures this machine. `own` is the folder of the
/// campaign to run, which is no obstacle.
pub fn nothing_else(own: Option<&Path>) -> Result<()> {
    allowed_to_change()?;
    none_measures()?;
    for sentence in put_back_abandoned()? {
        render::say(&sentence.text);
    }
    nothing_waits()?;
    no_campaign_but(&Machine::here(), own)
}

/// The options, completed by the values of a project file or preset.
fn filled(args: &OptimizeArgs) -> Result<OptimizeArgs> {
    let args = args.clone();
    let typed = Terms {
        period: args.period,
        budget: args.budget,
        cpus: args.cpus.clone(),
        priority: args.priority,
        load: args.load.clone(),
        duration: None,
    };
    let Stated { kind, terms: Terms { period, budget, cpus, priority, load, .. }, .. } =
        Stated::read(&args.need, typed)?;
    let need = NeedArgs { profile: Some(kind.name().to_owned()), config: None };
    Ok(OptimizeArgs { cpus, load, period, budget, priority, need, ..args })
}

/// Translates the arguments of a campaign that an older program began: its `--budget` meant `--time`, and its `--late`
/// meant `--budget`. Newer campaigns always have `--time`.
fn in_words_of_today(words: Vec<String>) -> Vec<String> {
    let is = |word: &str, option: &str| word == option || word.starts_with(&format!("{option}="));
    if words.iter().any(|word| is(word, "--time")) {
        return words;
    }
    let renamed = |word: String| match word {
        word if is(&word, "--budget") => word.replacen("--budget", "--time", 1),
        word if is(&word, "--late") => word.replacen("--late", "--budget", 1),
        word => word,
    };
    words.into_iter().map(renamed).collect()
}

fn begin(args: &OptimizeArgs) -> Result<Exit> {
    let args = &filled(args)?;
    if !args.dry_run {
        nothing_else(None)?;
        if args.boots {
            asked::no_line_waits()?;
            asked::is_found_after_a_boot(args)?;
        }
    }
    let found = find(args)?;
    if found.candidates.is_empty() {
        bail!("nothing to try here: {}", shown::not_tried(&found.not_tried));
    }
    if args.boots && found.candidates.iter().all(|trial| trial.candidate.boot.is_empty()) {
        bail!("nothing that is named takes a boot, so it is tried without --boots");
    }
    let design = asked::design(args, &found)?;
    // What cannot be measured is refused before anything is printed.
    let scenario = asked::scenario(args, &found)?;
    let each = time::each(args);
    let intended =
        render::for_people(|| shown::intended(&design, &found.not_tried, &found.limits, each, render::style()));
    if args.dry_run {
        render::print(&if args.json { told::intended(args, &Campaign::new(design), &found)? } else { intended })?;
        return Ok(Exit::Fine);
    }
    render::say(intended.trim_end());
    if !args.yes && !is_agreed("Try these? [y/N] ")? {
        render::say("Nothing was changed.");
        return Ok(Exit::Fine);
    }
    let folder = asked::folder(args)?;
    let kept = Kept {
        arguments: asked::arguments(args, &found)?,
        spent: Nanos::ZERO,
        last: None,
        campaign: Campaign::new(design),
        across: args.boots.then(trip::begun).transpose()?,
        doubts: Doubts::default(),
    };
    let folder = Folder::create(&folder, &kept)?;
    go_on(args, &folder, kept, &found, scenario)
}

fn go_on(args: &OptimizeArgs, folder: &Folder, mut kept: Kept, found: &Selection, scenario: Scenario) -> Result<Exit> {
    let interrupted =
        interrupt::flag().context("signal handlers cannot be installed, and a signal could end this halfway")?;
    let load_dir = args.load_dir.clone().unwrap_or_else(|| folder.path().to_path_buf());
    session::check_loads(&scenario.load_phases, &load_dir)?;
    let note = under_way::say_so(folder.path());
    if let Err(error) = &note {
        render::say(&format!("Other measurements on this machine are not warned of this campaign: {error}"));
    }
    let mut bench = Bench::new(args, found, &kept, scenario, load_dir, &interrupted)?;
    if kept.across.is_some() {
        let ending = across::drive(args, folder, &mut kept, &mut bench, &interrupted);
        let ending = ending.with_context(|| told::goes_on(folder))?;
        return told::tell_of_boots(args, folder, &kept, found, &ending);
    }
    let is_ended = rounds::drive(args, folder, &mut kept, &mut bench, &interrupted)?;
    told::tell(args, folder, &kept, found, &told::Stand { stopped: !is_ended, is_home: true })
}

#[cfg(test)]
mod tests;
