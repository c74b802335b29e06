//! A line of `/proc/PID/stat`, the fields of which are named by their numbers in `proc_pid_stat(5)`.

use std::str::FromStr;

/// The name stands in parentheses and may itself contain parentheses and spaces, so the fields are counted from its end.
#[derive(Clone, Copy, Debug)]
pub struct StatLine<'a> {
    pub pid: &'a str,
    /// The name of the task, without its parentheses.
    pub comm: &'a str,
    rest: &'a str,
}

impl<'a> StatLine<'a> {
    /// `None` if the text has no name.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (before, rest) = text.rsplit_once(')')?;
        let (pid, comm) = before.split_once('(')?;
        Some(Self { pid: pid.trim(), comm, rest })
    }

    /// The field with this number, which must be 3 or more; `None` if the line is shorter.
    pub fn field(&self, number: usize) -> Option<&'a str> {
        self.rest.split_whitespace().nth(number.checked_sub(3)?)
    }

    pub fn number<T: FromStr>(&self, number: usize) -> Option<T> {
        self.field(number)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_from_the_end_of_the_name() {
        let line = StatLine::parse("812 (a) b (c) R 7 812 812 0 -1 4194304 100\n").unwrap();
        assert_eq!((line.pid, line.comm), ("812", "a) b (c"));
        assert_eq!((line.field(3), line.number::<u32>(4), line.number(10)), (Some("R"), Some(7), Some(100u64)));
        assert_eq!((line.field(11), line.field(2), line.number::<u8>(9)), (None, None, None), "4194304 is no u8");
        for torn in ["", "812", "812 (a", "812 a) R"] {
            assert!(StatLine::parse(torn).is_none(), "{torn}");
        }
    }
}
