//! `punctual share`: one result as a file that may be shown to anybody.
//!
//! Result -> entry, snapshot -> masked together -> listed -> (asked) written. Nothing is sent anywhere.

use super::files::{read_at_most, write_new};
use super::source::{Source, named_or_newest, one_result};
use super::tune::is_agreed;
use crate::cli::ShareArgs;
use crate::exit::Exit;
use crate::render::share::{Checked, Shared};
use crate::render::{self, units, words};
use anyhow::{Context, Result, bail};
use punctual_facts::fact::Fact;
use punctual_facts::machine::MachineLine;
use punctual_facts::tree::{MemTree, Tree, masked};
use punctual_linux::result_file::ResultFile;
use punctual_numbers::atlas::{Entry, SCHEMA, Told};
use punctual_numbers::fleet::of_recording;
use punctual_numbers::recording::Recording;
use punctual_numbers::report::Report;
use punctual_tuning::capture::capture;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Where the entry stands in the captured machine while both are masked, so that a name that the machine gives away is
/// masked in the entry as well.
const ENTRY: &str = "/punctual-entry";
/// Largest file that is checked, in bytes.
const MOST_BYTES: u64 = 64 << 20;
/// Facts by which a recording is known to be of this machine.
const SAME: [&str; 2] = ["model", "kernel"];

pub fn run(args: &ShareArgs) -> Result<Exit> {
    if !args.check.is_empty() {
        return check(args);
    }
    let path = named_or_newest(args.result.as_ref())?;
    let (entry, lines) = entry(args, &path)?;
    let machine = machine(args, &lines)?;
    let (entry, snapshot) = masked_together(&entry, machine.as_ref())?;
    let entry = Entry { snapshot, ..entry };
    let complaints = entry.complaints();
    if !complaints.is_empty() {
        let told: Vec<String> = complaints.iter().map(render::share::complaint).collect();
        bail!("this cannot be shared yet: {}", told.join("; "));
    }
    let document = render::document(&Shared(&entry))?;
    if args.dry_run {
        render::print(&document)?;
        return Ok(Exit::Fine);
    }
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("share-{}.json", units::file_stamp())));
    if !args.form.quiet {
        let list = render::for_people(|| render::share::contents(&entry, document.len(), &out, render::style()));
        render::print(&list)?;
    }
    if !args.yes && !is_agreed("Write this file? [y/N] ")? {
        bail!("nothing was written");
    }
    write_new(&out, document)?;
    Ok(Exit::Fine)
}

/// The entry of a result, and what the result says of its machine.
fn entry(args: &ShareArgs, path: &Path) -> Result<(Entry, Vec<MachineLine>)> {
    let told = Told {
        title: args.title.clone(),
        load: args.load.clone(),
        published: args.published.clone(),
        day: args.day.clone(),
        machine: args.fact.iter().map(|(name, value)| (name.as_str(), value.as_str()).into()).collect(),
        doubts: args.doubt.clone(),
    };
    match one_result(path, args.import)? {
        ResultFile::Recording(recording) => {
            if args.load.is_some() {
                bail!("a recording names its loads itself: leave out --load");
            }
            let day = told.day.clone().or_else(|| Some(units::day(recording.header.started_unix_ns)));
            let lines = recording.header.machine.clone();
            Ok((of_run(&recording, Told { day, ..told }), lines))
        }
        ResultFile::Foreign(run) => Ok((Entry::of_foreign(&run, told), Vec::new())),
    }
}

fn of_run(recording: &Recording, told: Told) -> Entry {
    let report = Report::of(recording);
    let doubts = report.trust.reasons.iter().map(words::distrust).collect();
    Entry::of_recording(&of_recording(recording, String::new(), 0), &recording.header.machine, doubts, told)
}

/// The machine whose snapshot is shared: the one that was named, or this one if the result is of it.
fn machine(args: &ShareArgs, lines: &[MachineLine]) -> Result<Option<MemTree>> {
    if args.no_snapshot {
        return Ok(None);
    }
    if let Some(file) = &args.machine {
        return Ok(Some(capture(Source::captured_in(file)?.tree())));
    }
    let here = Source::here();
    let facts = here.machine.fingerprint();
    let is_here = SAME.iter().all(|name| {
        let (there, here) = (MachineLine::of(lines, name), MachineLine::of(&facts, name));
        there.is_some() && there == here
    });
    if !is_here && !args.form.quiet {
        render::say(
            "note: it is not known whether the result is from this machine, so no snapshot is shared; name one with \
            --machine FILE",
        );
    }
    Ok(is_here.then(|| capture(here.tree())))
}

/// The entry and the snapshot, masked by what the machine gives away.
fn masked_together(entry: &Entry, machine: Option<&MemTree>) -> Result<(Entry, Option<String>)> {
    let mut tree = machine.cloned().unwrap_or_default();
    tree.file(ENTRY, Fact::Known(serde_json::to_vec(entry)?));
    let safe = masked(&tree);
    let Fact::Known(bytes) = safe.read(ENTRY) else { bail!("the entry was lost while it was masked") };
    let entry = serde_json::from_slice(&bytes).context("a part of the entry that is no text was masked")?;
    let snapshot = machine.map(|machine| render::snapshot(&masked(machine), false));
    Ok((entry, snapshot))
}

fn check(args: &ShareArgs) -> Result<Exit> {
    let checked: Vec<Checked> = args.check.iter().map(|path| Checked { path, result: checked(path) }).collect();
    if !args.form.quiet {
        render::print(&render::for_people(|| render::share::checked(&checked, render::style())))?;
    }
    Ok(Exit::exceeded_if(!checked.iter().all(Checked::is_sound)))
}

/// What is wrong with an entry of somebody, as sentences.
fn checked(path: &Path) -> Result<Vec<String>> {
    let bytes = read_at_most(path, MOST_BYTES, "entry")?;
    let mut value: Value = serde_json::from_slice(&bytes).context("it is no JSON")?;
    let head = value.as_object_mut().context("it is no object")?;
    if head.remove("schema").as_ref().and_then(Value::as_str) != Some(SCHEMA) {
        bail!("its schema is not {SCHEMA}");
    }
    head.remove("tool_version");
    let entry: Entry = serde_json::from_value(value)?;
    let mut told: Vec<String> = entry.complaints().iter().map(render::share::complaint).collect();
    let (safe, _) = masked_together(&entry, None)?;
    if safe != entry {
        told.push(render::share::private());
    }
    if let Some(snapshot) = &entry.snapshot {
        let tree = MemTree::parse(snapshot).context("its snapshot")?;
        if masked(&tree) != tree {
            told.push(render::share::private_snapshot());
        }
    }
    Ok(told)
}
