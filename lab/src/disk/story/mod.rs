//! The stories, each a list of claims and a run that can refute them.

mod falls_back;
mod tuned;
mod untouched;

use super::bench;
use super::ledger::{Claim, Ledger};
use super::recipe;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What a story needs.
#[derive(Clone, Debug)]
pub struct Given {
    /// Where the lab keeps its files.
    pub cache: PathBuf,
    /// The disk, not to be written to.
    pub image: PathBuf,
    /// The program, built for any Linux of this architecture.
    pub program: PathBuf,
}

/// One story.
struct Story {
    name: &'static str,
    claims: &'static [Claim],
    tell: fn(&Given, &mut Ledger) -> Result<()>,
}

const STORIES: [Story; 4] = [
    Story { name: "untouched", claims: untouched::CLAIMS, tell: untouched::tell },
    Story { name: "falls-back", claims: falls_back::CLAIMS, tell: falls_back::tell },
    Story { name: "tuned", claims: tuned::CLAIMS, tell: tuned::tell },
    Story { name: "tuned-badly", claims: tuned::BAD_CLAIMS, tell: tuned::tell_badly },
];

/// Every claim of every story.
pub fn claims() -> impl Iterator<Item = Claim> {
    STORIES.iter().flat_map(|story| story.claims.iter().copied())
}

/// Tells the stories named, or all, with this program.
pub fn run(program: &Path, named: &[&str]) -> Result<()> {
    for name in named {
        ensure!(STORIES.iter().any(|story| story.name == *name), "there is no story `{name}`");
    }
    recipe::install_on_host()?;
    let cache = bench::cache()?;
    let image = bench::image(&cache)?;
    let program = program.canonicalize().with_context(|| format!("find {}", program.display()))?;
    let given = Given { cache, image, program };
    let mut lost = Vec::new();
    for story in STORIES.iter().filter(|story| named.is_empty() || named.contains(&story.name)) {
        println!("story {}", story.name);
        let started = Instant::now();
        let mut ledger = Ledger::new(story.claims);
        let told = (story.tell)(&given, &mut ledger);
        let took = started.elapsed().as_secs();
        match ledger.close(told) {
            Ok(count) => println!("story {}: all {count} claims held, {took} s", story.name),
            Err(error) => {
                println!("story {}: {error:#}, {took} s", story.name);
                lost.push(story.name);
            }
        }
    }
    if !lost.is_empty() {
        bail!("stories that failed: {}", lost.join(", "));
    }
    Ok(())
}

/// Says how long a step took.
fn took(what: &str, start: &super::machine::Start) {
    println!("  {what}: {:.0} s", start.took.as_secs_f64());
}
