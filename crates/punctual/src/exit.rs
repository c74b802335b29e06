//! Exit codes, and how several reasons become one.

use std::process::ExitCode;

/// How a command ended. When several hold, the first of error, exceeded, doubtful, fine is told: an error hides
/// nothing, a limit that was exceeded stays exceeded however doubtful the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// 0: fine.
    Fine,
    /// 3: inconclusive, or the run cannot be trusted.
    Doubtful,
    /// 2: a limit was exceeded, the need was not held, or findings reached `--fail-on`.
    Exceeded,
    /// What a command ended with that was run in our place.
    Passed(u8),
    /// 1: something failed; usage errors too.
    Error,
}

impl Exit {
    /// The graver of two.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.max(other)
    }

    /// [`Exit::Exceeded`] when `condition` holds.
    pub fn exceeded_if(condition: bool) -> Self {
        if condition { Self::Exceeded } else { Self::Fine }
    }

    /// [`Exit::Doubtful`] when `condition` holds.
    pub fn doubtful_if(condition: bool) -> Self {
        if condition { Self::Doubtful } else { Self::Fine }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Error => 1,
            Exit::Exceeded => 2,
            Exit::Doubtful => 3,
            Exit::Passed(code) => code,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graver_reason_wins() {
        assert_eq!(Exit::Fine.and(Exit::Doubtful).and(Exit::Exceeded), Exit::Exceeded);
        assert_eq!(Exit::Error.and(Exit::Exceeded), Exit::Error);
        assert_eq!(Exit::Doubtful.and(Exit::Fine), Exit::Doubtful);
    }
}
