//! Interprets the text of a kernel file: which part of the text is the value, and when two values are equal in meaning.
//!
//! This module opens no file.

use super::{Expected, Reading};
use punctual_facts::cpu_set::CpuSet;

impl Reading {
    /// The value that `text` shows, in the form in which it would be written back. `about` is the value that will be
    /// written, because some files show more values than one write sets.
    pub fn value(self, text: &str, about: &str) -> String {
        match self {
            Self::Plain | Self::CpuList | Self::CpuMask => text.trim_matches(is_blank).to_owned(),
            Self::Marked => marked(text).unwrap_or_else(|| text.trim_matches(is_blank)).to_owned(),
            Self::Switches => {
                let on: Vec<&str> = text.split_whitespace().collect();
                let sign = |name: &&str| if on.contains(name) { '+' } else { '-' };
                let names = about.split_whitespace().map(|word| word.trim_start_matches(['+', '-']));
                names.map(|name| format!("{}{name}", sign(&name))).collect::<Vec<_>>().join(" ")
            }
            Self::Schemata => {
                let name = |line: &str| line.split(':').next().unwrap_or_default().trim().to_owned();
                let wanted: Vec<String> = about.lines().map(name).collect();
                let kept = text.lines().filter(|line| wanted.contains(&name(line)));
                kept.map(|line| line.split_whitespace().collect::<String>()).collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// Whether two values have the same meaning.
    pub fn same(self, one: &str, other: &str) -> bool {
        match self {
            Self::Plain | Self::Marked => one.split_whitespace().eq(other.split_whitespace()),
            Self::Switches => sorted(one.split_whitespace()) == sorted(other.split_whitespace()),
            Self::Schemata => parts_hold(one, other) && parts_hold(other, one),
            Self::CpuList | Self::CpuMask => match (self.cpus(one), self.cpus(other)) {
                (Some(one), Some(other)) => one == other,
                _ => one.trim() == other.trim(),
            },
        }
    }

    /// The CPUs that a value names; `None` if the file holds no CPUs.
    pub fn cpus(self, value: &str) -> Option<CpuSet> {
        match self {
            Self::CpuList => CpuSet::parse_list(value).ok(),
            Self::CpuMask => CpuSet::parse_mask(value).ok(),
            Self::Plain | Self::Marked | Self::Switches | Self::Schemata => None,
        }
    }
}

impl Expected {
    /// Whether the value `seen` fulfils the value `wanted`.
    pub fn met(&self, wanted: &str, seen: &str) -> bool {
        let fewer = || {
            let (wanted, seen) = (self.reading.cpus(wanted)?, self.reading.cpus(seen)?);
            Some(!seen.is_empty() && seen.is_subset(&wanted))
        };
        match self.reading {
            // A write may name only some of the cache domains that the file shows.
            Reading::Schemata => parts_hold(wanted, seen),
            reading => reading.same(wanted, seen) || (self.or_fewer && fewer().unwrap_or(false)),
        }
    }
}

/// Whether a character is white space, or the zero byte with which the kernel ends some values.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\0'
}

/// The choice in brackets (`a [b] c`), or in parentheses as in the scheduler's debugging files.
fn marked(text: &str) -> Option<&str> {
    let within = |open: char, close: char| Some(text.split_once(open)?.1.split_once(close)?.0.trim());
    within('[', ']').or_else(|| within('(', ')'))
}

fn sorted<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut words: Vec<&str> = words.collect();
    words.sort_unstable();
    words
}

/// Whether every part (`L3`, `0`, `f`) of `wanted` is in `seen`, regardless of leading zeros.
fn parts_hold(wanted: &str, seen: &str) -> bool {
    let seen = parts(seen);
    !seen.is_empty() && parts(wanted).iter().all(|part| seen.contains(part))
}

fn parts(text: &str) -> Vec<(String, String, String)> {
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    let number = |text: &str| {
        let text = plain(text).to_ascii_lowercase();
        let bare = text.trim_start_matches('0');
        if bare.is_empty() { "0".to_owned() } else { bare.to_owned() }
    };
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let domains = lines.flat_map(|(name, rest)| rest.split(';').map(move |part| (name, part)));
    domains
        .filter_map(|(name, part)| {
            let (domain, value) = part.split_once('=')?;
            Some((plain(name), number(domain), number(value)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_what_would_be_written_back() {
        assert_eq!(Reading::Plain.value("4096\t87380\t6291456\n", ""), "4096\t87380\t6291456");
        assert_eq!(Reading::Marked.value("none [mq-deadline] kyber\n", ""), "mq-deadline");
        assert_eq!(Reading::Marked.value("none voluntary (full)\n", ""), "full");
        assert_eq!(Reading::Marked.value("performance\n", ""), "performance");
        assert_eq!(Reading::Switches.value("cpu memory\n", "+cpuset +cpu"), "-cpuset +cpu");
        assert_eq!(Reading::Schemata.value("    L3:0=7ff;1=7ff\n    MB:0= 100\n", "L3:0=f"), "L3:0=7ff;1=7ff");
    }

    #[test]
    fn values_are_compared_by_what_they_mean() {
        assert!(Reading::CpuMask.same("f", "0000000f"));
        assert!(Reading::CpuMask.same("00000000,0000000f", "f"));
        assert!(Reading::CpuList.same("0,1,2", "0-2"));
        assert!(!Reading::CpuList.same("0,1", "0-2"));
        assert!(Reading::Plain.same("4096 87380", "4096\t87380"));
        assert!(!Reading::Plain.same("isolated", "isolated invalid (no reason)"));
        assert!(Reading::Switches.same("+cpu +cpuset", "+cpuset +cpu"));
        assert!(!Reading::Switches.same("+cpu", "-cpu"));
        assert!(Reading::Schemata.same("L3:0=00f", "L3:0=f"));
        assert!(!Reading::Schemata.same("L3:0=f;1=f", "L3:0=f"));
    }

    #[test]
    fn fewer_cpus_are_as_good_only_where_said() {
        let strict = Expected::same(Reading::CpuList);
        let lenient = Expected { or_fewer: true, ..strict.clone() };
        assert!(!strict.met("0-3", "1") && lenient.met("0-3", "1"));
        assert!(!lenient.met("0-3", "4") && !lenient.met("0-3", ""));
        let schemata = Expected::same(Reading::Schemata);
        assert!(schemata.met("L3:0=f", "L3:0=00f;1=7ff") && !schemata.met("L3:0=f", "L3:0=7ff"));
    }
}
