//! The words that a kernel's image knows, as the product reads them from the image alone, against lists that were made
//! from the kernel's sources. Nothing is booted.

use super::facts::{self, Word};
use super::{Claim, Judged, Lab, Scenario, Verdict, skip};
use crate::kernel::{Arch, Kernel};
use crate::program;
use anyhow::{Context, Result};
use std::fs;
use std::process::Command;

/// The scenario.
pub const ORACLE: Scenario = Scenario { name: "oracle", claims: CLAIMS, wants: |_| true, run };

const CLAIMS: &[Claim] = &[Claim {
    id: "oracle.words",
    says: "from the kernel's image alone, every word of a list of known-present and known-absent ones is classed right",
}];
/// A list of fewer proves too little.
const ENOUGH: usize = 100;

fn run(lab: &Lab, kernel: &Kernel) -> Result<Judged> {
    let spec = kernel.spec;
    let flavour = if spec.is_rt { "rt-" } else { "" };
    let name = format!("fixtures/oracle/{}-{flavour}{}.words", spec.series, spec.arch.debian());
    let path = lab.root.join(&name);
    if !path.is_file() {
        return Ok(skip(CLAIMS, &format!("there is no {name}")));
    }
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let listed = listed(&text);
    let line: Vec<String> = listed.iter().map(|(word, _)| word.clone()).collect();
    let product = lab.product(Arch::of_host()?)?.context("there is no product for the host")?;
    let mut command = Command::new(&product.program);
    command.args(["lint", "--json", "--cmdline", &line.join(" "), "--image"]).arg(&kernel.image);
    let words = facts::words(&program::read(&mut command)?)?;
    Ok(vec![("oracle.words", Verdict::of(&wrong(&listed, &words)))])
}

/// Words, and whether the kernel has them, of lines `+ NAME` and `- NAME`; a name that ends in `=` gets a value.
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

fn wrong(listed: &[(String, bool)], words: &[Word]) -> Vec<String> {
    if listed.len() < ENOUGH || !listed.iter().map(|(word, _)| word).eq(words.iter().map(|word| &word.word)) {
        return vec![format!("{} words are listed, {} were judged, or not the same", listed.len(), words.len())];
    }
    let pairs = listed.iter().zip(words).filter(|((_, is_there), word)| *is_there == (word.verdict == "unknown"));
    pairs.map(|((word, is_there), judged)| format!("{word}: there {is_there}, said to be {}", judged.verdict)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_each_wrong_word_is_named() {
        assert_eq!(listed("# x\n+ a=\n- b.c\n"), [("a=1".to_owned(), true), ("b.c".to_owned(), false)]);
        let listed: Vec<(String, bool)> = (0..ENOUGH).map(|n| (format!("w{n}"), n % 2 == 0)).collect();
        let verdict = |there: bool| if there { "rejected-value" } else { "unknown" }.to_owned();
        let mut words: Vec<Word> =
            listed.iter().map(|(word, there)| Word { word: word.clone(), verdict: verdict(*there) }).collect();
        assert_eq!(wrong(&listed, &words), Vec::<String>::new());
        words[4].verdict = "unknown".to_owned();
        words[5].verdict = "accepted".to_owned();
        assert_eq!(
            wrong(&listed, &words),
            ["w4: there true, said to be unknown", "w5: there false, said to be accepted"]
        );
        assert_eq!(wrong(&listed[..9], &words[..9]).len(), 1);
    }
}
