//! Each fixture holds windows of one kind as text; the file beside it has their explanation. `BLESS=1` writes the
//! explanations.

use super::text::{Given, read};
use crate::explain::account::account;
use crate::explain::ordinary::learn;
use crate::explain::{Blame, Cause, Class, Part, cause};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../fixtures/explain"].iter().collect()
}

fn fixtures() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "txt") && !path.to_string_lossy().ends_with(".out.txt"));
    files.sort();
    files
}

fn shown(cause: &Cause) -> String {
    if cause.name.is_empty() { format!("{:?}", cause.class) } else { format!("{:?} `{}`", cause.class, cause.name) }
}

fn us(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

fn explained(given: &Given, classes: &mut BTreeSet<Class>) -> String {
    let window = &given.window;
    let (rules, ordinary) = learn(&[], given.rules.clone());
    let spike = cause::spike(window, account(window, &rules), &ordinary);
    let mut text = format!("late {}", us(spike.latency().as_ns()));
    if let Some(why) = spike.incomplete {
        write!(text, ", incomplete: {why:?}").unwrap();
    }
    text.push('\n');
    for Part { stage, cause, from, length, certain } in &spike.parts {
        let at = us(from.since(window.release).as_ns());
        let doubt = if *certain { "" } else { " (?)" };
        writeln!(text, "  {at:>9} {:>9}  {stage:?}: {}{doubt}", us(length.as_ns()), shown(cause)).unwrap();
    }
    for Blame { cause, time, why, .. } in &spike.causes {
        classes.insert(cause.class);
        writeln!(text, "  = {:>9}  {}  {why:?}", us(time.as_ns()), shown(cause)).unwrap();
    }
    text
}

#[test]
fn each_kind_is_explained_as_blessed() {
    let mut classes = BTreeSet::new();
    for path in fixtures() {
        let given = read(&std::fs::read_to_string(&path).unwrap());
        let current: String = given.iter().map(|given| explained(given, &mut classes)).collect();
        fixtures::check(&path.with_extension("out.txt"), &current);
    }
    let missing: Vec<_> = Class::ALL.iter().filter(|class| !classes.contains(class)).collect();
    assert!(missing.is_empty(), "no fixture shows {missing:?}");
}
