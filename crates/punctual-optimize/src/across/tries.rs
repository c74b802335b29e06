//! What became of the boots that one measurement was given in vain, which decides whether it gets another boot.
//!
//! A boot that came up with other words than it was asked for says something about the words. A boot that came up as
//! asked and ended before it was measured may have crashed, or somebody pulled the plug: it is worth one more try.

use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// How often one measurement may meet a machine that came up otherwise than it was asked to.
pub const ABSENT_MAX: u32 = 2;
/// How often a boot of one measurement may come up as asked and end before it was measured.
pub const CUT_MAX: u32 = 3;
/// The most boots that one measurement can ask for: with one less of each kind it gets another.
#[cfg(test)]
pub(super) const BOOTS_MAX: u32 = 2 * (ABSENT_MAX - 1) + (CUT_MAX - 1) + 1;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tries {
    /// Boots after which the machine was seen in another boot than was asked for.
    pub absent: u32,
    /// Kernel and command line that the machine had instead, the last time.
    pub instead: String,
    /// Boots whose entry somebody took away before, which says nothing about its words.
    pub taken_away: u32,
    /// Boots that came up as asked, and ended before they were measured.
    pub cut: u32,
}

impl Tries {
    /// Whether the measurement gets no more boots.
    pub fn is_over(&self) -> bool {
        self.absent >= ABSENT_MAX || self.taken_away >= ABSENT_MAX || self.is_cut_off()
    }

    /// Whether such a boot is not measured again, even if the machine runs in one.
    pub fn is_cut_off(&self) -> bool {
        self.cut >= CUT_MAX
    }

    /// Whether the boots failed because of what was asked for, as far as that can be told.
    pub fn are_its_own_fault(&self) -> bool {
        self.absent >= ABSENT_MAX || self.is_cut_off()
    }

    /// What became of them, as the reason why no more boots are tried.
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
