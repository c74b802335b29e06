//! Packages of Debian for any release and architecture, unpacked into a cache outside the repository.
//!
//! The addresses of archives are read from the host's own apt sources, with the name of the release replaced, so that
//! no host is named here. Nothing is installed, and the host's apt is not changed: the package lists lie in folders of
//! their own.

mod closure;
mod sources;

pub use closure::{Wanted, inside};

use crate::kernel::{Arch, Kernel, Release, newest};
use crate::program;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

/// After this time, the lab asks the archive for a newer version of a package.
const FRESH_FOR: Duration = Duration::from_secs(7 * 24 * 3600);

/// The cache of unpacked packages.
pub struct Shelf {
    cache: PathBuf,
    ask_anew: bool,
    /// Tells the user what takes long.
    say: fn(&str),
}

impl Shelf {
    /// Opens the cache in a folder, which is created if necessary. With `ask_anew`, archives are always asked for newer
    /// packages.
    pub fn open(cache: &Path, ask_anew: bool, say: fn(&str)) -> Result<Self> {
        fs::create_dir_all(cache).with_context(|| format!("create {}", cache.display()))?;
        let cache = cache.canonicalize().with_context(|| format!("resolve {}", cache.display()))?;
        Ok(Self { cache, ask_anew, say })
    }

    /// Unpacks the newest kernel of this kind.
    pub fn kernel(&self, release: Release, arch: Arch, is_rt: bool) -> Result<Kernel> {
        let tree = self.tree(release, arch, &newest(arch, is_rt), true)?;
        let kernel = unpacked(&tree)?;
        if !kernel.modules.join("modules.dep").is_file() {
            program::read(program::find("depmod")?.arg("-b").arg(&tree).arg(&kernel.version))?;
        }
        Ok(kernel)
    }

    /// Unpacks the package of a kernel from a file.
    pub fn kernel_in(&self, package: &Path) -> Result<Kernel> {
        let file = fs::metadata(package).with_context(|| format!("read {}", package.display()))?;
        let changed = file.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        let name = package.file_stem().unwrap_or_default().to_string_lossy();
        let tree = self.cache.join("trees").join(format!("{name}.{}.{}", file.len(), changed.as_nanos()));
        if !tree.is_dir() {
            let parts = self.cache.join("parts").join(format!("{name}.{}", std::process::id()));
            unpack(package, &parts)?;
            put(&parts, &tree)?;
        }
        unpacked(&tree)
    }

    /// Returns the path of a statically linked `busybox`.
    pub fn busybox(&self, arch: Arch) -> Result<PathBuf> {
        let tree = self.tree(Release::Bookworm, arch, "busybox-static", false)?;
        let places = ["bin/busybox", "usr/bin/busybox"].map(|place| tree.join(place));
        places.into_iter().find(|path| path.is_file()).context("find busybox in its package")
    }

    /// Returns the folder of an unpacked package. With `follow`, the package is the first dependency of the named one.
    fn tree(&self, release: Release, arch: Arch, package: &str, follow: bool) -> Result<PathBuf> {
        let note = self.cache.join(format!("{}-{}-{package}.current", release.codename(), arch.debian()));
        let kept = fs::read_to_string(&note).ok().filter(|name| !name.trim().is_empty());
        let kept = kept.map(|name| self.cache.join("trees").join(name.trim())).filter(|tree| tree.is_dir());
        if let Some(tree) = kept.as_ref().filter(|_| !self.ask_anew && is_fresh(&note)) {
            return Ok(tree.clone());
        }
        match (self.fetch(release, arch, package, follow), kept) {
            (Ok(name), _) => {
                write_whole(&note, name.as_bytes())?;
                Ok(self.cache.join("trees").join(name))
            }
            // An old kernel is better than none, because the network is not what the lab tests.
            (Err(error), Some(tree)) if !self.ask_anew => {
                (self.say)(&format!("{package}: taken from the cache, as no newer one could be asked for: {error:#}"));
                Ok(tree)
            }
            (Err(error), _) => Err(error).with_context(|| format!("get {package} for {}", arch.debian())),
        }
    }

    /// Downloads and unpacks the newest version unless the cache has it. Returns the name of its folder.
    fn fetch(&self, release: Release, arch: Arch, package: &str, follow: bool) -> Result<String> {
        let archive = Archive::of(&self.cache, release, arch)?;
        archive.update()?;
        let (package, version) = archive.newest(package, follow)?;
        // A version may contain a colon, which separates paths in lists such as `PATH`.
        let name = format!("{package}_{}_{}", version.replace(':', "%3a"), arch.debian());
        let tree = self.cache.join("trees").join(&name);
        if !tree.is_dir() {
            let parts = self.cache.join("parts").join(format!("{name}.{}", std::process::id()));
            fs::create_dir_all(&parts).with_context(|| format!("create {}", parts.display()))?;
            (self.say)(&format!("downloading {package}={version} ({})", arch.debian()));
            let unpacked = parts.join("tree");
            let got = archive
                .download(&package, &version, &parts)
                .and_then(|file| unpack(&file, &unpacked))
                .and_then(|()| put(&unpacked, &tree));
            // Whether or not the package was got, its parts are of no further use, and they may fill the disk.
            let removed = fs::remove_dir_all(&parts).with_context(|| format!("remove {}", parts.display()));
            got?;
            removed?;
        }
        Ok(name)
    }
}

/// The kernel in the tree of an unpacked package.
fn unpacked(tree: &Path) -> Result<Kernel> {
    let image = only_file(&tree.join("boot"), "vmlinuz-").context("is it the package of a kernel?")?;
    let name = image.file_name().unwrap_or_default().to_string_lossy();
    let version = name.strip_prefix("vmlinuz-").unwrap_or_default().to_owned();
    let config = tree.join("boot").join(format!("config-{version}"));
    let modules = tree.join("lib/modules").join(&version);
    Ok(Kernel { version, image, config, modules })
}

/// Unpacks a package into a folder, which is created.
fn unpack(package: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let unpacked = program::read(program::find("dpkg-deb")?.arg("-x").arg(package).arg(folder));
    unpacked.inspect_err(|_| {
        // A part of a package is of no use.
        let _ = fs::remove_dir_all(folder);
    })?;
    // In a system with a merged `/usr`, `/lib` is a link, and programs look for modules there.
    if folder.join("usr/lib").is_dir() && !folder.join("lib").exists() {
        std::os::unix::fs::symlink("usr/lib", folder.join("lib")).context("link lib to usr/lib")?;
    }
    Ok(())
}

/// Writes a file whole or not at all. Half a note would name another folder.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let part = path.with_extension(format!("{}.part", std::process::id()));
    fs::write(&part, bytes)
        .and_then(|()| fs::rename(&part, path))
        .inspect_err(|_| {
            let _ = fs::remove_file(&part);
        })
        .with_context(|| format!("write {}", path.display()))
}

/// Gives a complete tree its final name. Another process may have done so in the meantime.
fn put(unpacked: &Path, tree: &Path) -> Result<()> {
    let trees = tree.parent().unwrap_or(tree);
    fs::create_dir_all(trees).with_context(|| format!("create {}", trees.display()))?;
    match fs::rename(unpacked, tree) {
        Err(error) if !tree.is_dir() => Err(error).with_context(|| format!("put {} in its place", tree.display())),
        _ => Ok(()),
    }
}

/// The folder for packages: `asked`, or else the one that `PUNCTUAL_LAB_CACHE` names, or else one in the user's cache.
pub fn cache(asked: Option<&Path>) -> Result<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let place = asked.map(Path::to_owned).or_else(|| named("PUNCTUAL_LAB_CACHE"));
    let place = place.or_else(|| named("XDG_CACHE_HOME").map(|folder| folder.join("punctual-lab")));
    let place = place.or_else(|| named("HOME").map(|folder| folder.join(".cache/punctual-lab")));
    place.context("find a folder for packages: neither HOME nor XDG_CACHE_HOME is set; give one by --cache")
}

fn is_fresh(note: &Path) -> bool {
    let age = fs::metadata(note).and_then(|data| data.modified()).ok().and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age < FRESH_FOR)
}

/// The first file in a folder whose name starts with `beginning`.
fn only_file(folder: &Path, beginning: &str) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    let mut paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let found = paths.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(beginning)));
    found.with_context(|| format!("find {beginning}* in {}", folder.display()))
}

/// The package lists of one release and architecture, separate from the host's own.
struct Archive {
    folder: PathBuf,
    arch: Arch,
    /// The file with the packages that apt takes for installed; it is empty unless a package is to be spared.
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

    /// A command for a program of apt that uses only the files of this archive.
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
            // apt would download as an unprivileged user, who may have no access to our folders.
            "APT::Sandbox::User=".to_owned(),
            "Acquire::Languages=none".to_owned(),
            "Acquire::Retries=3".to_owned(),
        ] {
            command.arg("-o").arg(option);
        }
        Ok(command)
    }

    /// Runs a program of apt. Its error names the words that `with` adds, and none of the options that every command gets.
    fn read(&self, name: &str, with: impl Fn(&mut Command) -> &mut Command) -> Result<String> {
        let mut plain = Command::new(name);
        program::read_as(&program::shown(with(&mut plain)), with(&mut self.apt(name)?))
    }

    /// Updates the package lists unless they are less than an hour old.
    fn update(&self) -> Result<()> {
        let mark = self.folder.join("updated");
        let age = fs::metadata(&mark).and_then(|data| data.modified()).ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age < Duration::from_secs(3600)) {
            return Ok(());
        }
        self.read("apt-get", |apt| apt.args(["update", "-qq", "--error-on=any"]))?;
        fs::write(&mark, "").with_context(|| format!("write {}", mark.display()))
    }

    /// Name and version of the newest version of a package. With `follow`, the package is the first dependency of the
    /// named one, which must demand exactly one version.
    fn newest(&self, package: &str, follow: bool) -> Result<(String, String)> {
        let shown = self.read("apt-cache", |apt| apt.args(["show", "--no-all-versions", package]))?;
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
        self.read("apt-get", |apt| apt.args(["download", "-qq", &wanted]).current_dir(to))?;
        let file = only_file(to, &format!("{package}_"))?;
        if file.extension().is_none_or(|end| end != "deb") {
            bail!("apt-get download left {} instead of a package", file.display());
        }
        Ok(file)
    }
}

/// Parses a dependency of the form `name (= version)`.
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
