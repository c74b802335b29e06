//! Tests artefacts for people who build images: partitions for the machines in `fixtures/plans` that have a line `#
//! partition: cpus=LIST`, and fragments of kernel configuration.

use crate::{check, repository};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::machine::{Arch, Flavour, Machine, Version};
use punctual_facts::profile::Need;
use punctual_facts::tree::MemTree;
use punctual_tuning::plan::choice::choose;
use punctual_tuning::plan::print::{Partition, kconfig, resctrl};
use punctual_tuning::plan::{Expected, Reading, Step};
use std::collections::BTreeMap;
use std::fmt::Write as _;

fn cpus(words: &str) -> Need {
    let cpus = words.trim().strip_prefix("cpus=").map(|list| CpuSet::parse_list(list).unwrap());
    Need { cpus: cpus.unwrap_or_default(), ..Need::default() }
}

fn partitions(text: &str) -> String {
    let tree = MemTree::parse(text).unwrap();
    let machine = Machine::read(&tree);
    let mut out = String::new();
    for words in text.lines().filter_map(|line| line.strip_prefix("# partition:")) {
        let choice = choose(&tree, &machine, &cpus(words)).unwrap();
        writeln!(out, "partition:{words} -> {}", choice.cpus).unwrap();
        match resctrl(&tree, &choice.cpus, &choice.housekeeping) {
            Ok(partition) => {
                holds(&tree, &partition);
                writeln!(out, "{partition}").unwrap();
            }
            Err(refusal) => writeln!(out, "refused: {refusal}\n    -> {}\n", refusal.remedy()).unwrap(),
        }
    }
    out
}

/// The masks in a text for a schemata file, by line name and domain.
fn masks(text: &str) -> BTreeMap<(String, u32), u64> {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let (name, rest) = line.trim().split_once(':').unwrap();
        for part in rest.split(';').filter(|_| name != "MB") {
            let (domain, mask) = part.split_once('=').unwrap();
            let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
            assert_eq!(found.insert((name.to_owned(), domain.trim().parse().unwrap()), mask), None);
        }
    }
    found
}

/// Checks a partition by the kernel's rules, with an implementation of its own instead of the planner's.
fn holds(tree: &MemTree, partition: &Partition) {
    use punctual_facts::tree::text;
    let written = |end: &str| {
        partition.steps.iter().find_map(|step| match step {
            Step::Write { path, value, .. } if path.ends_with(end) => Some(value.clone()),
            _ => None,
        })
    };
    let others = masks(&written("resctrl/schemata").unwrap());
    let own = masks(&written("punctual/schemata").unwrap());
    let before = masks(text(tree, "/sys/fs/resctrl/schemata").known().unwrap());
    assert!(others.keys().eq(own.keys()) && others.keys().eq(before.keys()), "every domain is written");
    for ((line, domain), mine) in &own {
        let theirs = others[&(line.clone(), *domain)];
        let info = |file: &str| text(tree, &format!("/sys/fs/resctrl/info/{line}/{file}")).known().cloned();
        let number = |file: &str, radix| u64::from_str_radix(&info(file).unwrap(), radix).unwrap();
        let (all, least) = (number("cbm_mask", 16), number("min_cbm_bits", 10));
        assert_eq!(mine & theirs, 0, "disjoint");
        assert_eq!((mine | theirs) & !all, 0, "within the cache");
        assert_eq!(mine & number("shareable_bits", 16), 0, "an exclusive group may not take devices' ways");
        for mask in [*mine, theirs] {
            let bits = format!("{mask:b}");
            assert!(bits.trim_end_matches('0').trim_start_matches('1').is_empty() || info("sparse_masks").is_some());
            assert!(u64::from(mask.count_ones()) >= least.max(1));
        }
    }
}

#[test]
fn every_cache_is_partitioned_as_expected() {
    let mut seen = 0;
    for path in fixtures::files("plans", "machine") {
        let text = std::fs::read_to_string(&path).unwrap();
        if text.contains("\n# partition:") {
            check(&path.with_extension("resctrl"), &partitions(&text));
            seen += 1;
        }
    }
    assert!(seen >= 10, "only {seen} machines");
}

/// Planning returns a choice or a refusal and does not panic, whatever the files hold.
#[test]
fn nothing_in_a_file_makes_planning_panic() {
    let mut tried = 0;
    for path in fixtures::files("plans", "machine") {
        let text = std::fs::read_to_string(&path).unwrap();
        let paths = text.lines().filter(|line| line.starts_with('/')).filter_map(|line| line.split(' ').next());
        // Only machines with this line have all files that the planner reads.
        if !text.contains("# partition: cpus=2-3\n") {
            continue;
        }
        let whole = MemTree::parse(&text).unwrap();
        for file in paths {
            for garbage in ["", "x", "4294967295", "0-300", "L3:0=0;1=;=f;2", "0"] {
                let mut tree = whole.clone();
                tree.file(file, punctual_facts::fact::Fact::Known(garbage.as_bytes().to_vec()));
                let machine = Machine::read(&tree);
                for need in [Need::default(), cpus("cpus=2-3")] {
                    if let Ok(choice) = choose(&tree, &machine, &need) {
                        let _ = resctrl(&tree, &choice.cpus, &choice.housekeeping);
                    }
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 1000, "only {tried}");
}

#[test]
fn masks_are_compared_by_value() {
    let read = "    MB:0=100\n    L3:0=007f0;1=007fe\n";
    let agree = |written: &str| {
        let expected = Expected::same(Reading::Schemata);
        expected.met(written, &expected.reading.value(read, written))
    };
    assert!(agree("L3:0=7f0;1=7fe"));
    for written in ["L3:0=7f0;1=7ff", "L3:0=7f0;2=7fe", "L2:0=7f0", "L3:0=x"] {
        assert!(!agree(written), "{written}");
    }
}

const FLAVOURS: [(Flavour, &str); 3] = [(Flavour::Rt, "rt"), (Flavour::Cobalt, "cobalt"), (Flavour::Evl, "evl")];
const ARCHES: [(Arch, &str); 2] = [(Arch::X86, "x86"), (Arch::Arm64, "arm64")];
const VERSIONS: [(u32, u32); 3] = [(6, 1), (6, 12), (7, 3)];

fn fragments() -> Vec<(String, (u32, u32), String)> {
    let mut all = Vec::new();
    for (flavour, name) in FLAVOURS {
        for (arch, arch_name) in ARCHES {
            for (major, minor) in VERSIONS {
                let text = kconfig(flavour, Version::new(major, minor), arch).unwrap();
                all.push((format!("{name}-{major}.{minor}-{arch_name}"), (major, minor), text));
            }
        }
    }
    all
}

#[test]
fn fragments_are_as_expected() {
    let kept = ["rt-6.12-x86", "rt-7.3-arm64", "cobalt-6.1-x86", "evl-7.3-x86"];
    let kept = fragments().into_iter().filter(|(name, ..)| kept.contains(&name.as_str()));
    assert_eq!(
        kept.map(|(name, _, text)| check(&repository(&format!("fixtures/plans/{name}.config")), &text)).count(),
        4
    );
}

/// Every symbol of a fragment exists and can be chosen in each kernel version whose fragment has it. `KERNEL_TREES` is
/// a folder with `linux-6.1`, `linux-6.12` and `linux-7.3`. If `FRAGMENTS` is set, fragments for `merge_config.sh` are
/// left in that folder.
#[test]
#[ignore = "needs kernel sources: KERNEL_TREES=FOLDER cargo test -p punctual-tuning --test it -- --ignored every_symbol"]
fn every_symbol_can_be_chosen() {
    let trees = std::path::PathBuf::from(std::env::var_os("KERNEL_TREES").unwrap());
    let own = ["XENOMAI", "XENO_OPT_DEBUG", "EVL", "EVL_DEBUG", "DEBUG_HARD_LOCKS"];
    let mut prompts: BTreeMap<(u32, u32), std::collections::BTreeSet<String>> = BTreeMap::new();
    for version in VERSIONS {
        let found = prompts.entry(version).or_default();
        gather(&trees.join(format!("linux-{}.{}", version.0, version.1)), found);
        assert!(found.len() > 5000, "{version:?}: {} symbols", found.len());
    }
    for (name, version, text) in fragments() {
        if let Some(folder) = std::env::var_os("FRAGMENTS") {
            std::fs::write(std::path::Path::new(&folder).join(&name), &text).unwrap();
        }
        for line in text.lines() {
            let Some(symbol) = line.strip_prefix("CONFIG_").or(line.strip_prefix("# CONFIG_")) else { continue };
            let symbol = symbol.split(['=', ' ']).next().unwrap();
            assert!(own.contains(&symbol) || prompts[&version].contains(symbol), "{name}: {symbol}");
        }
    }
}

/// Collects the symbols with a prompt from all Kconfig files below a folder.
fn gather(folder: &std::path::Path, found: &mut std::collections::BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() && !["Documentation", "tools", "scripts"].contains(&name.as_str()) {
            gather(&path, found);
        } else if name.starts_with("Kconfig") {
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            let mut symbol = None;
            for line in text.lines().map(str::trim) {
                if let Some(name) = line.strip_prefix("config ").or(line.strip_prefix("menuconfig ")) {
                    symbol = Some(name.trim().to_owned());
                } else if ["bool \"", "tristate \"", "prompt \""].iter().any(|start| line.starts_with(start)) {
                    found.extend(symbol.clone());
                }
            }
        }
    }
}
