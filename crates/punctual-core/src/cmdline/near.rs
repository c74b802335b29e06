//! What somebody may have meant.

use super::Target;
use super::names::{NAMES, Presence};

/// Words that take CPUs away: nobody should come by them through a typing error.
const NEVER: &[&str] = &["nosmp", "maxcpus", "nr_cpus"];

/// The name that `target` knows and that is nearest to `name`, if any is near.
pub(super) fn near(name: &str, target: &Target) -> Option<String> {
    // In a short name, one letter is a large part.
    let most = match name.len() {
        0..=3 => return None,
        4..=6 => 1,
        _ => 2,
    };
    if let Some((module, parameter)) = name.split_once('.') {
        return near_parameter(module, parameter, target);
    }
    let known = NAMES.words.iter().filter(|entry| entry.place.on(target) != Presence::No);
    let known = known.filter(|entry| !NEVER.contains(&entry.name.trim_end_matches('=')));
    nearest(name, most, known.map(|entry| entry.name.trim_end_matches('='))).map(str::to_owned)
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
    // A module of another name with exactly this parameter: the file's name instead of the module's, or a letter wrong.
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

/// How many letters have to be added, removed, replaced or swapped; more than `most` is not counted out.
fn distance(a: &str, b: &str, most: usize) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len().abs_diff(b.len()) > most || a.len() > 64 {
        return most + 1;
    }
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut next = vec![i + 1];
        for j in 0..b.len() {
            let mut best = (row[j] + usize::from(a[i] != b[j])).min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                best = best.min(before[j - 1] + 1);
            }
            next.push(best);
        }
        if next.iter().all(|d| *d > most) {
            return most + 1;
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swapped_letters_are_one_mistake() {
        assert_eq!(distance("pcie_asmp", "pcie_aspm", 2), 1);
        assert_eq!(distance("abc", "abc", 2), 0);
        assert_eq!(distance("abcd", "ab", 2), 2);
        assert!(distance("abcdef", "uvwxyz", 2) > 2);
    }
}
