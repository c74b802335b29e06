//! The words on the kernel's command line, in order. A word is only a request, whose effect need not be in force.

mod line;

pub use line::{KEPT_BYTES, KEPT_BYTES_OF_BOARDS, Token, same_dashes, words};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cmdline {
    words: Vec<Token>,
}

impl Cmdline {
    /// Splits a command line as the kernel does, up to a lone `--`. The words after `--` are dropped, because they are
    /// for init and may be private.
    pub fn parse(line: &str) -> Self {
        let is_for_kernel = |word: &Token| !word.is_for_init && word.raw != "--";
        Self { words: words(line.as_bytes()).into_iter().filter(is_for_kernel).collect() }
    }

    /// The value of the last word with this name: `""` for a word without a value. `-` and `_` in names are the same.
    pub fn value(&self, name: &str) -> Option<&str> {
        let name = same_dashes(name);
        let word = self.words.iter().rev().find(|word| word.name == name)?;
        Some(word.value.as_deref().unwrap_or(""))
    }

    /// The words for the kernel as they were typed, in order.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|word| word.raw.as_str())
    }

    pub fn for_the_kernel(&self) -> String {
        self.words().collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_last_word_counts_and_what_is_behind_two_dashes_is_private() {
        let line = "ro quiet isolcpus=1 dyndbg=\"file a +p\" isolcpus=2-3 rcu-nocbs=2 -- secret=1";
        let line = super::Cmdline::parse(line);
        let values = ["isolcpus", "quiet", "rcu_nocbs", "dyndbg", "secret"].map(|name| line.value(name));
        assert_eq!(values, [Some("2-3"), Some(""), Some("2"), Some("file a +p"), None]);
        assert!(!line.for_the_kernel().contains("secret"));
    }
}
