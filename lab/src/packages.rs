//! Packages of Debian, of any release and architecture, unpacked into a cache outside the repository.
//!
//! Where archives are is read from the host's own sources of apt, with the name of the release replaced: no host name
//! stands in the repository. Nothing is installed, and nothing of the host's apt is changed: the lists have folders of
//! their own.

mod closure;
mod sources;

pub use closure::{Wanted, inside};

use crate::kernel::{Arch, Kernel, Release, Spec};
use crate::program;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// After this long, an archive is asked whether it has newer packages.
const FRESH_FOR: Duration = Duration::from_secs(7 * 24 * 3600);

/// Where unpacked packages are kept.
pub struct Shelf {
    cache: PathBuf,
    ask_anew: bool,
}

impl Shelf {
    /// A cache in that folder, which is made where it is missing. With `ask_anew`, archives are asked in any case.
    pub fn open(cache: &Path, ask_anew: bool) -> Result<Self> {
        fs::create_dir_all(cache).with_context(|| format!("create {}", cache.display()))?;
        let cache = cache.canonicalize().with_context(|| format!("resolve {}", cache.display()))?;
        Ok(Self { cache, ask_anew })
    }

    /// The newest kernel of this kind.
    pub fn kernel(&self, spec: &'static Spec) -> Result<Kernel> {
        let tree = self.tree(spec.release, spec.arch, spec.meta, true)?;
        let image = only_file(&tree.join("boot"), "vmlinuz-")?;
        let name = image.file_name().unwrap_or_default().to_string_lossy();
        let version = name.strip_prefix("vmlinuz-").unwrap_or_default().to_owned();
        let config = tree.join("boot").join(format!("config-{version}"));
        let modules = tree.join("lib/modules").join(&version);
        if !modules.join("modules.dep").is_file() {
            program::read(program::find("depmod")?.arg("-b").arg(&tree).arg(&version))?;
        }
        Ok(Kernel { spec, version, image, config, modules })
    }

    /// The program `busybox`, linked statically.
    pub fn busybox(&self, arch: Arch) -> Result<PathBuf> {
        let tree = self.tree(Release::Bookworm, arch, "busybox-static", false)?;
        let places = ["bin/busybox", "usr/bin/busybox"].map(|place| tree.join(place));
        places.into_iter().find(|path| path.is_file()).context("find busybox in its package")
    }

    /// The contents of a package, or with `follow` of the first one it depends on.
    fn tree(&self, release: Release, arch: Arch, package: &str, follow: bool) -> Result<PathBuf> {
        let note = self.cache.join(format!("{}-{}-{package}.current", release.codename(), arch.debian()));
        let kept = fs::read_to_string(&note).ok().map(|name| self.cache.join("trees").join(name.trim()));
        let kept = kept.filter(|tree| tree.is_dir());
        if let Some(tree) = kept.as_ref().filter(|_| !self.ask_anew && is_fresh(&note)) {
            return Ok(tree.clone());
        }
        match (self.fetch(release, arch, package, follow), kept) {
            (Ok(name), _) => {
                fs::write(&note, &name).with_context(|| format!("write {}", note.display()))?;
                Ok(self.cache.join("trees").join(name))
            }
            // Better last week's kernel than none: the network is not what is tried here.
            (Err(error), Some(tree)) if !self.ask_anew => {
                crate::say(&format!("{package}: taken from the cache, as no newer one could be asked for: {error:#}"));
                Ok(tree)
            }
            (Err(error), _) => Err(error).with_context(|| format!("get {package} for {}", arch.debian())),
        }
    }

    /// Downloads and unpacks what is not there yet; the name of its folder.
    fn fetch(&self, release: Release, arch: Arch, package: &str, follow: bool) -> Result<String> {
        let archive = Archive::of(&self.cache, release, arch)?;
        archive.update()?;
        let (package, version) = archive.newest(package, follow)?;
        // Colons of epochs mean something else in lists of paths.
        let name = format!("{package}_{}_{}", version.replace(':', "%3a"), arch.debian());
        let tree = self.cache.join("trees").join(&name);
        if !tree.is_dir() {
            let parts = self.cache.join("parts").join(format!("{name}.{}", std::process::id()));
            let unpacked = parts.join("tree");
            fs::create_dir_all(&unpacked).with_context(|| format!("create {}", unpacked.display()))?;
            let file = archive.download(&package, &version, &parts)?;
            program::read(program::find("dpkg-deb")?.arg("-x").arg(&file).arg(&unpacked))?;
            // A merged /usr: programs look for modules in /lib.
            if unpacked.join("usr/lib").is_dir() && !unpacked.join("lib").exists() {
                std::os::unix::fs::symlink("usr/lib", unpacked.join("lib")).context("link lib to usr/lib")?;
            }
            let trees = self.cache.join("trees");
            fs::create_dir_all(&trees).with_context(|| format!("create {}", trees.display()))?;
            // Only whole trees get their name.
            if let Err(error) = fs::rename(&unpacked, &tree) {
                if !tree.is_dir() {
                    return Err(error).with_context(|| format!("put {} in its place", tree.display()));
                }
            }
            fs::remove_dir_all(&parts).with_context(|| format!("remove {}", parts.display()))?;
        }
        Ok(name)
    }
}

fn is_fresh(note: &Path) -> bool {
    let age = fs::metadata(note).and_then(|data| data.modified()).ok().and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age < FRESH_FOR)
}

/// The file of a folder whose name begins so.
fn only_file(folder: &Path, beginning: &str) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    let mut paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let found = paths.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(beginning)));
    found.with_context(|| format!("find {beginning}* in {}", folder.display()))
}

/// What apt knows of one release for one architecture, apart from the host's own.
struct Archive {
    folder: PathBuf,
    arch: Arch,
    /// What is taken for installed: nothing, unless it is told otherwise.
    status: PathBuf,
}

impl Archive {
    fn of(cache: &Path, release: Release, arch: Arch) -> Result<Self> {
        let folder = cache.join("apt").join(format!("{}-{}", release.codename(), arch.debian()));
        for name in ["lists/partial", "cache/archives/partial"] {
            let path = folder.join(name);
            fs::create_dir_all(&path).with_context(|| format!("create {}", path.display()))?;
        }
        let list = folder.join("lab.sources");
        fs::write(&list, sources::for_release(release)?).with_context(|| format!("write {}", list.display()))?;
        let status = folder.join("status");
        fs::write(&status, "").with_context(|| format!("write {}", status.display()))?;
        Ok(Self { folder, arch, status })
    }

    /// A program of apt's that looks here and nowhere else.
    fn apt(&self, name: &str) -> Result<Command> {
        let mut command = program::find(name)?;
        let folder = self.folder.display();
        let arch = self.arch.debian();
        for option in [
            format!("Dir::Etc::sourcelist={folder}/lab.sources"),
            "Dir::Etc::sourceparts=-".to_owned(),
            format!("Dir::State::lists={folder}/lists"),
            format!("Dir::Cache={folder}/cache"),
            format!("Dir::State::status={}", self.status.display()),
            format!("APT::Architecture={arch}"),
            format!("APT::Architectures::={arch}"),
            // Our folders may be closed to the user that apt would download as.
            "APT::Sandbox::User=".to_owned(),
            "Acquire::Languages=none".to_owned(),
            "Acquire::Retries=3".to_owned(),
        ] {
            command.arg("-o").arg(option);
        }
        Ok(command)
    }

    /// Asks for the lists; ones that are an hour old will do.
    fn update(&self) -> Result<()> {
        let mark = self.folder.join("updated");
        let age = fs::metadata(&mark).and_then(|data| data.modified()).ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age < Duration::from_secs(3600)) {
            return Ok(());
        }
        program::read(self.apt("apt-get")?.args(["update", "-qq", "--error-on=any"]))?;
        fs::write(&mark, "").with_context(|| format!("write {}", mark.display()))
    }

    /// The newest version of a package, or with `follow` of the first one it depends on, which must be that very one.
    fn newest(&self, package: &str, follow: bool) -> Result<(String, String)> {
        let shown = program::read(self.apt("apt-cache")?.args(["show", "--no-all-versions", package]))?;
        let field = |name: &str| shown.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        if !follow {
            let version = field("Version:").with_context(|| format!("find the version of {package}"))?;
            return Ok((package.to_owned(), version.to_owned()));
        }
        let first = field("Depends:").and_then(|list| list.split([',', '|']).next());
        let exact = first.and_then(exact_dependency);
        exact.with_context(|| format!("find the kernel that {package} stands for in '{}'", first.unwrap_or_default()))
    }

    fn download(&self, package: &str, version: &str, to: &Path) -> Result<PathBuf> {
        let wanted = format!("{package}={version}");
        crate::say(&format!("downloading {wanted} ({})", self.arch.debian()));
        program::read(self.apt("apt-get")?.args(["download", "-qq", &wanted]).current_dir(to))?;
        let file = only_file(to, &format!("{package}_"))?;
        if file.extension().is_none_or(|end| end != "deb") {
            bail!("apt-get download left {} instead of a package", file.display());
        }
        Ok(file)
    }
}

/// Name and version of `name (= version)`.
fn exact_dependency(text: &str) -> Option<(String, String)> {
    let (name, rest) = text.trim().split_once(" (= ")?;
    Some((name.to_owned(), rest.strip_suffix(')')?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meta_package_names_its_kernel_and_no_range_does() {
        let found = exact_dependency(" linux-image-6.1.0-56-amd64 (= 6.1.192-2)");
        assert_eq!(found, Some(("linux-image-6.1.0-56-amd64".into(), "6.1.192-2".into())));
        assert_eq!(exact_dependency("kmod (>= 28)"), None);
        assert_eq!(exact_dependency("kmod"), None);
    }
}
