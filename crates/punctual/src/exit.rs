//! Exit codes, and the exit code of a command that has several reasons for one. `book/src/claims.md` explains the codes
//! to users.

use punctual_numbers::report::{Answer, Inconclusive, Verdict};
use std::process::ExitCode;

/// How a command ended. If there are several reasons, the most serious one counts: first error, then exceeded,
/// doubtful, fine. An error hides nothing, and an exceeded limit stays exceeded however doubtful the rest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    Fine,
    /// Exit code 3: the result is inconclusive, or results are missing.
    Doubtful,
    /// Exit code 2: a limit was exceeded, the need was not held, or findings reached `--fail-on`.
    Exceeded,
    /// The exit code of the command that `tune --for` ran.
    Passed(u8),
    /// Exit code 1: something failed, or the command line was wrong.
    Error,
}

impl Exit {
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.max(other)
    }

    pub fn exceeded_if(condition: bool) -> Self {
        if condition { Self::Exceeded } else { Self::Fine }
    }

    pub fn doubtful_if(condition: bool) -> Self {
        if condition { Self::Doubtful } else { Self::Fine }
    }
}

/// The exit code of a verdict, which accounts for doubts already. A run without a budget asks nothing, so it cannot be
/// inconclusive.
impl From<&Verdict> for Exit {
    fn from(verdict: &Verdict) -> Self {
        match (verdict.answer, &verdict.inconclusive_because) {
            (Answer::Held, _) | (Answer::Inconclusive, Some(Inconclusive::NoBudget)) => Self::Fine,
            (Answer::NotHeld, _) => Self::Exceeded,
            (Answer::Inconclusive, _) => Self::Doubtful,
        }
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
    use punctual_hist::Nanos;
    use punctual_numbers::report::{Distrust, RunCounts};

    #[test]
    fn a_verdict_has_a_code_of_its_own() {
        let seen = |missed| RunCounts {
            has_budget: true,
            all_ran: true,
            due: 30_000,
            missed,
            spread: Some(1.0),
            measured: Nanos::from_secs(30),
        };
        let exit = |seen, doubts: &[Distrust]| Exit::from(&Verdict::of(&seen, doubts));
        let [adds, hides] = [[Distrust::Throttled], [Distrust::CutOff]];
        assert_eq!(
            [exit(seen(0), &[]), exit(seen(0), &adds), exit(seen(0), &hides)],
            [Exit::Fine, Exit::Fine, Exit::Doubtful]
        );
        assert_eq!([exit(seen(1), &[]), exit(seen(1), &adds), exit(seen(1), &hides)], [Exit::Exceeded; 3]);
        assert_eq!(exit(RunCounts { has_budget: false, ..seen(1) }, &hides), Exit::Fine);
    }

    #[test]
    fn the_graver_reason_wins() {
        assert_eq!(Exit::Fine.and(Exit::Doubtful).and(Exit::Exceeded), Exit::Exceeded);
        assert_eq!(Exit::Error.and(Exit::Exceeded), Exit::Error);
        assert_eq!(Exit::Doubtful.and(Exit::Fine), Exit::Doubtful);
        let page = std::fs::read_to_string(fixtures::repository("book/src/claims.md")).unwrap();
        let (_, table) = page.split_once("| code | when |\n|---|---|\n").unwrap();
        let codes: Vec<&str> = table.lines().map_while(|row| row.get(2..3)).collect();
        assert_eq!(codes, ["1", "2", "3", "0"], "the book has them gravest first");
        assert!(Exit::Error > Exit::Exceeded && Exit::Exceeded > Exit::Doubtful && Exit::Doubtful > Exit::Fine);
    }
}
