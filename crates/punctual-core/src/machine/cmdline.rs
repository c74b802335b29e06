//! The words the kernel was booted with, in order. What was asked for, never what is in force.

/// A kernel command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cmdline {
    /// Words for the kernel: everything before a lone `--`.
    words: Vec<String>,
}

impl Cmdline {
    /// Splits a command line as the kernel does: at blanks outside double quotes, up to a lone `--`. What follows
    /// that is for init, none of our business, and may be private.
    pub fn parse(line: &str) -> Self {
        let mut words = Vec::new();
        let mut word = String::new();
        let mut quoted = false;
        for c in line.chars().chain([' ']) {
            match c {
                '"' => quoted = !quoted,
                c if c.is_ascii_whitespace() && !quoted => {
                    if word == "--" {
                        return Self { words };
                    }
                    if !word.is_empty() {
                        words.push(std::mem::take(&mut word));
                    }
                }
                c => word.push(c),
            }
        }
        words.extend(Some(word).filter(|w| !w.trim().is_empty()));
        Self { words }
    }

    /// The value of the last word of that name: `""` for a bare word. `-` and `_` in names are the same.
    pub fn value(&self, name: &str) -> Option<&str> {
        let same = |a: &str| a.len() == name.len() && a.replace('-', "_") == name.replace('-', "_");
        self.words.iter().rev().find_map(|word| {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            same(key).then_some(value)
        })
    }

    /// The words for the kernel, in order.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The words for the kernel as one line.
    pub fn for_the_kernel(&self) -> String {
        self.words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::Cmdline;

    #[test]
    fn splits_as_the_kernel_does() {
        let line = Cmdline::parse("ro quiet isolcpus=1 dyndbg=\"file a +p\" isolcpus=2-3 rcu-nocbs=2 -- secret=1");
        assert_eq!(line.value("isolcpus"), Some("2-3"));
        assert_eq!(line.value("quiet"), Some(""));
        assert_eq!(line.value("rcu_nocbs"), Some("2"));
        assert_eq!(line.value("dyndbg"), Some("file a +p"));
        assert_eq!(line.value("secret"), None);
        assert!(!line.for_the_kernel().contains("secret"));
    }
}
