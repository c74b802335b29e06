//! The protocol between host and guest on a serial line: one line is a question, a block of lines its answer.
//!
//! The output of programs could contain anything, so it is sent as base64. This module contains both ends: the guest's
//! script, and the host's reader of its answers. It knows neither QEMU nor sockets.

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::time::Duration;

/// The script that answers in the guest. It sends `UP` once per start, then answers one question at a time.
pub const SCRIPT: &str = include_str!("guest/agent.sh");

/// The systemd unit that starts [`SCRIPT`] after all other services.
pub const UNIT: &str = include_str!("guest/agent.service");

/// The result of one command in the guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Exit code as in a shell: 124 if the command took too long, 128 + N if signal N killed it.
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Output {
    /// The standard output of a command; an error if the command failed.
    pub fn ok(self, what: &str) -> Result<String> {
        ensure!(self.code == 0, "`{what}` in the guest ended with {}: {}", self.code, self.err.trim());
        Ok(self.out)
    }
}

/// One line from the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The agent has started. The word is different at each boot.
    Up(String),
    /// A piece of standard output.
    Out(Vec<u8>),
    /// A piece of standard error.
    Err(Vec<u8>),
    /// The end of the answer to the question with this number, and the command's exit code.
    End(u64, i32),
    /// A line that is not from the agent.
    Noise,
}

/// The line that asks the guest to run a command and to end it after `limit`.
pub fn question(id: u64, limit: Duration, command: &str) -> String {
    format!("RUN {id} {} {}\n", limit.as_secs().max(1), BASE64.encode(command))
}

/// Reads one line of an answer.
pub fn line(text: &str) -> Result<Line> {
    let garbled = || format!("the guest's line `{text}` is garbled");
    let mut words = text.split_ascii_whitespace();
    Ok(match (words.next(), words.next(), words.next()) {
        (Some("UP"), Some(boot), None) => Line::Up(boot.to_owned()),
        (Some("O"), Some(piece), None) => Line::Out(BASE64.decode(piece).with_context(garbled)?),
        (Some("E"), Some(piece), None) => Line::Err(BASE64.decode(piece).with_context(garbled)?),
        (Some("END"), Some(id), Some(code)) => {
            Line::End(id.parse().with_context(garbled)?, code.parse().with_context(garbled)?)
        }
        _ => Line::Noise,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_from_noise() {
        assert_eq!(line("UP 12-ab").unwrap(), Line::Up("12-ab".into()));
        assert_eq!(line("O Zm9v").unwrap(), Line::Out(b"foo".to_vec()));
        assert_eq!(line("END 3 124").unwrap(), Line::End(3, 124));
        assert_eq!(line("[    0.1] random: crng init done").unwrap(), Line::Noise);
        assert_eq!(line("").unwrap(), Line::Noise);
        assert!(line("O !!").is_err() && line("END x 0").is_err());
    }

    #[test]
    fn a_question_is_one_line() {
        let asked = question(7, Duration::from_secs(30), "printf 'a\nb'");
        assert_eq!(asked, "RUN 7 30 cHJpbnRmICdhCmIn\n");
    }
}
