//! Writes records as lines of text.

use super::line::{LogLine, Noted, Output};
use super::record::{Kind, LogRecord};
use std::io::{self, Write};

const NS_PER_SECOND: u64 = 1_000_000_000;

/// Writes one line per record: seconds of `CLOCK_MONOTONIC`, thread, text.
pub(super) struct Text<W>(pub(super) W);

impl<W: Write + Send> Output for Text<W> {
    fn write(&mut self, line: &LogLine) -> io::Result<()> {
        let (ns, name) = (line.at.as_ns(), &line.thread.name);
        write!(self.0, "{}.{:09} {name}: ", ns / NS_PER_SECOND, ns % NS_PER_SECOND)?;
        match &line.what {
            Noted::Lost(count) => writeln!(self.0, "{count} records lost: the log was full"),
            Noted::Record(record) => match record.kind {
                Kind::Message => writeln!(self.0, "{}", message(record)),
                Kind::Begin => writeln!(self.0, "begin {}", record.text),
                Kind::End => writeln!(self.0, "end {}", record.text),
                Kind::Counter => {
                    let [value, ..] = &record.values;
                    writeln!(self.0, "{} = {value}", record.text)
                }
            },
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The text of a message with its values filled in.
pub(super) fn message(record: &LogRecord) -> String {
    let mut values = record.values.iter();
    let mut pieces = record.text.split("{}");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match values.next() {
            Some(value) => text.push_str(&value.to_string()),
            None => text.push_str("{}"),
        }
        text.push_str(piece);
    }
    text
}
