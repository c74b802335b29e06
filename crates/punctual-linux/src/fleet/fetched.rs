//! Unpacks what a host sent back. A host is not trusted: nothing it sends leaves the folder, replaces a file, or is
//! larger than a bound.

use super::far::MARK;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};
use thiserror::Error;

/// Bounds of what one host may send: bytes of all files, and number of files and folders.
pub const MOST_BYTES: u64 = 1 << 30;
const MOST_FILES: usize = 10_000;
/// What start-up files of a shell may print before the answer, in bytes.
const MOST_NOISE: u64 = 1 << 20;
/// Longest path of a file, in bytes.
const LONGEST_PATH: usize = 400;

#[derive(Debug, Error)]
pub enum Garbled {
    #[error("the answer has no beginning")]
    NoMark,
    #[error("the archive cannot be read: {0}")]
    Archive(io::Error),
    #[error("the archive holds a file with a path that is not taken, {0:?}")]
    Path(String),
    #[error("the archive holds more than {MOST_FILES} files or {} MB", MOST_BYTES >> 20)]
    Large,
    #[error("{}: {reason}", path.display())]
    Write { path: PathBuf, reason: io::Error },
}

/// The first line of an answer, and the lines or bytes after it.
pub fn answer(mut from: impl BufRead) -> Result<(String, impl BufRead), Garbled> {
    let mut left = MOST_NOISE;
    loop {
        let mut line = Vec::new();
        let read = from.by_ref().take(left).read_until(b'\n', &mut line).map_err(Garbled::Archive)?;
        left = left.saturating_sub(read as u64);
        if read == 0 {
            return Err(Garbled::NoMark);
        }
        if let Some(rest) = line.strip_prefix(MARK.as_bytes()) {
            let whole = rest.strip_suffix(b"\n").ok_or(Garbled::NoMark)?;
            return Ok((String::from_utf8_lossy(whole).trim().to_owned(), from));
        }
    }
}

/// Unpacks the answer to a command into a folder that exists. Returns the command's exit code and the paths of the files,
/// sorted.
pub fn unpack(answered: &Path, folder: &Path) -> Result<(u8, Vec<PathBuf>), Garbled> {
    let file = File::open(answered).map_err(Garbled::Archive)?;
    let (code, rest) = answer(BufReader::new(file))?;
    let code = code.parse().map_err(|_| Garbled::NoMark)?;
    let mut archive = tar::Archive::new(rest);
    let mut files = Vec::new();
    let mut bytes = 0_u64;
    for (number, entry) in archive.entries().map_err(Garbled::Archive)?.enumerate() {
        let mut entry = entry.map_err(Garbled::Archive)?;
        bytes = bytes.saturating_add(entry.size());
        if number >= MOST_FILES || bytes > MOST_BYTES {
            return Err(Garbled::Large);
        }
        let is_file = entry.header().entry_type().is_file();
        // Links and devices are not taken: no command of this program makes any.
        if is_file || entry.header().entry_type().is_dir() {
            let path = path_within(&entry.path_bytes())?;
            write(&mut entry, &folder.join(&path), is_file)?;
            files.extend(is_file.then_some(path));
        }
    }
    files.sort();
    Ok((code, files))
}

fn path_within(bytes: &[u8]) -> Result<PathBuf, Garbled> {
    let refused = || Garbled::Path(String::from_utf8_lossy(bytes).chars().take(LONGEST_PATH).collect());
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= LONGEST_PATH).ok_or_else(refused)?;
    let mut path = PathBuf::new();
    for part in Path::new(text).components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) if !text.chars().any(char::is_control) => path.push(name),
            _ => return Err(refused()),
        }
    }
    let first = path.components().next().map(|first| first.as_os_str().to_owned());
    if super::folder::OWN.iter().any(|own| first.as_deref() == Some(own.as_ref())) { Err(refused()) } else { Ok(path) }
}

fn write(entry: &mut impl Read, to: &Path, is_file: bool) -> Result<(), Garbled> {
    let failed = |reason| Garbled::Write { path: to.to_owned(), reason };
    if !is_file {
        return fs::create_dir_all(to).map_err(failed);
    }
    let mut file = File::create_new(to).map_err(failed)?;
    let mut piece = vec![0; 1 << 16];
    loop {
        // Errors of the archive and of the file have different remedies.
        let read = entry.read(&mut piece).map_err(Garbled::Archive)?;
        match piece.get(..read) {
            None | Some([]) => return Ok(()),
            Some(piece) => file.write_all(piece).map_err(failed)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tar::{Builder, EntryType, Header};

    fn archive(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
        let mut builder = Builder::new(b"a banner\n\npunctual-fleet/1 3\n".to_vec());
        for (path, kind, bytes) in entries {
            let mut header = Header::new_gnu();
            // `set_path` refuses what a hostile archive holds.
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(bytes.len() as u64);
            header.set_cksum();
            builder.append(&header, *bytes).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn unpacked(answer: &[u8]) -> (tempfile::TempDir, Result<(u8, Vec<PathBuf>), Garbled>) {
        let dir = tempfile::TempDir::new().unwrap();
        let (answered, folder) = (dir.path().join("answered"), dir.path().join("host"));
        fs::write(&answered, answer).unwrap();
        fs::create_dir(&folder).unwrap();
        let result = unpack(&answered, &folder);
        (dir, result)
    }

    #[test]
    fn files_and_folders_come_back_with_the_exit_code() {
        let bytes = archive(&[
            ("./", EntryType::Directory, b""),
            ("./output.txt", EntryType::Regular, b"HELD\n"),
            ("./more", EntryType::Directory, b""),
            ("./more/a.punctual", EntryType::Regular, b"x"),
            ("./link", EntryType::Symlink, b""),
        ]);
        let (dir, result) = unpacked(&bytes);
        assert_eq!(result.unwrap(), (3, vec!["more/a.punctual".into(), "output.txt".into()]));
        assert_eq!(fs::read(dir.path().join("host/output.txt")).unwrap(), b"HELD\n");
        assert!(!dir.path().join("host/link").exists());
    }

    #[test]
    fn nothing_leaves_the_folder_or_takes_a_place_of_ours() {
        for path in ["../a", "/etc/a", "a/../../b", "result.json", "./messages.txt", "a\u{1b}[2J"] {
            let (dir, result) = unpacked(&archive(&[(path, EntryType::Regular, b"x")]));
            assert!(matches!(result, Err(Garbled::Path(_))), "{path}: {result:?}");
            assert_eq!(fs::read_dir(dir.path().join("host")).unwrap().count(), 0, "{path}");
        }
        let twice = archive(&[("a", EntryType::Regular, b"x"), ("a", EntryType::Regular, b"y")]);
        assert!(matches!(unpacked(&twice).1, Err(Garbled::Write { .. })));
    }

    #[test]
    fn an_answer_without_its_beginning_or_end_is_garbled() {
        assert!(matches!(unpacked(b"bash: no such thing\n").1, Err(Garbled::NoMark)));
        assert!(matches!(unpacked(b"punctual-fleet/1 0").1, Err(Garbled::NoMark)));
        assert!(matches!(unpacked(b"punctual-fleet/1 many\n").1, Err(Garbled::NoMark)));
        assert!(matches!(unpacked(&vec![b'\n'; 2 << 20]).1, Err(Garbled::NoMark)));
        let whole = archive(&[("a", EntryType::Regular, &[7; 2_000])]);
        let cut = whole.get(..1_200).unwrap();
        assert!(matches!(unpacked(cut).1, Err(Garbled::Archive(_))));
    }

    #[test]
    fn a_size_beyond_the_bound_is_refused_before_anything_is_written() {
        let mut header = Header::new_gnu();
        header.set_path("a").unwrap();
        header.set_size(MOST_BYTES + 1);
        header.set_cksum();
        let bytes = [b"punctual-fleet/1 0\n".as_slice(), header.as_bytes()].concat();
        assert!(matches!(unpacked(&bytes).1, Err(Garbled::Large)));
    }
}
