//! Compares the boot parameters that the product finds in a kernel's image with lists that were made from the kernel's
//! sources. Nothing is booted.

use super::facts::{self, Word};
use super::{Claim, Judged, Lab, Scenario, Verdict};
use crate::kernel::{Arch, Kernel, Spec};
use crate::program;
use anyhow::{Context, Result};
use std::fs;
use std::process::Command;

/// The scenario runs on every kernel for which a list should exist; a missing list is a failure.
pub const ORACLE: Scenario = Scenario { name: "oracle", claims: CLAIMS, wants: |spec| spec.id != "13-amd64", run };

const CLAIMS: &[Claim] = &[Claim {
    id: "oracle.words",
    says: "from the kernel's image alone, every word of a list of known-present and known-absent ones is classed right",
}];
/// Smallest number of words in a list that proves enough.
const ENOUGH: usize = 100;
/// Words that a kernel does not have, but on which the linter has a more precise verdict.
const MORE_SAID: [MoreSaid; 1] =
    // Real-time kernels handle interrupts in threads without this word.
    [("threadirqs", |spec| spec.is_rt, "inert")];
/// A word, the kernels for which this holds, and the verdict on them.
type MoreSaid = (&'static str, fn(&Spec) -> bool, &'static str);

fn run(lab: &Lab, kernel: &Kernel) -> Result<Judged> {
    let spec = kernel.spec;
    let flavour = if spec.is_rt { "rt-" } else { "" };
    let name = format!("fixtures/oracle/{}-{flavour}{}.words", spec.series, spec.arch.debian());
    let path = lab.root.join(&name);
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let listed = listed(&text);
    let line: Vec<String> = listed.iter().map(|(word, _)| word.clone()).collect();
    let product = lab.product(Arch::of_host()?)?.context("there is no product for the host")?;
    let mut command = Command::new(&product.program);
    command.args(["lint", "--json", "--cmdline", &line.join(" "), "--image"]).arg(&kernel.image);
    let words = facts::words(&program::read(&mut command)?)?;
    Ok(vec![("oracle.words", Verdict::of(&wrong(&listed, &words, spec)))])
}

/// Parses lines `+ NAME` and `- NAME`: a word, and whether the kernel has it. A name that ends in `=` gets a value.
fn listed(text: &str) -> Vec<(String, bool)> {
    let line = |line: &str| {
        let (name, is_there) = match line.split_at_checked(2)? {
            ("+ ", name) => (name, true),
            ("- ", name) => (name, false),
            _ => return None,
        };
        let value = if name.ends_with('=') { "1" } else { "" };
        Some((format!("{}{value}", name.trim()), is_there))
    };
    text.lines().filter_map(line).collect()
}

fn wrong(listed: &[(String, bool)], words: &[Word], spec: &Spec) -> Vec<String> {
    if listed.len() < ENOUGH || !listed.iter().map(|(word, _)| word).eq(words.iter().map(|word| &word.word)) {
        return vec![format!("{} words are listed, {} were judged, or not the same", listed.len(), words.len())];
    }
    let more = |word: &Word| {
        MORE_SAID.iter().any(|(name, on, verdict)| *name == word.word && on(spec) && *verdict == word.verdict)
    };
    let is_right = |is_there: bool, word: &Word| {
        if is_there { word.verdict != "unknown" } else { word.verdict == "unknown" || more(word) }
    };
    let pairs = listed.iter().zip(words).filter(|((_, is_there), word)| !is_right(*is_there, word));
    pairs.map(|((word, is_there), judged)| format!("{word}: there {is_there}, said to be {}", judged.verdict)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::KERNELS;

    #[test]
    fn lists_are_read_and_each_wrong_word_is_named() {
        assert_eq!(listed("# x\n+ a=\n- b.c\n"), [("a=1".to_owned(), true), ("b.c".to_owned(), false)]);
        let spec = &KERNELS[0];
        let listed: Vec<(String, bool)> = (0..ENOUGH).map(|n| (format!("w{n}"), n % 2 == 0)).collect();
        let verdict = |there: bool| if there { "rejected-value" } else { "unknown" }.to_owned();
        let mut words: Vec<Word> =
            listed.iter().map(|(word, there)| Word { word: word.clone(), verdict: verdict(*there) }).collect();
        assert_eq!(wrong(&listed, &words, spec), Vec::<String>::new());
        words[4].verdict = "unknown".to_owned();
        words[5].verdict = "accepted".to_owned();
        assert_eq!(
            wrong(&listed, &words, spec),
            ["w4: there true, said to be unknown", "w5: there false, said to be accepted"]
        );
        assert_eq!(wrong(&listed[..9], &words[..9], spec).len(), 1);
    }
}
