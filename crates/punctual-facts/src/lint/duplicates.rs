//! Finds words that are given more than once on a line.
//!
//! For most words, the handler adds the values up, keeps the first one or treats several in another way. That the last
//! value takes effect is assumed only for words whose handlers were read. Lists of CPUs that must agree are not checked
//! here.

use super::names::NAMES;
use crate::cmdline::Token;

/// Words for which a later value replaces the earlier one, in 6.1, 6.12 and 7.3.
const LAST_COUNTS: &str = "clocksource init irqaffinity loglevel maxcpus nohz numa_balancing preempt rcu_nocbs rdinit \
    resume root rootdelay rootflags rootfstype security skew_tick transparent_hugepage watchdog_thresh";

/// Whether a later word of the same name replaces the value of this word. A later word for which `is_refused` holds
/// replaces nothing.
pub fn is_overridden(token: &Token, line: &[Token], is_refused: impl Fn(&Token) -> bool) -> bool {
    if token.is_for_init || !last_counts(&token.name) {
        return false;
    }
    let later = line.iter().filter(|other| other.end > token.end && !other.is_for_init && other.name == token.name);
    let mut later = later.filter(|other| !is_refused(other)).peekable();
    later.peek().is_some()
        && later.all(|other| other.value.is_some() == token.value.is_some() && other.value != token.value)
}

/// Whether a later value of this word replaces an earlier one. This is so for every plain variable, which the kernel's
/// own code writes. For other words the handler decides.
fn last_counts(name: &str) -> bool {
    let is_plain = |kind: char| !matches!(kind, 'a' | 'x' | '-');
    let entries = NAMES.exact(name, true);
    if !entries.is_empty() {
        return LAST_COUNTS.split(' ').any(|word| word == name)
            || entries.iter().all(|entry| entry.is_variable() && is_plain(entry.kind));
    }
    let Some((module, parameter)) = name.split_once('.') else { return false };
    NAMES.modules.get(module).and_then(|module| module.parameter(parameter)).is_some_and(|found| is_plain(found.kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmdline::words;

    fn first_is_overridden(line: &str) -> bool {
        let line = words(line.as_bytes());
        is_overridden(&line[0], &line, |_| false)
    }

    #[test]
    fn only_what_was_looked_at_is_overridden() {
        for name in ["panic", "root", "usbcore.autosuspend"] {
            assert!(first_is_overridden(&format!("{name}=1 {name}=2")), "{name}");
        }
        let several =
            "initrd nohz_full acpi_mask_gpe fbcon ima_policy ivrs_ioapic thp_anon ip console i915.dyndbg nobody.knows";
        for name in several.split(' ') {
            assert!(!first_is_overridden(&format!("{name}=1 {name}=2")), "{name}");
        }
        for line in ["panic=1 panic=1", "quiet quiet", "root=/dev/sda1 -- root=/dev/sdb1"] {
            assert!(!first_is_overridden(line), "{line}");
        }
    }

    #[test]
    fn every_word_of_the_list_is_the_kernels() {
        assert!(LAST_COUNTS.split(' ').is_sorted());
        assert!(LAST_COUNTS.split(' ').all(|name| !NAMES.exact(name, true).is_empty()));
    }
}
