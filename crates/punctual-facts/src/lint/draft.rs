//! The verdict on a word while it is being found.

use super::WordVerdict::{self, Accepted, ModuleNotLoaded, Undecided};

/// A verdict on a word that later checks may change. At first it depends on the word's name alone.
pub(super) struct Draft {
    pub(super) verdict: WordVerdict,
    pub(super) why: String,
    pub(super) instead: Option<String>,
    pub(super) sources: Vec<String>,
    /// The type of the word's value, as a letter of the tables.
    pub(super) kind: char,
    /// The configuration options that the word needs, in the notation of the tables.
    pub(super) needs: &'static str,
    /// Whether the verdict "unknown" is uncertain, because the machine does not show its modules.
    pub(super) is_untold: bool,
}

impl Draft {
    pub(super) fn new(verdict: WordVerdict, why: impl Into<String>, source: impl Into<String>) -> Self {
        let sources = vec![source.into()];
        Self { verdict, why: why.into(), instead: None, sources, kind: '-', needs: "-", is_untold: false }
    }

    pub(super) fn is_taken(&self) -> bool {
        matches!(self.verdict, Accepted | Undecided | ModuleNotLoaded)
    }
}
