//! Compares the linter's verdicts on a command line, word by word, with the kernel that was booted with it.

use super::facts::{Kernels, Word};
use std::collections::BTreeMap;

/// Verdicts that say that the kernel ignores the word.
const NOT_TAKEN: [&str; 3] = ["unknown", "rejected-value", "for-user-space"];
/// Verdicts that say that the word has its effect.
const TAKEN: [&str; 2] = ["accepted", "effective"];

/// Words whose effect is visible: the word's name, a file, and the possible beginnings of the file if the word had its
/// effect.
pub const EFFECTS: [(&str, &str, &[&str]); 11] = [
    ("clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource", &["tsc"]),
    ("cpufreq.off", "/sys/module/cpufreq/parameters/off", &["1"]),
    ("hugepages", "/proc/sys/vm/nr_hugepages", &["1024"]),
    ("intel_idle.max_cstate", "/sys/module/intel_idle/parameters/max_cstate", &["0"]),
    ("irqaffinity", "/proc/irq/default_smp_affinity", &["3"]),
    ("isolcpus", "/sys/devices/system/cpu/isolated", &["2-3"]),
    ("nmi_watchdog", "/proc/sys/kernel/nmi_watchdog", &["0"]),
    ("nohz_full", "/sys/devices/system/cpu/nohz_full", &["2-3"]),
    ("nosmt", "/sys/devices/system/cpu/smt/control", &["off", "forceoff", "notsupported", "notimplemented"]),
    ("nosoftlockup", "/proc/sys/kernel/soft_watchdog", &["0"]),
    ("rcupdate.rcu_cpu_stall_suppress", "/sys/module/rcupdate/parameters/rcu_cpu_stall_suppress", &["1"]),
];

/// Complaints about words whose verdict differs from the kernel's log and lists of parameters.
pub fn against_kernel(words: &[Word], kernel: &Kernels) -> Vec<String> {
    words.iter().filter_map(|word| against(word, kernel)).collect()
}

fn against(word: &Word, kernel: &Kernels) -> Option<String> {
    let Word { word: text, verdict } = word;
    let not_taken = NOT_TAKEN.contains(&verdict.as_str());
    // The log does not mention words with a dot, because the kernel takes them for parameters of modules.
    let (says, agrees) = if word.name().contains('.') {
        let known = kernel.dotted.contains(word.name());
        (
            if known { "it has that parameter" } else { "neither it nor its modules have it" },
            known != (verdict == "unknown"),
        )
    } else if kernel.malformed.contains(word.name()) {
        ("its log calls it malformed", verdict == "rejected-value")
    } else {
        let listed = kernel.left_over.contains(text);
        (
            if listed { "its log lists it as unknown" } else { "its log does not list it as unknown" },
            listed == not_taken,
        )
    };
    (!agrees).then(|| format!("{text}: the linter says {verdict}; the kernel: {says}"))
}

/// Complaints about words that should have an effect but do not. Also returns the number of effects that were checked.
pub fn against_effects(words: &[Word], files: &BTreeMap<String, String>) -> (usize, Vec<String>) {
    let mut seen = 0;
    let mut complaints = Vec::new();
    for word in words {
        let Some((_, path, wanted)) = EFFECTS.iter().find(|(name, _, _)| *name == word.name()) else { continue };
        let Some(value) = files.get(*path) else {
            if word.verdict == "effective" {
                complaints.push(format!("{}: said to be effective, and there is no {path}", word.word));
            }
            continue;
        };
        seen += 1;
        let has_effect = wanted.contains(&value.as_str());
        if TAKEN.contains(&word.verdict.as_str()) && !has_effect {
            complaints.push(format!("{}: said to be {}, and {path} says {value}", word.word, word.verdict));
        }
    }
    (seen, complaints)
}

/// Complaints about words whose verdict on the running machine contradicts the verdict from the tables. The former may
/// only be more precise.
pub fn refined(live: &[Word], offline: &[Word]) -> Vec<String> {
    if !live.iter().map(|word| &word.word).eq(offline.iter().map(|word| &word.word)) {
        return vec![format!("not the same words: {live:?} and {offline:?}")];
    }
    let differs = |(live, offline): &(&Word, &Word)| {
        let same = live.verdict == offline.verdict;
        let more = offline.verdict == "accepted" && ["effective", "module-not-loaded"].contains(&live.verdict.as_str());
        !same && !more
    };
    let pairs = live.iter().zip(offline).filter(differs);
    pairs
        .map(|(live, offline)| format!("{}: {} from tables, {} live", live.word, offline.verdict, live.verdict))
        .collect()
}

/// Complaints about words whose verdict differs from the truth table, and about words that only one of the two has.
pub fn against_table(words: &[Word], letters: &[(String, char)]) -> Vec<String> {
    if !words.iter().map(|word| &word.word).eq(letters.iter().map(|(word, _)| word)) {
        return vec![format!("the table has other words: {words:?} and {letters:?}")];
    }
    let pairs = words.iter().zip(letters).filter(|(word, (_, letter))| verdict(*letter) != word.verdict);
    pairs.map(|(word, (_, letter))| format!("{}: {} and not {letter}", word.word, word.verdict)).collect()
}

/// The verdict for which a letter of the truth table stands.
fn verdict(letter: char) -> &'static str {
    match letter {
        'a' | 'T' => "accepted",
        'C' => "clamped",
        'I' => "inert",
        'H' => "harmful",
        'R' => "rejected-value",
        '?' => "unknown",
        'M' => "module-not-loaded",
        'U' => "for-user-space",
        _ => "no such letter",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn word(word: &str, verdict: &str) -> Word {
        Word { word: word.to_owned(), verdict: verdict.to_owned() }
    }

    fn kernel() -> Kernels {
        let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<_>>();
        Kernels { left_over: set(&["noht", "x=1"]), malformed: set(&["idle"]), dotted: set(&["a.b"]) }
    }

    #[test]
    fn agreement_is_silent_and_each_disagreement_names_its_word() {
        let right = [
            word("noht", "unknown"),
            word("x=1", "rejected-value"),
            word("quiet", "accepted"),
            word("idle=pol", "rejected-value"),
            word("a.b=1", "module-not-loaded"),
            word("a.c=1", "unknown"),
        ];
        assert_eq!(against_kernel(&right, &kernel()), Vec::<String>::new());
        for wrong in [
            word("noht", "accepted"),
            word("noht", "inert"),
            word("quiet", "unknown"),
            word("quiet", "rejected-value"),
            word("idle=pol", "accepted"),
            word("a.b=1", "unknown"),
            word("a.c=1", "accepted"),
        ] {
            let complaints = against_kernel(std::slice::from_ref(&wrong), &kernel());
            assert!(complaints.len() == 1 && complaints[0].starts_with(&wrong.word), "{wrong:?}: {complaints:?}");
        }
    }

    #[test]
    fn an_effect_that_is_not_there_is_found() {
        let path = "/sys/devices/system/cpu/isolated";
        let says = |value: &str| BTreeMap::from([(path.to_owned(), value.to_owned())]);
        let taken = [word("isolcpus=2,3", "effective")];
        assert_eq!(against_effects(&taken, &says("2-3")), (1, Vec::new()));
        assert_eq!(against_effects(&taken, &says("")).1.len(), 1);
        assert_eq!(against_effects(&taken, &BTreeMap::new()).1.len(), 1);
        assert_eq!(against_effects(&[word("isolcpus=9", "rejected-value")], &says("")), (1, Vec::new()));
    }

    #[test]
    fn a_look_at_the_machine_may_know_more_and_nothing_else() {
        let offline = [word("a", "accepted"), word("b", "unknown")];
        assert_eq!(refined(&[word("a", "effective"), word("b", "unknown")], &offline), Vec::<String>::new());
        assert_eq!(refined(&[word("a", "unknown"), word("b", "accepted")], &offline).len(), 2);
        assert_eq!(refined(&[word("a", "accepted")], &offline).len(), 1);
    }

    #[test]
    fn letters_are_verdicts() {
        let letters = [("a".to_owned(), 'T'), ("b".to_owned(), '?')];
        assert_eq!(against_table(&[word("a", "accepted"), word("b", "unknown")], &letters), Vec::<String>::new());
        assert_eq!(against_table(&[word("a", "accepted"), word("b", "inert")], &letters), ["b: inert and not ?"]);
        assert_eq!(against_table(&[word("a", "accepted")], &letters).len(), 1);
    }
}
