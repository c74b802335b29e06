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

/// Shown is the line of the second text. An option that it lacks is shown as a kernel's configuration shows it, and a
/// word of a command line as `-WORD`.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.line {
            Some(line) => f.write_str(line),
            None if self.name.starts_with("CONFIG_") => write!(f, "# {} is not set", self.name),
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

/// The line of an option that is set. `# CONFIG_X is not set`, `CONFIG_X=n` and no line at all mean the same.
fn set<'a>(options: &BTreeMap<&str, &'a str>, name: &str) -> Option<&'a str> {
    let is_off = |line: &str| line.starts_with('#') || (line.starts_with("CONFIG_") && line.ends_with("=n"));
    options.get(name).copied().filter(|line| !is_off(line))
}

/// What must change in the first text to have the options of the second, ordered by name.
pub fn changes(first: &str, second: &str) -> Vec<Change> {
    let (first, second) = (options(first), options(second));
    let names: std::collections::BTreeSet<&str> = first.keys().chain(second.keys()).copied().collect();
    let differs = names.into_iter().filter(|name| set(&first, name) != set(&second, name));
    let change = |name: &str| Change { name: name.to_owned(), line: second.get(name).map(|line| (*line).to_owned()) };
    differs.map(change).collect()
}

/// All options of a text, ordered by name.
pub fn lines(text: &str) -> Vec<Change> {
    let change = |(name, line): (&str, &str)| Change { name: name.to_owned(), line: Some(line.to_owned()) };
    options(text).into_iter().map(change).collect()
}

/// What was asked for and is otherwise in a kernel that was built. Kconfig drops an option whose dependencies are not
/// met, and sets one that others select. An option that was left out is not asked for.
pub fn unmet(asked: &[Change], built: &str) -> Vec<Change> {
    let built = options(built);
    let is_unmet = |change: &&Change| {
        let line = change.line.as_deref();
        line.is_some_and(|line| set(&options(line), &change.name) != set(&built, &change.name))
    };
    asked.iter().filter(is_unmet).cloned().collect()
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
    fn three_ways_to_say_that_an_option_is_off_are_the_same() {
        for off in ["# CONFIG_A is not set\n", "CONFIG_A=n\n", ""] {
            assert_eq!(changes(off, "CONFIG_A=n\n"), [], "{off}");
            assert_eq!(changes("CONFIG_A=y\n", off).len(), 1, "{off}");
        }
        assert_eq!(changes("CONFIG_A=y\n", "")[0].to_string(), "# CONFIG_A is not set");
        assert_eq!(changes("a=y\n", "a=n\n")[0].to_string(), "a=n");
    }

    #[test]
    fn what_kconfig_dropped_or_selected_is_told() {
        let asked = lines("CONFIG_A=y\nCONFIG_B=y\n# CONFIG_C is not set\nCONFIG_D=n\nCONFIG_HZ=100\n");
        let told = |built: &str| unmet(&asked, built).iter().map(Change::to_string).collect::<Vec<_>>();
        assert_eq!(told("CONFIG_A=y\nCONFIG_B=y\nCONFIG_HZ=100\n"), Vec::<String>::new());
        assert_eq!(
            told("CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=y\nCONFIG_D=m\nCONFIG_HZ=1000\n"),
            ["CONFIG_B=y", "# CONFIG_C is not set", "CONFIG_D=n", "CONFIG_HZ=100"]
        );
        // The bad text has no line for B, so nothing is asked of it.
        assert_eq!(unmet(&changes("CONFIG_B=y\n", ""), "CONFIG_B=y\n"), []);
    }

    #[test]
    fn words_of_a_command_line_are_options_too() {
        let found: Vec<String> =
            changes("preempt=full\nquiet\n", "preempt=none\nnosmt\n").iter().map(Change::to_string).collect();
        assert_eq!(found, ["nosmt", "preempt=none", "-quiet"]);
    }
}
