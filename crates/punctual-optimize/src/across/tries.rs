//! Counts the boots of one measurement that ended without it, to decide whether the measurement gets another boot.
//!
//! If a boot comes up with other words than were asked for, the words may be at fault. If a boot comes up as asked and
//! ends before it was measured, it may have crashed, or power was lost: it is worth one more try.

use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// A measurement is given up after this number of boots that came up with another kernel or command line than asked
/// for.
pub const ABSENT_MAX: u32 = 2;
/// A measurement is given up after this number of boots that came up as asked and ended before they were measured.
pub const CUT_MAX: u32 = 3;
/// The most boots that one measurement can ask for: one less than the limit of each kind, and one more.
#[cfg(test)]
pub(super) const BOOTS_MAX: u32 = 2 * (ABSENT_MAX - 1) + (CUT_MAX - 1) + 1;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tries {
    /// Boots that came up with another kernel or command line than asked for.
    pub absent: u32,
    /// Kernel and command line that the machine had instead, the last time.
    pub instead: String,
    /// Boots whose entry another process removed before, so that its words were not tried.
    pub taken_away: u32,
    /// Boots that came up as asked, and ended before they were measured.
    pub cut: u32,
}

impl Tries {
    /// Whether the measurement gets no more boots.
    pub fn is_over(&self) -> bool {
        self.absent >= ABSENT_MAX || self.taken_away >= ABSENT_MAX || self.is_cut_off()
    }

    /// Whether too many boots ended before they were measured. Then no measurement is begun even if the machine runs as
    /// asked.
    pub fn is_cut_off(&self) -> bool {
        self.cut >= CUT_MAX
    }

    /// Whether the boots failed because of what was asked for, as far as that can be told.
    pub fn are_its_own_fault(&self) -> bool {
        self.absent >= ABSENT_MAX || self.is_cut_off()
    }

    /// The reason why no more boots are tried, in words.
    pub fn told(&self) -> String {
        let Self { absent, instead, taken_away, cut } = self;
        let mut told = String::new();
        let mut tell = |count: u32, what: &str| {
            if count > 0 {
                let and = if told.is_empty() { "" } else { ", and " };
                let boots = if count == 1 { "boot" } else { "boots" };
                let _ = write!(told, "{and}after {count} {boots} {what}");
            }
        };
        let other = format!(
            "that did not come up as asked, or ended before anybody looked: the machine was seen with {instead}"
        );
        tell(*cut, "that came up as asked, and ended before they were measured");
        tell(*absent, &other);
        tell(*taken_away, "of which the entry was taken away before it was booted");
        told
    }
}
