//! Whether the words of the kernel command line have the effect they promise, according to the linter. A word without
//! effect does more harm than a missing word, since somebody relies on it.

use crate::knobs::prelude::*;
use punctual_facts::cmdline::{Token, words};
use punctual_facts::lint::{Target, Word, WordVerdict, examined_versions, is_kernels, is_overridden, kept_bytes};
use punctual_facts::tree::{CMDLINE_BYTES, without_private_values};

const LINTER: &[&str] = &[
    "kernel 4.19 to 7.3: names registered by early_param, __setup, core_param and module_param",
    "kernel 7.3 init/main.c, kernel/params.c: what becomes of words",
    "punctual lint says the sources of each word",
];

const TAKE_OFF: &[Lasting] =
    &[Lasting::boot("Edit the words in the configuration of the boot loader; punctual lint says what to write.")];

/// Creates a knob of this family. The kernel reads the command line at boot only, so the fix of each is to change words
/// of that line.
const fn knob(id: &'static str, title: &'static str, severity: Weight, probe: fn(&Case<'_>) -> Judged) -> Knob {
    Knob {
        id,
        title,
        severity,
        check: Check::Probe(probe),
        why: "",
        fix: Fix::NotAtRunTime(""),
        persist: TAKE_OFF,
        undo: Fix::prose("Put the words back as they were and boot again."),
        cost: "None.",
        sources: LINTER,
        ..Knob::of(Family::CommandLine)
    }
}

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        why: "The word has no effect, and the kernel does not say so: it silently drops a name with a dot that belongs \
            to no module.",
        ..knob(
            "cmdline.unknown",
            "Every word is known to the kernel or to a module",
            Weight::of(Medium, Medium, Info),
            unknown,
        )
    },
    Knob {
        why: "If the kernel refuses a value, it uses its default, or a value that was not asked for: a malformed \
            rcu_nocbs= offloads all CPUs, a malformed isolcpus= isolates none.",
        ..knob(
            "cmdline.rejected",
            "No value on the command line was refused by the kernel",
            Weight::of(High, High, Medium),
            rejected,
        )
    },
    Knob {
        why: "The machine does not use the value that its command line shows, and whoever copies the line copies the \
            error.",
        ..knob("cmdline.clamped", "Values on the command line are used as written", Weight::all(Info), |case| {
            none_is(case, |word| word.verdict == WordVerdict::Clamped)
        })
    },
    Knob {
        why: "The word has no effect here, because of another word or because of this kernel, and it misleads whoever \
            reads the line.",
        ..knob("cmdline.inert", "No word without an effect", Weight::all(Info), |case| {
            none_is(case, |word| word.verdict == WordVerdict::Inert)
        })
    },
    Knob {
        why: "The word lengthens the worst case, or removes a protection that nothing else gives.",
        blast: Blast::Disturbing,
        ..knob("cmdline.harmful", "No word that does harm", Weight::of(High, High, Medium), harmful)
    },
    Knob {
        why: "The word has an effect, but not the one it is commonly used for, which is therefore missing.",
        // The knob about the setting that the word changes carries the severity.
        ..knob("cmdline.traps", "No word that does something other than commonly believed", Weight::all(Info), |case| {
            none_is(case, |word| word.is_trap)
        })
    },
    Knob {
        why: "The kernel silently cuts off what is beyond its limit, even in the middle of a name or a list.",
        ..knob(
            "cmdline.length",
            "A command line that the kernel keeps as a whole",
            Weight::of(High, High, High),
            length,
        )
    },
    Knob {
        why: "If a word is given several times, its last value counts, and which one is last depends on what wrote the \
            line: the boot loader, the image or a person.",
        ..knob("cmdline.duplicates", "No word given twice with two values", Weight::all(Info), duplicates)
    },
    Knob {
        why: "The kernel passes everything after -- to init, and does not read its own words there.",
        ..knob("cmdline.separator", "No kernel word after --", Weight::of(Medium, Medium, Medium), separator)
    },
];

/// The words of this machine's command line with the linter's verdicts.
fn judged<'a>(case: &'a Case<'_>) -> Result<&'a [Word], Doubt> {
    // The line, the version and the flavour are asked for one by one, so that the doubt names the one that is missing.
    case.content(CMDLINE, UNSEEN)?;
    case.version()?;
    case.flavour()?;
    let unknown = || Doubt::Unknown("the architecture is not known".into());
    case.words().ok_or_else(unknown)
}

const UNSEEN: Missing = TellsNothing("the command line is not shown");

/// Good if `is_of_kind` holds for no word. The words for which it holds become the evidence.
fn none_is(case: &Case<'_>, is_of_kind: impl Fn(&Word) -> bool) -> Judged {
    let words = judged(case)?;
    let found = words.iter().filter(|word| is_of_kind(word));
    let found: Vec<String> = found.map(|word| without_private_values(&word.word)).collect();
    let shown = if found.is_empty() { format!("none of {} words", words.len()) } else { found.join(" ") };
    case.note(CMDLINE, shown);
    Ok(found.is_empty())
}

fn unknown(case: &Case<'_>) -> Judged {
    judged(case)?;
    let is_near = Target::of(case.machine).is_some_and(|target| target.was_looked_at());
    if !is_near {
        return Doubt::unknown(format!(
            "this program does not know the words of this kernel: it knows those of {} on x86-64, arm64, arm and \
            riscv64",
            examined_versions()
        ));
    }
    case.peek(LOG);
    let is_unknown = |word: &&Word| word.verdict == WordVerdict::Unknown;
    let is_untold = judged(case)?.iter().any(|word| word.is_untold);
    Doubt::unknown_if(
        is_untold && judged(case)?.iter().filter(is_unknown).all(|word| word.is_untold),
        "some of the words with a dot are in no kernel that this program knows, and whether they belong to a module of \
        this machine cannot be told, because /sys/module cannot be listed",
    )?;
    let is_good = none_is(case, |word| is_unknown(&word) && !word.is_untold)?;
    // The word is unknown to the kernels of nearby versions that were examined, which proves nothing for this version.
    let is_exact = Target::of(case.machine).is_some_and(|target| target.is_looked_at());
    Doubt::unknown_if(
        !is_good && !is_exact && !case.log_lists_unknown_words(),
        "the kernel versions next to this one do not know some of the words; this program does not know this version \
        itself, and the kernel's log does not say (or no longer says) which words it ignored",
    )?;
    Ok(is_good)
}

fn rejected(case: &Case<'_>) -> Judged {
    case.peek(LOG);
    none_is(case, |word| word.verdict == WordVerdict::RejectedValue)
}

fn harmful(case: &Case<'_>) -> Judged {
    // The knobs `rcu.normal` and `irq.fixup` report these words with severities of their own.
    let is_told = |word: &Word| {
        let name = word.word.split('=').next().unwrap_or_default().replace('-', "_");
        matches!(name.as_str(), "rcupdate.rcu_expedited" | "irqpoll")
    };
    none_is(case, |word| word.verdict == WordVerdict::Harmful && !is_told(word))
}

fn line(case: &Case<'_>) -> Result<Vec<u8>, Doubt> {
    case.content(CMDLINE, UNSEEN).map(String::into_bytes)
}

fn length(case: &Case<'_>) -> Judged {
    let line = line(case)?;
    let Some(kept) = case.arch().copied().and_then(kept_bytes) else {
        return Doubt::unknown("this program does not know how many bytes of the command line this architecture keeps");
    };
    let before_masking = case.peek(CMDLINE_BYTES).known().and_then(|bytes| bytes.trim().parse::<usize>().ok());
    let bytes = before_masking.unwrap_or(line.len());
    case.note(CMDLINE, format!("{bytes} bytes, of at most {}", kept - 1));
    // The kernel shows only the part of the line that it kept, so a line of exactly the greatest length may have been
    // cut.
    Ok(bytes < kept - 1)
}

fn duplicates(case: &Case<'_>) -> Judged {
    let line = words(&line(case)?);
    let judged = judged(case)?;
    let is_refused = |word: &Token| {
        let place = line.iter().position(|other| other.end == word.end);
        place.and_then(|n| judged.get(n)).is_some_and(|word| word.verdict == WordVerdict::RejectedValue)
    };
    let found = line.iter().filter(|word| is_overridden(word, &line, is_refused));
    let found: Vec<String> = found.map(|word| without_private_values(&word.raw)).collect();
    let shown = if found.is_empty() {
        "no word is given twice".to_owned()
    } else {
        format!("given again: {}", found.join(" "))
    };
    case.note(CMDLINE, shown);
    Ok(found.is_empty())
}

fn separator(case: &Case<'_>) -> Judged {
    let line = words(&line(case)?);
    let behind: Vec<&Token> = line.iter().filter(|word| word.is_for_init).collect();
    // Only the names of words are shown, since the values of words for init may be private.
    let found: Vec<&str> = behind.iter().filter(|word| is_kernels(word)).map(|word| word.name.as_str()).collect();
    let shown = if found.is_empty() {
        format!("{} words after --, none of them meant for the kernel", behind.len())
    } else {
        format!("meant for the kernel, but after --: {}", found.join(" "))
    };
    case.note(CMDLINE, shown);
    Ok(found.is_empty())
}
