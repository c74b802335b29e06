//! The list of the words that one kernel was built with, taken from its image, and whether that kernel has a word.
//!
//! Words are compared as in the kernel (`init/main.c`, `kernel/params.c`): early words and parameters as a whole, other
//! words by their beginning, with `-` and `_` treated alike. This module does not read images, and the list does not
//! have the words of modules that are loaded from files.

use crate::cmdline::{Token, same_dashes, words};
use crate::fact::Fact;
use crate::tree::{Tree, text};
use std::collections::{BTreeMap, BTreeSet};

/// The path of the list. Its first line is `complete`; the others are `early NAME`, `setup NAME` and `param NAME
/// PERMISSION`.
pub const WORDS: &str = "punctual:/kernel/words";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    early: BTreeSet<String>,
    setup: BTreeSet<String>,
    params: BTreeMap<String, u16>,
}

/// Whether the kernel of the list has a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Has {
    /// The kernel has the word; the text describes in which way.
    Yes(&'static str),
    /// The kernel passes the word to a handler, which may refuse it.
    Perhaps,
    No,
    /// The kernel searches the line for the word, or sets a sysctl by it. The list has no words of these two kinds.
    Elsewhere,
}

impl Image {
    /// Parses the list. The error says why the list is not complete.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        match lines.next() {
            Some("complete") => {}
            Some(first) => {
                return Err(first.strip_prefix("undetermined: ").unwrap_or("it is not understood").to_owned());
            }
            None => return Err("it is empty".to_owned()),
        }
        let mut image = Self::default();
        for line in lines {
            match line.split(' ').collect::<Vec<&str>>()[..] {
                ["early", name] => _ = image.early.insert(same_dashes(name)),
                ["setup", name] => _ = image.setup.insert(same_dashes(name)),
                ["param", name, permission] => {
                    let permission =
                        u16::from_str_radix(permission, 8).map_err(|_| format!("'{line}' is no parameter"))?;
                    image.params.insert(same_dashes(name), permission);
                }
                _ => return Err(format!("'{}' is not understood", crate::fact::printable(line, 60))),
            }
        }
        // Every kernel has the word `init=`, so a list without it is not complete.
        if !image.setup.contains("init=") {
            return Err("it is incomplete".to_owned());
        }
        Ok(image)
    }

    pub(super) fn read(tree: &dyn Tree) -> Option<Self> {
        match text(tree, WORDS) {
            Fact::Known(text) => Self::parse(&text).ok(),
            _ => None,
        }
    }

    /// Whether a built-in part of the kernel has parameters under this module's name.
    pub(super) fn has_module(&self, module: &str) -> bool {
        let begin = format!("{module}.");
        self.params.range(begin.clone()..).next().is_some_and(|(name, _)| name.starts_with(&begin))
    }

    /// Whether the kernel itself takes this word. `None` if the list cannot decide, since it has no words of modules in
    /// files.
    pub fn takes(&self, word: &str) -> Option<bool> {
        match self.has(words(word.as_bytes()).first()?) {
            Has::Yes(_) => Some(true),
            Has::No => Some(false),
            Has::Perhaps | Has::Elsewhere => None,
        }
    }

    pub(super) fn has(&self, token: &Token) -> Has {
        let name = token.name.as_str();
        if self.early.contains(name) {
            return Has::Yes("reads it early in the boot");
        }
        match self.params.get(name) {
            Some(0) => return Has::Yes("has it as a parameter without a file in /sys/module"),
            Some(_) => return Has::Yes("has it as a parameter"),
            None => {}
        }
        let begins = self.by_beginning(token);
        if begins == Some(true) {
            return Has::Yes("has a handler for it");
        }
        if is_elsewhere(name) {
            return Has::Elsewhere;
        }
        begins.map_or(Has::No, |_| Has::Perhaps)
    }

    /// Whether the word begins with the name of a handler, as the kernel compares it. `Some(true)` if that name is the
    /// whole word, `Some(false)` if it is only a beginning: for `root_x` the kernel also calls the handler of `ro`,
    /// which refuses it.
    fn by_beginning(&self, token: &Token) -> Option<bool> {
        let whole = match &token.value {
            Some(value) => format!("{}={}", token.name, same_dashes(value)),
            None => token.name.clone(),
        };
        let matches = |name: &&String| whole.starts_with(name.as_str());
        let is_all = |name: &String| name.len() >= token.name.len() || name.ends_with([':', '=', ',', '.']);
        self.setup.iter().filter(matches).map(is_all).max()
    }
}

/// Words that the list of an image never has. Code of x86-64, of arm64 and of the EFI stub searches the line for some
/// of these words. Others are alternative names of sysctls (`fs/proc/proc_sysctl.c`). `dyndbg` and `async_probe` exist
/// for every module.
const ELSEWHERE: &str = "acpi acpi_rsdp async_probe bootconfig clearcpuid console debug dis_ucode_ldr dyndbg \
    earlyprintk edd efi forcepae fred hardlockup_all_cpu_backtrace hung_task_panic initrd kexec mem_encrypt microcode \
    microcode.amd_sha_check no387 no5lvl nofxsr nokaslr nopti nospec_store_bypass_disable nospectre_v2 nousershstk \
    noxsave noxsaveopt noxsaves numa_zonelist_order pti quiet setcpuid softlockup_all_cpu_backtrace \
    spec_store_bypass_disable spectre_v2 spectre_v2_user split_lock_detect tsx";
/// Further words that the list of an image never has, given by the part before the dot.
const ELSEWHERE_BEFORE_DOT: &str = "arm64 arm64_sw id_aa64isar1 id_aa64isar2 id_aa64mmfr0 id_aa64mmfr1 id_aa64mmfr2 \
    id_aa64mmfr4 id_aa64pfr0 id_aa64pfr1 id_aa64smfr0 sysctl";

fn is_elsewhere(name: &str) -> bool {
    let is_one_of = |list: &str, name: &str| list.split(' ').any(|word| word == name);
    let (module, parameter) = name.split_once('.').unwrap_or_default();
    is_one_of(ELSEWHERE, name)
        || name.starts_with("sysctl/")
        || is_one_of(ELSEWHERE_BEFORE_DOT, module)
        || (!module.is_empty() && matches!(parameter, "dyndbg" | "async_probe"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIST: &str = "complete\nearly quiet\nearly nosmt\nsetup init=\nsetup ro\nsetup mce\nsetup workqueue.unbound_cpus=\n\
        setup libata.force=\nparam panic 0644\nparam rcutree.kthread_prio 0444\nparam hidden.one 0000\n";

    fn has(word: &str) -> Has {
        Image::parse(LIST).unwrap().has(&words(word.as_bytes())[0])
    }

    #[test]
    fn words_are_compared_as_the_kernel_does() {
        let known = "quiet=1 nosmt nosmt=force init=/bin/sh ro mce=off workqueue.unbound-cpus=1 panic=1 panic \
            rcutree.kthread-prio=1 hidden.one=2 mce";
        for word in known.split(' ') {
            assert!(matches!(has(word), Has::Yes(_)), "{word}");
        }
        let unknown = "init quiet2 panic2 rcutree.kthread_pri rcutree.x=1 x sysctl workqueue.unbound_cpus";
        for word in unknown.split(' ') {
            assert_eq!(has(word), Has::No, "{word}");
        }
        for word in ["root", "mcelog=1", "roroot=x"] {
            assert_eq!(has(word), Has::Perhaps, "{word}");
        }
        for word in ["sysctl.vm.x=1", "arm64.nosve", "nopti", "i915.dyndbg=+p", "hung-task-panic=1"] {
            assert_eq!(has(word), Has::Elsewhere, "{word}");
        }
    }

    #[test]
    fn only_a_whole_list_is_believed() {
        assert_eq!(Image::parse("undetermined: packed with lz4\n").unwrap_err(), "packed with lz4");
        for text in ["", "complete\n", "complete\nearly\n", "complete\nsetup init=\nparam x 9\n", "Complete\n"] {
            assert!(Image::parse(text).is_err(), "{text}");
        }
        let image = Image::parse(LIST).unwrap();
        assert_eq!(["ro", "x", "roo", ""].map(|word| image.takes(word)), [Some(true), Some(false), None, None]);
        assert!(image.has_module("rcutree") && !image.has_module("rcu") && !image.has_module("workqueue"));
    }

    proptest! {
        #[test]
        fn no_list_and_no_word_makes_it_panic(list in "complete\n((early|setup|param|x) [a-z=._\u{e9}-]{0,6}( [0-9]{1,3})?\n){0,6}", word in "\\PC{1,12}") {
            let image = Image::parse(&format!("{list}setup init=\n"));
            for token in words(word.as_bytes()) {
                let _ = image.as_ref().map(|image| image.has(&token));
            }
        }
    }
}
