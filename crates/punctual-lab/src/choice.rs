//! The kernels that a user may name, and how they are got.
//!
//! ```text
//! debian:12-rt      the newest kernel of Debian 12, flavour rt, for this machine's architecture
//! debian:13-arm64   likewise for another architecture
//! ./bzImage         an image
//! deb:FILE          a package with an image
//! ```
//! Each may be followed by `+WORD` for a word of its command line, or by `+FILE.ko` for a module that is loaded.

use crate::image::arch_of;
use crate::kernel::{Arch, Release};
use crate::packages::Shelf;
use crate::run::Subject;
use anyhow::{Context, Result, anyhow, bail};
use std::path::PathBuf;

/// A kernel as the user named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What the user typed.
    pub name: String,
    pub source: Source,
    pub words: Vec<String>,
    pub modules: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Debian { release: Release, is_rt: bool, arch: Option<Arch> },
    Image(PathBuf),
    Package(PathBuf),
}

/// The modes of pre-emption that `+preempt=all` stands for.
const MODES: [&str; 4] = ["none", "voluntary", "full", "lazy"];

/// What to do about a kernel of Debian that cannot be got.
const WITHOUT_NETWORK: &str = "Without a network, name an image of your own, or deb:FILE for a package";

impl Choice {
    /// Reads what a user typed. It may stand for several kernels.
    pub fn parse(text: &str) -> Result<Vec<Self>> {
        let mut parts = text.split('+');
        let source = source(parts.next().unwrap_or_default())?;
        let mut choice = Self { name: text.to_owned(), source, words: Vec::new(), modules: Vec::new() };
        for part in parts {
            if part.is_empty() {
                bail!("`{text}`: after + comes a word of the command line or a module's file");
            }
            let is_module = PathBuf::from(part).extension().is_some_and(|end| end == "ko");
            if is_module { choice.modules.push(part.into()) } else { choice.words.push(part.to_owned()) }
        }
        if choice.words.iter().any(|word| word == "preempt=all") {
            return Ok(MODES.map(|mode| choice.with_mode(mode)).to_vec());
        }
        Ok(vec![choice])
    }

    fn with_mode(&self, mode: &str) -> Self {
        let all = |text: &str| text.replace("preempt=all", &format!("preempt={mode}"));
        Self { name: all(&self.name), words: self.words.iter().map(|word| all(word)).collect(), ..self.clone() }
    }

    /// The mode of pre-emption that the command line asks for.
    pub fn mode(&self) -> Option<&str> {
        self.words.iter().rev().find_map(|word| word.strip_prefix("preempt="))
    }

    /// Gets the kernel. Images of the user's own need no network and no Debian.
    pub fn subject(&self, packages: &dyn Fn() -> Result<Shelf>) -> Result<Subject> {
        for module in &self.modules {
            std::fs::metadata(module).with_context(|| format!("read the module {}", module.display()))?;
        }
        let subject = |arch, image| Subject {
            name: self.name.clone(),
            arch,
            image,
            words: self.words.clone(),
            modules: self.modules.clone(),
        };
        match &self.source {
            Source::Debian { release, is_rt, arch } => {
                let arch = arch.map_or_else(Arch::of_host, Ok)?;
                let kernel = packages()?.kernel(*release, arch, *is_rt);
                let kernel = kernel.map_err(|error| anyhow!("{error:#}. {WITHOUT_NETWORK}"))?;
                Ok(subject(arch, kernel.image))
            }
            Source::Image(path) => Ok(subject(arch_of(path)?, path.clone())),
            Source::Package(path) => {
                let kernel = packages()?.kernel_in(path).with_context(|| format!("unpack {}", path.display()))?;
                Ok(subject(arch_of(&kernel.image)?, kernel.image))
            }
        }
    }
}

fn source(text: &str) -> Result<Source> {
    if let Some(rest) = text.strip_prefix("debian:") {
        return debian(rest);
    }
    match text.strip_prefix("deb:") {
        Some(file) => Ok(Source::Package(file.into())),
        None if text.is_empty() => bail!("a kernel without a name"),
        None => Ok(Source::Image(text.into())),
    }
}

fn debian(text: &str) -> Result<Source> {
    const FORM: &str = "debian:12 or debian:13, then -rt if wanted, then -amd64 or -arm64 if wanted";
    let mut parts = text.split('-').peekable();
    let release = match parts.next() {
        Some("12") => Release::Bookworm,
        Some("13") => Release::Trixie,
        _ => bail!("debian:{text} does not have the form {FORM}"),
    };
    let is_rt = parts.next_if_eq(&"rt").is_some();
    let arch = match parts.next() {
        None => None,
        Some("amd64") => Some(Arch::Amd64),
        Some("arm64") => Some(Arch::Arm64),
        Some(_) => bail!("debian:{text} does not have the form {FORM}"),
    };
    if parts.next().is_some() {
        bail!("debian:{text} does not have the form {FORM}");
    }
    Ok(Source::Debian { release, is_rt, arch })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kernels_are_understood() {
        let one = |text: &str| Choice::parse(text).unwrap().remove(0);
        let debian = |release, is_rt, arch| Source::Debian { release, is_rt, arch };
        assert_eq!(one("debian:12").source, debian(Release::Bookworm, false, None));
        assert_eq!(one("debian:13-rt-arm64").source, debian(Release::Trixie, true, Some(Arch::Arm64)));
        assert_eq!(one("deb:./linux-image.deb").source, Source::Package("./linux-image.deb".into()));
        let own = one("arch/x86/boot/bzImage+nohz=off+./plant.ko+plant.kind=irqoff");
        assert_eq!(own.source, Source::Image("arch/x86/boot/bzImage".into()));
        assert_eq!(
            (own.words, own.modules),
            (vec!["nohz=off".into(), "plant.kind=irqoff".into()], vec!["./plant.ko".into()])
        );
    }

    #[test]
    fn all_modes_of_preemption_are_four_kernels() {
        let all = Choice::parse("debian:13+preempt=all").unwrap();
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names[0], "debian:13+preempt=none");
        assert_eq!(all.iter().filter_map(Choice::mode).collect::<Vec<_>>(), MODES);
    }

    #[test]
    fn what_is_no_kernel_says_what_would_be() {
        for wrong in ["debian:11", "debian:12-tr", "debian:12-rt-riscv64", "debian:12-rt-amd64-x", "", "x+"] {
            assert!(Choice::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Choice::parse("debian:12-xx").unwrap_err().to_string().contains("-rt if wanted"));
    }
}
