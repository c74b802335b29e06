//! What became of the boots that one measurement was given in vain: by that it is told whether it gets another.
//!
//! A boot that nobody saw with the words it was asked for says something of the words. One that came up and ended before
//! it was measured may say so, or that somebody pulled the plug: it is worth one more try.

use std::fmt::Write as _;

/// Boots that were not seen as they were asked for, at most, for one measurement.
pub const ABSENT_MAX: u32 = 2;
/// Boots that came up and ended before they were measured, at most.
pub const CUT_MAX: u32 = 3;
/// Boots that no measurement is asked for more of: one less of each kind leads to another.
#[cfg(test)]
pub(super) const BOOTS_MAX: u32 = 2 * (ABSENT_MAX - 1) + (CUT_MAX - 1) + 1;

/// What became of them so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tries {
    /// The machine was seen in another boot than was asked for.
    pub absent: u32,
    /// What it was seen with the last time: kernel and command line.
    pub instead: String,
    /// Somebody took the boot entry away, which says nothing of its words.
    pub taken_away: u32,
    /// It came up as asked, and ended before it was measured.
    pub cut: u32,
}

impl Tries {
    /// It gets no more boots.
    pub fn is_over(&self) -> bool {
        self.absent >= ABSENT_MAX || self.taken_away >= ABSENT_MAX || self.is_cut_off()
    }

    /// No such boot is to be measured again, even if it is there.
    pub fn is_cut_off(&self) -> bool {
        self.cut >= CUT_MAX
    }

    /// What was asked for is to blame, as far as anybody can tell.
    pub fn are_its_own_fault(&self) -> bool {
        self.absent >= ABSENT_MAX || self.is_cut_off()
    }

    /// What became of them, as it is told of what is not tried any more.
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
