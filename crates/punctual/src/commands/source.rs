//! Sources of facts and numbers: this machine or a captured one, the catalogue of knobs, and files with results.

use super::files::{read_at_most, refuse_pipe};
use super::internal::READ;
use crate::cli::{ImportArgs, MachineArgs, When};
use crate::render::audit::Captured;
use crate::render::{say, words};
use anyhow::{Context, Result, anyhow, bail};
use punctual_facts::fact::Fact;
use punctual_facts::machine::Machine;
use punctual_facts::tree::{MemTree, Tree};
use punctual_hist::Nanos;
use punctual_linux::live::{LiveTree, Unpacked};
use punctual_linux::recording::{check_header, read_file, read_stretch};
use punctual_linux::result_file::{ResultError, ResultFile, read_result};
use punctual_numbers::foreign::{ImportOptions, Problem};
use punctual_numbers::recording::{RecTime, Recording, Stretch};
use punctual_tuning::knobs::{self, Knob};
use std::path::{Path, PathBuf};

/// Largest capture, in bytes: room for two interrupt tables of the largest machines, and for everything else.
const MOST_BYTES: u64 = 64 << 20;

pub struct Source {
    tree: Box<dyn Tree>,
    pub machine: Machine,
    captured: Option<(PathBuf, String)>,
}

impl Source {
    pub fn here() -> Self {
        Self::of(Box::new(LiveTree::apart(READ)), None)
    }

    pub fn open(which: &MachineArgs) -> Result<Self> {
        match (&which.machine, &which.root) {
            (Some(file), _) => Self::captured_in(file),
            (None, Some(folder)) => {
                let tree = Unpacked::open(folder).with_context(|| format!("--root {}", folder.display()))?;
                Ok(Self::of(Box::new(tree), None))
            }
            (None, None) => Ok(Self::here()),
        }
    }

    pub fn captured_in(path: &Path) -> Result<Self> {
        let name = path.display();
        let not_one = || format!("{name} is not a captured machine this program understands");
        let bytes = read_at_most(path, MOST_BYTES, "captured machine")?;
        let tree = MemTree::from_bytes(&bytes).with_context(not_one)?;
        let text = String::from_utf8(bytes).with_context(not_one)?;
        Ok(Self::of(Box::new(tree), Some((path.to_owned(), text))))
    }

    fn of(tree: Box<dyn Tree>, captured: Option<(PathBuf, String)>) -> Self {
        Self { machine: Machine::read(tree.as_ref()), tree, captured }
    }

    pub fn tree(&self) -> &dyn Tree {
        self.tree.as_ref()
    }

    pub fn captured(&self) -> Option<Captured<'_>> {
        self.captured.as_ref().map(|(path, text)| Captured { path, text })
    }
}

pub fn given_or_told<T: Clone>(given: Option<T>, here: &Fact<T>, what: &str, option: &str) -> Result<T> {
    let told = given.or_else(|| here.known().cloned());
    told.with_context(|| format!("this machine does not show {what}; state it with {option}"))
}

/// The knob with this id. The error for an unknown id names ids of similar spelling.
pub fn knob(id: &str) -> Result<&'static Knob> {
    let Some(knob) = knobs::find(id) else {
        let near = knobs::near(id);
        let hint = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) };
        bail!("there is no knob '{id}'{hint}\nTo list all knobs, run: punctual audit --all");
    };
    Ok(knob)
}

/// The named result or, without a name, the newest recording of this folder, whose name is then printed.
pub fn named_or_newest(named: Option<&PathBuf>) -> Result<PathBuf> {
    match named {
        Some(path) => Ok(path.clone()),
        None => newest(1, &[])?.pop().context("no recording is in this folder: name one"),
    }
}

/// The newest recordings of this folder except those in `but`, oldest first. Their names are printed. A file that cannot
/// be shown, because its run was ended before its header was written, is skipped with a note.
pub fn newest(count: usize, but: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(".").context("list this folder")?.flatten();
    let recordings = entries.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "punctual"));
    let mut found: Vec<_> = recordings
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, PathBuf::from(entry.file_name()))))
        .filter(|(_, path)| !but.contains(path))
        .collect();
    found.sort();
    let is_shown = |path: &PathBuf| match refuse_pipe(path).and_then(|()| Ok(check_header(path)?)) {
        Ok(()) => true,
        Err(error) => {
            say(&format!("note: skipped {error}"));
            false
        }
    };
    let mut newest: Vec<PathBuf> = found.into_iter().rev().map(|(_, path)| path).filter(is_shown).take(count).collect();
    newest.reverse();
    if newest.len() < count {
        let lack = match (newest.len(), count) {
            (0, _) => "no readable recording (*.punctual) is in this folder".to_owned(),
            (found, wanted) => format!("{wanted} recordings are needed, and this folder holds {found} (*.punctual)"),
        };
        bail!("{lack}: name one, or make one:\n  sudo punctual check");
    }
    let names: Vec<String> = newest.iter().map(|path| path.display().to_string()).collect();
    say(&format!("note: taking the newest of this folder: {}", names.join(", ")));
    Ok(newest)
}

/// Reads a single file with a result. If it is a recording, options about its unit and period are refused, because it
/// states them itself.
pub fn one_result(path: &Path, import: ImportArgs) -> Result<ResultFile> {
    refuse_pipe(path)?;
    // The program for boards reads no file of another program.
    if !cfg!(feature = "every-verb") {
        import.refuse_beside_recording(path)?;
        return Ok(ResultFile::Recording(Box::new(read_file(path)?)));
    }
    let result = read_result(path, import.options()).map_err(worded)?;
    if matches!(result, ResultFile::Recording(_)) {
        import.refuse_beside_recording(path)?;
    }
    Ok(result)
}

/// Reads one of several files with results. The contents decide the format; `options` apply to files that do not state
/// their unit or period.
pub fn result(path: &Path, options: ImportOptions) -> Result<ResultFile> {
    refuse_pipe(path)?;
    let mut read = read_result(path, ImportOptions { format: None, ..options });
    if matches!(read, Err(ResultError::Import { .. })) && options.format.is_some() {
        read = read_result(path, options);
    }
    // The unit or period on the command line may be meant for another file and contradict this one, so the file is read
    // again without them.
    let is_told = options.unit.is_some() || options.period.is_some();
    match read {
        Err(ResultError::Import { path, problem }) if is_told => {
            let untold = ImportOptions { format: options.format, ..ImportOptions::default() };
            let own = read_result(&path, ImportOptions::default()).or_else(|_| read_result(&path, untold));
            own.map_err(|_| not_imported(&path, &problem))
        }
        read => read.map_err(worded),
    }
}

/// The error message for a result that cannot be read, with the option that would help.
fn worded(error: ResultError) -> anyhow::Error {
    match error {
        ResultError::Import { path, problem } => not_imported(&path, &problem),
        error => error.into(),
    }
}

fn not_imported(path: &Path, problem: &Problem) -> anyhow::Error {
    anyhow!("{}: import: {}", path.display(), words::import_problem(problem))
}

/// The result, or only the stretch of it that `between` selects.
pub fn part_of(result: ResultFile, path: &Path, between: Option<&[When]>) -> Result<ResultFile> {
    let Some([from, to]) = between else { return Ok(result) };
    let ResultFile::Recording(whole) = result else {
        bail!("{} was measured by another program: --between is for recordings, which say when", path.display());
    };
    let moment = |when: &When| match when {
        When::IntoRun(length) => RecTime::after_epoch(*length),
        // A moment before the first run is moved to its beginning.
        When::Wall(ns) => into_run(&whole, *ns),
    };
    let stretch = Stretch::new(moment(from), moment(to));
    if stretch.from >= stretch.to {
        bail!("--between: the second moment is not after the first");
    }
    let recording = read_stretch(path, stretch)?;
    if recording.stretch.is_none_or(|stretch| stretch.edges.is_none()) {
        bail!("{}: {}", path.display(), words::runs::nothing_between(&stretch, &whole.runs));
    }
    Ok(ResultFile::Recording(Box::new(recording)))
}

/// The instant of the recording at a wall-clock time, computed from the start of the last run that began before it. The
/// error is up to a second, because runs begin at whole seconds of the recording.
fn into_run(recording: &Recording, unix_ns: u64) -> RecTime {
    let begun = recording.runs.iter().rev().find(|run| run.header.started_unix_ns <= unix_ns);
    begun.map_or(RecTime::EPOCH, |run| run.at.plus(Nanos::from_ns(unix_ns.saturating_sub(run.header.started_unix_ns))))
}
