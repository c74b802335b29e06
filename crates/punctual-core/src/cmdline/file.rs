//! Where the command line stands in the files that hold one: a file of its own, or a setting of a boot loader.
//!
//! Knows the settings by their names only. What a shell would make of a file that does more than assign is not told.

/// A command line, and where in the file it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<'a> {
    /// The line of the file, from 1.
    pub line: usize,
    /// The characters of that line in front of it.
    pub before: usize,
    /// The command line.
    pub text: &'a str,
}

/// Settings that hold a command line, or a piece of one, up to the end of the line or the closing quote: of GRUB,
/// u-boot-menu, Armbian and U-Boot; of loader entries, extlinux and GRUB's own menu.
const ASSIGNED: [&str; 8] = [
    "GRUB_CMDLINE_LINUX_DEFAULT",
    "GRUB_CMDLINE_LINUX_RECOVERY",
    "GRUB_CMDLINE_LINUX",
    "U_BOOT_PARAMETERS",
    "extraargs",
    "bootargs",
    "CMDLINE",
    "APPEND",
];
const TOLD: [&str; 3] = ["options", "append", "APPEND"];
/// GRUB's menu names the kernel first.
const AFTER_IMAGE: [&str; 3] = ["linux", "linux16", "linuxefi"];

/// Every command line of a file. A file without any such setting is one command line, over however many lines; lines
/// that begin with `#` are remarks.
pub fn lines(text: &str) -> Vec<Placed<'_>> {
    let numbered = || text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#'));
    let settings: Vec<Placed<'_>> = numbered().filter_map(|(n, line)| Some(placed(n, line, setting(line)?))).collect();
    if !settings.is_empty() {
        return settings;
    }
    numbered().filter(|(_, line)| !line.trim().is_empty()).map(|(n, line)| placed(n, line, line.trim())).collect()
}

/// `part` is a piece of `line`.
fn placed<'a>(number: usize, line: &'a str, part: &'a str) -> Placed<'a> {
    let start = part.as_ptr() as usize - line.as_ptr() as usize;
    Placed { line: number + 1, before: line[..start].chars().count(), text: part }
}

fn setting(line: &str) -> Option<&str> {
    let trimmed = line.trim();
    let word = trimmed.split([' ', '\t', '=']).next()?;
    let rest = trimmed[word.len()..].trim_start();
    if let Some(value) = rest.strip_prefix('=') {
        return ASSIGNED.contains(&word.strip_suffix('+').unwrap_or(word)).then(|| unquoted(value.trim()));
    }
    if AFTER_IMAGE.contains(&word) && rest.starts_with(['/', '$', '(']) {
        return Some(rest.split_once([' ', '\t']).map_or("", |(_, line)| line.trim()));
    }
    TOLD.contains(&word).then_some(rest)
}

/// What stands between the quotes; all of it where there are none.
fn unquoted(value: &str) -> &str {
    ['"', '\'']
        .iter()
        .find_map(|quote| {
            value.strip_prefix(*quote).map(|rest| rest.rsplit_once(*quote).map_or(rest, |(inner, _)| inner))
        })
        .unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(text: &str) -> Vec<(usize, usize, &str)> {
        lines(text).into_iter().map(|placed| (placed.line, placed.before, placed.text)).collect()
    }

    #[test]
    fn a_file_of_its_own_is_the_line() {
        assert_eq!(told("console=tty1 quiet\n"), [(1, 0, "console=tty1 quiet")]);
        assert_eq!(told("# mine\n\n  quiet\r\nisolcpus=2\n"), [(3, 2, "quiet"), (4, 0, "isolcpus=2")]);
        assert_eq!(told(""), []);
    }

    #[test]
    fn settings_of_boot_loaders_are_found() {
        let grub = "GRUB_TIMEOUT=5\n#GRUB_CMDLINE_LINUX=\"no\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash\"\n";
        assert_eq!(told(grub), [(3, 28, "quiet splash")]);
        assert_eq!(told("label l0\n\tappend root=/dev/sda1 ro\n"), [(2, 8, "root=/dev/sda1 ro")]);
        assert_eq!(told("title x\noptions  root=UUID=1 rw\n"), [(2, 9, "root=UUID=1 rw")]);
        assert_eq!(told("verbosity=1\nextraargs=isolcpus=3\n"), [(2, 10, "isolcpus=3")]);
        assert_eq!(told("  linux /boot/vmlinuz root=/dev/sda1 ro\n"), [(1, 22, "root=/dev/sda1 ro")]);
    }

    proptest! {
        #[test]
        fn what_is_found_stands_there(text in "[a-zA-Z_=\" #/\n\té]{0,80}|(append|options|GRUB_CMDLINE_LINUX=) ?.{0,20}") {
            for placed in lines(&text) {
                let line = text.lines().nth(placed.line - 1).unwrap();
                let behind: String = line.chars().skip(placed.before).collect();
                prop_assert!(behind.starts_with(placed.text));
            }
        }
    }
}
