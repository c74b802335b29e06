//! A fragment of kernel configuration for people who build kernels, with a reason and a source for every line.
//!
//! Kernel versions differ in the symbols they have. Three versions were checked, and the fragment names the version
//! that it follows. The running kernel does not matter.

mod lines;

use lines::{SECTIONS, Symbol};
use punctual_facts::machine::{Arch, Flavour, Version};

/// Versions whose Kconfig files were checked, oldest first.
const CHECKED: [Version; 3] = [Version::new(6, 1), Version::new(6, 12), Version::new(7, 3)];
/// The first version that has `PREEMPT_RT` without patches.
const RT_IN_MAINLINE: Version = Version::new(6, 12);
/// The length, in characters, at which a line of a remark is wrapped.
const WIDTH_CHARS: usize = 110;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KconfigRefusal {
    #[error("a fragment for a {} kernel is not known here; name rt, cobalt or evl", .0.name())]
    Flavour(Flavour),
    #[error("{} is not known here; fragments are for x86-64 and arm64", .0.name())]
    Arch(Arch),
}

pub fn kconfig(flavour: Flavour, version: Version, arch: Arch) -> Result<String, KconfigRefusal> {
    if !matches!(flavour, Flavour::Rt | Flavour::Cobalt | Flavour::Evl) {
        return Err(KconfigRefusal::Flavour(flavour));
    }
    if !matches!(arch, Arch::X86 | Arch::Arm64) {
        return Err(KconfigRefusal::Arch(arch));
    }
    let checked = followed(version);
    let mut out = head(flavour, version, arch, CHECKED[checked]);
    for section in SECTIONS {
        let lines: Vec<_> = section.lines.iter().filter(|line| line.applies(flavour, checked, arch)).collect();
        if lines.iter().all(|line| line.set.is_none()) {
            continue;
        }
        out += &["\n# ---- ", section.title, "\n"].concat();
        for line in lines {
            out += &remark(&format!("{} [{}]", line.why, line.source));
            match line.set {
                Some(Symbol { name, is_on: true }) => out += &["CONFIG_", name, "=y\n"].concat(),
                Some(Symbol { name, is_on: false }) => out += &["# CONFIG_", name, " is not set\n"].concat(),
                None => {}
            }
        }
    }
    Ok(out)
}

/// The index of the checked version to follow: the newest that is not newer than `version`, or else the oldest.
fn followed(version: Version) -> usize {
    CHECKED.iter().rposition(|checked| *checked <= version).unwrap_or(0)
}

fn head(flavour: Flavour, version: Version, arch: Arch, checked: Version) -> String {
    let Version { major, minor } = version;
    let mut out = format!("# Kernel configuration: {}, {major}.{minor}, {}\n", flavour.name(), arch.name());
    out += &remark(
        "A fragment: merge it into a configuration that boots (scripts/kconfig/merge_config.sh .config FRAGMENT), and \
         look at what it says was not taken.",
    );
    out += &remark(&if checked == version {
        format!("Checked against the Kconfig files of {major}.{minor}.")
    } else {
        format!(
            "Follows the Kconfig files of {}.{}, the nearest that were looked at; {major}.{minor} may lack some of \
             these symbols and drop them.",
            checked.major, checked.minor
        )
    });
    match flavour {
        Flavour::Rt if version < RT_IN_MAINLINE => {
            out += &remark("Needs the PREEMPT_RT patches of that version: without them PREEMPT_RT cannot be chosen.");
        }
        Flavour::Cobalt | Flavour::Evl => {
            out += &remark(
                "Needs a kernel tree with Dovetail and that core for that version; the symbols of these two were taken \
                 from their own files, and tried on other versions only.",
            );
        }
        _ => {}
    }
    out
}

/// The text as remarks of at most [`WIDTH_CHARS`] characters.
fn remark(text: &str) -> String {
    let mut out = String::new();
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH_CHARS {
            out += &line;
            out.push('\n');
            "#".clone_into(&mut line);
        }
        line.push(' ');
        line += word;
    }
    out + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const FLAVOURS: [Flavour; 3] = [Flavour::Rt, Flavour::Cobalt, Flavour::Evl];
    const ARCHES: [Arch; 2] = [Arch::X86, Arch::Arm64];

    #[test]
    fn no_symbol_is_set_twice_and_every_remark_fits() {
        for flavour in FLAVOURS {
            for (version, arch) in CHECKED.into_iter().flat_map(|v| ARCHES.map(|arch| (v, arch))) {
                let fragment = kconfig(flavour, version, arch).unwrap();
                let symbols: Vec<&str> = fragment
                    .lines()
                    .filter_map(|l| l.strip_prefix("CONFIG_").or(l.strip_prefix("# CONFIG_")))
                    .map(|l| l.split(['=', ' ']).next().unwrap())
                    .collect();
                assert_eq!(symbols.iter().collect::<BTreeSet<_>>().len(), symbols.len(), "{fragment}");
                assert!(symbols.len() >= 20);
                assert!(fragment.lines().all(|line| line.chars().count() <= WIDTH_CHARS), "{fragment}");
            }
        }
    }

    #[test]
    fn what_versions_do_not_have_is_not_set_there() {
        let has = |flavour, minor: (u32, u32), arch, line: &str| {
            kconfig(flavour, Version::new(minor.0, minor.1), arch).unwrap().lines().any(|l| l == line)
        };
        let (rt, cobalt) = (Flavour::Rt, Flavour::Cobalt);
        assert!(has(rt, (6, 12), Arch::X86, "CONFIG_PREEMPT_RT=y"));
        assert!(has(rt, (6, 12), Arch::X86, "# CONFIG_SLUB_CPU_PARTIAL is not set"));
        assert!(!has(rt, (7, 3), Arch::X86, "# CONFIG_SLUB_CPU_PARTIAL is not set"));
        assert!(has(cobalt, (6, 1), Arch::X86, "# CONFIG_MIGRATION is not set"));
        assert!(!has(cobalt, (7, 3), Arch::X86, "# CONFIG_MIGRATION is not set"));
        assert!(!has(rt, (6, 1), Arch::X86, "# CONFIG_MIGRATION is not set"));
        assert!(has(rt, (7, 3), Arch::Arm64, "CONFIG_ARM64_MPAM=y"));
        assert!(!has(rt, (6, 12), Arch::Arm64, "CONFIG_ARM64_MPAM=y"));
        assert!(has(Flavour::Evl, (6, 12), Arch::X86, "# CONFIG_FTRACE is not set"));
        assert!(has(rt, (6, 12), Arch::X86, "CONFIG_OSNOISE_TRACER=y"));
    }

    #[test]
    fn versions_between_follow_the_one_before() {
        let head = |major, minor| kconfig(Flavour::Rt, Version::new(major, minor), Arch::X86).unwrap();
        assert!(
            head(6, 6).contains("Follows the Kconfig files of 6.1,") && head(6, 6).contains("Needs the PREEMPT_RT")
        );
        assert!(head(6, 12).contains("Checked against") && !head(6, 12).contains("Needs the PREEMPT_RT"));
        assert!(head(5, 10).contains("Follows the Kconfig files of 6.1,"));
        assert!(head(9, 0).contains("Follows the Kconfig files of 7.3,"));
        assert!(kconfig(Flavour::Stock, Version::new(6, 12), Arch::X86).is_err());
        assert!(kconfig(Flavour::Rt, Version::new(6, 12), Arch::Other).is_err());
    }

    #[test]
    fn remarks_stand_before_the_lines_of_their_section() {
        for section in SECTIONS {
            let is_remark: Vec<bool> = section.lines.iter().map(|line| line.set.is_none()).collect();
            assert!(is_remark.is_sorted_by(|a, b| a >= b) && is_remark.contains(&false), "{}", section.title);
        }
    }
}
