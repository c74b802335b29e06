//! The files that guests of this scenario get: the module that plants delays, the program that plants and judges, and
//! rtla.
//!
//! The module is built with the headers and the compiler of the kernel's own release, in a tree of its packages.

use crate::kernel::{Arch, Kernel, Release};
use crate::packages::{Wanted, inside};
use crate::product;
use crate::program;
use crate::scenario::Lab;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

/// Path of the module in a guest.
pub const MODULE: &str = "/usr/lib/lab/lab_plant.ko";
/// The beginning of rtla's command line in a guest. rtla is started by the loader of its own release, with its own
/// libraries.
pub const RTLA: &str = "/usr/lib/rtla/ld.so --library-path /usr/lib/rtla /usr/lib/rtla/rtla";

const SOURCES: [&str; 3] = ["Kbuild", "lab_plant.c", "lab_ptp.c"];
/// Packages for building a module, in addition to the headers, which depend on their compiler.
const TOOLS: [&str; 7] = ["base-files", "coreutils", "dash", "gawk", "grep", "make", "sed"];

pub fn files(lab: &Lab, kernel: &Kernel) -> Result<Vec<(String, PathBuf)>> {
    let mut files = rtla(lab)?;
    files.push((MODULE.to_owned(), module(lab, kernel, "lab_plant.ko")?));
    let planter = product::build_package(&lab.root, kernel.spec.arch, "causes")?.context("no planter for a guest")?;
    files.push(("/usr/bin/causes".to_owned(), planter.program));
    files.extend(planter.libraries);
    Ok(files)
}

/// Builds the modules for a kernel, and returns the path of the one with this file name.
pub fn module(lab: &Lab, kernel: &Kernel, name: &str) -> Result<PathBuf> {
    let headers = format!("linux-headers-{}", kernel.version);
    let image = format!("linux-image-{}", kernel.version);
    let packages: Vec<&str> = std::iter::once(headers.as_str()).chain(TOOLS).collect();
    let folder = format!("build-{}", kernel.version);
    // Headers of Debian 13 depend on the kernel's image, which is already unpacked elsewhere.
    let spared = package_version(kernel).map(|version| (image.as_str(), version));
    let wanted = Wanted { name: &folder, packages: &packages, spared };
    let tree = lab
        .shelf
        .closure(kernel.spec.release, kernel.spec.arch, wanted)
        .context("get what builds modules (a kernel that the archive no longer has: --fresh)")?;
    let workshop = format!("module.{}.{name}", std::process::id());
    let place = tree.join(&workshop);
    let built = build(lab, kernel, &tree, &workshop, name);
    // The folder is removed, because the module is built anew each time.
    let _ = fs::remove_dir_all(&place);
    built
}

fn build(lab: &Lab, kernel: &Kernel, tree: &Path, workshop: &str, name: &str) -> Result<PathBuf> {
    let place = tree.join(workshop);
    fs::create_dir_all(&place).with_context(|| format!("create {}", place.display()))?;
    for source in SOURCES {
        let from = lab.root.join("lab/module").join(source);
        fs::copy(&from, place.join(source)).with_context(|| format!("copy {}", from.display()))?;
    }
    let headers = format!("/usr/src/linux-headers-{}", kernel.version);
    let sources = format!("M=/{workshop}");
    program::read(&mut inside(tree, &["make", "-C", &headers, &sources, "modules"])?).context("build the module")?;
    let built = place.join(name);
    let kept = lab.folder("causes", kernel)?.join(name);
    fs::copy(&built, &kept).with_context(|| format!("copy {}", built.display()))?;
    Ok(kept)
}

/// The version of the kernel's package, which is part of the folder's name in the cache.
fn package_version(kernel: &Kernel) -> Option<&str> {
    let tree = kernel.image.parent()?.parent()?.file_name()?.to_str()?;
    tree.split('_').nth(1)
}

/// The files of rtla with its libraries, from Debian 13, the first release whose rtla analyses why it stopped.
fn rtla(lab: &Lab) -> Result<Vec<(String, PathBuf)>> {
    let wanted = Wanted { name: "rtla", packages: &["base-files", "rtla"], spared: None };
    let tree = lab.shelf.closure(Release::Trixie, Arch::Amd64, wanted)?;
    let loader = tree.join("usr/lib64/ld-linux-x86-64.so.2");
    let program = tree.join("usr/bin/rtla");
    let mut command = std::process::Command::new(&loader);
    command.arg("--library-path").arg(tree.join("usr/lib/x86_64-linux-gnu")).arg("--list").arg(&program);
    let listed = program::read(&mut command)?;
    let mut files = vec![("/usr/lib/rtla/rtla".to_owned(), program), ("/usr/lib/rtla/ld.so".to_owned(), loader)];
    files.extend(libraries(&listed));
    ensure!(files.len() > 3, "rtla needs libraries, and the loader lists '{listed}'");
    Ok(files)
}

/// Parses lines of the form `name => path (address)`.
fn libraries(listed: &str) -> impl Iterator<Item = (String, PathBuf)> + '_ {
    listed.lines().filter_map(|line| {
        let (name, rest) = line.trim().split_once(" => ")?;
        let path = rest.split_whitespace().next().filter(|path| path.starts_with('/'))?;
        Some((format!("/usr/lib/rtla/{}", name.rsplit('/').next()?), PathBuf::from(path)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_from_what_the_loader_lists() {
        let listed = "\tlinux-vdso.so.1 (0x7fff)\n\tlibc.so.6 => /trees/rtla/usr/lib/libc.so.6 (0x7f00)\n\tlibx.so => not found\n";
        let found: Vec<_> = libraries(listed).collect();
        assert_eq!(found, [("/usr/lib/rtla/libc.so.6".to_owned(), PathBuf::from("/trees/rtla/usr/lib/libc.so.6"))]);
    }
}
