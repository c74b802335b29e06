//! Differences between two texts of options, one on each line: configurations of kernels, or words of a command line.

use std::collections::BTreeMap;
use std::fmt;

/// One option that the second text has otherwise than the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    name: String,
    /// The option's line in the second text; `None` if it is not there.
    line: Option<String>,
}

/// Shown is the line of the second text, or `-NAME` for an option that it lacks.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.line {
            Some(line) => f.write_str(line),
            None => write!(f, "-{}", self.name),
        }
    }
}

/// The name of the option on a line: `CONFIG_HZ` for `CONFIG_HZ=100` and for `# CONFIG_HZ is not set`. `None` for
/// comments and empty lines.
fn name(line: &str) -> Option<&str> {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix('#') {
        return rest.trim().strip_suffix(" is not set");
    }
    let name = line.split('=').next().unwrap_or(line).trim();
    (!name.is_empty()).then_some(name)
}

/// The options of a text. Of an option that stands there twice, the last line counts, as it does for the kernel.
fn options(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| Some((name(line)?, line.trim()))).collect()
}

/// What must change in the first text to have the options of the second, ordered by name. An option that is not set is
/// the same as one that is missing.
pub fn changes(first: &str, second: &str) -> Vec<Change> {
    let is_set = |line: &&&str| !line.starts_with('#');
    let (first, second) = (options(first), options(second));
    let names: std::collections::BTreeSet<&str> = first.keys().chain(second.keys()).copied().collect();
    let differs = names.into_iter().filter(|name| first.get(name).filter(is_set) != second.get(name).filter(is_set));
    let change = |name: &str| Change { name: name.to_owned(), line: second.get(name).map(|line| (*line).to_owned()) };
    differs.map(change).collect()
}

/// The first text with some changes.
pub fn with(first: &str, changes: &[Change]) -> String {
    let is_new = |line: &&str| name(line).is_some_and(|name| changes.iter().any(|change| change.name == name));
    let kept = first.lines().filter(|line| !is_new(line));
    let new = changes.iter().filter_map(|change| change.line.as_deref());
    kept.chain(new).flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# a comment\nCONFIG_HZ=1000\nCONFIG_PREEMPT=y\n# CONFIG_PROVE_LOCKING is not set\nCONFIG_A=y\n";
    const BAD: &str =
        "CONFIG_HZ=100\n# CONFIG_PREEMPT is not set\nCONFIG_PROVE_LOCKING=y\nCONFIG_A=y\n# CONFIG_B is not set\n";

    #[test]
    fn options_that_differ_are_changes() {
        let found: Vec<String> = changes(GOOD, BAD).iter().map(Change::to_string).collect();
        assert_eq!(found, ["CONFIG_HZ=100", "# CONFIG_PREEMPT is not set", "CONFIG_PROVE_LOCKING=y"]);
        assert_eq!(changes(GOOD, GOOD), []);
    }

    #[test]
    fn all_changes_make_the_second_of_the_first_and_none_leave_it() {
        let all = changes(GOOD, BAD);
        assert_eq!(changes(&with(GOOD, &all), BAD), []);
        assert_eq!(with(GOOD, &[]), GOOD);
        let one = with(GOOD, &all[..1]);
        assert!(one.contains("CONFIG_HZ=100\n") && !one.contains("HZ=1000") && one.contains("CONFIG_PREEMPT=y"));
    }

    #[test]
    fn words_of_a_command_line_are_options_too() {
        let found: Vec<String> =
            changes("preempt=full\nquiet\n", "preempt=none\nnosmt\n").iter().map(Change::to_string).collect();
        assert_eq!(found, ["nosmt", "preempt=none", "-quiet"]);
    }
}
