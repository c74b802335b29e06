//! The folder of results: one folder for each host, made aside and renamed when it is whole.
//!
//! So a run that was ended at any moment leaves whole results of the hosts that were done, and the next run with this
//! folder goes on with the others.

use super::hosts::Host;
use super::{HostResult, Outcome};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Files that are ours in the folder of a host. A host cannot send files of these names.
pub const OWN: [&str; 3] = [RESULT, MESSAGES, ANSWERED];
/// What the host wrote on standard error.
pub const MESSAGES: &str = "messages.txt";
/// What the host sent, before it is unpacked.
pub const ANSWERED: &str = "answered";
const RESULT: &str = "result.json";
const RUN: &str = "fleet.json";
const FORMAT: &str = "punctual/fleet-folder/1";
/// Larger files are not ours.
const MOST_BYTES: u64 = 1 << 20;

#[derive(Debug, Error)]
pub enum FolderError {
    #[error("{}: {reason}", path.display())]
    Io { path: PathBuf, reason: io::Error },
    #[error("{} has files and is no folder of punctual fleet run; choose another path with --out", .0.display())]
    Foreign(PathBuf),
    #[error("{} cannot be read: {why}; choose another path with --out", path.display())]
    Garbled { path: PathBuf, why: String },
    #[error("{} holds results of another command, punctual {}; choose another path with --out", path.display(), words.join(" "))]
    OtherWords { path: PathBuf, words: Vec<String> },
    #[error("another punctual fleet run writes into {}", .0.display())]
    Held(PathBuf),
}

/// What the folder is for.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Purpose {
    format: String,
    words: Vec<String>,
}

#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Locked as long as this value lives, so that two runs do not write into one folder.
    _lock: File,
}

impl Folder {
    /// Opens a folder for the results of this command, and creates it if there is none.
    pub fn open(path: &Path, words: &[String]) -> Result<Self, FolderError> {
        fs::create_dir_all(path).map_err(io_error(path))?;
        let purpose = path.join(RUN);
        if !purpose.exists() {
            let mut entries = fs::read_dir(path).map_err(io_error(path))?;
            if entries.next().is_some() {
                return Err(FolderError::Foreign(path.to_owned()));
            }
            put(&purpose, &Purpose { format: FORMAT.to_owned(), words: words.to_vec() })?;
        }
        let lock = File::open(&purpose).map_err(io_error(&purpose))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|errno| match errno {
            Errno::WOULDBLOCK => FolderError::Held(path.to_owned()),
            other => io_error(path)(other.into()),
        })?;
        let found: Purpose = got(&purpose)?;
        if found.format != FORMAT {
            let why = format!("its format is {}, not {FORMAT}", found.format);
            return Err(FolderError::Garbled { path: purpose, why });
        }
        if found.words != words {
            return Err(FolderError::OtherWords { path: path.to_owned(), words: found.words });
        }
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// The folder of a host's results.
    pub fn of(&self, host: &Host) -> PathBuf {
        self.path.join(host.folder())
    }

    /// The result of an earlier run, if the command ended on this host and need not be run again.
    pub fn earlier(&self, host: &Host) -> Option<HostResult> {
        let result: HostResult = got(&self.of(host).join(RESULT)).ok()?;
        let is_done = matches!(result.outcome, Outcome::Ended { code } if code != 1);
        (result.host == *host && is_done).then_some(result)
    }

    /// An empty folder in which the results of a host are collected.
    pub fn begin(&self, host: &Host) -> Result<PathBuf, FolderError> {
        let aside = self.aside(host, "part");
        remove(&aside)?;
        fs::create_dir(&aside).map_err(io_error(&aside))?;
        Ok(aside)
    }

    /// Puts the collected results in their place. Results of an earlier run without success are replaced.
    pub fn finish(&self, result: &HostResult) -> Result<(), FolderError> {
        let (aside, place) = (self.aside(&result.host, "part"), self.of(&result.host));
        put(&aside.join(RESULT), result)?;
        if place.exists() {
            let old = self.aside(&result.host, "old");
            remove(&old)?;
            fs::rename(&place, &old).map_err(io_error(&place))?;
            fs::rename(&aside, &place).map_err(io_error(&place))?;
            return remove(&old);
        }
        fs::rename(&aside, &place).map_err(io_error(&place))
    }

    /// A path that no host's folder has, because those do not begin with a dot.
    fn aside(&self, host: &Host, ending: &str) -> PathBuf {
        self.path.join(format!(".{}.{ending}", host.folder()))
    }
}

fn remove(folder: &Path) -> Result<(), FolderError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io_error(folder)(error)),
        _ => Ok(()),
    }
}

/// Writes a value so that the file is whole or absent, whenever the power fails.
fn put(path: &Path, value: &impl Serialize) -> Result<(), FolderError> {
    let aside = path.with_extension("new");
    let write = || {
        let mut file = File::create(&aside)?;
        file.write_all(serde_json::to_string_pretty(value)?.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&aside, path)
    };
    write().map_err(io_error(path))
}

fn got<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T, FolderError> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text));
    read.map_err(io_error(path))?;
    serde_json::from_str(&text).map_err(|error| FolderError::Garbled { path: path.to_owned(), why: error.to_string() })
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_owned();
    move |reason| FolderError::Io { path, reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_hist::Nanos;
    use tempfile::TempDir;

    fn host(name: &str) -> Host {
        Host::try_from(name.to_owned()).unwrap()
    }

    fn result(name: &str, outcome: Outcome) -> HostResult {
        HostResult {
            host: host(name),
            machine: None,
            version: None,
            outcome,
            took: Nanos::from_secs(1),
            files: Vec::new(),
        }
    }

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn keep(folder: &Folder, name: &str, outcome: Outcome) {
        folder.begin(&host(name)).unwrap();
        folder.finish(&result(name, outcome)).unwrap();
    }

    #[test]
    fn a_second_run_goes_on_with_the_hosts_that_have_no_result() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("results");
        let folder = Folder::open(&path, &words("check")).unwrap();
        keep(&folder, "good", Outcome::Ended { code: 2 });
        keep(&folder, "wrong", Outcome::Ended { code: 1 });
        keep(&folder, "away", Outcome::Unreachable { why: "no route".into() });
        folder.begin(&host("half")).unwrap();
        drop(folder);
        let folder = Folder::open(&path, &words("check")).unwrap();
        let done = ["good", "wrong", "away", "half"].map(|name| folder.earlier(&host(name)).is_some());
        assert_eq!(done, [true, false, false, false]);
        keep(&folder, "away", Outcome::Ended { code: 0 });
        assert_eq!(folder.earlier(&host("away")).unwrap().outcome, Outcome::Ended { code: 0 });
    }

    #[test]
    fn a_folder_is_for_one_command_and_one_run_at_a_time() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("results");
        let folder = Folder::open(&path, &words("check")).unwrap();
        assert!(matches!(Folder::open(&path, &words("check")), Err(FolderError::Held(_))));
        drop(folder);
        assert!(matches!(Folder::open(&path, &words("audit")), Err(FolderError::OtherWords { .. })));
        fs::write(path.join(RUN), "{\"format\": \"punctual/fleet-folder/9\", \"words\": []}").unwrap();
        assert!(matches!(Folder::open(&path, &words("check")), Err(FolderError::Garbled { .. })));
        fs::write(path.join(RUN), "{").unwrap();
        assert!(matches!(Folder::open(&path, &words("check")), Err(FolderError::Garbled { .. })));
        let other = dir.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("letter"), "").unwrap();
        assert!(matches!(Folder::open(&other, &words("check")), Err(FolderError::Foreign(_))));
    }

    #[test]
    fn what_is_kept_of_a_host_has_not_changed() {
        let dir = TempDir::new().unwrap();
        let folder = Folder::open(&dir.path().join("results"), &words("check")).unwrap();
        keep(&folder, "line-1", Outcome::Unreachable { why: "no route".into() });
        let text = fs::read_to_string(folder.of(&host("line-1")).join(RESULT)).unwrap();
        let golden = "{\n  \"host\": \"line-1\",\n  \"machine\": null,\n  \"version\": null,\n  \"outcome\": {\n    \
            \"unreachable\": {\n      \"why\": \"no route\"\n    }\n  },\n  \"took_ns\": 1000000000,\n  \"files\": []\n}\n";
        assert_eq!(text, golden);
    }
}
