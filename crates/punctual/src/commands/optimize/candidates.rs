//! The candidates that can be tried on this machine: knobs of the plan, and programs of the user.

use crate::cli::OptimizeArgs;
use crate::commands::source::{Source, knob};
use crate::commands::tune::{is_roots_alone, planned};
use crate::render::optimize::NotTried;
use crate::render::tune::why;
use anyhow::{Result, anyhow, bail};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::profile::Need;
use punctual_optimize::{Candidate, Tried};
use punctual_tuning::knobs::Blast;
use punctual_tuning::plan::lasting::Starts;
use punctual_tuning::plan::remedies::Preferences;
use punctual_tuning::plan::{
    self, BootChange, Change, DEFAULT, ENTRY, FILES, Invocation, Keep, Lasts, Plan, Reason, Step, Takes, Wishes,
};
use std::path::{Path, PathBuf};

pub struct Selection {
    /// The candidates, in the order in which they are best applied.
    pub candidates: Vec<Prepared>,
    pub not_tried: Vec<NotTried>,
    /// Sentences that the user should read before boots with another command line.
    pub limits: Vec<String>,
    /// The CPUs of the real-time work.
    pub cpus: CpuSet,
}

#[derive(Clone)]
pub struct Prepared {
    pub candidate: Candidate,
    pub change: Change,
    /// While the candidate is set, the CPUs' idle states are limited to this wake-up time, in microseconds; `None` for
    /// no limit.
    pub hold_us: Option<u32>,
}

pub fn find(args: &OptimizeArgs) -> Result<Selection> {
    let (mut scripts, mut ids): (Vec<&str>, Vec<&String>) = (Vec::new(), Vec::new());
    for word in &args.knobs {
        match Tried::parse(word) {
            Tried::Script(path) => scripts.push(path),
            Tried::Knob(_) => ids.push(word),
        }
    }
    for id in &ids {
        knob(id)?;
    }
    let source = Source::here();
    let wishes = wishes(args, &ids);
    let plan = planned(&source, &wishes)?;
    let all = planned(&source, &Wishes { lasting: true, ..wishes })?;
    let mut found =
        Selection { candidates: Vec::new(), not_tried: Vec::new(), limits: Vec::new(), cpus: plan.choice.cpus.clone() };
    if scripts.is_empty() || !ids.is_empty() {
        found.take(&plan, &all, &ids, args.boots.then_some(&source));
    }
    for path in scripts {
        let trial = script(Path::new(path))?;
        if !found.is_told(&trial.candidate.id) {
            found.candidates.push(trial);
        }
    }
    Ok(found)
}

impl Selection {
    /// Sorts the plan's changes into candidates and changes that are not tried. With `boots`, changes that take effect
    /// at a boot are candidates.
    fn take(&mut self, plan: &Plan, all: &Plan, ids: &[&String], boots: Option<&Source>) {
        // In a campaign across boots each measurement takes a boot, so changes that need no boot are tried only if the
        // user names them.
        let is_tried = |change: &&Change| change.takes == Takes::Now && (boots.is_none() || !ids.is_empty());
        self.candidates = plan.changes.iter().filter(is_tried).cloned().map(Prepared::of_knob).collect();
        // Changes that are made only by name are not listed as "not tried" if the user gave no names.
        let is_told = |reason: &Reason| !matches!(reason, Reason::Excepted | Reason::Unasked(_));
        let left = plan.left.iter().filter(|left| is_told(&left.reason));
        self.not_tried = left.map(|left| NotTried { id: left.id.clone(), why: why(&left.reason) }).collect();
        let ours = |id: &str| [FILES, ENTRY, DEFAULT].contains(&id);
        for change in all.changes.iter().filter(|change| !ours(&change.id)) {
            // With `--boots`, a change that needs no boot is left out without a message unless the user names it.
            if self.is_told(&change.id) || (boots.is_some() && change.takes == Takes::Now) {
                continue;
            }
            let limits = match boots {
                Some(source) => limits(source, &change.keeps),
                None => Err("it takes a boot: `optimize --boots` tries it".to_owned()),
            };
            match limits {
                Err(why) => self.not_tried.push(NotTried { id: change.id.clone(), why }),
                Ok(limits) => {
                    self.candidates.push(Prepared::of_boot(change));
                    let known = std::mem::take(&mut self.limits);
                    let new: Vec<String> = limits.into_iter().filter(|limit| !known.contains(limit)).collect();
                    self.limits = known.into_iter().chain(new).collect();
                }
            }
        }
        for left in all.left.iter().filter(|left| is_told(&left.reason)) {
            if !self.is_told(&left.id) {
                self.not_tried.push(NotTried { id: left.id.clone(), why: why(&left.reason) });
            }
        }
        for id in ids {
            if !self.is_told(id) {
                let why = "there is nothing to change about it here".to_owned();
                self.not_tried.push(NotTried { id: (*id).clone(), why });
            }
        }
    }

    fn is_told(&self, id: &str) -> bool {
        let tried = self.candidates.iter().any(|trial| trial.candidate.id == id);
        tried || self.not_tried.iter().any(|not| not.id == id)
    }
}

impl Prepared {
    fn of_knob(change: Change) -> Self {
        let held = |keep: &Keep| match keep {
            Keep::Hold(us) => Some(*us),
            _ => None,
        };
        Self {
            hold_us: change.keeps.iter().find_map(held),
            candidate: candidate(&change, Vec::new()),
            change: Change { keeps: Vec::new(), ..change },
        }
    }

    /// A candidate that takes effect at a boot: it has no steps for the running machine.
    fn of_boot(change: &Change) -> Self {
        let bare = Change { keeps: Vec::new(), steps: Vec::new(), ..change.clone() };
        Self { candidate: candidate(change, change.keeps.clone()), change: bare, hold_us: None }
    }
}

/// Sentences about a boot with these words, or the reason why they cannot be tried here.
fn limits(source: &Source, keeps: &[Keep]) -> Result<Vec<String>, String> {
    if !keeps.iter().all(|keep| matches!(keep, Keep::Word(_) | Keep::NoWord(_))) {
        let why = "what it keeps is read by every boot, so that after one that fails there would be no old one";
        return Err(format!("{why}; measure before and after with `punctual compare`"));
    }
    match plan::trial(source.tree(), &source.machine, keeps) {
        Ok(BootChange { change: Some(_), starts: Starts::NextBoot | Starts::Reboot(_), limits }) => Ok(limits),
        Ok(BootChange { change: Some(_), starts: Starts::Menu(_), .. }) => {
            Err("this boot loader tries an entry only by hand, from its menu".to_owned())
        }
        Ok(_) => Err("the boot entry has its words already, and this boot was not given them".to_owned()),
        Err(why) => Err(why.to_string()),
    }
}

fn candidate(change: &Change, boot: Vec<Keep>) -> Candidate {
    Candidate { id: change.id.clone(), title: change.title.clone(), cost: change.cost.clone(), boot }
}

fn wishes(args: &OptimizeArgs, ids: &[&String]) -> Wishes {
    Wishes {
        need: Need {
            kind: args.kind(),
            period: Some(args.period()),
            budget: args.budget,
            cpus: args.cpus.clone().unwrap_or_default(),
            weighs_more: &[],
        },
        only: ids.iter().map(|id| (*id).clone()).collect(),
        except: Vec::new(),
        blast: args.blast,
        preferences: Preferences { priority: Some(u32::from(args.priority())), ..Preferences::default() },
        lasting: false,
        holds: true,
        standing: Vec::new(),
        exe: Err("nothing is to last".to_owned()),
    }
}

/// A candidate that is a program of the user. Root runs it, also to put things back, so no other user may be able to
/// change it.
fn script(path: &Path) -> Result<Prepared> {
    let path: PathBuf = match path.canonicalize() {
        Ok(path) if path.is_file() => path,
        Ok(path) => bail!("{}: not a program", path.display()),
        Err(error) => bail!("{}: {error}; name a program with its whole path", path.display()),
    };
    is_roots_alone(&path).map_err(|why| anyhow!("{why}: the superuser runs it, also to put things back"))?;
    let Some(text) = path.to_str() else { bail!("{}: its path is not text", path.display()) };
    let name = path.file_stem().map_or_else(|| text.to_owned(), |stem| stem.to_string_lossy().into_owned());
    let id = Tried::Script(text).id();
    let call = |word: &str| Some(Invocation::new("env", [text, word]));
    let change = Change {
        id: id.clone(),
        title: name.clone(),
        before: "as it was".to_owned(),
        after: format!("{text} on"),
        why: "asked for".to_owned(),
        cost: "not known to punctual".to_owned(),
        risk: "not known to punctual".to_owned(),
        blast: Blast::Harmless,
        lasts: Lasts::Reboot,
        takes: Takes::Now,
        undo: format!("{text} off"),
        proof: "it ends with success".to_owned(),
        steps: vec![Step::Run { doing: call("on"), undoing: call("off") }],
        keeps: Vec::new(),
        also: Vec::new(),
        is_apart: false,
    };
    Ok(Prepared { candidate: candidate(&change, Vec::new()), change, hold_us: None })
}
