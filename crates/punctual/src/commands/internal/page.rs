//! The book's reference page of the verbs, which is generated from the same description as the help and the man pages.

use super::{EXAMPLES, EXIT_CODES, public};
use crate::cli::Cli;
use clap::builder::PossibleValue;
use clap::{Arg, Command, CommandFactory};
use std::fmt::{Result, Write};

const TOP: &str = "\
# Verbs

Generated from the command line of the program; do not edit. `punctual VERB --help` prints the same text, and so do the man
pages (`man punctual-VERB`).

";

fn page() -> std::result::Result<String, std::fmt::Error> {
    let mut program = public();
    program.build();
    let mut out = String::from(TOP);
    contents(&mut out, &program)?;
    shared(&mut out)?;
    verbs(&program).into_iter().try_for_each(|verb| section(&mut out, verb))?;
    writeln!(out, "## Exit codes\n\n| code | meaning |\n|---|---|")?;
    EXIT_CODES.iter().try_for_each(|(code, meaning)| writeln!(out, "| {code} | {} |", prose(meaning)))?;
    writeln!(out, "\n[What one run can claim](claims.md#doubts-and-what-they-do) tells which verdict has which code.")?;
    Ok(out)
}

/// All verbs in the order of the help; the verbs of a verb follow it.
fn verbs(command: &Command) -> Vec<&Command> {
    let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help");
    shown.flat_map(|verb| std::iter::once(verb).chain(verbs(verb))).collect()
}

/// The words that one types for the verb: `punctual fleet run`.
fn typed(verb: &Command) -> &str {
    verb.get_bin_name().unwrap_or(verb.get_name())
}

fn contents(out: &mut String, program: &Command) -> Result {
    writeln!(out, "| verb | what it does |\n|---|---|")?;
    for verb in verbs(program) {
        let (name, about) = (typed(verb), verb.get_about().map(ToString::to_string).unwrap_or_default());
        let short = name.strip_prefix("punctual ").unwrap_or(name);
        writeln!(out, "| [`{short}`](#{}) | {} |", name.replace(' ', "-"), prose(&about).replace('|', r"\|"))?;
    }
    writeln!(out)
}

/// The options that every verb takes.
fn shared(out: &mut String) -> Result {
    writeln!(out, "## Options of every verb\n")?;
    let mut program = Cli::command();
    program.build();
    program.get_arguments().try_for_each(|arg| option(out, arg))?;
    writeln!(out)
}

fn section(out: &mut String, verb: &Command) -> Result {
    let name = typed(verb);
    writeln!(out, "## `{name}`\n")?;
    let about = verb.get_long_about().or_else(|| verb.get_about()).map(ToString::to_string).unwrap_or_default();
    writeln!(out, "{}.\n", prose(about.trim_end_matches('.')))?;
    let usage = verb.clone().render_usage().to_string();
    writeln!(out, "Usage: `{}`\n", usage.trim_start_matches("Usage: "))?;
    let own: Vec<&Arg> = verb.get_arguments().filter(|arg| is_own(arg)).collect();
    own.iter().try_for_each(|arg| option(out, arg))?;
    if !own.is_empty() {
        writeln!(out)?;
    }
    let page = name.replace(' ', "-");
    let examples: Vec<&str> =
        EXAMPLES.iter().filter(|(of, _)| *of == page).flat_map(|(_, lines)| lines.iter().copied()).collect();
    if !examples.is_empty() {
        writeln!(out, "For example:\n")?;
        examples.iter().try_for_each(|line| writeln!(out, "    {line}"))?;
        writeln!(out)?;
    }
    Ok(())
}

/// Whether the verb has the option itself: neither do all verbs take it, nor does `clap` add it to every command.
fn is_own(arg: &Arg) -> bool {
    !arg.is_hide_set() && !arg.is_global_set() && !["help", "version"].contains(&arg.get_id().as_str())
}

fn option(out: &mut String, arg: &Arg) -> Result {
    let help = arg.get_long_help().or_else(|| arg.get_help()).map(ToString::to_string).unwrap_or_default();
    write!(out, "- {}: {}", spellings(arg).join(", "), prose(&help))?;
    if !arg.get_action().takes_values() {
        return writeln!(out);
    }
    let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if !defaults.is_empty() {
        write!(out, " [default: {}]", defaults.join(","))?;
    }
    let values: Vec<PossibleValue> =
        arg.get_possible_values().into_iter().filter(|value| !value.is_hide_set()).collect();
    if values.iter().all(|value| value.get_help().is_none()) && !values.is_empty() {
        let names: Vec<String> = values.iter().map(|value| format!("`{}`", value.get_name())).collect();
        return writeln!(out, " [possible values: {}]", names.join(", "));
    }
    writeln!(out)?;
    values.iter().try_for_each(|value| {
        let help = value.get_help().map(|help| format!(": {}", prose(&help.to_string()))).unwrap_or_default();
        writeln!(out, "  - `{}`{help}", value.get_name())
    })
}

/// All ways to spell an option, as code: `-q`, `--brief`, `--quiet`. The one that names the values is what `clap` shows.
fn spellings(arg: &Arg) -> Vec<String> {
    let short = arg.get_short().filter(|_| arg.get_long().is_some()).map(|short| format!("-{short}"));
    let aliases = arg.get_visible_aliases().unwrap_or_default().into_iter().map(|alias| format!("--{alias}"));
    short.into_iter().chain([arg.to_string()]).chain(aliases).map(|spelling| format!("`{spelling}`")).collect()
}

/// Text of the help as Markdown. Signs that Markdown or HTML would take for markup are escaped, except within code.
fn prose(text: &str) -> String {
    let one_line = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let parts = one_line.split('`').enumerate().map(|(nth, part)| match nth % 2 {
        0 => part.replace('<', "&lt;").replace('*', r"\*"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

#[test]
fn the_page_of_verbs_is_fresh() {
    fixtures::check(&fixtures::repository("book/src/verbs.md"), &page().unwrap());
}

#[test]
fn signs_of_markdown_are_escaped_outside_of_code() {
    assert_eq!(prose("<A> and `<B>`\n* c"), r"&lt;A> and `<B>` \* c");
}
