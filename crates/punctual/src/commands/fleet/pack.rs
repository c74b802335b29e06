//! `punctual fleet pack`: reads the recordings and audits of many machines, one after the other, and adds those to the
//! tables that are not there yet.
//!
//! Files are read as they are found and are packed in batches, so that memory does not grow with their number.

use super::store::Store;
use crate::cli::PackArgs;
use crate::commands::files::{of_file, read_at_most};
use crate::exit::Exit;
use crate::render;
use crate::render::fleet::packed::{PackedTotals, packed};
use anyhow::{Context, Result, bail};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::machine::MachineFacts;
use punctual_linux::recording::{is_written, read_file, read_header};
use punctual_numbers::fleet::{FindingRow, Origin, Packed, SettingRow, identity, of_audit, of_recording};
use punctual_numbers::recording::begins_like_a_recording;
use serde_json::Value;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Largest number of runs of one addition.
const BATCH_RUNS: usize = 5_000;
/// Largest number of cells and rows that wait to be written: about 100 MB.
const BATCH_ROWS: usize = 4_000_000;
/// Largest audit, in bytes.
const AUDIT_MOST: u64 = 32 << 20;
/// A clock before 2020 was never set.
const CLOCKS_FROM_NS: u64 = 1_577_836_800_000_000_000;
/// How far ahead of this machine's clock another one may be without a note.
const CLOCKS_AHEAD_NS: u64 = 3_600_000_000_000;

pub fn run(args: &PackArgs) -> Result<Exit> {
    for folder in &args.folders {
        if !folder.is_dir() {
            bail!("{} is not a folder: name the folders that hold the recordings", folder.display());
        }
    }
    let mut packing =
        Packing { store: Store::open(&args.out)?, args, totals: PackedTotals::default(), batch: Vec::new(), rows: 0 };
    let own = args.out.canonicalize().unwrap_or_else(|_| args.out.clone());
    for folder in &args.folders {
        walk(folder, &own, &mut |path| packing.take(folder, path))?;
    }
    packing.flush()?;
    packing.totals.namesakes = packing.store.namesakes();
    let totals = packing.totals;
    if !args.form.quiet {
        render::print(&packed(&totals, &args.out, render::style()))?;
    }
    Ok(Exit::doubtful_if(!totals.failures.is_empty()))
}

/// Passes every regular file below a folder to `take`. Links to folders are not followed, and the folder `but` is left
/// out.
fn walk(folder: &Path, but: &Path, take: &mut impl FnMut(&Path) -> Result<()>) -> Result<()> {
    let mut open = vec![fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?];
    while let Some(entries) = open.last_mut() {
        let Some(entry) = entries.next() else {
            open.pop();
            continue;
        };
        let Ok(entry) = entry else { continue };
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
        if kind.is_dir() {
            if path.canonicalize().is_ok_and(|path| path != but) {
                // A folder that may not be listed is left out like a file that may not be read.
                open.extend(fs::read_dir(&path));
            }
        } else if kind.is_file() {
            take(&path)?;
        }
    }
    Ok(())
}

struct Packing<'a> {
    store: Store,
    args: &'a PackArgs,
    totals: PackedTotals,
    batch: Vec<Packed>,
    rows: usize,
}

impl Packing<'_> {
    /// Packs one file, or counts why not. Only a failure to write ends the packing.
    fn take(&mut self, folder: &Path, path: &Path) -> Result<()> {
        let taken = match kind(path) {
            Ok(FileKind::Recording) => self.recording(folder, path),
            Ok(FileKind::Json) => self.audit(folder, path),
            Ok(FileKind::Other) => {
                self.totals.others += 1;
                Ok(None)
            }
            Err(error) => Err(error),
        };
        match taken {
            Ok(Some(packed)) => self.add(packed),
            Ok(None) => Ok(()),
            Err(error) => {
                self.totals.failures.push(of_file(path, &error));
                Ok(())
            }
        }
    }

    fn recording(&mut self, folder: &Path, path: &Path) -> Result<Option<Packed>> {
        if is_written(path) {
            self.totals.written += 1;
            return Ok(None);
        }
        let run = identity::run(&read_header(path)?);
        let length = fs::metadata(path)?.len();
        let known = self.store.version_of(&run).or_else(|| self.waiting(&run));
        if known.is_some_and(|known| known >= length) {
            self.totals.known += 1;
            return Ok(None);
        }
        let recording = read_file(path)?;
        let version = recording.cut_off.map_or(length, |cut| cut.good_bytes);
        if known.is_some_and(|known| known >= version) {
            self.totals.known += 1;
            return Ok(None);
        }
        let again =
            recording.runs.iter().skip(1).find(|run| self.store.version_of(&identity::run(&run.header)).is_some());
        if again.is_some() {
            bail!("it was merged from recordings of which some are packed already: pack those, or the merged one");
        }
        let facts = MachineFacts::of(&recording.header.machine);
        let machine =
            self.store.machine(&name(folder, path), facts.model.as_deref().unwrap_or_default(), self.args.names);
        let packed = of_recording(&recording, machine, version);
        self.totals.recordings += 1;
        self.totals.halves += u64::from(!packed.run.complete);
        Ok(Some(packed))
    }

    /// The version of a run that waits in the batch.
    fn waiting(&self, run: &str) -> Option<u64> {
        self.batch.iter().filter(|of| of.origin.run == run).map(|of| of.origin.version).max()
    }

    fn audit(&mut self, folder: &Path, path: &Path) -> Result<Option<Packed>> {
        let bytes = read_at_most(path, AUDIT_MOST, "audit")?;
        let Ok(value) = serde_json::from_slice::<Value>(&bytes) else {
            self.totals.others += 1;
            return Ok(None);
        };
        let schema = value.get("schema").and_then(Value::as_str).unwrap_or_default();
        if !schema.starts_with("punctual/audit/") {
            self.totals.others += 1;
            return Ok(None);
        }
        let run = identity::document(&bytes);
        if self.store.version_of(&run).or_else(|| self.waiting(&run)).is_some() {
            self.totals.known += 1;
            return Ok(None);
        }
        let facts = facts(&value);
        let machine =
            self.store.machine(&name(folder, path), facts.model.as_deref().unwrap_or_default(), self.args.names);
        let modified = fs::metadata(path)?.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let started_unix_ns = modified.and_then(|since| u64::try_from(since.as_nanos()).ok());
        let origin = Origin { run, version: bytes.len() as u64, machine, started_unix_ns };
        self.totals.audits += 1;
        Ok(Some(of_audit(origin, facts, settings(&value), findings(&value))))
    }

    fn add(&mut self, packed: Packed) -> Result<()> {
        let ahead = |ns: u64| ns > now_ns().saturating_add(CLOCKS_AHEAD_NS);
        let is_wrong = packed.origin.started_unix_ns.is_none_or(|ns| ns < CLOCKS_FROM_NS || ahead(ns));
        self.totals.clocks += u64::from(is_wrong);
        if let Some(shorter) = self.batch.iter().position(|of| of.origin.run == packed.origin.run) {
            self.batch.swap_remove(shorter);
        }
        self.rows += packed.latencies.iter().map(|row| row.cells.len()).sum::<usize>()
            + packed.findings.len()
            + packed.settings.len();
        self.batch.push(packed);
        if self.batch.len() >= BATCH_RUNS || self.rows >= BATCH_ROWS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.rows = 0;
        self.totals.bytes += self.store.add(std::mem::take(&mut self.batch))?;
        Ok(())
    }
}

fn now_ns() -> u64 {
    let since = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

enum FileKind {
    Recording,
    Json,
    Other,
}

/// The kind of a file by its first bytes, whatever its name is.
fn kind(path: &Path) -> Result<FileKind> {
    let mut start = [0; 64];
    let mut file = File::open(path)?;
    let length = file.read(&mut start)?;
    let start = start.get(..length).unwrap_or_default();
    let is_json = start.trim_ascii_start().first() == Some(&b'{');
    Ok(match () {
        () if begins_like_a_recording(start) => FileKind::Recording,
        () if is_json => FileKind::Json,
        () => FileKind::Other,
    })
}

/// The name of the machine of a file: the first folder below the one that was named; empty if there is none.
fn name(folder: &Path, path: &Path) -> String {
    let below = path.strip_prefix(folder).map_or_else(|_| PathBuf::new(), Path::to_owned);
    let mut parts = below.components();
    let first = parts.next().map(|part| part.as_os_str().to_string_lossy().into_owned()).unwrap_or_default();
    if parts.next().is_some() { first } else { String::new() }
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

/// What an audit's document says of its machine.
fn facts(audit: &Value) -> MachineFacts {
    let Some(machine) = audit.get("machine") else { return MachineFacts::default() };
    let list = |name: &str| CpuSet::parse_list(&text(machine, name)?).ok();
    MachineFacts {
        model: text(machine, "model"),
        kernel_release: text(machine, "kernel_release"),
        kernel_flavour: text(machine, "kernel_flavour"),
        architecture: text(machine, "architecture"),
        online_cpus: list("online_cpus"),
        isolated_cpus: list("isolated_cpus"),
        tick_free_cpus: list("tick_free_cpus"),
        smt: machine.get("smt").and_then(Value::as_bool),
        clock: text(machine, "clock"),
        hypervisor: text(machine, "hypervisor"),
        command_line: text(machine, "command_line"),
        ..MachineFacts::default()
    }
}

fn settings(audit: &Value) -> Vec<SettingRow> {
    let members = audit.get("machine").and_then(Value::as_object).into_iter().flatten();
    let row = |(name, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        SettingRow { name: name.clone(), value }
    };
    members.filter(|(_, value)| !value.is_null()).map(row).collect()
}

fn findings(audit: &Value) -> Vec<FindingRow> {
    let list = audit.get("findings").and_then(Value::as_array).into_iter().flatten();
    let row = |of: &Value| {
        Some(FindingRow { finding: text(of, "id")?, severity: text(of, "severity")?, state: text(of, "state")? })
    };
    list.filter_map(row).collect()
}
