//! The kernel's version number, parsed from its release string.

/// Major and minor number of a release such as `6.12.9-rt1`; `None` if the text is not a release.
pub(crate) fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_two_numbers_are_the_version() {
        let told = [("6.19", (6, 19)), ("6.19.0-rc1", (6, 19)), ("7.3.4+deb13-amd64", (7, 3)), ("4.4.302", (4, 4))];
        for (release, numbers) in told {
            assert_eq!(version(release), Some(numbers), "{release}");
        }
        for release in ["", "6", "6.", "linux", "v6.1", "99999999999.1"] {
            assert_eq!(version(release), None, "{release}");
        }
    }
}
