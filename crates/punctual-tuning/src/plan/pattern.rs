//! Matches paths in which a star stands for any text within one part.

pub(super) fn fits(pattern: &str, path: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == path };
    let Some(rest) = path.strip_prefix(head) else { return false };
    let name_end = rest.find('/').unwrap_or(rest.len());
    (0..=name_end).any(|at| rest.get(at..).is_some_and(|rest| fits(tail, rest)))
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
