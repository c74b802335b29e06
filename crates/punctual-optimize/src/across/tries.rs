//! Counts the failed boots of one measurement, to decide whether it gets another boot.
//!
//! If a boot comes up with another kernel or command line than requested, the words of the request may be at fault. If
//! a boot comes up as requested and ends before its measurement, it may have crashed or lost power, so it gets one more
//! try.

use serde::{Deserialize, Serialize};

/// Number of boots with another kernel or command line than requested, after which a measurement is given up.
pub const ABSENT_MAX: u32 = 2;
/// Number of boots that came up as requested but ended before their measurement, after which it is given up.
pub const CUT_MAX: u32 = 3;
/// Largest number of boots that one measurement can ask for: one less than the limit of each of the three counts, and
/// one that reaches a limit.
#[cfg(test)]
pub(super) const BOOTS_MAX: u32 = 2 * (ABSENT_MAX - 1) + (CUT_MAX - 1) + 1;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tries {
    /// Number of boots that came up with another kernel or command line than requested.
    pub absent: u32,
    /// Kernel and command line of the last of these boots, in words.
    pub instead: String,
    /// Number of boots before which another process removed the boot entry, so that its words were not tried.
    pub taken_away: u32,
    /// Number of boots that came up as requested, and ended before their measurement.
    pub cut: u32,
}

impl Tries {
    /// Whether the measurement gets no more boots.
    pub fn is_over(&self) -> bool {
        self.absent >= ABSENT_MAX || self.taken_away >= ABSENT_MAX || self.is_cut_off()
    }

    /// Whether too many boots ended before their measurement. Then the measurement is not begun even in a boot that
    /// came up as requested.
    pub fn is_cut_off(&self) -> bool {
        self.cut >= CUT_MAX
    }

    /// Whether the candidates of the measurement are probably why the boots failed.
    pub fn are_its_own_fault(&self) -> bool {
        self.absent >= ABSENT_MAX || self.is_cut_off()
    }

    /// The reason why no more boots are tried, in words.
    pub fn told(&self) -> String {
        let Self { absent, instead, taken_away, cut } = self;
        let boots = |count: u32| format!("{count} {}", if count == 1 { "boot" } else { "boots" });
        let told = [
            (*cut, format!("after {} that came up as asked, and ended before they were measured", boots(*cut))),
            (
                *absent,
                format!(
                    "after {} in which the machine did not run with the requested kernel and command line, or rebooted \
                    before punctual could check: it was seen with {instead}",
                    boots(*absent)
                ),
            ),
            (
                *taken_away,
                format!(
                    "after {} without the words of the campaign, because somebody had removed its boot entry",
                    boots(*taken_away)
                ),
            ),
        ];
        told.into_iter().filter(|(count, _)| *count > 0).map(|(_, what)| what).collect::<Vec<_>>().join("; ")
    }
}
