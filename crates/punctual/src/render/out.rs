//! The way out: standard output for results, standard error for everything else.

use super::sheet::Style;
use super::units::THIN;
use super::words;
use anyhow::Context;
use std::io::{self, IsTerminal, Write};

/// Writes a result. A reader that has seen enough (`| head`) is no failure of ours.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    match writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// Says something beside the result.
pub fn say(text: &str) {
    // Nobody can be told that standard error is gone.
    let _ = writeln!(anstream::stderr(), "{}", text.replace(THIN, " "));
}

/// Asks something; the answer comes on the same line.
pub fn ask(question: &str) {
    let mut err = anstream::stderr();
    // Nobody can be told that standard error is gone.
    let _ = write!(err, "{question}").and_then(|()| err.flush());
}

/// Says why the program ends with an error: what failed, what that was caused by, and what to do about it.
pub fn error(error: &anyhow::Error) {
    say(&format!("error: {}", words::told(error)));
}

/// Colours always or never; otherwise terminals that do not refuse them have colours.
pub fn colour(wanted: Option<bool>) {
    match wanted {
        Some(true) => anstream::ColorChoice::AlwaysAnsi.write_global(),
        Some(false) => anstream::ColorChoice::Never.write_global(),
        None => {}
    }
}

/// How wide the terminal is that reads standard output; `None` when something else does.
pub fn columns() -> Option<usize> {
    let is_terminal = io::stdout().is_terminal();
    let size = || rustix::termios::tcgetwinsize(io::stdout()).ok();
    // A terminal that does not know its size (a serial line) says 0.
    let told = || size().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    is_terminal.then(|| told().unwrap_or(Style::default().width))
}

/// How to lay text out for whoever reads standard output: as wide as the terminal is, within reason.
pub fn style() -> Style {
    let colour = anstream::ColorChoice::global() == anstream::ColorChoice::AlwaysAnsi;
    columns()
        .map_or(Style { colour, ..Style::default() }, |columns| Style { width: columns.clamp(60, 120), colour: true })
}
