//! Prints results on standard output and everything else on standard error.

use super::help;
use super::lang::{for_people, is_english, said, tr};
use super::sheet::{Sheet, Style};
use super::units::THIN;
use super::words;
use anyhow::Context;
use std::io::{self, IsTerminal, Write};

/// Prints a result. If the reader closes the pipe early (`| head`), that is no error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    match writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// Prints a message on standard error.
pub fn say(text: &str) {
    let told = for_people(|| text.lines().map(said).collect::<Vec<_>>().join("\n"));
    // If standard error is closed, the failure cannot be reported anywhere.
    let _ = writeln!(anstream::stderr(), "{}", told.replace(THIN, " "));
}

/// Prints a message on standard error, wrapped between words if that is a terminal.
pub fn say_wrapped(text: &str) {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok().filter(|_| io::stderr().is_terminal());
    let Some(columns) = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0) else {
        return say(text);
    };
    let mut sheet = Sheet::new(Style { width: columns.max(20), ..Style::default() });
    for_people(|| sheet.paragraph(0, &said(text)));
    say(sheet.finish().trim_end());
}

/// Prints a question; the answer is typed on the same line.
pub fn ask(question: &str) {
    let mut err = anstream::stderr();
    // If standard error is closed, the failure cannot be reported anywhere.
    let _ = write!(err, "{}", for_people(|| said(question))).and_then(|()| err.flush());
}

/// Prints why the program ends with an error: what failed, its causes, and what to do about it.
pub fn error(error: &anyhow::Error) {
    let told = words::told(error);
    say(&for_people(|| tr!("error: {told}", told = said(&told))));
}

/// Prints what `clap` has to say: the help that was asked for, or why a command line is refused.
pub fn usage(refused: &clap::Error) {
    let said = for_people(|| (!is_english()).then(|| help::printed(refused, columns().unwrap_or(100).clamp(20, 100))));
    // An error while printing is ignored: the reader may have closed the pipe.
    match said {
        None => drop(refused.print()),
        Some(text) if refused.use_stderr() => say(text.trim_end()),
        Some(text) => drop(print(&text)),
    }
}

/// Switches colours on or off for the whole program. With `None`, terminals have colours unless the environment says
/// otherwise.
pub fn colour(wanted: Option<bool>) {
    match wanted {
        Some(true) => anstream::ColorChoice::AlwaysAnsi.write_global(),
        Some(false) => anstream::ColorChoice::Never.write_global(),
        None => {}
    }
}

/// Width of the terminal at standard output; `None` if standard output is not a terminal.
pub fn columns() -> Option<usize> {
    let is_terminal = io::stdout().is_terminal();
    let size = || rustix::termios::tcgetwinsize(io::stdout()).ok();
    // A terminal that does not know its size, such as a serial line, reports 0 columns.
    let told = || size().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    is_terminal.then(|| told().unwrap_or(Style::default().width))
}

/// Layout for standard output: the width of the terminal within bounds, and colours if they are on.
pub fn style() -> Style {
    let colour = anstream::ColorChoice::global() == anstream::ColorChoice::AlwaysAnsi;
    columns().map_or(Style { colour, ..Style::default() }, |columns| Style { width: columns.min(120), colour: true })
}
