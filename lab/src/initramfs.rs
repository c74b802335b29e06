//! The root file system of a guest: busybox, the product, files about the guest's kernel, and the first program.

use crate::cpio::Archive;
use crate::kernel::Kernel;
use crate::product::Product;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// A script that a guest starts as its first program.
const INIT: &str = include_str!("../guest/init");
/// A script that reads the guest's state without the product.
const READ: &str = include_str!("../guest/read");
/// A script that starts a command and kills it while it works.
const KILL: &str = include_str!("../guest/kill");
/// Files of depmod and of the kernel's package that describe modules. The linter reads them.
const INDEXES: [&str; 4] = ["modules.builtin", "modules.builtin.modinfo", "modules.dep", "modules.order"];

/// Content of one guest in addition to what every guest has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Luggage<'a> {
    /// Names of the kernel's modules whose files are copied into the guest. They are not loaded.
    pub modules: &'a [String],
    /// Programs, libraries and other files: the path in the guest, and the path on this machine.
    pub files: &'a [(String, PathBuf)],
}

pub fn build(kernel: &Kernel, busybox: &Path, product: &Product, luggage: Luggage<'_>) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    for folder in
        ["bin", "boot", "dev", "etc", "proc", "root", "run", "sys", "tmp", "usr/bin", "usr/lib/lab", "var/lib"]
    {
        archive.folder(folder)?;
    }
    archive.device("dev/console", (5, 1))?;
    archive.file("init", true, INIT.as_bytes())?;
    archive.file("usr/lib/lab/read", false, READ.as_bytes())?;
    archive.file("usr/lib/lab/kill", false, KILL.as_bytes())?;
    archive.file("bin/busybox", true, &read(busybox)?)?;
    archive.file("usr/bin/punctual", true, &read(&product.program)?)?;
    for (path, file) in product.libraries.iter().chain(luggage.files) {
        archive.file(path.trim_start_matches('/'), true, &read(file)?)?;
    }
    let release = kernel.spec.release;
    let os_release = format!(
        "PRETTY_NAME=\"Debian GNU/Linux {0}\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"{0}\"\nVERSION_CODENAME={1}\nID=debian\n",
        release.number(),
        release.codename()
    );
    archive.file("etc/os-release", false, os_release.as_bytes())?;
    archive.file("etc/hostname", false, b"guest\n")?;
    archive.file("etc/passwd", false, b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")?;
    archive.file("etc/group", false, b"root:x:0:\nnogroup:x:65534:\n")?;
    archive.file(&format!("boot/config-{}", kernel.version), false, &read(&kernel.config)?)?;
    let below = format!("lib/modules/{}", kernel.version);
    for name in INDEXES {
        archive.file(&format!("{below}/{name}"), false, &read(&kernel.modules.join(name))?)?;
    }
    for path in module_files(kernel, luggage.modules)? {
        let place = path.strip_prefix(&kernel.modules).unwrap_or(&path).display().to_string();
        archive.file(&format!("{below}/{place}"), false, &read(&path)?)?;
    }
    archive.finish()
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("read {}", path.display()))
}

/// The files of the named modules; modules that this kernel does not have are left out.
pub fn module_files(kernel: &Kernel, names: &[String]) -> Result<Vec<PathBuf>> {
    let index = kernel.modules.join("modules.dep");
    let text = fs::read_to_string(&index).with_context(|| format!("read {}", index.display()))?;
    let all = text.lines().filter_map(|line| line.split_once(':')).map(|(file, _)| file);
    let wanted = all.filter(|file| names.iter().any(|name| *name == module_name(file)));
    Ok(wanted.map(|file| kernel.modules.join(file)).collect())
}

/// The name of the module in a file: `snd_hda_intel` for `kernel/sound/pci/hda/snd-hda-intel.ko.xz`.
fn module_name(file: &str) -> String {
    let name = file.rsplit_once('/').map_or(file, |(_, name)| name);
    name.split(".ko").next().unwrap_or(name).replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_called_as_the_kernel_calls_them() {
        assert_eq!(module_name("kernel/sound/pci/hda/snd-hda-intel.ko.xz"), "snd_hda_intel");
        assert_eq!(module_name("i915.ko"), "i915");
    }
}
