//! The linter of kernel command lines: how the kernel treats each word, why, and what to write instead.
//!
//! Most words that do nothing fail silently: a module that is not there, a name that was removed years ago, a list that
//! the kernel refuses. A word is judged by the names that kernels register ([`names`]), by rules about single words
//! ([`rules`]), by the form of its value ([`values`]) and, on a live machine, by the machine's own testimony
//! ([`Testimony`]). The linter reads through a [`Tree`] and decides; other crates display the verdicts.
//!
//! [`Tree`]: crate::tree::Tree

mod choices;
mod contradictions;
mod draft;
mod duplicates;
mod file;
mod housekeeping;
mod image;
mod judge;
mod names;
mod near;
mod rules;
mod second;
mod standing;
mod testimony;
mod user_space;
mod values;

#[cfg(test)]
mod tests;

pub use duplicates::is_overridden;
pub use file::{Contents, Placed, lint_file};
pub use image::{Image, WORDS};
pub use testimony::Testimony;

use crate::cmdline::{KEPT_BYTES, KEPT_BYTES_OF_BOARDS, Token, words};
use crate::cpu_set::CpuSet;
use crate::machine::{Arch, Flavour, Machine, Version};
use serde::Serialize;

/// The kernel that a line is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Target {
    pub version: Version,
    pub flavour: Flavour,
    pub arch: Arch,
    /// CPUs that can exist on the machine; null if they are not known.
    pub possible: Option<CpuSet>,
}

impl Target {
    /// The running kernel; `None` if its version, flavour or architecture is not known.
    pub fn of(machine: &Machine) -> Option<Self> {
        Some(Self {
            version: *machine.kernel.version.known()?,
            flavour: *machine.kernel.flavour.known()?,
            arch: *machine.kernel.arch.known()?,
            possible: machine.topology.possible.known().cloned(),
        })
    }

    /// The kernel of an image, from its banner (`Linux version ...`) and from the words it was built with.
    pub fn of_image(banner: &str, arch: Arch, image: &Image) -> Option<Self> {
        let mut says = banner.split_whitespace().skip(2);
        let version = Version::parse(says.next()?)?;
        let has = |word: &str| banner.split_whitespace().any(|said| said == word);
        let flavour = match () {
            () if image.has_module("xenomai") => Flavour::Cobalt,
            () if image.has_module("evl") => Flavour::Evl,
            () if has("PREEMPT_RT") => Flavour::Rt,
            () if has("PREEMPT_DYNAMIC") => Flavour::Dynamic,
            () => Flavour::Stock,
        };
        Some(Self { version, flavour, arch, possible: None })
    }

    /// Whether this version lies within the range of the examined versions. A version outside is treated like the
    /// nearest examined one.
    pub fn was_looked_at(&self) -> bool {
        let versions = names::examined();
        let is_within = versions.first().is_some_and(|first| self.version >= *first)
            && versions.last().is_some_and(|last| self.version <= *last);
        is_within && self.arch != Arch::Other
    }

    pub fn is_looked_at(&self) -> bool {
        let names::Nearest { before, after } = names::nearest(self);
        before == self.version && after == self.version && self.arch != Arch::Other
    }

    /// The highest number of a possible CPU, plus one; `None` if it is not known.
    fn cpus(&self) -> Option<u32> {
        Some(self.possible.as_ref()?.iter().last()? + 1)
    }

    #[cfg(test)]
    fn x86(major: u32, minor: u32, flavour: Flavour) -> Self {
        Self { version: Version::new(major, minor), flavour, arch: Arch::X86, possible: CpuSet::parse_list("0-3").ok() }
    }
}

crate::named! {
    /// The verdict on a word, from the worst to the best.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum WordVerdict {
        /// The kernel takes the word, and the word does harm.
        Harmful = "harmful",
        /// No part of the kernel takes the word.
        Unknown = "unknown",
        /// The kernel knows the name, but refuses the value.
        RejectedValue = "rejected-value",
        /// The kernel takes the word, but the word changes nothing here.
        Inert = "inert",
        /// The kernel takes the word, but changes its value.
        Clamped = "clamped",
        /// Of the two nearest examined versions, one takes the word and the other does not.
        Undecided = "undecided",
        /// The word is for a module that is not loaded.
        ModuleNotLoaded = "module-not-loaded",
        /// The word is for the boot loader, the initial RAM disk or init, and not for the kernel.
        ForUserSpace = "for-user-space",
        /// The kernel takes the word as it was written.
        Accepted = "accepted",
        /// The kernel takes the word, and what the word asks for is in force.
        Effective = "effective",
    }
}

/// One word of a command line with its verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Word {
    /// The word as it was written.
    pub word: String,
    pub verdict: WordVerdict,
    /// Whether the word does something else than is commonly believed.
    pub is_trap: bool,
    /// Whether the word may be for a module: no table lists the word, and this machine does not show its modules.
    pub is_untold: bool,
    pub why: String,
    /// What to write instead; null if nothing better is known.
    pub instead: Option<String>,
    /// The sources of the verdict, such as files of the kernel.
    pub sources: Vec<String>,
}

pub fn lint(line: &[u8], target: &Target, evidence: &Testimony<'_>) -> Vec<Word> {
    judge::judge(&words(line), target, evidence)
}

/// The number of bytes of a command line that kernels of this architecture keep, with the final NUL; `None` if it is not
/// known.
pub fn kept_bytes(arch: Arch) -> Option<usize> {
    match arch {
        Arch::X86 | Arch::Arm64 => Some(KEPT_BYTES),
        Arch::Arm | Arch::Riscv64 => Some(KEPT_BYTES_OF_BOARDS),
        Arch::Other => None,
    }
}

/// The versions whose names were examined, as a text: `6.1, 6.6 and 6.12`.
pub fn examined_versions() -> String {
    names::examined_text(" and ")
}

/// Whether the kernel would act on this word, which stands after `--`, if it stood before `--`. True for parameters of
/// known modules, and for names of at least four letters that need a value. Shorter names are left out, so that words
/// of init are not mistaken for the kernel's.
pub fn is_kernels(token: &Token) -> bool {
    let is_long = token.name.len() >= 4;
    names::NAMES.is_parameter(&token.name)
        || (is_long && token.value.is_some() && !names::NAMES.exact(&token.name, true).is_empty())
}
