//! Converts kept settings into the settings that the boot loader and the init are to have.

use super::Keep;
use super::lasting::{self, KeptValue, Wanted};

/// Seconds after which a kernel that panics during its trial boot restarts the machine.
const PANIC_SECONDS: u32 = 10;

/// Whether a command line has all kept words and none of the removed words, so that merging would not change the line.
/// Settings other than words do not matter.
pub fn is_given<'a>(line: &str, keeps: impl IntoIterator<Item = &'a Keep>) -> bool {
    let wanted = wanted(keeps, "");
    lasting::merge(line, &wanted).is_ok_and(|merged| merged == line)
}

/// The settings that remain if a later setting replaces every earlier setting with the same subject.
pub fn last_of_each<'a>(keeps: impl IntoIterator<Item = &'a Keep>) -> Vec<&'a Keep> {
    let mut last: Vec<&Keep> = Vec::new();
    for keep in keeps {
        last.retain(|earlier| earlier.subject() != keep.subject());
        last.push(keep);
    }
    last
}

/// The settings that are to hold after the next boot. Of two settings with the same subject, the later one counts.
pub fn wanted<'a>(keeps: impl IntoIterator<Item = &'a Keep>, exe: &str) -> Wanted {
    let mut wanted = Wanted { exe: exe.to_owned(), panic_seconds: PANIC_SECONDS, ..Wanted::default() };
    for keep in last_of_each(keeps).into_iter().cloned() {
        match keep {
            Keep::Word(word) => wanted.words.push(word),
            Keep::NoWord(name) => wanted.no_words.push(name),
            Keep::Sysctl { name, value } => wanted.sysctls.push(KeptValue { place: name, value }),
            Keep::Write { path, value } => wanted.writes.push(KeptValue { place: path, value }),
            Keep::ModuleOptions(line) => wanted.module_options.push(line),
            Keep::NoModule(name) => wanted.no_modules.push(name),
            Keep::Udev(rule) => wanted.udev.push(rule),
            Keep::Limit(line) => wanted.limits.push(line),
            Keep::Manager(cpus) => wanted.manager_cpus = Some(cpus),
            Keep::Hold(limit) => wanted.hold_latency_us = Some(limit),
            Keep::Anew => wanted.boot_service = true,
        }
    }
    wanted
}
