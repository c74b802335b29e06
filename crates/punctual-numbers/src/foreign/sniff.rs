//! Finds the format of a file from its first bytes.
//!
//! A format is recognised by words that only its program writes. If the bytes fit several formats, or are numbers of
//! unknown meaning, the file is refused and the error names the candidates. A wrong guess of the unit or the meaning
//! would give numbers that look right.

use super::columns::Layout;
use super::lines::SNIFFED;
use super::number::{Unit, no_number, number};
use super::{Format, ImportRemedy, Problem};

pub fn sniff(first: &[u8]) -> Result<Format, Problem> {
    let first = first.get(..SNIFFED).unwrap_or(first);
    if first.is_empty() {
        return Err(Problem::new("the file is empty"));
    }
    if first.starts_with(b"\xff\xfe") || first.starts_with(b"\xfe\xff") {
        return Err(Problem::new("the file is in UTF-16; write it as UTF-8 first (iconv -f UTF-16 -t UTF-8)"));
    }
    if first.contains(&0) {
        let raw = super::jitterdebugger_raw::looks_like(first).then_some(Format::JitterdebuggerRaw);
        return raw.ok_or_else(|| Problem::new("it is neither text nor a recording"));
    }
    let text = String::from_utf8_lossy(first);
    if is_json(&text) && text.contains("\"schema\": \"punctual/") {
        return Err(Problem::new("it is JSON that punctual printed, not what it was made of: name the recording"));
    }
    let found: Vec<Format> = MARKS.iter().filter(|(_, is)| is(&text)).map(|(format, _)| *format).collect();
    match found.as_slice() {
        [format] => Ok(*format),
        [] => by_numbers(first),
        several => Err(ambiguous("it has the marks of several programs", several)),
    }
}

type Mark = (Format, fn(&str) -> bool);

const MARKS: &[Mark] = &[
    (Format::Cyclictest, is_cyclictest),
    (Format::RtTestsJson, |text| is_json(text) && text.contains("\"rt_test_version")),
    (Format::Jitterdebugger, |text| is_json(text) && text.contains("\"cpus_online\"")),
    (Format::Boards, |text| {
        is_json(text) && ["\"source\"", "\"total\"", "\"max\""].iter().all(|key| text.contains(key))
    }),
    (Format::Xenomai, |text| text.contains("----lat min|") || any_line(text, |line| line.starts_with("RTD|"))),
    (Format::Latmus, |text| any_line(text, |line| line.starts_with("# sampling period:"))),
    (Format::Rtla, |text| {
        any_line(text, |line| line.starts_with("# RTLA ") && line.contains("histogram")) || any_line(text, rtla_header)
    }),
    (Format::Oslat, |text| {
        any_line(text, |line| line.starts_with("oslat V ") || line.trim_start().starts_with("Counter Freq:"))
    }),
    (Format::Queuelat, |text| text.contains("cycles_to_ns = ") || any_line(text, queuelat_end)),
    (Format::RtTestsPairs, |text| any_line(text, pair_line)),
    (Format::Hgrm, |text| any_line(text, super::hgrm::heading)),
    (Format::Hwlatdetect, |text| any_line(text, |line| line.starts_with("hwlatdetect:") || hwlat_sample(line))),
    (Format::Rteval, |text| text.contains("<rteval ") || text.contains("<rteval>")),
    (Format::StressNg, |text| any_line(text, |line| line.contains("cyclic: sched "))),
    // `,HIST` is the comma before a packed histogram and the first three bytes of every version of it, in Base64.
    (Format::Hdr, |text| !is_json(text) && any_line(text, |line| !line.starts_with('#') && line.contains(",HIST"))),
    (Format::RtApp, |text| any_line(text, |line| line.starts_with('#') && line.contains("wu_lat"))),
];

fn any_line(text: &str, is: impl Fn(&str) -> bool) -> bool {
    // A carriage return without a line feed also ends a line.
    text.split(['\n', '\r']).any(is)
}

fn is_json(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

/// Whether a line is typical of cyclictest: the head or foot of a histogram, a row of two numbers of six digits, or a
/// thread's status line.
fn is_cyclictest(text: &str) -> bool {
    any_line(text, |line| {
        line.starts_with("# Histogram")
            || line.starts_with("# Min Latencies:")
            || histogram_row(line)
            || thread_line(line)
            || verbose_line(line)
    })
}

fn histogram_row(line: &str) -> bool {
    let digits =
        |text: Option<&str>| text.is_some_and(|text| text.len() >= 6 && text.bytes().all(|b| b.is_ascii_digit()));
    let mut words = line.split([' ', '\t']);
    line.contains('\t') && digits(words.next()) && digits(words.next()) || {
        let mut words = line.split(' ');
        digits(words.next()) && digits(words.next()) && words.all(str::is_empty)
    }
}

pub(super) fn thread_line(line: &str) -> bool {
    line.trim_start().starts_with("T:") && line.contains(" C:") && line.contains("Max:") && line.contains(" I:")
}

/// The line that `-v` prints for each thread before its first sample.
fn verbose_line(line: &str) -> bool {
    let after = line.strip_prefix("Thread ").and_then(|rest| rest.split_once(" Interval: "));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    after.is_some_and(|(thread, interval)| digits(thread) && digits(interval.trim_end()))
}

fn rtla_header(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let is_column = |word: &str| ["IRQ-", "Thr-", "Usr-", "CPU-"].iter().any(|start| word.starts_with(start));
    words.next() == Some("Index") && words.next().is_some_and(is_column)
}

fn queuelat_end(line: &str) -> bool {
    line.starts_with('[') && line.contains(" - END] = ")
}

fn pair_line(line: &str) -> bool {
    let numbered = line.trim_start().strip_prefix('#').and_then(|rest| rest.split_once(" -> #"));
    numbered.is_some_and(|(sender, rest)| {
        sender.bytes().all(|byte| byte.is_ascii_digit()) && rest.contains(", Min ") && rest.contains(", Max ")
    })
}

fn hwlat_sample(line: &str) -> bool {
    line.starts_with("ts: ") && line.contains("inner:") && line.contains("outer:")
}

/// The format of bare numbers: the one that their heading names, or instants if the numbers only ascend.
fn by_numbers(first: &[u8]) -> Result<Format, Problem> {
    let unknown = || {
        let names = Format::IMPORTED.map(Format::name).join(", ");
        Problem::new(format!("it is not recognised as any of {names}")).with(ImportRemedy::SayFormat(Vec::new()))
    };
    let layout = Layout::of(first);
    let mut named: Vec<Format> = layout.known.iter().map(|column| column.format).collect();
    named.dedup();
    match named.as_slice() {
        [] => {}
        [format] => return Ok(*format),
        several => return Err(ambiguous("its heading names several things", several)),
    }
    if layout.columns != 1 || layout.heading.is_some() || layout.rows.is_empty() {
        return Err(unknown());
    }
    let mut values = Vec::with_capacity(layout.rows.len());
    for (line, row) in &layout.rows {
        match number(row, Unit::Us) {
            Some(number) => values.push(number.ns),
            None if values.is_empty() => return Err(unknown()),
            None => return Err(no_number(*line, row)),
        }
    }
    if values.len() > 2 && values.windows(2).all(|pair| matches!(pair, [a, b] if a < b)) {
        return Ok(Format::Timestamps);
    }
    Err(ambiguous("it is numbers, and nothing says of what", &[Format::Latencies, Format::Periods]))
}

fn ambiguous(why: &str, candidates: &[Format]) -> Problem {
    Problem::new(why).with(ImportRemedy::SayFormat(candidates.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_command_is_no_mark_of_another_program() {
        let quoted = br#"{ "cmdline": "cyclictest --json=a,HISTFAAA", "rt_test_version": "2.50" }"#;
        assert_eq!(sniff(quoted).unwrap(), Format::RtTestsJson);
        assert_eq!(sniff(b"\"StartTimestamp\"\n0.1,1.0,2.0,HISTFAAAA\n").unwrap(), Format::Hdr);
    }
}
