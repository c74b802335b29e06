//! The stories. Each story consists of a list of claims, and a run that can refute them.

mod boots;
mod campaign;
mod falls_back;
mod tuned;
mod untouched;
mod written;

use super::bench;
use super::ledger::{Claim, Ledger};
use super::recipe;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The input of a story.
#[derive(Clone, Debug)]
pub struct Given {
    /// The folder in which the lab keeps its files.
    pub cache: PathBuf,
    /// The cached disk, to which nothing may write.
    pub image: PathBuf,
    /// The program, built so that it runs on any Linux of this architecture.
    pub program: PathBuf,
}

struct Story {
    name: &'static str,
    claims: &'static [Claim],
    tell: fn(&Given, &mut Ledger) -> Result<()>,
}

const STORIES: [Story; 7] = [
    Story { name: "untouched", claims: untouched::CLAIMS, tell: untouched::tell },
    Story { name: "falls-back", claims: falls_back::CLAIMS, tell: falls_back::tell },
    Story { name: "tuned", claims: tuned::CLAIMS, tell: tuned::tell },
    Story { name: "tuned-badly", claims: tuned::BAD_CLAIMS, tell: tuned::tell_badly },
    Story { name: "campaign", claims: campaign::CLAIMS, tell: campaign::tell },
    Story { name: "written", claims: written::CLAIMS, tell: written::tell },
    Story { name: "written-badly", claims: written::BAD_CLAIMS, tell: written::tell_badly },
];

/// Whether there is a story with this name.
pub fn is_story(name: &str) -> bool {
    STORIES.iter().any(|story| story.name == name)
}

/// The stories by name, with their claims.
pub fn all() -> impl Iterator<Item = (&'static str, &'static [Claim])> {
    STORIES.iter().map(|story| (story.name, story.claims))
}

/// Runs the named stories, or all of them if none is named. Returns each claim, and whether it held.
pub fn run(program: &Path, named: &[&str], cache: &Path) -> Result<Vec<(&'static str, bool)>> {
    recipe::install_on_host()?;
    let cache = cache.to_owned();
    let image = bench::image(&cache)?;
    let program = program.canonicalize().with_context(|| format!("find {}", program.display()))?;
    let given = Given { cache, image, program };
    let mut verdicts = Vec::new();
    for story in STORIES.iter().filter(|story| named.is_empty() || named.contains(&story.name)) {
        println!("story {}", story.name);
        let started = Instant::now();
        let mut ledger = Ledger::new(story.claims);
        let told = (story.tell)(&given, &mut ledger);
        let took = started.elapsed().as_secs();
        verdicts.extend(ledger.verdicts());
        match ledger.close(told) {
            Ok(count) => println!("story {}: all {count} claims held, {took} s", story.name),
            Err(error) => println!("story {}: {error:#}, {took} s", story.name),
        }
    }
    Ok(verdicts)
}

/// Prints how long a start took.
fn took(what: &str, start: &super::machine::Start) {
    println!("  {what}: {:.0} s", start.took.as_secs_f64());
}
