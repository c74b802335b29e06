//! The folder of a campaign, with its recordings and its state. The state file is rewritten as a whole after each run.
//! Only one process at a time may hold the folder.

use crate::commands::tune::is_roots_alone;
use anyhow::{Context, Result, anyhow, bail};
use punctual_optimize::format::{Kept, read, write};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

const FILE: &str = "campaign.json";
const NEW: &str = "new";
/// Mode of a campaign's folder. Only the owner may open it, because a process that opens it can lock it.
const PRIVATE: u32 = 0o700;
/// Mode bits that let others than the owner write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The error that another process holds the campaign's folder.
#[derive(Debug)]
pub struct InUse(PathBuf);

impl std::fmt::Display for InUse {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}: another process is at work on this campaign; wait for it, or end it", self.0.display())
    }
}

impl std::error::Error for InUse {}

/// A campaign's folder, locked while this value lives.
pub struct Folder {
    path: PathBuf,
    held: File,
}

impl Folder {
    /// Creates the folder, which must not exist yet, with the campaign's file.
    pub fn create(path: &Path, kept: &Kept) -> Result<Self> {
        let folder = Self::make(path)?;
        folder.write(kept)?;
        Ok(folder)
    }

    /// Creates the folder, which must not exist yet, without a file.
    pub fn make(path: &Path) -> Result<Self> {
        fs::DirBuilder::new()
            .mode(PRIVATE)
            .create(path)
            .with_context(|| format!("make the folder {}: choose another with --out, or remove it", path.display()))?;
        Self::hold(path)
    }

    pub fn open(path: &Path) -> Result<Self> {
        let folder = Self::hold(path)?;
        folder.is_ours()?;
        Ok(folder)
    }

    pub fn kept(&self) -> Result<Kept> {
        let file = self.path.join(FILE);
        let text = fs::read_to_string(&file)
            .with_context(|| format!("read {}: no campaign was begun here", file.display()))?;
        let kept = read(&text).with_context(|| format!("read {}", file.display()))?;
        if kept.across.is_some() {
            is_roots_alone(&self.path).map_err(|why| anyhow!("{why}: root goes on with this campaign"))?;
        }
        Ok(kept)
    }

    fn hold(path: &Path) -> Result<Self> {
        let path = path.canonicalize().with_context(|| format!("open the folder {}", path.display()))?;
        let held = File::open(&path).with_context(|| format!("open the folder {}", path.display()))?;
        match flock(&held, FlockOperation::NonBlockingLockExclusive) {
            // Small kernels are built without CONFIG_FILE_LOCKING. There, nothing keeps a second process away.
            Ok(()) | Err(Errno::NOSYS) => Ok(Self { path, held }),
            Err(Errno::WOULDBLOCK) => Err(InUse(path).into()),
            Err(error) => Err(error).with_context(|| format!("lock the folder {}", path.display())),
        }
    }

    /// Refuses a folder that another user owns or may write to, because its file says which programs to run and which
    /// settings to change.
    fn is_ours(&self) -> Result<()> {
        let found = self.held.metadata().with_context(|| format!("look at the folder {}", self.display()))?;
        if !is_of(rustix::process::geteuid().as_raw(), found.uid(), found.mode()) {
            bail!(
                "{}: the folder is another user's, or others may write to it; go on as who began the campaign, \
                 in a folder only he may write to (chmod go-w)",
                self.display()
            );
        }
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn display(&self) -> std::path::Display<'_> {
        self.path.display()
    }

    /// Writes the campaign's file, as a whole or not at all.
    pub fn write(&self, kept: &Kept) -> Result<()> {
        self.write_whole(FILE, &write(kept).context("a campaign cannot be written as JSON")?)
            .with_context(|| format!("write {}: make room, and go on with --resume", self.path.join(FILE).display()))
    }

    /// Writes a result file of the campaign. It replaces the one of an earlier end of the campaign.
    pub fn write_result(&self, name: &str, text: &str) -> Result<()> {
        self.write_whole(name, text).with_context(|| format!("write {}: make room", self.path.join(name).display()))
    }

    fn write_whole(&self, name: &str, text: &str) -> std::io::Result<()> {
        let new = self.path.join(NEW);
        // An unfinished file of an earlier process is removed, not overwritten, so that a link in its place is not
        // followed.
        match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut out = File::create_new(&new)?;
        out.write_all(text.as_bytes())?;
        out.sync_all()?;
        fs::rename(&new, self.path.join(name))?;
        self.held.sync_all()
    }

    /// The path of a run's recording. A recording of an interrupted run is removed.
    pub fn recording(&self, number: usize) -> PathBuf {
        let path = self.path.join(format!("run-{number:04}.punctual"));
        let _ = fs::remove_file(&path);
        path
    }
}

fn is_of(user: u32, owner: u32, mode: u32) -> bool {
    owner == user && mode & WRITABLE_BY_OTHERS == 0
}

#[cfg(test)]
mod tests {
    use super::{FILE, Folder, InUse, NEW, PRIVATE, fs, is_of};
    use crate::commands::optimize::simulated::kept;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn held(path: &Path) -> Folder {
        fs::DirBuilder::new().create(path).unwrap();
        Folder::hold(path).unwrap()
    }

    #[test]
    fn one_process_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("campaign");
        let _held = held(&path);
        assert!(Folder::open(&path).err().unwrap().is::<InUse>());
    }

    #[test]
    fn what_others_may_write_to_is_not_taken_up() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("campaign");
        drop(held(&path));
        for (allowed, is_refused) in [(0o700, false), (0o755, false), (0o775, true), (0o757, true)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(allowed)).unwrap();
            assert_eq!(mode(&path), allowed);
            let why = Folder::open(&path).err().map(|error| error.to_string());
            assert_eq!(why.as_ref().is_some_and(|why| why.contains("others may write to it")), is_refused, "{why:?}");
            assert_eq!(why.is_some(), is_refused, "{allowed:o}: {why:?}");
        }
    }

    #[test]
    fn what_is_anothers_is_not_taken_up_whoever_may_write_to_it() {
        assert!(is_of(0, 0, 0o700) && is_of(1000, 1000, 0o755));
        assert!(!is_of(0, 1000, 0o700), "root goes on with nobody else's: its file says what root runs");
        assert!(!is_of(1000, 0, 0o755) && !is_of(0, 0, 0o770) && !is_of(0, 0, 0o702));
    }

    #[test]
    fn a_new_one_is_for_its_owner_alone_and_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("campaign");
        let kept = kept(&["optimize"]);
        drop(Folder::create(&path, &kept).unwrap());
        assert_eq!(mode(&path), PRIVATE);
        assert_eq!(Folder::open(&path).unwrap().kept().unwrap(), kept);
        let why = format!("{:#}", Folder::create(&path, &kept).err().unwrap());
        assert!(why.contains("choose another with --out"), "{why}");
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        let folder = held(&dir.path().join("campaign"));
        symlink(&victim, folder.path().join(NEW)).unwrap();
        folder.write_result(FILE, "new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert_eq!(fs::read_to_string(folder.path().join(FILE)).unwrap(), "new");
    }
}
