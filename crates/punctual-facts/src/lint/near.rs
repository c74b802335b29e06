//! Suggests the known name that a misspelt word was probably meant to be.

use super::Target;
use super::names::{NAMES, Presence};

/// Words that take CPUs or protections away. These words are never suggested, because a typing error must not lead to
/// them.
const NEVER: &str = "maxcpus noapic nolapic nomce nopti nosmp nospec_store_bypass_disable nospectre_bhb nospectre_v1 \
    nospectre_v2 nr_cpus";

/// Words that were renamed: the old name, then the new one.
const RENAMED: &[(&str, &str)] = &[
    ("slub_debug", "slab_debug"),
    ("slub_max_order", "slab_max_order"),
    ("slub_min_objects", "slab_min_objects"),
    ("slub_min_order", "slab_min_order"),
];

/// The name that the kernel `target` knows and that is most similar to `name`, if any is similar enough. A name that
/// another kernel takes is not a typing error, so only its alternative name is suggested.
pub(super) fn near(name: &str, target: &Target) -> Option<String> {
    let renamed = RENAMED.iter().find_map(|(old, new)| match name {
        _ if name == *old => Some(*new),
        _ if name == *new => Some(*old),
        _ => None,
    });
    if let Some(other) = renamed {
        let is_there = NAMES.exact(other, true).iter().any(|entry| entry.place.on(target) == Presence::Yes);
        return is_there.then(|| other.to_owned());
    }
    if NAMES.is_parameter(name) || !NAMES.exact(name, true).is_empty() {
        return None;
    }
    if let Some(whole) = without_its_prefix(name, target) {
        return Some(whole);
    }
    // The shorter a name is, the fewer letters may differ.
    let most = match name.len() {
        0..=3 => return None,
        4..=6 => 1,
        _ => 2,
    };
    if let Some((module, parameter)) = name.split_once('.') {
        return near_parameter(module, parameter, target);
    }
    let known = NAMES.words.iter().filter(|entry| entry.place.on(target) != Presence::No);
    let is_negated = |name: &str| name.starts_with("no");
    let known = known.filter(|entry| !is_never(entry.name.trim_end_matches('=')));
    // A word is never a misspelling of its opposite.
    let known = known.filter(|entry| is_negated(entry.name) == is_negated(name));
    nearest(name, most, known.map(|entry| entry.name.trim_end_matches('='))).map(str::to_owned)
}

/// The folders at the top of `/proc/sys`.
const SYSCTL: &str = "debug dev fs kernel net user vm";

/// The full name of a word whose prefix is missing: `sysctl.` before the name of a sysctl or, if exactly one built-in
/// module has a parameter of this name, that module's name.
fn without_its_prefix(name: &str, target: &Target) -> Option<String> {
    if let Some((folder, _)) = name.split_once('.') {
        return SYSCTL.split(' ').any(|known| known == folder).then(|| format!("sysctl.{name}"));
    }
    // A short name is a parameter of many modules, so it may have been meant for another one.
    let mut having = NAMES.modules.values().filter(|module| {
        !module.can_be_loaded && module.parameter(name).is_some_and(|found| found.place.on(target) != Presence::No)
    });
    let module = having.next().filter(|_| name.len() > 8)?;
    having.next().is_none().then(|| format!("{}.{name}", module.name))
}

fn is_never(name: &str) -> bool {
    NEVER.split(' ').any(|never| never == name)
}

fn near_parameter(module: &str, parameter: &str, target: &Target) -> Option<String> {
    let dotted = || {
        let known =
            NAMES.words.iter().filter(|entry| entry.name.contains('.') && entry.place.on(target) != Presence::No);
        let name = format!("{module}.{parameter}");
        nearest(&name, 2, known.map(|entry| entry.name.trim_end_matches('='))).map(str::to_owned)
    };
    if let Some(known) = NAMES.modules.get(module) {
        let near = nearest(parameter, 2, known.parameters())?;
        return Some(format!("{module}.{near}"));
    }
    // Finds a module with exactly this parameter and a similar name: either the module's file name was typed instead of
    // its name, or a letter is wrong.
    let has_it =
        NAMES.modules.values().filter(|m| m.parameter(parameter).is_some() && m.place.on(target) != Presence::No);
    let is_near = |name: &str| module.starts_with(name) || name.starts_with(module) || distance(module, name, 2) <= 2;
    let mut found = has_it.map(|m| m.name).filter(|name| is_near(name));
    found.next().map(|name| format!("{name}.{parameter}")).or_else(dotted)
}

fn nearest<'a>(wanted: &str, most: usize, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = names.map(|name| (distance(wanted, name, most), name)).filter(|(distance, _)| *distance <= most);
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// The number of letters to add, remove, replace or swap to turn one text into the other. If the number is above
/// `most`, or a text is longer than 64 bytes, the result may be `most + 1`.
fn distance(a: &str, b: &str, most: usize) -> usize {
    if a.len().abs_diff(b.len()) > most || a.len() > 64 { most + 1 } else { strsim::osa_distance(a, b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_other_kernels_word_and_no_opposite_is_a_typing_error() {
        use crate::machine::{Arch, Flavour, Version};
        let on = |arch, version: (u32, u32), name: &str| {
            let version = Version::new(version.0, version.1);
            near(name, &Target { version, flavour: Flavour::Stock, arch, possible: None })
        };
        for arch in [Arch::X86, Arch::Arm64] {
            for version in [(6, 1), (6, 12), (7, 3)] {
                for name in ["nosmep", "nosmap", "nosmt", "spectre_v2", "nospectre_v1", "highmem", "kpti", "nomca"] {
                    assert_eq!(on(arch, version, name), None, "{name} on {arch:?} {version:?}");
                }
                for name in ["spectre_v3", "nospectre_v3", "nomcf", "nosmq", "nospectre_v22"] {
                    let found = on(arch, version, name);
                    assert!(found.iter().all(|found| !is_never(found)), "{name}: {found:?}");
                    assert!(found.iter().all(|found| found.starts_with("no") == name.starts_with("no")), "{name}");
                }
                assert_eq!(on(arch, version, "pcie_asmp").as_deref(), Some("pcie_aspm"));
                assert_eq!(on(arch, version, "nohz_ful").as_deref(), Some("nohz_full"));
            }
        }
        assert_eq!(on(Arch::X86, (6, 1), "slab_debug").as_deref(), Some("slub_debug"));
        assert_eq!(on(Arch::X86, (7, 3), "slub_max_order").as_deref(), Some("slab_max_order"));
        assert_eq!(on(Arch::Arm64, (6, 12), "i915.enable_dc"), None);
        let sysctl = on(Arch::X86, (6, 12), "kernel.sched_rt_runtime_us");
        assert_eq!(sysctl.as_deref(), Some("sysctl.kernel.sched_rt_runtime_us"));
        let rcu = on(Arch::Arm64, (6, 1), "rcu_normal_after_boot");
        assert_eq!(rcu.as_deref(), Some("rcupdate.rcu_normal_after_boot"));
    }

    #[test]
    fn swapped_letters_are_one_mistake() {
        let of = |a, b| distance(a, b, 2).min(3);
        assert_eq!(
            [of("pcie_asmp", "pcie_aspm"), of("abc", "abc"), of("abcd", "ab"), of("abcdef", "uvwxyz")],
            [1, 0, 2, 3]
        );
    }
}
