//! A simulated machine of files in a temporary folder. Its kernel, threads, network device, systemd and boot loader
//! behave like real ones as far as the engine can tell.

pub use super::faulty::{Fault, Faulty, TheEnd};
pub use super::plans::{change, cpus, edit, folder, irq, own, plan, request, task, tune, write};

use punctual_facts::cpu_set::CpuSet;
use punctual_linux::apply::{Hand, LockAnswer, Machine, Meta, Ran, UnitState, UnitVerb};
use punctual_tuning::plan::{Invocation, NicSetting, SchedPolicy, TaskName};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

pub const GRUB: &str = "/etc/default/grub";
pub const GRUBENV: &str = "/boot/grub/grubenv";
pub const SYSTEMD: &str = "/run/systemd/system";
pub const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Kind, permission bits and content of each path.
pub type Picture = BTreeMap<String, (char, u32, Vec<u8>)>;

/// A simulated machine whose files lie below `root`.
#[derive(Clone, Debug)]
pub struct Bench {
    pub root: PathBuf,
    machine: Machine,
}

const FILES: [(&str, &str); 25] = [
    (BOOT_ID, "first-boot\n"),
    ("/proc/sys/kernel/numa_balancing", "1\n"),
    ("/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
    ("/proc/irq/5/smp_affinity_list", "0-3\n"),
    ("/proc/irq/5/effective_affinity_list", "3\n"),
    ("/proc/irq/6/smp_affinity_list", "0-3\n"),
    ("/proc/irq/6/effective_affinity_list", "2\n"),
    ("/proc/irq/default_smp_affinity", "f\n"),
    ("/sys/block/sda/queue/scheduler", "none [mq-deadline] kyber\n"),
    ("/sys/kernel/refused", "1\n"),
    ("/sys/kernel/clamped", "1\n"),
    ("/sys/fs/cgroup/cgroup.subtree_control", "cpu memory\n"),
    (GRUB, "GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX=\"quiet\"\n"),
    (GRUBENV, "# GRUB Environment Block\nsaved_entry=0\n#########"),
    ("/boot/grub/grub.cfg", "quiet\n"),
    ("/etc/sysctl.d/10-user.conf", "vm.swappiness = 10\n"),
    ("/etc/modprobe.d/old.conf", "options x y=1\n"),
    ("/sim/task/77", "0-3 other -5\n"),
    ("/sim/task/78", "1 fifo 50\n"),
    ("/sim/nic/eth0", "rx-usecs 3\neee/enabled 1\n"),
    ("/sim/unit/irqbalance.service", "active\n"),
    ("/sim/unit/tuned.service", "active\n"),
    ("/sim/unit/idle.service", "inactive\n"),
    ("/var/lib/other/file", "x\n"),
    ("/run/systemd/system/.keep", ""),
];

/// Changes a picture as a restart of the machine does after everything was restored.
pub fn booted_again(picture: &mut Picture) {
    picture.insert(BOOT_ID[1..].to_owned(), ('f', 0o644, b"second-boot\n".to_vec()));
}

impl Bench {
    /// Makes a machine in a folder of its own, which is removed with the first of the two values.
    pub fn new() -> (tempfile::TempDir, Self) {
        let folder = folder();
        let bench = Self::make(folder.path());
        (folder, bench)
    }

    /// Makes a machine in `root`.
    pub fn make(root: &Path) -> Self {
        for (path, content) in FILES {
            let path = root.join(&path[1..]);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
        }
        fs::set_permissions(root.join("etc/default/grub"), fs::Permissions::from_mode(0o640)).unwrap();
        Self::at(root)
    }

    /// Opens the machine that already exists in `root`.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), machine: Machine::below(root) }
    }

    pub fn file(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.file(path)).unwrap_or_default()
    }

    pub fn set(&self, path: &str, text: &str) {
        fs::write(self.file(path), text).unwrap();
    }

    pub fn picture(&self) -> Picture {
        self.try_picture().unwrap()
    }

    /// Whether the machine is exactly as in the picture. Other processes may still be changing it.
    pub fn is_as(&self, picture: &Picture) -> bool {
        self.try_picture().is_ok_and(|now| now == *picture)
    }

    fn try_picture(&self) -> io::Result<Picture> {
        let mut picture = Picture::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let path = entry?.path();
                let meta = fs::symlink_metadata(&path)?;
                let name = path.strip_prefix(&self.root).unwrap().to_str().unwrap().to_owned();
                let (kind, bytes) = if meta.is_dir() {
                    folders.push(path);
                    ('d', Vec::new())
                } else {
                    ('f', fs::read(&path)?)
                };
                picture.insert(name, (kind, meta.mode() & 0o7777, bytes));
            }
        }
        Ok(picture)
    }

    /// Restarts the machine: the kernel's values are as at the beginning, files stay as they are, and units that are
    /// masked permanently do not start.
    pub fn reboot(&self) {
        let masked: Vec<(&str, bool)> = FILES
            .iter()
            .filter_map(|(path, _)| {
                path.strip_prefix("/sim/unit/").map(|_| (*path, self.text(path).contains("masked-good")))
            })
            .collect();
        for folder in ["proc", "sys", "sim", "run"] {
            fs::remove_dir_all(self.root.join(folder)).unwrap();
        }
        for (path, content) in FILES
            .iter()
            .filter(|(path, _)| !path.starts_with("/etc") && !path.starts_with("/boot") && !path.starts_with("/var"))
        {
            fs::create_dir_all(self.file(path).parent().unwrap()).unwrap();
            self.set(path, content);
        }
        for (path, _) in masked.iter().filter(|(_, masked)| *masked) {
            self.set(path, "inactive masked-good\n");
        }
        self.set(BOOT_ID, "second-boot\n");
    }

    /// Takes the lock of the simulated kernel. Each kernel operation holds it, so that it is done completely or not at
    /// all. A process that kills others holds it too.
    pub fn whole(&self) -> fs::File {
        let root = fs::File::open(&self.root).unwrap();
        rustix::fs::flock(&root, rustix::fs::FlockOperation::LockExclusive).unwrap();
        root
    }

    fn task(&self, task: &TaskName) -> io::Result<(String, String)> {
        let text = fs::read_to_string(self.file(&format!("/sim/task/{}", task.pid)));
        let text = text.map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
        let (cpus, policy) = text.trim().split_once(' ').unwrap_or_default();
        Ok((cpus.to_owned(), policy.to_owned()))
    }

    fn set_task(&self, task: &TaskName, cpus: &str, policy: &str) {
        self.set(&format!("/sim/task/{}", task.pid), &format!("{cpus} {policy}\n"));
    }
}

fn ended(code: i32) -> Ran {
    Ran { well: code == 0, code: Some(code), how: format!("exit status: {code}"), said: String::new() }
}

pub fn errno<T>(number: i32) -> io::Result<T> {
    Err(io::Error::from_raw_os_error(number))
}

impl Hand for Bench {
    fn ours(&self, mode: u32) -> Meta {
        self.machine.ours(mode)
    }
    fn boot_id(&self) -> io::Result<String> {
        self.machine.boot_id()
    }
    fn stat(&self, path: &str) -> io::Result<Option<Meta>> {
        self.machine.stat(path)
    }
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.machine.read(path)
    }
    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.machine.list(path)
    }
    fn affinity(&self, task: &TaskName) -> io::Result<CpuSet> {
        Ok(CpuSet::parse_list(&self.task(task)?.0).unwrap_or_default())
    }
    fn policy(&self, task: &TaskName) -> io::Result<SchedPolicy> {
        let (_, policy) = self.task(task)?;
        let (name, number) = policy.split_once(' ').unwrap_or(("other", "0"));
        Ok(match name {
            "fifo" => SchedPolicy::Fifo(number.parse().unwrap()),
            "rr" => SchedPolicy::Rr(number.parse().unwrap()),
            _ => SchedPolicy::Other(number.parse().unwrap()),
        })
    }
    fn nic(&self, device: &str, names: &[&str]) -> io::Result<Vec<NicSetting>> {
        let Ok(text) = fs::read_to_string(self.file(&format!("/sim/nic/{device}"))) else { return errno(libc::ENODEV) };
        let value = |name: &&str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        Ok(names
            .iter()
            .map(|name| NicSetting { name: (*name).to_owned(), value: value(name).unwrap_or(u32::MAX) })
            .collect())
    }
    fn unit(&self, unit: &str) -> io::Result<Option<UnitState>> {
        let Ok(text) = fs::read_to_string(self.file(&format!("/sim/unit/{unit}"))) else { return Ok(None) };
        let active = text.split_whitespace().any(|word| word == "active");
        Ok(Some(UnitState { active, masked: text.contains("masked"), masked_for_good: text.contains("masked-good") }))
    }
    fn lock(&self, path: &str) -> io::Result<LockAnswer> {
        self.machine.lock(path)
    }
    fn write_value(&self, path: &str, value: &str) -> io::Result<()> {
        let _whole = self.whole();
        match path {
            "/sys/kernel/refused" => errno(libc::EPERM),
            "/sys/kernel/clamped" => self.machine.write_value(path, if value == "1" { "1" } else { "2" }),
            "/proc/irq/5/smp_affinity_list" => {
                let chosen = CpuSet::parse_list(value).unwrap().iter().last().unwrap();
                self.set("/proc/irq/5/effective_affinity_list", &format!("{chosen}\n"));
                self.machine.write_value(path, value)
            }
            "/sys/block/sda/queue/scheduler" => {
                let names = ["none", "mq-deadline", "kyber"];
                let marked = names.map(|name| if name == value { format!("[{name}]") } else { name.to_owned() });
                self.machine.write_value(path, &marked.join(" "))
            }
            "/sys/fs/cgroup/cgroup.subtree_control" => {
                let text = self.text(path);
                let mut on: Vec<&str> =
                    if text.trim().is_empty() { vec!["cpu", "memory"] } else { text.split_whitespace().collect() };
                for word in value.split_whitespace() {
                    let (sign, name) = word.split_at(1);
                    on.retain(|on| *on != name);
                    if sign == "+" {
                        on.push(name);
                    }
                }
                on.sort_unstable();
                self.machine.write_value(path, &on.join(" "))
            }
            _ => self.machine.write_value(path, value),
        }
    }
    fn create(&self, path: &str, bytes: &[u8], meta: Meta) -> io::Result<()> {
        self.machine.create(path, bytes, meta)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.machine.rename(from, to)
    }
    fn overwrite(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.machine.overwrite(path, bytes)
    }
    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.machine.append(path, bytes)
    }
    fn truncate(&self, path: &str, length: u64) -> io::Result<()> {
        self.machine.truncate(path, length)
    }
    fn reserve(&self, path: &str, length: u64, bytes: u64) -> io::Result<()> {
        self.machine.reserve(path, length, bytes)
    }
    fn remove(&self, path: &str) -> io::Result<()> {
        self.machine.remove(path)
    }
    fn make_folder(&self, path: &str, mode: u32) -> io::Result<()> {
        let _whole = self.whole();
        self.machine.make_folder(path, mode)?;
        if path.starts_with("/sys/fs/cgroup/") {
            // The files that the kernel creates in a new group.
            self.set(&format!("{path}/cpuset.cpus"), "\n");
            self.set(&format!("{path}/cpuset.cpus.partition"), "member\n");
        }
        Ok(())
    }
    fn remove_folder(&self, path: &str) -> io::Result<()> {
        let _whole = self.whole();
        if path.starts_with("/sys/fs/cgroup/") {
            return fs::remove_dir_all(self.file(path));
        }
        self.machine.remove_folder(path)
    }
    fn set_affinity(&self, task: &TaskName, cpus: &CpuSet) -> io::Result<()> {
        let _whole = self.whole();
        let (_, policy) = self.task(task)?;
        self.set_task(task, &cpus.to_string(), &policy);
        Ok(())
    }
    fn set_policy(&self, task: &TaskName, policy: SchedPolicy) -> io::Result<()> {
        let _whole = self.whole();
        let (cpus, _) = self.task(task)?;
        let policy = match policy {
            SchedPolicy::Other(nice) => format!("other {nice}"),
            SchedPolicy::Fifo(priority) => format!("fifo {priority}"),
            SchedPolicy::Rr(priority) => format!("rr {priority}"),
        };
        self.set_task(task, &cpus, &policy);
        Ok(())
    }
    fn set_nic(&self, device: &str, settings: &[NicSetting]) -> io::Result<()> {
        let _whole = self.whole();
        let mut now = self.nic(device, &["rx-usecs", "eee/enabled"])?;
        for setting in &mut now {
            if let Some(wanted) = settings.iter().find(|other| other.name == setting.name) {
                setting.value = wanted.value;
            }
        }
        let lines: Vec<String> = now.iter().map(ToString::to_string).collect();
        self.set(&format!("/sim/nic/{device}"), &(lines.join("\n") + "\n"));
        Ok(())
    }
    /// Masks, unmasks, starts or stops a unit. The two kinds of mask are links in two different folders.
    fn do_unit(&self, unit: &str, verb: UnitVerb) -> io::Result<Ran> {
        let _whole = self.whole();
        let path = format!("/sim/unit/{unit}");
        let text = self.text(&path);
        let mut words: Vec<&str> = text.split_whitespace().collect();
        let mask = |lasting| if lasting { "masked-good" } else { "masked" };
        match verb {
            UnitVerb::Stop => words[0] = "inactive",
            UnitVerb::Start => words[0] = "active",
            UnitVerb::Mask { lasting } if !words.contains(&mask(lasting)) => words.push(mask(lasting)),
            UnitVerb::Mask { .. } => {}
            UnitVerb::Unmask { lasting } => words.retain(|word| *word != mask(lasting)),
        }
        self.set(&path, &(words.join(" ") + "\n"));
        Ok(ended(0))
    }
    /// Runs a simulated program. The service manager knows the slice only while it runs, and accepts no command while
    /// systemd is not running. The output of the boot loader's generator depends on the existing drop-ins.
    fn run(&self, invocation: &Invocation) -> io::Result<Ran> {
        let _whole = self.whole();
        if invocation.program == "systemctl" {
            let slice = self.file("/sim/punctual.slice");
            return Ok(ended(match invocation.arguments[0].as_str() {
                _ if !self.file(SYSTEMD).exists() => 1,
                "start" => fs::write(slice, "").map_or(1, |()| 0),
                "stop" => fs::remove_file(slice).map_or(5, |()| 0),
                _ => 0,
            }));
        }
        assert_eq!(invocation.program, "update-grub");
        let dropin = self.text("/etc/default/grub.d/90-punctual.cfg");
        self.set("/boot/grub/grub.cfg", &format!("quiet{}\n", dropin.replace("WORDS", " isolcpus=2-3").trim_end()));
        Ok(ended(0))
    }
}
