//! Prints results on standard output and everything else on standard error.

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
    // If standard error is closed, the failure cannot be reported anywhere.
    let _ = writeln!(anstream::stderr(), "{}", text.replace(THIN, " "));
}

/// Prints a message on standard error, wrapped between words if that is a terminal.
pub fn say_wrapped(text: &str) {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok().filter(|_| io::stderr().is_terminal());
    let Some(columns) = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0) else {
        return say(text);
    };
    let mut sheet = Sheet::new(Style { width: columns.max(20), ..Style::default() });
    sheet.paragraph(0, text);
    say(sheet.finish().trim_end());
}

/// Prints a question; the answer is typed on the same line.
pub fn ask(question: &str) {
    let mut err = anstream::stderr();
    // If standard error is closed, the failure cannot be reported anywhere.
    let _ = write!(err, "{question}").and_then(|()| err.flush());
}

/// Prints why the program ends with an error: what failed, its causes, and what to do about it.
pub fn error(error: &anyhow::Error) {
    say(&format!("error: {}", words::told(error)));
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
