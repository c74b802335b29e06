//! The protocol between host and guest over a serial line.
//!
//! A guest answers each command with the exit code, both outputs and files, compressed and encoded as base64, because the
//! line changes bytes and the kernel may print to it. The lab's shell in a guest writes the same as [`encode`]. This
//! module handles only text; it starts no process and reads no clock.

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::io::{Read, Write};

/// The line that the guest prints when it accepts commands.
pub const READY: &str = "lab:ready";
/// The line that a guest prints after the last answer.
pub const DONE: &str = "lab:done";
/// Limit on the decompressed size of each part of an answer, in bytes.
const LONGEST: u64 = 64 << 20;
/// Number of base64 letters on one line.
const LINE: usize = 76;

/// The result of one command in a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    pub code: i32,
    pub out: String,
    pub err: String,
    /// The contents of files that were asked for, in that order; `None` for one that does not exist.
    pub files: Vec<Option<Vec<u8>>>,
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

/// The lines of an answer, as a guest prints them.
pub fn encode(output: &Output) -> Result<String> {
    let mut text = format!("lab:begin\nlab:code {}\n", output.code);
    let mut part = |mark: &str, bytes: Option<&[u8]>| -> Result<()> {
        writeln!(text, "lab:{mark}")?;
        let Some(bytes) = bytes else { return Ok(()) };
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(bytes)?;
        let letters = STANDARD.encode(packed.finish()?);
        for line in letters.as_bytes().chunks(LINE) {
            writeln!(text, "{}", String::from_utf8_lossy(line))?;
        }
        Ok(())
    };
    part("out", Some(output.out.as_bytes()))?;
    part("err", Some(output.err.as_bytes()))?;
    for file in &output.files {
        part("file", file.as_deref())?;
    }
    text.push_str("lab:end\n");
    Ok(text)
}

fn decode(lines: &[String]) -> Result<Output> {
    let code = lines.iter().find_map(|line| line.strip_prefix("lab:code ")).context("answer without an exit code")?;
    let mut output =
        Output { code: code.trim().parse().with_context(|| format!("exit code '{code}'"))?, ..Output::default() };
    let (mut has_out, mut has_err) = (false, false);
    // Each part begins with its mark. What comes before the first is the exit code.
    let starts: Vec<usize> =
        (0..lines.len()).filter(|at| ["lab:out", "lab:err", "lab:file"].contains(&lines[*at].as_str())).collect();
    for (number, start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied().unwrap_or(lines.len());
        let letters = lines[start + 1..end].concat();
        match lines[*start].as_str() {
            "lab:out" => (output.out, has_out) = (text(&letters).context("standard output")?, true),
            "lab:err" => (output.err, has_err) = (text(&letters).context("standard error")?, true),
            _ if letters.is_empty() => output.files.push(None),
            _ => output.files.push(Some(unpack(&letters).context("a file")?)),
        }
    }
    if !(has_out && has_err) {
        bail!("answer without outputs");
    }
    Ok(output)
}

fn text(letters: &str) -> Result<String> {
    Ok(String::from_utf8_lossy(&unpack(letters)?).into_owned())
}

fn unpack(letters: &str) -> Result<Vec<u8>> {
    let packed = STANDARD.decode(letters).context("read what the guest said; the line was disturbed")?;
    let mut bytes = Vec::new();
    GzDecoder::new(packed.as_slice())
        .take(LONGEST)
        .read_to_end(&mut bytes)
        .context("unpack what the guest said; the line was disturbed")?;
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
        assert_eq!(output, Output { code: 2, out: "Hello\n".into(), ..Output::default() });
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

    #[test]
    fn what_is_encoded_is_read_again() {
        let file: Vec<u8> = (0..2_000_u32).flat_map(u32::to_le_bytes).collect();
        let output =
            Output { code: -9, out: "out\r\n".into(), err: "err".into(), files: vec![Some(file), None, Some(vec![])] };
        let text = encode(&output).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(taken(&lines).unwrap().unwrap(), output);
        assert!(lines.iter().all(|line| line.len() <= LINE));
    }
}
