//! What a file to be shared holds, and what is wrong with files of others.

use super::document::Published;
use super::lang::tr;
use super::sheet::{Sheet, Style, Tone};
use super::units::{count, counted};
use anyhow::Result;
use punctual_numbers::atlas::{Complaint, Entry, SCHEMA};
use serde::Serialize;
use std::path::Path;

/// Width of the labels.
const LABEL: usize = 10;

/// The file that `punctual share` writes.
#[derive(Serialize)]
#[serde(transparent)]
pub struct Shared<'a>(pub &'a Entry);

#[cfg(test)]
impl schemars::JsonSchema for Shared<'_> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Entry::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Entry::json_schema(generator)
    }
}

impl Published for Shared<'_> {
    const SCHEMA: &'static str = SCHEMA;
}

/// A file of somebody, and what is wrong with it.
pub struct Checked<'a> {
    pub path: &'a Path,
    pub result: Result<Vec<String>>,
}

impl Checked<'_> {
    pub fn is_sound(&self) -> bool {
        self.result.as_ref().is_ok_and(Vec::is_empty)
    }
}

/// What the file will hold, before it is written.
pub fn contents(entry: &Entry, bytes: usize, out: &Path, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    let kilobytes = count(bytes.div_ceil(1000) as u64);
    sheet.heading(&tr!("{file} will hold, in {kilobytes} kB:", file = out.display(), kilobytes));
    let ran = entry.results.iter().fold(0u64, |sum, result| sum.saturating_add(result.ran));
    sheet.entry(2, LABEL, tr!("title"), &entry.title);
    sheet.entry(2, LABEL, tr!("machine"), &entry.machine.keys().cloned().collect::<Vec<_>>().join(", "));
    sheet.entry(
        2,
        LABEL,
        tr!("results"),
        &tr!(
            "{activations} in {rows}, each with its histogram",
            activations = counted(ran, "activation"),
            rows = counted(entry.results.len() as u64, "row")
        ),
    );
    if !entry.findings.is_empty() {
        let findings = counted(entry.findings.len() as u64, "finding");
        sheet.entry(2, LABEL, tr!("audit"), &tr!("ids and states of {findings}", findings));
    }
    if !entry.causes.is_empty() {
        sheet.entry(2, LABEL, tr!("causes"), &counted(entry.causes.len() as u64, "cause"));
    }
    for doubt in &entry.doubts {
        sheet.entry(2, LABEL, tr!("doubt"), doubt);
    }
    let snapshot = entry.snapshot.as_ref().map_or_else(
        || tr!("none").to_owned(),
        |text| {
            tr!("what the audit reads of the machine, {lines}", lines = counted(text.lines().count() as u64, "line"))
        },
    );
    sheet.entry(2, LABEL, tr!("snapshot"), &snapshot);
    sheet.gap();
    sheet.paragraph(
        0,
        tr!(
            "Host and user names, addresses, serial numbers and keys are masked. Names of processes, network devices and \
             control groups in the snapshot are as they are: read the file before you give it to anybody (--dry-run prints \
             it). It is written to this machine and sent nowhere."
        ),
    );
    sheet.finish()
}

pub fn checked(all: &[Checked], style: Style) -> String {
    let mut sheet = Sheet::new(style);
    for one in all {
        let name = one.path.display().to_string();
        match &one.result {
            Ok(told) if told.is_empty() => sheet.toned_paragraph(0, Tone::Good, &name, tr!("is sound")),
            Ok(told) => sheet.toned_paragraph(0, Tone::Bad, &name, &told.join("; ")),
            Err(error) => sheet.toned_paragraph(0, Tone::Bad, &name, &format!("{error:#}")),
        }
    }
    sheet.finish()
}

pub fn complaint(complaint: &Complaint) -> String {
    match complaint {
        Complaint::NoTitle => tr!("it has no title (--title)").to_owned(),
        Complaint::NoMachine => tr!("it says nothing about the machine (--fact model=NAME)").to_owned(),
        Complaint::NoResult => tr!("it has no result").to_owned(),
        Complaint::NoSource => tr!("it does not say where the numbers were published (--published)").to_owned(),
        Complaint::Day(day) => tr!("{day} is not a date: write it as 2026-11-27", day),
        Complaint::NoLoad { result } => {
            tr!("it does not say what load the machine had during {result} (--load)", result)
        }
        Complaint::Counts { result, ran, counted } => tr!(
            "{result} states {ran} activations, but the cells of its histogram hold {cells}: explain the difference \
            with --doubt",
            result,
            ran = count(*ran),
            cells = count(*counted)
        ),
        Complaint::Order { result } => tr!("the cells of {result} overlap or are not in order", result),
        Complaint::Extremes { result } => {
            tr!("minimum, mean and maximum of {result} are not in ascending order", result)
        }
    }
}

pub fn private() -> String {
    tr!("it contains something private, such as an address, a serial number or a key").to_owned()
}

pub fn private_snapshot() -> String {
    tr!("its snapshot is not masked: take it with punctual snapshot, without --raw").to_owned()
}
