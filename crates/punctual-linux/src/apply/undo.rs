//! Undoes one step, repeatedly if necessary. Whatever the step and earlier attempts left half done, either the previous
//! state is restored, or the result says why not, and nothing that belongs to others is changed.

use super::act::{NOT_LOADED, ran};
use super::look::{is_gone, read_value, thread, told};
use super::replace::{is_between, replace, sweep};
use crate::hand::{FileKind, Hand, Meta, Ran, UnitVerb};
use crate::journal::store::copy_path;
use crate::journal::{Intent, Undone};
use punctual_tuning::plan::lasting::grub_unchosen;
use punctual_tuning::plan::{Before, Expected, Invocation, Lasts, Step, SystemdOrder};
use std::io;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// Another program or person changed the setting after the step was done.
    Conflict(String),
    Failed(String),
}

/// Exists while systemd is running.
pub const SYSTEMD: &str = "/run/systemd/system";
/// Folders that are empty after each boot.
const PASSING: [&str; 2] = ["/run/", "/tmp/"];

type Result<T = Undone> = std::result::Result<T, Stuck>;

fn failed(what: &str, operation: &str) -> impl FnOnce(io::Error) -> Stuck {
    let (what, operation) = (what.to_owned(), operation.to_owned());
    move |error| Stuck::Failed(told(&what, &operation, &error))
}

fn nothing(why: impl Into<String>) -> Undone {
    Undone::Nothing { why: why.into() }
}

/// Whether the machine was restarted since a step was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    Running,
    Restarted,
    /// The machine was restarted, and our files may have set the same value again.
    SetAgain,
}

pub fn undo(hand: &dyn Hand, intent: &Intent, since: Since) -> Result {
    match since {
        Since::SetAgain if reads_as_ours(hand, &intent.step) => {}
        Since::Restarted | Since::SetAgain if ends_with_the_boot(intent) => {
            return Ok(nothing("it ended with that run of the machine"));
        }
        _ => {}
    }
    match (&intent.step, &intent.before) {
        (Step::Write { path, value, expected }, Before::Value(before)) => write(hand, path, value, before, expected),
        (Step::Own { path, content, .. }, Before::Nothing { folders_made }) => {
            own(hand, path, content.as_bytes(), folders_made)
        }
        (Step::Own { path, content, .. }, before @ Before::File { .. }) => {
            put_back(hand, path, before, &[content.as_bytes()], None, false)
        }
        (Step::Edit { path, seen, content, also_ours, in_place }, before @ Before::File { .. }) => {
            let ours: Vec<&[u8]> = std::iter::once(content).chain(also_ours).map(Vec::as_slice).collect();
            put_back(hand, path, before, &ours, Some(seen), *in_place)
        }
        (Step::Remove { path }, before @ Before::File { .. }) => removed(hand, path, before),
        (Step::Folder { path }, _) => match hand.stat(path).map_err(failed(path, "look at"))? {
            None => Ok(nothing("it is gone")),
            Some(_) => hand.remove_folder(path).map(|()| Undone::Restored).map_err(failed(path, "remove folder")),
        },
        (Step::Affinity { task, .. }, Before::Cpus(cpus)) => match hand.affinity(task) {
            Ok(now) if now == *cpus => Ok(nothing("it is as before")),
            Ok(_) => gone_is_fine(&thread(task), "move", hand.set_affinity(task, cpus)),
            Err(error) => gone_is_fine(&thread(task), "ask for its CPUs", Err(error)),
        },
        (Step::Policy { task, .. }, Before::Policy(policy)) => match hand.policy(task) {
            Ok(now) if now == *policy => Ok(nothing("it is as before")),
            Ok(_) => gone_is_fine(&thread(task), "set policy", hand.set_policy(task, *policy)),
            Err(error) => gone_is_fine(&thread(task), "ask for its policy", Err(error)),
        },
        (Step::Nic { device, .. }, Before::Nic(before)) => {
            let names: Vec<&str> = before.iter().map(|setting| setting.name.as_str()).collect();
            match hand.nic(device, &names) {
                Ok(now) if now == *before => Ok(nothing("it is as before")),
                Ok(_) => gone_is_fine(device, "set", hand.set_nic(device, before)),
                Err(error) => gone_is_fine(device, "ask for its settings", Err(error)),
            }
        }
        (Step::Silence { unit, lasting }, Before::Unit { was_active, was_masked }) => {
            wake(hand, unit, *lasting, *was_active, *was_masked)
        }
        (Step::Run { undoing: None, .. }, _) => Ok(nothing("there is nothing to run")),
        (Step::Run { undoing: Some(invocation), .. }, _) => run(hand, invocation),
        _ => Err(Stuck::Failed(
            "the journal does not fit together here: it tells of a step what belongs to another".into(),
        )),
    }
}

fn reads_as_ours(hand: &dyn Hand, step: &Step) -> bool {
    let Step::Write { path, value, expected } = step else { return false };
    read_value(hand, path, value, expected).is_ok_and(|now| expected.met(value, &now))
}

/// Whether a restart of the machine undoes the step by itself.
pub fn ends_with_the_boot(intent: &Intent) -> bool {
    match &intent.step {
        Step::Own { path, .. } | Step::Edit { path, .. } | Step::Remove { path } => {
            PASSING.iter().any(|folder| path.starts_with(folder))
        }
        Step::Silence { lasting, .. } => !lasting,
        Step::Run { undoing, .. } => {
            let order = undoing.as_ref().and_then(|run| run.order);
            intent.lasts <= Lasts::Reboot || order == Some(SystemdOrder::SetRuntimeProperty)
        }
        Step::Write { .. } | Step::Folder { .. } | Step::Affinity { .. } | Step::Policy { .. } | Step::Nic { .. } => {
            true
        }
    }
}

fn gone_is_fine(what: &str, operation: &str, done: io::Result<()>) -> Result {
    match done {
        Ok(()) => Ok(Undone::Restored),
        Err(error) if is_gone(&error) => Ok(nothing(format!("{what} is gone"))),
        Err(error) => Err(Stuck::Failed(told(what, operation, &error))),
    }
}

fn write(hand: &dyn Hand, path: &str, written: &str, before: &str, expected: &Expected) -> Result {
    let read = || read_value(hand, path, written, expected);
    match read() {
        Ok(now) if expected.reading.same(before, &now) => return Ok(nothing("it is as before")),
        Err(error) if is_gone(&error) => return Ok(nothing(format!("{path} is gone"))),
        // A file that cannot be read may still accept a value.
        Ok(_) | Err(_) => {}
    }
    let done = gone_is_fine(path, &format!("write back '{before}'"), hand.write_value(path, before))?;
    match read() {
        Ok(now) if done == Undone::Restored && !is_back(expected, before, &now) => {
            Err(Stuck::Failed(format!("{path}: '{before}' was written back, and it reads '{now}'")))
        }
        _ => Ok(done),
    }
}

/// Whether the old value is in force again. CPUs that have gone offline since may be missing from it.
fn is_back(expected: &Expected, before: &str, now: &str) -> bool {
    let fewer = || {
        let (before, now) = (expected.reading.cpus(before)?, expected.reading.cpus(now)?);
        Some(!now.is_empty() && now.is_subset(&before))
    };
    expected.reading.same(before, now) || fewer().unwrap_or(false)
}

/// Removes a file that we created at a path where there was none.
fn own(hand: &dyn Hand, path: &str, content: &[u8], folders_made: &[String]) -> Result {
    let folder_is_there = path.rsplit_once('/').map_or(Ok(None), |(folder, _)| hand.stat(folder));
    if folder_is_there.map_err(failed(path, "look at"))?.is_some() {
        sweep(hand, path).map_err(failed(path, "take away what was half written"))?;
    }
    let found = present(hand, path)?;
    let theirs = match &found {
        Present::Nothing => Some(Vec::new()),
        Present::File(found) if found == content => Some(Vec::new()),
        Present::File(found) => grub_unchosen(b"", content, found),
        Present::NoFile => None,
    };
    match (&found, theirs) {
        (Present::Nothing, _) => {}
        (_, Some(theirs)) if theirs.is_empty() => hand.remove(path).map_err(failed(path, "remove"))?,
        (_, Some(theirs)) => {
            hand.overwrite(path, &theirs).map_err(failed(path, "take our choice out"))?;
            return Ok(Undone::Left { what: format!("{path}: what the boot loader has noted there since") });
        }
        (_, None) => {
            return Err(Stuck::Conflict(format!(
                "{path}: it is ours, and somebody changed it. It stays; remove it when you do not need it, then revert \
                 again"
            )));
        }
    }
    unmake(hand, folders_made)?;
    Ok(if matches!(found, Present::Nothing) { nothing("it is gone") } else { Undone::Restored })
}

fn unmake(hand: &dyn Hand, folders: &[String]) -> Result<()> {
    for folder in folders.iter().rev() {
        match hand.remove_folder(folder) {
            Err(error) if is_gone(&error) || error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            done => done.map_err(failed(folder, "remove folder"))?,
        }
    }
    Ok(())
}

enum Present {
    Nothing,
    File(Vec<u8>),
    NoFile,
}

fn present(hand: &dyn Hand, path: &str) -> Result<Present> {
    match hand.stat(path).map_err(failed(path, "look at"))? {
        None => Ok(Present::Nothing),
        Some(meta) if meta.kind != FileKind::Regular => Ok(Present::NoFile),
        Some(_) => hand.read(path).map(Present::File).map_err(failed(path, "read")),
    }
}

/// The saved bytes and permissions of a file, and the path of the copy.
fn saved(hand: &dyn Hand, before: &Before, seen: Option<&[u8]>) -> Result<(Vec<u8>, Meta, String)> {
    let Before::File { copy, mode, uid, gid, sum } = before else {
        return Err(Stuck::Failed("the journal names no copy".to_owned()));
    };
    let copy = copy_path(copy);
    let meta = Meta { kind: FileKind::Regular, mode: *mode, uid: *uid, gid: *gid };
    let sound = |bytes: &Vec<u8>| crc32fast::hash(bytes) == *sum;
    let bytes = hand.read(&copy).ok().filter(sound).or_else(|| seen.map(<[u8]>::to_vec).filter(sound));
    let bytes = bytes.ok_or_else(|| Stuck::Failed(format!("{copy}: the saved copy is missing or damaged")))?;
    Ok((bytes, meta, copy))
}

/// Restores a file if its present content is ours.
fn put_back(
    hand: &dyn Hand,
    path: &str,
    before: &Before,
    ours: &[&[u8]],
    seen: Option<&[u8]>,
    in_place: bool,
) -> Result {
    let (bytes, meta, copy) = saved(hand, before, seen)?;
    let conflict = |what: &str| {
        Err(Stuck::Conflict(format!("{path}: {what} since. It stays as it is; what was there before us is in {copy}")))
    };
    let found = match present(hand, path)? {
        Present::File(found) => found,
        Present::NoFile => return conflict("something else was put in its place"),
        Present::Nothing => return conflict("somebody removed it"),
    };
    sweep(hand, path).map_err(failed(path, "take away what was half written"))?;
    if found == bytes && hand.stat(path).ok().flatten() == Some(meta) {
        return Ok(nothing("it is as before"));
    }
    let half = |new: &&[u8]| in_place && (is_between(&bytes, new, &found) || is_between(new, &bytes, &found));
    if found != bytes && !ours.iter().any(|ours| *ours == found || half(ours)) {
        let choice = ours.first().and_then(|ours| grub_unchosen(&bytes, ours, &found));
        return match choice {
            Some(block) if block == found => Ok(nothing("the boot loader has taken it back")),
            Some(block) => {
                hand.overwrite(path, &block).map(|()| Undone::Restored).map_err(failed(path, "take our choice out"))
            }
            None => conflict("somebody else changed it"),
        };
    }
    let done = if in_place { hand.overwrite(path, &bytes) } else { replace(hand, path, &bytes, meta) };
    done.map(|()| Undone::Restored).map_err(failed(path, "put back"))
}

/// Restores a file that we removed, unless there is another one at its path.
fn removed(hand: &dyn Hand, path: &str, before: &Before) -> Result {
    let (bytes, meta, copy) = saved(hand, before, None)?;
    match present(hand, path)? {
        Present::File(found) if found == bytes => {
            sweep(hand, path).map_err(failed(path, "take away what was half written"))?;
            Ok(nothing("it is as before"))
        }
        Present::File(_) | Present::NoFile => Err(Stuck::Conflict(format!(
            "{path}: somebody made it anew. It stays as it is; what was there before us is in {copy}"
        ))),
        Present::Nothing => {
            replace(hand, path, &bytes, meta).map(|()| Undone::Restored).map_err(failed(path, "put back"))
        }
    }
}

/// Runs a program that undoes a step. Commands for systemd are left out while it is not running (in a rescue shell): it
/// has no running units then, and reads its files when it starts.
fn run(hand: &dyn Hand, invocation: &Invocation) -> Result {
    if invocation.order.is_some() && !runs_systemd(hand)? {
        let said = invocation.arguments.join(" ");
        return Ok(nothing(format!("this machine is not run by systemd now, so 'systemctl {said}' is not needed")));
    }
    let done = hand.run(invocation);
    match &done {
        Ok(Ran { code: Some(NOT_LOADED), .. }) if invocation.order == Some(SystemdOrder::Stop) => {
            Ok(nothing("it does not run any more"))
        }
        _ => ran(&invocation.program, done).map(|()| Undone::Restored).map_err(Stuck::Failed),
    }
}

fn runs_systemd(hand: &dyn Hand) -> Result<bool> {
    Ok(hand.stat(SYSTEMD).map_err(failed(SYSTEMD, "look at"))?.is_some())
}

/// Removes the link that masks a unit. While systemd is not running, that link is the only trace of the mask.
fn unmask_offline(hand: &dyn Hand, unit: &str, lasting: bool, was_masked: bool) -> Result {
    let link = format!("/etc/systemd/system/{unit}");
    let meta = hand.stat(&link).map_err(failed(&link, "look at"))?;
    if !lasting || was_masked || meta.is_none_or(|meta| meta.kind != FileKind::Link) {
        return Ok(nothing("this machine is not run by systemd now, and the unit is not masked"));
    }
    ran(unit, hand.do_unit(unit, UnitVerb::Unmask { lasting })).map(|()| Undone::Restored).map_err(Stuck::Failed)
}

fn wake(hand: &dyn Hand, unit: &str, lasting: bool, was_active: bool, was_masked: bool) -> Result {
    if !runs_systemd(hand)? {
        return unmask_offline(hand, unit, lasting, was_masked);
    }
    let ask = || hand.unit(unit).map_err(failed(unit, "ask systemd"));
    let Some(state) = ask()? else { return Ok(nothing("there is no such unit any more")) };
    let masked = if lasting { state.masked_for_good } else { state.masked };
    let unmask = masked && !was_masked;
    if unmask {
        ran(unit, hand.do_unit(unit, UnitVerb::Unmask { lasting })).map_err(Stuck::Failed)?;
    }
    let start = was_active && !state.active;
    if start {
        ran(unit, hand.do_unit(unit, UnitVerb::Start)).map_err(Stuck::Failed)?;
    }
    Ok(if unmask || start { Undone::Restored } else { nothing("it is as before") })
}
