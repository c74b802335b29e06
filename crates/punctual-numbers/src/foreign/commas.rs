//! Numbers with a comma: a decimal point where it can be nothing else.

use super::Problem;
use super::number::shown;
use super::points::repaired;

/// Numbers with a comma.
#[derive(Default)]
pub(super) struct Commas {
    count: u64,
    /// One that can only be a decimal point was seen.
    is_point: bool,
    first: Option<(u64, String)>,
}

impl Commas {
    pub fn take(&mut self, line: u64, field: &[u8]) {
        self.count = self.count.saturating_add(1);
        let digits = field.strip_prefix(b"-").or(field.strip_prefix(b"+")).unwrap_or(field);
        let whole = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        // Thousands come in three digits, after one to three of which the first is no zero.
        self.is_point |= digits.len() != whole + 4 || !(1..=3).contains(&whole) || digits.starts_with(b"0");
        self.first.get_or_insert_with(|| (line, shown(field)));
    }

    /// What was read as the decimal point; refuses where thousands may be meant.
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
