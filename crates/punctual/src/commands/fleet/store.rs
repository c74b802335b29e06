//! The folder of a fleet's tables: which runs it holds, and how more are added.
//!
//! ```text
//! PATH/punctual-fleet.json       version of the schema
//! PATH/runs/month=2026-11/part-HASH.parquet, and so on for each table
//! PATH/manifest/HASH.tsv         the runs and files of one addition; its appearance is what commits the addition
//! PATH/private/                  the key of the masked names, and the names; only the owner may read it
//! ```
//! Nothing is ever changed: files are written aside, synced and renamed. After a crash, files that no manifest names are
//! removed, and their runs are packed again.

use super::names;
use super::schema::refuse_later;
use crate::render::fleet::SCHEMA;
use crate::render::fleet::tables::{RETIRED_TABLE, Retired, TABLES, files, retired};
use anyhow::{Context, Result, bail, ensure};
use punctual_linux::result_file::replace;
use punctual_numbers::fleet::{Packed, identity};
use rustix::fs::{FlockOperation, flock};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Runs that do not say when they began.
const NO_MONTH: &str = "0000-00";
const KEY_BYTES: usize = 32;

pub struct Store {
    folder: PathBuf,
    /// The longest version of each run that is packed.
    known: HashMap<String, u64>,
    key: Vec<u8>,
    /// Names of machines by their masked names.
    names: BTreeMap<String, String>,
    /// Held as long as the store is open, so that two programs cannot add at once.
    _lock: File,
}

impl Store {
    pub fn open(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("make the folder {}", folder.display()))?;
        let lock = folder.join("lock");
        let lock = File::options()
            .create(true)
            .append(true)
            .open(&lock)
            .with_context(|| format!("open {}", lock.display()))?;
        ensure!(
            flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok(),
            "{}: another punctual fleet pack adds to it; wait until that has ended",
            folder.display()
        );
        check_schema(folder)?;
        let (known, parts) = manifests(folder)?;
        remove_orphans(folder, &parts)?;
        let private = folder.join("private");
        if !private.is_dir() {
            DirBuilder::new().mode(0o700).create(&private).with_context(|| format!("make {}", private.display()))?;
        }
        let key = key(&private)?;
        let names = names::read(&private);
        let store = Self { folder: folder.to_owned(), known, key, names, _lock: lock };
        store.write_empty_files()?;
        Ok(store)
    }

    pub fn version_of(&self, run: &str) -> Option<u64> {
        self.known.get(run).copied()
    }

    /// The name of a machine in the tables. The private list keeps the real name of a masked one.
    pub fn machine(&mut self, name: &str, model: &str, in_clear: bool) -> String {
        let masked = names::masked(&self.key, name, model);
        let told = if name.is_empty() { model } else { name };
        let is_taken = self.names.iter().any(|(other, known)| known == told && *other != masked);
        self.names.entry(masked.clone()).or_insert_with(|| told.to_owned());
        match (in_clear, is_taken) {
            (false, _) => masked,
            (true, false) => told.to_owned(),
            (true, true) => format!("{told} ({model})"),
        }
    }

    /// Whether two machines of this name but of different models are known.
    pub fn namesakes(&self) -> Vec<String> {
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        for name in self.names.values() {
            *count.entry(name).or_default() += 1;
        }
        count.into_iter().filter(|(_, n)| *n > 1).map(|(name, _)| name.to_owned()).collect()
    }

    /// Adds runs, which become visible together with their manifest. Returns the number of bytes of their files.
    pub fn add(&mut self, mut runs: Vec<Packed>) -> Result<u64> {
        if runs.is_empty() {
            return Ok(0);
        }
        self.write_names()?;
        runs.sort_by(|a, b| {
            let key = |of: &Packed| (of.origin.machine.clone(), of.origin.started_unix_ns, of.origin.run.clone());
            key(a).cmp(&key(b))
        });
        let line = |of: &Packed| format!("run\t{}\t{}\n", of.origin.run, of.origin.version);
        let list = runs.iter().map(line).collect::<Vec<_>>().concat();
        let addition = identity::document(list.as_bytes());
        let mut by_month: BTreeMap<String, Vec<&Packed>> = BTreeMap::new();
        for run in &runs {
            by_month.entry(month(run.origin.started_unix_ns)).or_default().push(run);
        }
        let (mut manifest, mut bytes) = (list, 0);
        for (month, runs) in by_month {
            for (table, content) in files(&runs)? {
                let part = format!("{table}/month={month}/part-{addition}.parquet");
                bytes += content.len() as u64;
                self.write(&part, &content)?;
                let _ = writeln!(manifest, "part\t{part}");
            }
        }
        let is_older = |of: &&Packed| self.known.contains_key(&of.origin.run);
        let older: Vec<Retired> = runs
            .iter()
            .filter(is_older)
            .filter_map(|of| Some(Retired { run: of.origin.run.clone(), version: *self.known.get(&of.origin.run)? }))
            .collect();
        if !older.is_empty() {
            let part = format!("{RETIRED_TABLE}/part-{addition}.parquet");
            self.write(&part, &retired(older)?)?;
            let _ = writeln!(manifest, "part\t{part}");
        }
        self.write(&format!("manifest/{addition}.tsv"), manifest.as_bytes())?;
        self.known.extend(runs.into_iter().map(|of| (of.origin.run, of.origin.version)));
        Ok(bytes)
    }

    /// Engines refuse a table without any file, so each table has one without rows.
    fn write_empty_files(&self) -> Result<()> {
        for (table, content) in files(&[])? {
            let part = format!("{table}/month={NO_MONTH}/part-empty.parquet");
            if !self.folder.join(&part).exists() {
                self.write(&part, &content)?;
            }
        }
        let part = format!("{RETIRED_TABLE}/part-empty.parquet");
        if self.folder.join(&part).exists() { Ok(()) } else { self.write(&part, &retired(Vec::new())?) }
    }

    fn write(&self, path: &str, content: &[u8]) -> Result<()> {
        let path = self.folder.join(path);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| replace(&path, content)).with_context(|| format!("write {}", path.display()))
    }

    fn write_names(&self) -> Result<()> {
        let path = self.folder.join("private").join(names::FILE);
        write_private(&path, names::text(&self.names).as_bytes())
    }
}

fn month(started_unix_ns: Option<u64>) -> String {
    let seconds = started_unix_ns.and_then(|ns| i64::try_from(ns / 1_000_000_000).ok());
    let moment = seconds.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    moment.map_or_else(|| NO_MONTH.to_owned(), |moment| moment.strftime("%Y-%m").to_string())
}

/// Refuses a folder that a later program wrote, and a folder that is no fleet but holds something else.
fn check_schema(folder: &Path) -> Result<()> {
    let path = folder.join("punctual-fleet.json");
    let Ok(text) = fs::read_to_string(&path) else {
        let others = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?.flatten();
        let is_other = |name: &std::ffi::OsStr| name != "lock" && name != "private";
        if others.into_iter().any(|entry| is_other(&entry.file_name())) {
            bail!(
                "{} holds something other than a packed fleet: choose another folder, or a new one",
                folder.display()
            );
        }
        let text = format!("{{\"schema\": \"{SCHEMA}\"}}\n");
        return replace(&path, text.as_bytes()).with_context(|| format!("write {}", path.display()));
    };
    refuse_later(folder, &text)
}

/// All runs that are packed, with their longest versions, and all files that belong to the tables.
fn manifests(folder: &Path) -> Result<(HashMap<String, u64>, BTreeSet<String>)> {
    let (mut known, mut parts) = (HashMap::new(), BTreeSet::new());
    let Ok(entries) = fs::read_dir(folder.join("manifest")) else { return Ok((known, parts)) };
    for entry in entries.flatten().filter(|entry| entry.path().extension().is_some_and(|end| end == "tsv")) {
        let path = entry.path();
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        for line in text.lines() {
            match line.split('\t').collect::<Vec<_>>().as_slice() {
                ["run", run, version] => {
                    let version: u64 = version.parse().with_context(|| format!("read {}: {line}", path.display()))?;
                    let longest: &mut u64 = known.entry((*run).to_owned()).or_default();
                    *longest = version.max(*longest);
                }
                ["part", part] => {
                    parts.insert((*part).to_owned());
                }
                _ => bail!("{}: the line {line:?} says nothing that this program knows", path.display()),
            }
        }
    }
    Ok((known, parts))
}

/// Removes what a crash left: files that no manifest names.
fn remove_orphans(folder: &Path, parts: &BTreeSet<String>) -> Result<()> {
    for table in TABLES.into_iter().chain([RETIRED_TABLE, "manifest"]) {
        let mut folders = vec![folder.join(table)];
        while let Some(at) = folders.pop() {
            for entry in fs::read_dir(&at).into_iter().flatten().flatten() {
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                    continue;
                }
                let part = path.strip_prefix(folder).map(|path| path.display().to_string()).unwrap_or_default();
                let ends = |end: &str| path.extension().is_some_and(|extension| extension == end);
                let is_ours = part.ends_with("part-empty.parquet") || parts.contains(&part);
                if !is_ours && (ends("parquet") || ends("tmp")) {
                    fs::remove_file(&path).with_context(|| format!("remove the unfinished {}", path.display()))?;
                }
            }
        }
    }
    Ok(())
}

/// The key of the masked names, made once.
fn key(private: &Path) -> Result<Vec<u8>> {
    let path = private.join("key");
    if let Ok(key) = fs::read(&path) {
        ensure!(key.len() == KEY_BYTES, "{}: it is damaged; take it from a backup", path.display());
        return Ok(key);
    }
    let mut key = vec![0; KEY_BYTES];
    let got = rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty()).context("draw a key")?;
    ensure!(got == KEY_BYTES, "draw a key: the kernel gave {got} bytes of {KEY_BYTES}");
    write_private(&path, &key)?;
    Ok(key)
}

fn write_private(path: &Path, content: &[u8]) -> Result<()> {
    replace(path, content)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o600)))
        .with_context(|| format!("write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_is_that_of_utc_and_none_is_a_month_of_its_own() {
        assert_eq!([month(Some(1_795_737_600_000_000_000)), month(None)], ["2026-11", NO_MONTH]);
    }
}
