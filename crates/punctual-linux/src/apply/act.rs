//! Carries out one step, which the journal has already announced, and observes the result.

use super::look::{is_gone, read_value, thread, told};
use super::replace::replace;
use crate::hand::{FileKind, Hand, Meta, Ran, UnitVerb};
use crate::journal::StepOutcome;
use punctual_tuning::plan::{Before, Expected, NicSetting, Step};
use std::io;
use std::time::{Duration, Instant};

/// How long to wait until a value that the kernel accepted is in force.
const PATIENCE: Duration = Duration::from_millis(50);

/// Exit code of `systemctl stop` for a unit that the manager does not know. Such a unit counts as stopped.
pub const NOT_LOADED: i32 = 5;

pub fn act(hand: &dyn Hand, step: &Step, before: &Before) -> StepOutcome {
    let done = match step {
        Step::Write { path, value, expected } => return write(hand, path, value, expected),
        Step::Own { path, content, mode } => {
            own(hand, path, content, *mode, before).map_err(|e| told(path, "write", &e))
        }
        Step::Edit { path, content, in_place, .. } => {
            edit(hand, path, content, *in_place, before).map_err(|e| told(path, "change", &e))
        }
        Step::Remove { path } => hand.remove(path).map_err(|e| told(path, "remove", &e)),
        Step::Folder { path } => hand.make_folder(path, 0o755).map_err(|e| told(path, "make folder", &e)),
        Step::Affinity { task, cpus } => {
            let seen = hand.set_affinity(task, cpus).and_then(|()| hand.affinity(task));
            return outcome(
                &thread(task),
                "move",
                seen,
                |seen| !seen.is_empty() && seen.is_subset(cpus),
                |seen| format!("CPUs {seen}"),
            );
        }
        Step::Policy { task, policy } => {
            let seen = hand.set_policy(task, *policy).and_then(|()| hand.policy(task));
            return outcome(&thread(task), "set policy", seen, |seen| seen == policy, |seen| format!("{seen:?}"));
        }
        Step::Nic { device, settings } => {
            let names: Vec<&str> = settings.iter().map(|setting| setting.name.as_str()).collect();
            let seen = hand.set_nic(device, settings).and_then(|()| hand.nic(device, &names));
            let told = |seen: &Vec<NicSetting>| seen.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return outcome(device, "set", seen, |seen| seen == settings, told);
        }
        Step::Silence { unit, lasting } => return silence(hand, unit, *lasting),
        Step::Run { doing: None, .. } => Ok(()),
        Step::Run { doing: Some(invocation), .. } => ran(&invocation.program, hand.run(invocation)),
    };
    done.map_or_else(|why| StepOutcome::Refused { why }, |()| StepOutcome::Effective)
}

fn outcome<T>(
    what: &str,
    operation: &str,
    seen: io::Result<T>,
    wanted: impl Fn(&T) -> bool,
    words: impl Fn(&T) -> String,
) -> StepOutcome {
    match seen {
        Ok(seen) if wanted(&seen) => StepOutcome::Effective,
        Ok(seen) => StepOutcome::Differs { seen: words(&seen) },
        Err(error) if is_gone(&error) => StepOutcome::Gone { what: format!("{what} is gone") },
        Err(error) => StepOutcome::Refused { why: told(what, operation, &error) },
    }
}

/// Writes a value and checks that it is in force. The file itself must show it; for values with a second file that
/// shows the effective value, that file must show it too.
fn write(hand: &dyn Hand, path: &str, value: &str, expected: &Expected) -> StepOutcome {
    match hand.write_value(path, value) {
        Err(error) if is_gone(&error) => return StepOutcome::Gone { what: format!("{path} is not there") },
        Err(error) => return StepOutcome::Refused { why: told(path, &format!("write '{value}'"), &error) },
        Ok(()) => {}
    }
    let seen = match read_value(hand, path, value, expected) {
        Err(error) => return StepOutcome::Refused { why: told(path, "read back", &error) },
        Ok(seen) => seen,
    };
    if !expected.met(value, &seen) {
        return StepOutcome::Differs { seen };
    }
    let Some(other) = &expected.settles_at else { return StepOutcome::Effective };
    let until = Instant::now() + PATIENCE;
    loop {
        let seen = read_value(hand, other, value, expected);
        match seen {
            Ok(seen) if expected.met(value, &seen) => return StepOutcome::Effective,
            seen if Instant::now() >= until => {
                let seen = seen.unwrap_or_else(|error| told(other, "read", &error));
                return StepOutcome::Waits { seen };
            }
            _ => std::thread::sleep(PATIENCE / 10),
        }
    }
}

fn own(hand: &dyn Hand, path: &str, content: &str, mode: u32, before: &Before) -> io::Result<()> {
    if let Before::Nothing { folders_made } = before {
        for folder in folders_made {
            hand.make_folder(folder, 0o755)?;
        }
    }
    replace(hand, path, content.as_bytes(), hand.ours(mode))
}

fn edit(hand: &dyn Hand, path: &str, content: &[u8], in_place: bool, before: &Before) -> io::Result<()> {
    match before {
        Before::File { mode, uid, gid, .. } if !in_place => {
            replace(hand, path, content, Meta { kind: FileKind::Regular, mode: *mode, uid: *uid, gid: *gid })
        }
        _ => hand.overwrite(path, content),
    }
}

/// Masks and stops a unit. The mask comes first, so that nothing starts the unit again before it is stopped.
fn silence(hand: &dyn Hand, unit: &str, lasting: bool) -> StepOutcome {
    for verb in [UnitVerb::Mask { lasting }, UnitVerb::Stop] {
        match hand.do_unit(unit, verb) {
            Ok(Ran { code: Some(NOT_LOADED), .. }) if verb == UnitVerb::Stop => {}
            done => {
                if let Err(why) = ran(unit, done) {
                    return StepOutcome::Refused { why };
                }
            }
        }
    }
    match hand.unit(unit) {
        Ok(Some(state)) if state.active => StepOutcome::Differs { seen: "it runs".to_owned() },
        Ok(Some(state)) if !(if lasting { state.masked_for_good } else { state.masked }) => {
            StepOutcome::Differs { seen: "it is not masked".to_owned() }
        }
        Ok(_) => StepOutcome::Effective,
        Err(error) => StepOutcome::Refused { why: told(unit, "ask systemd", &error) },
    }
}

pub fn ran(what: &str, ran: io::Result<Ran>) -> Result<(), String> {
    match ran {
        Ok(Ran { well: true, .. }) => Ok(()),
        Ok(Ran { how, said, .. }) if said.is_empty() => Err(format!("{what}: {how}")),
        Ok(Ran { how, said, .. }) => Err(format!("{what}: {how}: {said}")),
        Err(error) => Err(told(what, "run", &error)),
    }
}
