//! Runs programs of the host: finds them by name, passes arguments, and returns their output.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Folders of administrators' programs, which are not on an ordinary user's `PATH`.
const BESIDE_PATH: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Programs that are started here, each with its package of Debian.
pub const PROGRAMS: [(&str, &str); 9] = [
    ("apt-cache", "apt"),
    ("apt-get", "apt"),
    ("depmod", "kmod"),
    ("dpkg-deb", "dpkg"),
    ("modinfo", "kmod"),
    ("qemu-system-aarch64", "qemu-system-arm"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("setpriv", "util-linux"),
    ("unshare", "util-linux"),
];

/// A command that starts the program with this name.
pub fn find(name: &str) -> Result<Command> {
    let path = place(name).with_context(|| match PROGRAMS.iter().find(|(known, _)| *known == name) {
        Some((_, package)) => format!("the program {name} is not installed; on Debian: apt install {package}"),
        None => format!("the program {name} is not installed"),
    })?;
    Ok(Command::new(path))
}

/// The path of the program with this name.
pub fn place(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(BESIDE_PATH.map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Runs a command and returns its standard output. If the command fails, the error contains its standard error.
pub fn read(command: &mut Command) -> Result<String> {
    read_as(&shown(command), command)
}

/// The same; the error shows the command as `shown`.
pub fn read_as(shown: &str, command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("start `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command whose output goes to the output of this process.
pub fn show(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    let status = command.status().with_context(|| format!("start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

/// The command as a user would type it, with the program's name instead of its path.
pub fn shown(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy();
    let words = command.get_args().map(|word| word.to_string_lossy());
    std::iter::once(name).chain(words).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_says_why() {
        let error = read(find("ls").unwrap().arg("/no/such/folder")).unwrap_err();
        assert!(error.to_string().contains("No such file"), "{error}");
        assert!(find("no-such-program-here").unwrap_err().to_string().contains("not installed"));
    }
}
