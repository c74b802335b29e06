//! Words that are given more than once.
//!
//! Most handlers add up, keep the first or do something of their own, so that the last one counts is said only of those
//! that were looked at. Knows nothing of CPU lists that must agree.

use super::names::NAMES;
use crate::cmdline::Token;

/// Words of handlers that put the value in the place of the one before, in 6.1, 6.12 and 7.3.
const LAST_COUNTS: &[&str] = &[
    "clocksource",
    "init",
    "irqaffinity",
    "loglevel",
    "maxcpus",
    "nohz",
    "numa_balancing",
    "preempt",
    "rcu_nocbs",
    "rdinit",
    "resume",
    "root",
    "rootdelay",
    "rootflags",
    "rootfstype",
    "security",
    "skew_tick",
    "transparent_hugepage",
    "watchdog_thresh",
];

/// Whether the same word stands further on with another value, which then is the one that counts; a value that
/// `is_refused` counts for nothing.
pub fn is_overridden(token: &Token, line: &[Token], is_refused: impl Fn(&Token) -> bool) -> bool {
    if token.is_for_init || !last_counts(&token.name) {
        return false;
    }
    let later = line.iter().filter(|other| other.end > token.end && !other.is_for_init && other.name == token.name);
    let mut later = later.filter(|other| !is_refused(other)).peekable();
    later.peek().is_some()
        && later.all(|other| other.value.is_some() == token.value.is_some() && other.value != token.value)
}

/// Whether a later value takes the place of an earlier one: always for plain variables, which the kernel's own code
/// writes; otherwise as the handler does.
fn last_counts(name: &str) -> bool {
    let is_plain = |kind: char| !matches!(kind, 'a' | 'x' | '-');
    let entries = NAMES.exact(name, true);
    if !entries.is_empty() {
        return LAST_COUNTS.contains(&name) || entries.iter().all(|entry| entry.is_variable() && is_plain(entry.kind));
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
        for line in ["panic=1 panic=2", "root=/dev/sda1 root=/dev/sdb1", "usbcore.autosuspend=1 usbcore.autosuspend=2"]
        {
            assert!(first_is_overridden(line), "{line}");
        }
        for line in [
            "initrd=\\a.img initrd=\\b.img",
            "nohz_full=2 nohz_full=3",
            "acpi_mask_gpe=0x6e acpi_mask_gpe=0x6f",
            "fbcon=nodefer fbcon=map:1",
            "ima_policy=tcb ima_policy=appraise_tcb",
            "ivrs_ioapic=10@0:14.0 ivrs_ioapic=9@0:0.1",
            "thp_anon=64K:always thp_anon=1M:never",
            "ip=a ip=b",
            "console=a console=b",
            "i915.dyndbg=+p i915.dyndbg=+l",
            "nobody.knows=1 nobody.knows=2",
            "panic=1 panic=1",
            "quiet quiet",
            "root=/dev/sda1 -- root=/dev/sdb1",
        ] {
            assert!(!first_is_overridden(line), "{line}");
        }
    }

    #[test]
    fn every_word_of_the_list_is_the_kernels() {
        assert!(LAST_COUNTS.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(LAST_COUNTS.iter().all(|name| !NAMES.exact(name, true).is_empty()));
    }
}
