//! How easily chance alone makes a difference.

/// Probabilities that chance alone makes the second side larger by at least this much, and smaller by at least this
/// much.
#[derive(Clone, Copy, Debug)]
pub(super) struct Odds {
    pub more: f64,
    pub less: f64,
}

impl Odds {
    #[must_use]
    pub(super) fn at_least(self, more: f64, less: f64) -> Self {
        Self { more: self.more.max(more), less: self.less.max(less) }
    }
}
