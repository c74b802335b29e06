//! `punctual compare`: compares recordings with the first one or with a baseline.

use crate::cli::{CompareArgs, CompareLevel};
use crate::commands::files::{title, write_new};
use crate::commands::need::{Stated, Terms};
use crate::commands::source::{newest, result};
use crate::exit::Exit;
use crate::render::{self, compare};
use anyhow::{Result, anyhow};
use punctual_linux::result_file::ResultFile;
use punctual_numbers::compare::{Compared, Comparison, Measured, Options, Refused};
use punctual_numbers::recording::Recording;
use std::path::PathBuf;

mod turns;

/// Reads, compares, prints. Exits with 3 if a comparison is undecided or refused, or if a doubt about a run may explain
/// its result. A worse recording is a failure only with `--fail-on`.
pub fn run(args: &CompareArgs) -> Result<Exit> {
    if !args.turns.interleave.is_empty() || args.turns.resume.is_some() {
        return turns::run(args);
    }
    if !args.a.is_empty() {
        return sides(args, [&args.a, &args.b], false);
    }
    let newest = match args.recordings.len() + usize::from(args.baseline.is_some()) {
        0 => newest(2, &[])?,
        1 => newest(1, &args.recordings)?,
        _ => Vec::new(),
    };
    let paths: Vec<&PathBuf> = args.baseline.iter().chain(&args.recordings).chain(&newest).collect();
    let read = paths.iter().map(|path| result(path, args.import.options())).collect::<Result<Vec<ResultFile>>>()?;
    for path in one_file(&paths) {
        render::say(&format!("note: {} is the first file itself, so nothing can differ", path.display()));
    }
    let typed = Terms { budget: args.budget, ..Terms::default() };
    let budget = Stated::read(&args.need, typed)?.terms.budget;
    let (anyway, as_if_independent) = (args.anyway, args.as_if_independent);
    let options = Options { margin: args.margin, budget, anyway, as_if_independent };
    let named: Vec<(String, Measured<'_>)> =
        paths.iter().zip(&read).map(|(path, file)| (path.display().to_string(), measured(file))).collect();
    let comparison =
        Comparison::of(&named, options).map_err(|refused| anyhow!(render::words::compare::refused(&refused)))?;
    let heading = paths.iter().map(|path| title(path)).collect::<Vec<_>>().join(" / ");
    tell(args, &comparison, &heading)
}

/// Compares two sides of several recordings each. With `in_turn`, the recordings with the same index on both sides come
/// from the same round.
fn sides(args: &CompareArgs, paths: [&[PathBuf]; 2], in_turn: bool) -> Result<Exit> {
    let read = |paths: &[PathBuf]| {
        let one = |path: &PathBuf| match result(path, args.import.options())? {
            ResultFile::Recording(recording) => Ok((path.display().to_string(), recording)),
            ResultFile::Foreign(_) => {
                let refused = Refused::NoTimes(path.display().to_string());
                Err(anyhow!(render::words::compare::refused(&refused)))
            }
        };
        paths.iter().map(one).collect::<Result<Vec<_>>>()
    };
    let [first, second] = paths;
    let (first, second) = (read(first)?, read(second)?);
    let typed = Terms { budget: args.budget, ..Terms::default() };
    let budget = Stated::read(&args.need, typed)?.terms.budget;
    let options = Options { margin: args.margin, budget, anyway: args.anyway, as_if_independent: false };
    let comparison = Comparison::of_sides(&named(&first), &named(&second), in_turn, options)
        .map_err(|refused| anyhow!(render::words::compare::refused(&refused)))?;
    tell(args, &comparison, "A / B")
}

fn named(side: &[(String, Box<Recording>)]) -> Vec<(String, &Recording)> {
    side.iter().map(|(name, recording)| (name.clone(), &**recording)).collect()
}

fn tell(args: &CompareArgs, comparison: &Comparison, heading: &str) -> Result<Exit> {
    if let Some(path) = &args.html {
        let page = compare::html(comparison, heading)?;
        write_new(path, &page)?;
    }
    if let Some(path) = &args.junit {
        let document = compare::junit(comparison, args.fail_on == Some(CompareLevel::Unsure))?;
        write_new(path, &document)?;
    }
    let html = args.html.as_deref();
    render::print(&match (args.json, args.form.brief, args.full) {
        (true, ..) => compare::json(comparison)?,
        (_, true, _) => render::brief::compare(comparison),
        (_, _, true) => render::for_people(|| compare::text(comparison, html, render::style())),
        _ => render::for_people(|| compare::short(comparison, html, render::style())),
    })?;
    Ok(exit_of(comparison, args.fail_on))
}

/// The paths after the first that lead to the same file as the first.
fn one_file<'a>(paths: &[&'a PathBuf]) -> Vec<&'a PathBuf> {
    let Some((first, others)) = paths.split_first() else { return Vec::new() };
    let Ok(first) = first.canonicalize() else { return Vec::new() };
    others.iter().filter(|other| other.canonicalize().is_ok_and(|other| other == first)).copied().collect()
}

fn measured(file: &ResultFile) -> Measured<'_> {
    match file {
        ResultFile::Recording(recording) => Measured::Recording(recording),
        ResultFile::Foreign(run) => Measured::Imported(run),
    }
}

pub fn exit_of(comparison: &Comparison, fail_on: Option<CompareLevel>) -> Exit {
    let any = |wanted: &[Compared]| comparison.others.iter().any(|other| wanted.contains(&other.verdict));
    let worse = any(&[Compared::Worse, Compared::Mixed]);
    let unsure = any(&[Compared::NotEnoughData]);
    let fails = match fail_on {
        Some(CompareLevel::Worse) => worse,
        Some(CompareLevel::Unsure) => worse || unsure,
        None => false,
    };
    let refused = comparison.others.iter().any(|other| other.refused);
    let doubted = comparison.others.iter().any(|other| other.is_doubtful_beside(&comparison.first));
    Exit::exceeded_if(fails).and(Exit::doubtful_if(unsure || refused || doubted))
}
