//! A system's files in a folder: an unpacked disk image, an initramfs, a report of `sos report`.
//!
//! That system does not run. A file that is missing below `/proc`, `/sys` and the like was only not saved, so the fact
//! is unknown and never absent. Links are followed as that system would follow them: none leads out of the folder.

use super::answers::Answers;
use super::patient::Patient;
use punctual_facts::fact::Fact;
use punctual_facts::tree::Tree;
use std::io;
use std::path::Path;

/// Names in the root folder of a system. A folder with none of them holds no system.
const SIGNS: [&str; 8] = ["etc", "usr", "proc", "sys", "boot", "lib", "init", "sos_commands"];
/// Paths that exist only while a system runs.
const OF_A_RUNNING_SYSTEM: [&str; 5] = ["/proc/", "/sys/", "/dev/", "/run/", "punctual:/"];
const PROC_SYS: &str = "/proc/sys/";
const RELEASE: &str = "/proc/sys/kernel/osrelease";
const ONLINE: &str = "/sys/devices/system/cpu/online";
const VERSION: &str = "/proc/sys/kernel/version";
/// All sysctls of the system, as `sos report` keeps them: lines such as `kernel.numa_balancing = 1`.
const SYSCTLS: &str = "/sos_commands/kernel/sysctl_-a";

#[derive(Debug)]
pub struct Unpacked {
    files: Patient<Answers>,
}

impl Unpacked {
    /// # Errors
    ///
    /// Fails if the folder cannot be listed, or if it contains nothing that belongs in the root folder of a system.
    pub fn open(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&root)? {
            names.push(entry?.file_name());
        }
        if root == Path::new("/") || !SIGNS.iter().any(|sign| names.iter().any(|name| name == sign)) {
            let why = format!(
                "it is not the root of an unpacked system, which has a folder such as {}",
                SIGNS[..3].join(", ")
            );
            return Err(io::Error::other(why));
        }
        Ok(Self { files: Patient::new(Answers::new(root), None) })
    }

    fn text(&self, path: &str) -> Fact<String> {
        self.files.read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn sysctl(&self, path: &str) -> Fact<Vec<u8>> {
        let Some(name) = path.strip_prefix(PROC_SYS).map(|name| name.replace('/', ".")) else { return Fact::Absent };
        self.text(SYSCTLS).and_then(|all| {
            let value = all.lines().filter_map(|line| line.split_once(" = ")).find(|(key, _)| key.trim() == name);
            value.map_or(Fact::Absent, |(_, value)| Fact::Known(format!("{value}\n").into_bytes()))
        })
    }

    /// The release of the kernel that was running, or else of the only one that is installed.
    fn release(&self) -> Fact<Vec<u8>> {
        let installed = || {
            self.files.list("/lib/modules").and_then(|releases| match releases.as_slice() {
                [release] => Fact::Known(release.clone().into_bytes()),
                [] => Fact::Absent,
                several => Fact::Garbled(format!("several kernels are installed: {}", several.join(", "))),
            })
        };
        self.part_of_version(|text| text.split_whitespace().nth(2)).or_else(installed)
    }

    /// A part of the version that the running kernel reported: `Linux version RELEASE (COMPILER) #BUILD`.
    fn part_of_version(&self, part: impl Fn(&str) -> Option<&str>) -> Fact<Vec<u8>> {
        self.text("/proc/version").and_then(|text| part(&text).map_or(Fact::Absent, |part| Fact::Known(part.into())))
    }
}

/// Turns "absent" into "unknown" if the path exists only while a system runs.
fn kept<T>(path: &str, fact: Fact<T>) -> Fact<T> {
    // The list of modules is a file of the system, so a module that is missing there is absent.
    let is_running = OF_A_RUNNING_SYSTEM.iter().any(|start| path.starts_with(start));
    match fact {
        // The list of online CPUs stays absent, because then `/proc/cpuinfo` is used, which shows only online CPUs.
        Fact::Absent if path == ONLINE => Fact::Absent,
        Fact::Absent if is_running && !path.starts_with("punctual:/modinfo/") => {
            Fact::Garbled("not in the unpacked system".to_owned())
        }
        fact => fact,
    }
}

impl Tree for Unpacked {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        let fact = self.files.read(path).or_else(|| self.sysctl(path));
        let of_version = || match path {
            RELEASE => self.release(),
            VERSION => self.part_of_version(|text| text.find('#').and_then(|at| text.get(at..))),
            _ => Fact::Absent,
        };
        kept(path, fact.or_else(of_version))
    }

    fn list(&self, path: &str) -> Fact<Vec<String>> {
        kept(path, self.files.list(path))
    }

    fn link(&self, path: &str) -> Fact<String> {
        kept(path, self.files.link(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let place = folder.path().join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, content).unwrap();
        }
        folder
    }

    #[test]
    fn no_link_leads_out_of_the_folder() {
        let outer =
            folder(&[("secret", "outside"), ("root/etc/inside", "inside"), ("root/etc/secret", "of the system")]);
        let root = outer.path().join("root");
        symlink("/etc/secret", root.join("absolute")).unwrap();
        symlink("../../../secret", root.join("etc/up")).unwrap();
        symlink("../../../etc/inside", root.join("etc/round")).unwrap();
        symlink("/etc", root.join("folder")).unwrap();
        symlink("ring", root.join("ring")).unwrap();
        let tree = Unpacked::open(&root).unwrap();
        assert_eq!(tree.read("/absolute"), Fact::Known(b"of the system".to_vec()));
        assert_eq!(tree.read("/etc/up"), Fact::Absent);
        assert_eq!(tree.read("/../secret"), Fact::Absent);
        assert_eq!(tree.read("/etc/round"), Fact::Known(b"inside".to_vec()));
        assert_eq!(tree.read("/folder/inside"), Fact::Known(b"inside".to_vec()));
        assert_eq!(tree.list("/folder").known().unwrap().len(), 4);
        assert_eq!(tree.link("/folder"), Fact::Known("/etc".to_owned()));
        assert!(matches!(tree.read("/ring"), Fact::Garbled(why) if why.contains("symbolic link")));
    }

    #[test]
    fn what_was_not_kept_is_unknown_and_not_absent() {
        let folder = folder(&[("proc/cmdline", "quiet\n"), ("etc/hosts", "")]);
        let tree = Unpacked::open(folder.path()).unwrap();
        assert_eq!(tree.read("/proc/cmdline"), Fact::Known(b"quiet\n".to_vec()));
        assert_eq!(tree.read("/etc/sysctl.conf"), Fact::Absent);
        for path in ["/proc/interrupts", "/sys/kernel/realtime", "punctual:/tasks", "punctual:/clock/read_cost_ns"] {
            assert!(matches!(tree.read(path), Fact::Garbled(_)), "{path}");
        }
        assert!(matches!(tree.list("/proc/irq"), Fact::Garbled(_)));
        assert!(matches!(tree.link("/sys/class/net/eth0"), Fact::Garbled(_)));
    }

    #[test]
    fn the_release_is_found_in_what_was_kept() {
        let of = |files: &[(&str, &str)]| Unpacked::open(folder(files).path()).unwrap().read(RELEASE);
        let known = |release: &str| Fact::Known(release.as_bytes().to_vec());
        assert_eq!(of(&[("proc/version", "Linux version 6.1.0-13-rt-amd64 (x) #1\n")]), known("6.1.0-13-rt-amd64"));
        let kernel = folder(&[("proc/version", "Linux version 6.1.0-13-rt-amd64 (x) #1 SMP PREEMPT_RT\n")]);
        let build = Unpacked::open(kernel.path()).unwrap().read(VERSION);
        assert_eq!(build, Fact::Known(b"#1 SMP PREEMPT_RT\n".to_vec()));
        assert_eq!(of(&[("lib/modules/6.12.1/modules.dep", "")]), known("6.12.1"));
        assert_eq!(of(&[("sos_commands/kernel/sysctl_-a", "kernel.osrelease = 5.14.0\n")]), known("5.14.0\n"));
        let several = of(&[("lib/modules/6.1/x", ""), ("lib/modules/6.2/x", "")]);
        assert_eq!(several, Fact::Garbled("several kernels are installed: 6.1, 6.2".to_owned()));
    }

    #[test]
    fn a_sysctl_is_found_in_the_list_of_a_report() {
        let list = "kernel.sched_rt_runtime_us = 950000\nvm.stat_interval = 1\nnet.core.busy_poll = \n";
        let folder = folder(&[("sos_commands/kernel/sysctl_-a", list), ("proc/sys/vm/stat_interval", "10\n")]);
        let tree = Unpacked::open(folder.path()).unwrap();
        assert_eq!(tree.read("/proc/sys/kernel/sched_rt_runtime_us"), Fact::Known(b"950000\n".to_vec()));
        assert_eq!(tree.read("/proc/sys/vm/stat_interval"), Fact::Known(b"10\n".to_vec()));
        assert!(matches!(tree.read("/proc/sys/kernel/nothing"), Fact::Garbled(_)));
    }

    #[test]
    fn a_folder_without_a_system_is_refused() {
        assert!(Unpacked::open(folder(&[("notes.txt", "")]).path()).is_err());
        assert!(Unpacked::open(Path::new("/no/such/folder")).is_err());
        assert!(Unpacked::open(Path::new("/")).is_err());
    }
}
