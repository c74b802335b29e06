//! The layout of a text of numbers: its separator, its heading, and which column holds what.
//!
//! The separator must fit the heading and every row: a comma is the decimal point in one file and the separator in
//! another, and only heading and rows together show which. This module must not know what the numbers are used for.

use super::Format;
use super::lines::{Lines, SNIFFED};
use super::number::{Unit, number};

/// Possible separators, in the order in which they are tried. The blank is last, because blanks may also follow another
/// separator.
const SEPARATORS: [u8; 4] = [b'\t', b';', b',', b' '];
/// Largest number that is taken for a CPU number. A column with larger numbers holds something else.
const LAST_CPU: u32 = 1 << 16;

#[derive(Debug, Default)]
pub(super) struct Layout {
    /// The byte between columns; `None` if there is only one column.
    pub separator: Option<u8>,
    pub heading: Option<Heading>,
    pub columns: usize,
    /// Columns whose names state what they hold.
    pub known: Vec<KnownColumn>,
    pub cpu: Option<usize>,
    /// Complete rows below the heading, each with its line number, as far as the bytes looked at contain them.
    pub rows: Vec<(u64, Vec<u8>)>,
    /// Whether even the first line is longer than the bytes that are looked at.
    pub is_too_long: bool,
}

#[derive(Debug)]
pub(super) struct Heading {
    pub line: u64,
    pub names: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct KnownColumn {
    pub index: usize,
    pub format: Format,
    pub unit: Option<Unit>,
}

impl Layout {
    pub fn heading_line(&self) -> Option<u64> {
        self.heading.as_ref().map(|heading| heading.line)
    }

    pub fn of(first: &[u8]) -> Self {
        let mut rows = complete_lines(first);
        if rows.is_empty() {
            return Self { is_too_long: first.len() >= SNIFFED, columns: 1, ..Self::default() };
        }
        let has_heading = rows.first().is_some_and(|(_, line)| is_heading(line));
        let head = has_heading.then(|| rows.remove(0));
        let model = head.as_ref().or(rows.first()).map(|(_, line)| line.clone()).unwrap_or_default();
        let sound = |separator: &&u8| fits(&model, has_heading, &rows, **separator);
        let separator = SEPARATORS.iter().find(sound).or_else(|| {
            // If every row is a single number, there is one column, even if the heading has several words.
            let is_single = !rows.is_empty() && rows.iter().all(|(_, row)| number(row, Unit::Ns).is_some());
            SEPARATORS.iter().filter(|_| !is_single).find(|separator| model.contains(separator))
        });
        let separator = separator.copied();
        let names: Vec<String> = fields(&model, separator, has_heading).map(name).collect();
        let columns = names.len();
        let (known, cpu) = if has_heading { (known(&names), cpu(&names)) } else { (Vec::new(), None) };
        // A column called `cpu` may hold the load of a CPU instead of its number.
        let cpu = cpu.filter(|at| rows.iter().all(|(_, row)| cpu_number(field(row, separator, *at)).is_some()));
        Self {
            separator,
            heading: head.map(|(line, _)| Heading { line, names }),
            columns,
            known,
            cpu,
            rows,
            is_too_long: false,
        }
    }
}

fn complete_lines(first: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let first = first.get(..SNIFFED).unwrap_or(first);
    let (mut lines, mut kept) = (Lines::default(), Vec::new());
    let mut keep = |number: u64, line: &[u8]| {
        let line = line.trim_ascii();
        if !is_skipped(line) {
            kept.push((number, line.to_vec()));
        }
        Ok(())
    };
    // `first` is shorter than the longest permitted line, so no line in it is refused.
    let _never = lines.feed(first, &mut keep);
    if first.len() < SNIFFED {
        let _never = lines.end(&mut keep);
    }
    kept
}

/// Whether a line is empty or a comment, and so neither a heading nor a row.
pub(super) fn is_skipped(line: &[u8]) -> bool {
    line.is_empty() || line.starts_with(b"#")
}

/// Whether a line is a heading: its first word does not begin like a number.
fn is_heading(line: &[u8]) -> bool {
    let number = match line {
        [b'-' | b'+' | b'.', digit, ..] | [digit, ..] => digit.is_ascii_digit(),
        [] => false,
    };
    !number && line.iter().any(u8::is_ascii_alphabetic)
}

/// Whether this separator cuts the heading and all rows into the same number of columns, and each column with a known
/// name holds numbers.
fn fits(model: &[u8], has_heading: bool, rows: &[(u64, Vec<u8>)], separator: u8) -> bool {
    let separator = Some(separator);
    let names: Vec<String> = fields(model, separator, has_heading).map(name).collect();
    let needed: Vec<usize> = if has_heading {
        known(&names).into_iter().map(|column| column.index).chain(cpu(&names)).collect()
    } else {
        (0..names.len()).collect()
    };
    let row_fits = |row: &[u8]| {
        let values: Vec<&[u8]> = fields(row, separator, false).collect();
        let is_number = |at: &usize| values.get(*at).is_some_and(|value| number(value, Unit::Ns).is_some());
        values.len() == names.len() && needed.iter().all(is_number)
    };
    names.len() > 1 && rows.iter().all(|(_, row)| row_fits(row))
}

/// The columns of a line. Several blanks in a row count as one separator. In a heading, a unit in brackets belongs to
/// the name before it.
pub(super) fn fields(line: &[u8], separator: Option<u8>, is_heading: bool) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let ends = |at: &usize| {
            let bracket = line.get(at + 1..).unwrap_or_default().trim_ascii_start().first();
            separator != Some(b' ') || !(is_heading && matches!(bracket, Some(b'(' | b'[')))
        };
        let blank = |byte: u8| separator == Some(b' ') && byte == b'\t';
        let mut separators = line.iter().enumerate().filter(|(_, byte)| Some(**byte) == separator || blank(**byte));
        let end = separators.find_map(|(at, _)| Some(at).filter(ends));
        let (field, after) = line.split_at(end.unwrap_or(line.len()));
        rest = end
            .and_then(|_| after.get(1..))
            .map(|after| if separator == Some(b' ') { after.trim_ascii_start() } else { after });
        Some(field.trim_ascii())
    })
}

/// One column of a row; empty if the row has fewer.
pub(super) fn field(row: &[u8], separator: Option<u8>, at: usize) -> &[u8] {
    fields(row, separator, false).nth(at).unwrap_or_default()
}

fn name(field: &[u8]) -> String {
    String::from_utf8_lossy(field).trim_matches(['"', ',']).to_owned()
}

fn known(names: &[String]) -> Vec<KnownColumn> {
    let known = |(index, name): (usize, &String)| {
        let (format, unit) = named(&name.to_lowercase())?;
        Some(KnownColumn { index, format, unit })
    };
    names.iter().enumerate().filter_map(known).collect()
}

fn cpu(names: &[String]) -> Option<usize> {
    let is_cpu = |name: &String| ["cpu", "core", "cpu_id"].contains(&name.to_lowercase().as_str());
    names.iter().position(is_cpu)
}

/// Reads the number of a CPU from `3` or `cpu3`.
pub(super) fn cpu_number(field: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(field).ok()?.trim_matches('"');
    let digits = ["cpu", "CPU"].iter().find_map(|start| text.strip_prefix(start)).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|cpu| is_number && *cpu <= LAST_CPU)
}

/// The kind of numbers and the unit in a column with this name, such as `latency_us`, `period [ns]` or
/// `frame.time_epoch`.
fn named(name: &str) -> Option<(Format, Option<Unit>)> {
    match name {
        "frame.time_epoch" | "frame.time_relative" => return Some((Format::Timestamps, Some(Unit::S))),
        "frame.time_delta" | "frame.time_delta_displayed" => return Some((Format::Periods, Some(Unit::S))),
        _ => {}
    }
    let mut words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let format = match words.next()? {
        "lateness" | "latency" | "latencies" | "jitter" => Format::Latencies,
        "period" | "periods" | "interval" | "delta" => Format::Periods,
        "timestamp" | "timestamps" | "time" | "instant" => Format::Timestamps,
        _ => return None,
    };
    Some((format, words.next_back().and_then(Unit::named)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_separator_is_what_heading_and_rows_agree_about() {
        for (text, separator, columns, latency, cpu) in [
            ("latency_us, cpu\n5,3\n6,2\n", Some(b','), 2, Some(0), Some(1)),
            ("Latency (us),CPU\n5,3\n6,2\n", Some(b','), 2, Some(0), Some(1)),
            ("Latency (us) CPU\n5,3 1\n6,2   2\n", Some(b' '), 2, Some(0), Some(1)),
            ("latency_us, cpu\n5,3 1\n6,2 2\n", Some(b' '), 2, Some(0), Some(1)),
            ("latency_us cpu\n5,3 1\n", Some(b' '), 2, Some(0), Some(1)),
            ("seq;latency_us\n1;5,25\n2;7\n", Some(b';'), 2, Some(1), None),
            ("seq\tlatency_us\n1\t5,25\n", Some(b'\t'), 2, Some(1), None),
            ("Latency (us)\n5\n6\n", None, 1, Some(0), None),
            ("latency of one thread (us)\n5,3\n6\n", None, 1, Some(0), None),
            ("latency_us,run name\n5,3\n", Some(b','), 2, Some(0), None),
            ("cpu,latency_us\n12.5,3\n", Some(b','), 2, Some(1), None),
        ] {
            let layout = Layout::of(text.as_bytes());
            assert_eq!((layout.separator, layout.columns), (separator, columns), "{text}");
            let known = layout.known.first().map(|column| column.index);
            assert_eq!((known, layout.cpu), (latency, cpu), "{text} {:?}", layout.heading);
        }
    }

    #[test]
    fn a_number_that_cannot_be_read_is_no_heading() {
        assert!(!is_heading(b"1e9") && !is_heading(b"-3x,5") && !is_heading(b"5;6"));
        assert!(is_heading(b"latency_us") && is_heading(b"Latency (us), 2nd") && is_heading(b"a;b"));
    }
}
