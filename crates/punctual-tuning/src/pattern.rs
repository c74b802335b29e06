//! Paths in which a star stands for any text within one part.

use punctual_facts::tree::Tree;

pub(crate) fn fits(pattern: &str, path: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == path };
    let Some(rest) = path.strip_prefix(head) else { return false };
    let name_end = rest.find('/').unwrap_or(rest.len());
    (0..=name_end).any(|at| rest.get(at..).is_some_and(|rest| fits(tail, rest)))
}

/// The files that match a path with stars, in the order of their names.
pub(crate) fn fitting(tree: &dyn Tree, path: &str) -> Vec<String> {
    let Some(star) = path.find('*') else { return vec![path.to_owned()] };
    let start = path[..star].rfind('/').map_or(0, |slash| slash + 1);
    let end = path[star..].find('/').map_or(path.len(), |slash| star + slash);
    let (folder, pattern, rest) = (&path[..start], &path[start..end], &path[end..]);
    let names = tree.list(folder.trim_end_matches('/')).known().cloned().unwrap_or_default();
    let fits = names.iter().filter(|name| fits(pattern, name));
    fits.flat_map(|name| fitting(tree, &format!("{folder}{name}{rest}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_name_fits_its_pattern_and_no_other() {
        for (name, pattern, is_like) in [
            ("mc0", "mc*", true),
            ("mc0", "mc", false),
            ("intel-rapl:0", "intel-rapl:*", true),
            ("xmc0", "mc*", false),
            ("a.b.c", "*.*", true),
            ("", "*", true),
            ("/sys/cpu0/a", "/sys/cpu*/a", true),
            ("/sys/cpu0/b/a", "/sys/cpu*/a", false),
        ] {
            assert_eq!(fits(pattern, name), is_like, "{name} {pattern}");
        }
    }
}
