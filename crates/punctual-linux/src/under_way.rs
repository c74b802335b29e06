//! A note for other programs that a campaign is measuring this machine now. A second measurement at the same time would
//! disturb both.
//!
//! Every user can read the note, but only root writes it. It is valid while the process that wrote it lives. This
//! module knows neither what a campaign is nor how others react.

use crate::apply::{is_alive, this_process};
use crate::journal::Owner;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Path of the note. Its folder is emptied at boot, so that no note outlives the boot in which it was written.
const NOTE: &str = "/run/punctual-campaign";
const NEW: &str = "new";
/// Every user may read the note.
const MODE: u32 = 0o644;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnderWay {
    pub pid: u32,
    pub folder: String,
}

/// The note on the disk, which is removed when this value is dropped.
#[derive(Debug)]
pub struct Note(PathBuf);

impl Drop for Note {
    fn drop(&mut self) {
        // If the note cannot be removed, it becomes invalid when this process ends.
        let _ = fs::remove_file(&self.0);
    }
}

pub fn under_way() -> Option<UnderWay> {
    read(Path::new(NOTE), 0)
}

/// Writes a note that this process measures for the campaign in this folder, valid while the returned value lives.
pub fn say_so(folder: &Path) -> io::Result<Note> {
    write(Path::new(NOTE), folder)
}

fn read(note: &Path, writer: u32) -> Option<UnderWay> {
    if fs::symlink_metadata(note).ok().filter(fs::Metadata::is_file)?.uid() != writer {
        return None;
    }
    let text = fs::read_to_string(note).ok()?;
    let mut words = text.trim_end_matches('\n').splitn(3, ' ');
    let owner = Owner { pid: words.next()?.parse().ok()?, started: words.next()?.parse().ok()? };
    let folder = words.next()?.to_owned();
    (owner.pid != std::process::id() && is_alive(owner)).then_some(UnderWay { pid: owner.pid, folder })
}

fn write(note: &Path, folder: &Path) -> io::Result<Note> {
    let Owner { pid, started } = this_process()?;
    let new = note.with_extension(NEW);
    // A killed process may have left this file behind. It is removed first, so that writing does not follow a link in
    // its place.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::create_new(&new)?;
    file.set_permissions(Permissions::from_mode(MODE))?;
    file.write_all(format!("{pid} {started} {}\n", folder.display()).as_bytes())?;
    fs::rename(&new, note)?;
    Ok(Note(note.to_path_buf()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn me() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    /// Writes a note as the process with this number and start time would have done.
    fn noted(path: &Path, pid: u32, started: u64) {
        fs::write(path, format!("{pid} {started} /srv/my campaign\n")).unwrap();
    }

    #[test]
    fn it_is_believed_as_long_as_its_process_lives() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("note");
        assert_eq!(read(&path, me()), None);
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let started: u64 = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse().unwrap();
        noted(&path, child.id(), started);
        assert_eq!(read(&path, me()), Some(UnderWay { pid: child.id(), folder: "/srv/my campaign".to_owned() }));
        assert_eq!(read(&path, me() + 1), None, "another user wrote it");
        noted(&path, child.id(), started + 1);
        assert_eq!(read(&path, me()), None, "its number is another process's by now");
        noted(&path, child.id(), started);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(read(&path, me()), None);
    }

    #[test]
    fn ours_is_no_other_and_goes_with_us() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("note");
        fs::write(path.with_extension(NEW), "half of one that was killed").unwrap();
        let note = write(&path, Path::new("/srv/campaign")).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(&format!("{} ", std::process::id())) && text.ends_with(" /srv/campaign\n"), "{text}");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, MODE);
        assert_eq!(read(&path, me()), None);
        drop(note);
        assert!(!path.exists());
    }

    #[test]
    fn what_is_no_note_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("note");
        for text in ["", "1", "1 x /srv", "-1 2 /srv", "\u{fffd}"] {
            fs::write(&path, text).unwrap();
            assert_eq!(read(&path, me()), None, "{text:?}");
        }
    }
}
