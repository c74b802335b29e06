//! Names and folders of the files that `tune` writes. A person who makes a change by hand is told to write the same
//! files. If several files may set the same value, our file is named so that its value takes effect.

/// A file name that sorts after those of other files, so that our file is read last.
pub(crate) const LAST: &str = "99-zz-punctual";

pub(crate) const SYSCTL: &str = "/etc/sysctl.d/99-zz-punctual.conf";
/// The file for systemd-tmpfiles. If several files name the same path, systemd-tmpfiles obeys the first file.
pub(crate) const TMPFILES: &str = "/etc/tmpfiles.d/00-punctual.conf";
pub(crate) const UDEV: &str = "/etc/udev/rules.d/99-zz-punctual.rules";
pub(crate) const MODPROBE: &str = "/etc/modprobe.d/punctual.conf";
pub(crate) const LIMITS: &str = "/etc/security/limits.d/99-zz-punctual.conf";
/// The configuration of systemd itself.
pub(crate) const MANAGER: &str = "/etc/systemd/system.conf.d/99-zz-punctual.conf";
/// The fragment of GRUB's defaults, on distributions whose GRUB reads fragments.
pub(crate) const GRUB: &str = "/etc/default/grub.d/99-zz-punctual.cfg";

/// The folders of each kind of configuration file, the most important first. A file in a folder hides the files of the
/// same name in the folders after it.
pub(crate) const SYSCTL_FOLDERS: &[&str] =
    &["/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d"];
pub(crate) const TMPFILES_FOLDERS: &[&str] =
    &["/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/local/lib/tmpfiles.d", "/usr/lib/tmpfiles.d", "/lib/tmpfiles.d"];
pub(crate) const UDEV_FOLDERS: &[&str] = &[
    "/etc/udev/rules.d",
    "/run/udev/rules.d",
    "/usr/local/lib/udev/rules.d",
    "/usr/lib/udev/rules.d",
    "/lib/udev/rules.d",
];
pub(crate) const MODPROBE_FOLDERS: &[&str] =
    &["/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d"];

pub(crate) fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_files_stand_in_the_folders_that_are_read_and_count() {
        for (path, folders) in
            [(SYSCTL, SYSCTL_FOLDERS), (TMPFILES, TMPFILES_FOLDERS), (UDEV, UDEV_FOLDERS), (MODPROBE, MODPROBE_FOLDERS)]
        {
            assert_eq!(path.strip_suffix(name(path)).unwrap_or_default().trim_end_matches('/'), folders[0]);
        }
        for path in [SYSCTL, UDEV, LIMITS, MANAGER, GRUB] {
            assert!(name(path).starts_with(LAST), "{path}");
        }
    }
}
