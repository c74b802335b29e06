//! A package's files as a folder, with the owner, modes and times that every build gives them.

use super::package::{Package, What};
use crate::run;
use anyhow::{Context, Result, ensure};
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

pub struct Tree {
    pub top: PathBuf,
    /// Sum of the sizes of all files.
    pub bytes: u64,
    files: Vec<String>,
    /// Time of all files, in seconds since 1970.
    made: u64,
}

impl Tree {
    /// Places the files of a package below a new folder of its own in `folder`.
    pub fn of(package: &Package, folder: &Path, made: u64) -> Result<Self> {
        let top = folder.join("tree").join(package.name);
        if top.exists() {
            fs::remove_dir_all(&top).with_context(|| format!("remove {}", top.display()))?;
        }
        let mut tree = Self { top, bytes: 0, files: Vec::new(), made };
        for placed in &package.files {
            tree.place(&placed.path, &placed.what).with_context(|| format!("place {}", placed.path))?;
        }
        Ok(tree)
    }

    fn place(&mut self, path: &str, what: &What) -> Result<()> {
        let at = self.top.join(path);
        ensure!(at.starts_with(&self.top) && !path.contains(".."), "the path leaves the package");
        fs::create_dir_all(at.parent().context("it has no folder")?)?;
        let mode = match what {
            What::Link(to) => return Ok(symlink(to, &at)?),
            What::Bytes(bytes) => fs::write(&at, bytes).map(|()| 0o644)?,
            What::File(from) => fs::copy(from, &at).map(|_| 0o644)?,
            What::Program(from) => fs::copy(from, &at).map(|_| 0o755)?,
        };
        fs::set_permissions(&at, fs::Permissions::from_mode(mode))?;
        self.bytes += at.metadata()?.len();
        self.files.push(path.to_owned());
        Ok(())
    }

    /// Gives the time to every file and folder, and to folders the mode that Debian wants, whatever the umask is.
    pub fn settle(&self) -> Result<()> {
        let mut left = vec![self.top.clone()];
        while let Some(path) = left.pop() {
            let found = path.symlink_metadata()?;
            if found.is_symlink() {
                let mut touch = Command::new("touch");
                run::read(touch.args(["-h", "-d", &format!("@{}", self.made)]).arg(&path))?;
                continue;
            }
            if found.is_dir() {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
                for entry in fs::read_dir(&path)? {
                    left.push(entry?.path());
                }
            }
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(self.made);
            File::open(&path)?.set_times(FileTimes::new().set_modified(time))?;
        }
        Ok(())
    }

    /// The sums of all files in the form of `md5sum`, which dpkg reads.
    pub fn md5sums(&self) -> Result<String> {
        run::read(Command::new("md5sum").args(&self.files).current_dir(&self.top))
    }
}
