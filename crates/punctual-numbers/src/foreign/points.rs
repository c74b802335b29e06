//! Decimal commas, as programs write them under a locale that has them: made points before a line is read.
//!
//! Only for formats that never write a comma between two digits otherwise. Must not know what a line says.

use super::lines::LineReader;
use super::{ForeignRun, Problem};

/// A reader of such a format.
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

/// What is said of so many decimal commas.
pub(super) fn repaired(commas: u64) -> String {
    let numbers = if commas == 1 { "1 number has".to_owned() } else { format!("{commas} numbers have") };
    format!("repaired: {numbers} a comma, which was read as the decimal point")
}

/// The line with points between digits, and how many commas there were.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commas_between_digits_are_points() {
        assert_eq!(pointed("mean: 49055,97 ns, mode: 2,5"), ("mean: 49055.97 ns, mode: 2.5".to_owned(), 2));
        assert_eq!(pointed(",5 5, a,1 \u{b5},2"), (",5 5, a,1 \u{b5},2".to_owned(), 0));
    }
}
