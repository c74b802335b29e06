//! The configuration of the running kernel, and whether the file that was found belongs to that kernel.

use crate::fact::Fact;
use crate::tree::{Tree, text};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// The path of the unpacked `/proc/config.gz`, which the reader of the live machine supplies.
pub const UNPACKED: &str = "punctual:/kernel/config";

/// The remark at the head of a text that [`Config::part`] wrote. If an option is missing in the text, it was not kept
/// and may be on.
const PART: &str = "# Only options that were asked for";

#[derive(Clone, Debug)]
pub struct Config {
    pub source: String,
    /// Whether the file that was found belongs to another kernel. Such a file is ignored.
    pub is_foreign: bool,
    text: Fact<String>,
    asked: RefCell<BTreeSet<String>>,
}

impl Config {
    fn of(source: String, is_foreign: bool, text: Fact<String>) -> Self {
        Self { source, is_foreign, text, asked: RefCell::default() }
    }

    /// Reads the kernel's own copy of its configuration or, without one, the file that distributions install beside the
    /// kernel.
    pub fn read(tree: &dyn Tree, release: &Fact<String>) -> Self {
        let own = text(tree, UNPACKED);
        if own != Fact::Absent {
            return Self::of(UNPACKED.to_owned(), false, own);
        }
        let Fact::Known(release) = release else {
            return Self::of(UNPACKED.to_owned(), false, Fact::Absent);
        };
        let places = [format!("/boot/config-{release}"), format!("/usr/lib/modules/{release}/config")];
        for source in places {
            let found = text(tree, &source);
            if found != Fact::Absent {
                let is_readable = found.known().is_some();
                let text = found.and_then(|text| of_this_kernel(text, release));
                return Self::of(source, is_readable && text.known().is_none(), text);
            }
        }
        Self::of(format!("/boot/config-{release}"), false, Fact::Absent)
    }

    pub fn state(&self) -> Fact<()> {
        self.text.as_ref().map(|_| ())
    }

    /// The value of an option; `n` if it is not set. `option` is the name without `CONFIG_`.
    pub fn value(&self, option: &str) -> Fact<String> {
        self.asked.borrow_mut().insert(option.to_owned());
        self.text.as_ref().and_then(|text| {
            let value = |line: &str| {
                let rest = line.strip_prefix("CONFIG_")?.strip_prefix(option)?.strip_prefix('=')?;
                Some(rest.trim().trim_matches('"').to_owned())
            };
            text.lines().find_map(value).map_or_else(|| Self::without_line(text, option), Fact::Known)
        })
    }

    /// The value of an option that has no line in the text.
    fn without_line(text: &str, option: &str) -> Fact<String> {
        let off = format!("# CONFIG_{option} is not set");
        if is_part(text) && !text.lines().any(|line| line == off) {
            return Fact::Garbled(format!("CONFIG_{option} was not kept when this was captured"));
        }
        Fact::Known("n".to_owned())
    }

    /// A configuration with only the options that were asked for so far, because a whole configuration has ten thousand
    /// options. `None` if no configuration is known.
    pub fn part(&self) -> Option<String> {
        let text = self.text.known()?;
        let header = header(text).unwrap_or_default();
        let lines = self.asked().into_iter().filter_map(|option| {
            let value = format!("CONFIG_{option}=");
            let line = text.lines().find(|line| line.starts_with(&value));
            match (line, self.value(&option)) {
                (Some(line), _) => Some(line.to_owned()),
                (None, Fact::Known(_)) => Some(format!("# CONFIG_{option} is not set")),
                (None, _) => None,
            }
        });
        let part: Vec<String> = [header.to_owned(), PART.to_owned()].into_iter().chain(lines).collect();
        Some(part.join("\n") + "\n")
    }

    /// The options that were asked for so far. After an audit, these are the options that matter to the catalogue.
    pub fn asked(&self) -> BTreeSet<String> {
        self.asked.borrow().clone()
    }

    pub fn is_on(&self, option: &str) -> Fact<bool> {
        self.value(option).map(|value| value != "n")
    }
}

/// Refuses a text whose header names another kernel, as may happen in a container or after an update.
fn of_this_kernel(text: String, release: &str) -> Fact<String> {
    let Some(version) = header(&text).and_then(|line| line.split_whitespace().nth(2)) else {
        return Fact::Garbled("does not say which kernel it is for".to_owned());
    };
    // A distribution's release may hide the version (6.1.0-43 is 6.1.192), so only the first two numbers are compared.
    let series = |text: &str| text.split('.').take(2).map(str::to_owned).collect::<Vec<_>>();
    let (mine, theirs) = (series(release), series(version));
    if mine.iter().zip(&theirs).all(|(a, b)| leading_number(a) == leading_number(b)) {
        Fact::Known(text)
    } else {
        Fact::Garbled(format!("is for kernel {version}, not for {release}"))
    }
}
fn header(text: &str) -> Option<&str> {
    text.lines().take(6).find(|line| line.ends_with("Kernel Configuration"))
}

fn is_part(text: &str) -> bool {
    text.lines().take(6).any(|line| line == PART)
}

fn leading_number(text: &str) -> &str {
    &text[..text.bytes().take_while(u8::is_ascii_digit).count()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemTree;

    fn config(content: &str) -> Config {
        let mut tree = MemTree::new();
        tree.file("/boot/config-6.12.9-rt", Fact::Known(content.as_bytes().to_vec()));
        Config::read(&tree, &Fact::Known("6.12.9-rt".to_owned()))
    }

    #[test]
    fn a_missing_option_is_off_and_a_missing_file_is_not() {
        let config = config("#\n# Linux/x86 6.12.9 Kernel Configuration\n#\nCONFIG_HZ=250\nCONFIG_KASAN=y\n");
        assert_eq!(config.value("HZ"), Fact::Known("250".to_owned()));
        assert_eq!(config.is_on("KASAN"), Fact::Known(true));
        assert_eq!(config.is_on("KASAN_INLINE"), Fact::Known(false));
        let none = Config::read(&MemTree::new(), &Fact::Known("6.12.9-rt".to_owned()));
        assert_eq!(none.is_on("KASAN"), Fact::Absent);
    }

    #[test]
    fn a_part_says_of_what_it_keeps_the_same_and_of_the_rest_nothing() {
        let whole =
            config("#\n# Linux/x86 6.12.9 Kernel Configuration\n#\nCONFIG_HZ=250\nCONFIG_KASAN=y\nCONFIG_A=m\n");
        let asked = |config: &Config| ["HZ", "KASAN_INLINE", "A"].map(|option| config.value(option));
        let first = asked(&whole);
        let part = config(&whole.part().unwrap());
        assert_eq!(asked(&part), first);
        assert!(matches!(part.value("KASAN"), Fact::Garbled(why) if why.contains("CONFIG_KASAN")));
        // A part that is taken from a part does not claim that missing options are off.
        assert_eq!(part.part(), whole.part());
    }

    #[test]
    fn the_file_of_another_kernel_is_not_believed() {
        let config = config("#\n# Linux/x86 6.1.55 Kernel Configuration\n#\nCONFIG_KASAN=y\n");
        assert!(matches!(config.is_on("KASAN"), Fact::Garbled(why) if why.contains("6.1.55")));
    }
}
