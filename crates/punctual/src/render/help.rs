//! The help and the refusals of the command line, in the language of the program.
//!
//! The help of the commands and options is translated before `clap` lays it out. What `clap` says in words of its own is
//! recognised in the finished text, line by line. That text comes unwrapped, because `clap` breaks lines at spaces only
//! and Chinese has none.

use super::lang::{is_english, said, text};
use super::sheet::{Sheet, Style, Tone};
use clap::builder::StyledStr;
use clap::{Arg, Command};

/// Words of `clap` within its lines. They stand in the order in which they are replaced.
const OF_CLAP: [&str; 12] = [
    "Usage: ",
    "Commands:",
    "Arguments:",
    "Options:",
    "Possible values:",
    "[default: ",
    "[possible values: ",
    "[aliases: ",
    "[env: ",
    "[OPTIONS]",
    "<COMMAND>",
    "[COMMAND]",
];

/// Lines of `clap`, as patterns. They stand here for the catalogue, which translates them.
#[cfg(test)]
pub const LINES_OF_CLAP: [&str; 27] = [
    "Print help",
    "Print help (see more with '--help')",
    "Print help (see a summary with '-h')",
    "Print version",
    "Print this message or the help of the given subcommand(s)",
    "error: {error}",
    "unexpected argument '{argument}' found",
    "unrecognized subcommand '{command}'",
    "the argument '{argument}' cannot be used multiple times",
    "the argument '{argument}' cannot be used with '{other}'",
    "the argument '{argument}' cannot be used with",
    "the argument '{argument}' cannot be used with one or more of the other specified arguments",
    "a value is required for '{argument}' but none was supplied",
    "invalid value '{value}' for '{argument}'",
    "invalid value '{value}' for '{argument}': {why}",
    "{n} values required by '{argument}'; only {given} was provided",
    "unexpected value '{value}' for '{argument}' found; no more were expected",
    "the following required arguments were not provided:",
    "'{command}' requires a subcommand but one was not provided",
    "For more information, try '{help}'.",
    "tip: a similar argument exists: '{argument}'",
    "tip: a similar subcommand exists: '{command}'",
    "tip: a similar value exists: '{value}'",
    "tip: some similar arguments exist: {arguments}",
    "tip: some similar subcommands exist: {commands}",
    "tip: some similar values exist: {values}",
    "tip: to pass '{argument}' as a value, use '{instead}'",
];

/// The command with its help in the language of the program, laid out without wrapping.
pub fn in_language(command: Command) -> Command {
    if is_english() { command } else { of_command(command).term_width(0) }
}

fn of_command(command: Command) -> Command {
    let [about, long, after] =
        [command.get_about(), command.get_long_about(), command.get_after_help()].map(translated);
    let mut command = command.mut_args(of_argument).mut_subcommands(of_command);
    if let Some(about) = about {
        command = command.about(about);
    }
    if let Some(long) = long {
        command = command.long_about(long);
    }
    match after {
        Some(after) => command.after_help(after),
        None => command,
    }
}

fn of_argument(argument: Arg) -> Arg {
    let [help, long] = [argument.get_help(), argument.get_long_help()].map(translated);
    let argument = match help {
        Some(help) => argument.help(help),
        None => argument,
    };
    match long {
        Some(long) => argument.long_help(long),
        None => argument,
    }
}

fn translated(english: Option<&StyledStr>) -> Option<String> {
    english.map(|english| text(&english.to_string()).to_owned())
}

/// All texts of the help, as the catalogue has them.
#[cfg(test)]
pub fn texts(command: &Command) -> Vec<String> {
    let help = [command.get_about(), command.get_long_about(), command.get_after_help()];
    let mut all: Vec<String> = help.into_iter().flatten().map(ToString::to_string).collect();
    for argument in command.get_arguments() {
        let help = [argument.get_help(), argument.get_long_help()];
        all.extend(help.into_iter().flatten().map(ToString::to_string));
        all.extend(argument.get_possible_values().iter().filter_map(|value| Some(value.get_help()?.to_string())));
    }
    let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    all.extend(shown.flat_map(texts));
    all.extend(OF_CLAP.map(str::to_owned));
    all.extend(LINES_OF_CLAP.map(str::to_owned));
    all
}

/// What `clap` prints, help or refusal, in the language of the program and wrapped to this width.
pub fn printed(error: &clap::Error, columns: usize) -> String {
    let mut sheet = Sheet::new(Style { width: columns, colour: false });
    for line in error.render().to_string().lines() {
        let Line { indent, left, right } = Line::of(line);
        let right = OF_CLAP.into_iter().fold(said(right).into_owned(), |line, word| line.replace(word, text(word)));
        match left {
            "" if right.is_empty() => sheet.gap(),
            "" => sheet.paragraph(indent, &right),
            left => sheet.hanging_paragraph(indent, indent + left.len() + 1, Tone::Quiet, left, &right),
        }
    }
    sheet.finish()
}

/// A line of help: the name of an option, a verb or a value, and what it means. Other lines have no name.
struct Line<'t> {
    indent: usize,
    /// The name with all spaces after it but one.
    left: &'t str,
    right: &'t str,
}

impl<'t> Line<'t> {
    fn of(line: &'t str) -> Self {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        let bare = bare.trim_end();
        let is_name = |name: &str| !name.contains(' ') || name.starts_with('-') || name.starts_with('[');
        let two = bare.find("  ").filter(|at| bare.get(..*at).is_some_and(is_name));
        let value = || bare.strip_prefix("- ").and_then(|value| Some(value.find(": ")? + 3));
        let Some(end) = two.or_else(value) else { return Self { indent, left: "", right: bare } };
        let (name, rest) = bare.split_at(end);
        let right = rest.trim_start();
        let left = bare.get(..bare.len() - right.len() - 1).unwrap_or(name);
        Self { indent, left, right }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use crate::render::lang::{for_people, in_chinese, width};
    use clap::CommandFactory;

    fn chinese(words: &[&str], columns: usize) -> String {
        in_chinese(|| {
            for_people(|| {
                let error = in_language(Cli::command()).try_get_matches_from(words).unwrap_err();
                printed(&error, columns)
            })
        })
    }

    #[test]
    fn the_help_of_every_verb_is_chinese_and_fits() {
        let program = Cli::command();
        let verbs = program.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help");
        for verb in verbs {
            for form in ["-h", "--help"] {
                let help = chinese(&["punctual", verb.get_name(), form], 60);
                assert!(help.contains("用法：punctual") && !help.contains("Options:"), "{help}");
                for line in help.lines().filter(|line| width(line) > 60) {
                    assert!(line.split_whitespace().count() <= 2 || line.contains("用法"), "{line}");
                }
            }
        }
    }

    #[test]
    fn a_refusal_is_chinese() {
        let text = chinese(&["punctual", "check", "--bugdet", "3"], 80);
        assert!(text.starts_with("错误：") && text.contains("--budget"), "{text}");
        assert!(!text.contains("argument") && !text.contains("more information"), "{text}");
    }

    #[test]
    fn english_help_is_the_same_as_without_translation() {
        let of =
            |command: Command| command.try_get_matches_from(["punctual", "check", "--help"]).unwrap_err().to_string();
        assert_eq!(of(of_command(Cli::command())), of(Cli::command()));
    }
}
