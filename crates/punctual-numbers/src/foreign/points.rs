//! Handles decimal commas, which programs write under some locales.
//!
//! In formats that have no other commas between digits, they are replaced by points before a line is read. In files of
//! bare numbers they are refused if they may separate thousands. This module must not know the meaning of a line.

use super::lines::LineReader;
use super::number::shown;
use super::{ForeignRun, Problem};

/// A reader of a format in which a comma between digits can only be a decimal point.
pub(super) struct Pointed {
    reader: Box<dyn LineReader>,
    commas: u64,
}

impl Pointed {
    pub fn new(reader: Box<dyn LineReader>) -> Self {
        Self { reader, commas: 0 }
    }
}

impl LineReader for Pointed {
    fn line(&mut self, number: u64, line: &str) -> Result<(), Problem> {
        if !line.contains(',') {
            return self.reader.line(number, line);
        }
        let (line, commas) = pointed(line);
        self.commas = self.commas.saturating_add(commas);
        self.reader.line(number, &line)
    }

    fn finish(&mut self) -> Result<ForeignRun, Problem> {
        let mut run = self.reader.finish()?;
        if self.commas > 0 {
            run.notes.push(repaired(self.commas));
        }
        Ok(run)
    }
}

fn repaired(commas: u64) -> String {
    let numbers = if commas == 1 { "1 number has".to_owned() } else { format!("{commas} numbers have") };
    format!("repaired: {numbers} a comma, which was read as the decimal point")
}

/// The line with a point for each comma between digits, and the number of these commas.
fn pointed(line: &str) -> (String, u64) {
    let mut commas = 0;
    let (mut last, mut rest) = (' ', line.chars().peekable());
    let mut made = String::with_capacity(line.len());
    while let Some(c) = rest.next() {
        let is_point = c == ',' && last.is_ascii_digit() && rest.peek().is_some_and(char::is_ascii_digit);
        commas += u64::from(is_point);
        made.push(if is_point { '.' } else { c });
        last = c;
    }
    (made, commas)
}

/// Counts the commas in bare numbers, which may be decimal points or separators of thousands.
#[derive(Default)]
pub(super) struct Commas {
    count: u64,
    /// Whether at least one of the commas can only be a decimal point.
    is_point: bool,
    first: Option<(u64, String)>,
}

impl Commas {
    pub fn take(&mut self, line: u64, field: &[u8]) {
        self.count = self.count.saturating_add(1);
        let digits = field.strip_prefix(b"-").or(field.strip_prefix(b"+")).unwrap_or(field);
        let whole = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        // A comma separates thousands only if exactly three digits follow it and one to three digits, the first of them
        // not 0, precede it.
        self.is_point |= digits.len() != whole + 4 || !(1..=3).contains(&whole) || digits.starts_with(b"0");
        self.first.get_or_insert_with(|| (line, shown(field)));
    }

    /// Returns a note about the repaired commas, or an error if all of them may separate thousands.
    pub fn notes(&self) -> Result<Vec<String>, Problem> {
        let Some((line, first)) = &self.first else { return Ok(Vec::new()) };
        if !self.is_point {
            let what = format!(
                "`{first}` has a comma with three digits after it, as every number with a comma here: a decimal point, or \
                 thousands? Write decimals with a point, and thousands without a comma"
            );
            return Err(Problem::at(*line, what));
        }
        Ok(vec![repaired(self.count)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commas_between_digits_are_points() {
        assert_eq!(pointed("mean: 49055,97 ns, mode: 2,5"), ("mean: 49055.97 ns, mode: 2.5".to_owned(), 2));
        assert_eq!(pointed(",5 5, a,1 \u{b5},2"), (",5 5, a,1 \u{b5},2".to_owned(), 0));
    }
}
