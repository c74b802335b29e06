//! The protocol between host and guest over a serial line.
//!
//! The host sends one command per line. The guest answers with the exit code and both outputs, compressed and encoded
//! as base64, because the line changes bytes and the kernel may print to it. This module handles only text; it starts
//! no process and reads no clock.

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use std::io::Read;

/// The line that the guest prints when it accepts commands.
pub const READY: &str = "lab:ready";
/// Limit on the decompressed size of an answer, in bytes.
const LONGEST: u64 = 64 << 20;

/// The result of one command in a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Collects the lines between `lab:begin` and `lab:end`.
#[derive(Debug, Default)]
pub struct Frame {
    lines: Option<Vec<String>>,
}

impl Frame {
    /// Takes a line. Returns the answer once it is complete.
    pub fn take(&mut self, line: &str) -> Option<Result<Output>> {
        match (line, &mut self.lines) {
            ("lab:begin", lines) => *lines = Some(Vec::new()),
            ("lab:end", lines) => return lines.take().map(|lines| decode(&lines)),
            (_, Some(lines)) => lines.push(line.to_owned()),
            (_, None) => {}
        }
        None
    }
}

fn decode(lines: &[String]) -> Result<Output> {
    let at = |mark: &str| lines.iter().position(|line| line == mark).with_context(|| format!("answer without {mark}"));
    let (out, err) = (at("lab:out")?, at("lab:err")?);
    let code = lines.iter().find_map(|line| line.strip_prefix("lab:code ")).context("answer without an exit code")?;
    let part = |from: usize, to: usize| unpack(&lines.get(from..to).unwrap_or_default().concat());
    Ok(Output {
        code: code.trim().parse().with_context(|| format!("exit code '{code}'"))?,
        out: part(out + 1, err).context("standard output")?,
        err: part(err + 1, lines.len()).context("standard error")?,
    })
}

fn unpack(letters: &str) -> Result<String> {
    let packed = from_base64(letters)?;
    let mut bytes = Vec::new();
    GzDecoder::new(packed.as_slice())
        .take(LONGEST)
        .read_to_end(&mut bytes)
        .context("unpack what the guest said; the line was disturbed")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn from_base64(letters: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(letters.len() / 4 * 3);
    let (mut bits, mut have) = (0_u32, 0_u32);
    for letter in letters.bytes().filter(|letter| *letter != b'=') {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            other => bail!("'{}' in what the guest said; the line was disturbed", char::from(other)),
        };
        bits = bits << 6 | u32::from(value);
        have += 6;
        if have >= 8 {
            have -= 8;
            bytes.extend((bits >> have).to_le_bytes().first());
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The output of `printf 'Hello\n' | gzip -n | base64`.
    const HELLO: &str = "H4sIAAAAAAAAA/NIzcnJ5wIAFjWWMQYAAAA=";
    // The output of `printf '' | gzip -n | base64`.
    const NOTHING: &str = "H4sIAAAAAAAAAwMAAAAAAAAAAAA=";

    fn taken(lines: &[&str]) -> Option<Result<Output>> {
        let mut frame = Frame::default();
        lines.iter().fold(None, |answer, line| answer.or(frame.take(line)))
    }

    #[test]
    fn an_answer_is_read_from_among_other_lines() {
        let (first, second) = HELLO.split_at(12);
        let lines =
            ["noise", "lab:begin", "lab:code 2", "lab:out", first, second, "lab:err", NOTHING, "lab:end", "noise"];
        let output = taken(&lines).unwrap().unwrap();
        assert_eq!(output, Output { code: 2, out: "Hello\n".into(), err: String::new() });
    }

    #[test]
    fn half_an_answer_is_none_and_a_disturbed_one_an_error() {
        assert!(taken(&["lab:begin", "lab:code 0", "lab:out", HELLO]).is_none());
        assert!(taken(&["lab:end"]).is_none());
        for broken in [&HELLO[1..], "H4sI", "[   1.0] printk"] {
            let answer = taken(&["lab:begin", "lab:code 0", "lab:out", broken, "lab:err", NOTHING, "lab:end"]);
            assert!(answer.unwrap().is_err(), "{broken}");
        }
        assert!(taken(&["lab:begin", "lab:out", HELLO, "lab:err", NOTHING, "lab:end"]).unwrap().is_err());
    }
}
