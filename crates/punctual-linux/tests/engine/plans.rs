//! Plans that the tests apply to the simulated machine.

use super::bench::{Bench, GRUB, GRUBENV};
use punctual_facts::cpu_set::CpuSet;
use punctual_linux::apply::{Applied, EngineError, Hand, Request, Transaction};
use punctual_linux::journal::Purpose;
use punctual_tuning::knobs::Blast;
use punctual_tuning::plan::{
    Change, Expected, Invocation, Lasts, NicSetting, Reading, SchedPolicy, Step, Takes, TaskName,
};
use std::path::Path;

/// A temporary folder in memory if possible, because syncing takes no time there.
pub fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

pub fn task(pid: u32) -> TaskName {
    TaskName { pid, started: 1, comm: "t".to_owned() }
}

pub fn cpus(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

pub fn write(path: &str, value: &str, reading: Reading) -> Step {
    Step::Write { path: path.to_owned(), value: value.to_owned(), expected: Expected::same(reading) }
}

pub fn irq(number: u32, value: &str) -> Step {
    let settles_at = Some(format!("/proc/irq/{number}/effective_affinity_list"));
    let expected = Expected { reading: Reading::CpuList, settles_at, or_fewer: true };
    Step::Write { path: format!("/proc/irq/{number}/smp_affinity_list"), value: value.to_owned(), expected }
}

pub fn own(path: &str, content: &str) -> Step {
    Step::Own { path: path.to_owned(), content: content.to_owned(), mode: 0o644 }
}

pub fn edit(path: &str, seen: &str, content: &str, in_place: bool) -> Step {
    let (seen, content) = (seen.as_bytes().to_vec(), content.as_bytes().to_vec());
    Step::Edit { path: path.to_owned(), seen, content, also_ours: vec![b"what the loader made".to_vec()], in_place }
}

pub fn change(id: &str, steps: Vec<Step>) -> Change {
    let text = String::new;
    Change {
        id: id.to_owned(),
        title: text(),
        before: text(),
        after: text(),
        why: text(),
        cost: text(),
        risk: text(),
        blast: Blast::Harmless,
        lasts: Lasts::ForGood,
        takes: Takes::Now,
        undo: text(),
        proof: text(),
        steps,
        keeps: Vec::new(),
        also: Vec::new(),
        is_apart: false,
    }
}

/// A change of settings that other programs control.
fn outside() -> Change {
    change(
        "outside",
        vec![
            Step::Nic {
                device: "eth0".to_owned(),
                settings: ["rx-usecs", "eee/enabled"]
                    .map(|name| NicSetting { name: name.to_owned(), value: 0 })
                    .to_vec(),
            },
            Step::Silence { unit: "irqbalance.service".to_owned(), lasting: false },
            Step::Silence { unit: "tuned.service".to_owned(), lasting: true },
            Step::Silence { unit: "idle.service".to_owned(), lasting: false },
        ],
    )
}

/// A plan with every kind of step, and every way in which a step can end.
pub fn plan(bench: &Bench) -> Vec<Change> {
    let generate = || Some(Invocation::new("update-grub", []));
    let group = "/sys/fs/cgroup/punctual";
    let env = bench.text(GRUBENV);
    vec![
        change(
            "values",
            vec![
                write("/proc/sys/kernel/numa_balancing", "0", Reading::Plain),
                write("/proc/sys/net/ipv4/tcp_rmem", "1 2 3", Reading::Plain),
                write("/sys/block/sda/queue/scheduler", "none", Reading::Marked),
                write("/proc/irq/default_smp_affinity", "3", Reading::CpuMask),
                irq(5, "0-1"),
            ],
        ),
        change(
            "loader",
            vec![
                Step::Run { doing: None, undoing: generate() },
                own("/etc/default/grub.d/90-punctual.cfg", "WORDS\n"),
                Step::Run { doing: generate(), undoing: None },
            ],
        ),
        change(
            "files",
            vec![
                own("/etc/systemd/system.conf.d/90-punctual.conf", "[Manager]\nCPUAffinity=0-1\n"),
                own("/etc/sysctl.d/10-user.conf", "vm.swappiness = 0\n"),
                edit(GRUB, &bench.text(GRUB), "GRUB_DEFAULT=saved\n", false),
                edit(GRUBENV, &env, &env.replace("saved_entry=0\n##", "saved_entry=42\n#"), true),
                Step::Remove { path: "/etc/modprobe.d/old.conf".to_owned() },
            ],
        ),
        change(
            "group",
            vec![
                write("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset +cpu", Reading::Switches),
                Step::Folder { path: group.to_owned() },
                write(&format!("{group}/cpuset.cpus"), "2-3", Reading::CpuList),
                write(&format!("{group}/cpuset.cpus.partition"), "isolated", Reading::Plain),
            ],
        ),
        change(
            "threads",
            vec![
                Step::Affinity { task: task(77), cpus: cpus("0-1") },
                Step::Policy { task: task(78), policy: SchedPolicy::Rr(60) },
                Step::Policy { task: task(77), policy: SchedPolicy::Fifo(10) },
                Step::Affinity { task: task(99), cpus: cpus("0") },
            ],
        ),
        outside(),
        change(
            "refused",
            vec![
                own("/etc/tmpfiles.d/punctual.conf", "w /sys/kernel/refused - - - - 0\n"),
                write("/sys/kernel/refused", "0", Reading::Plain),
                write("/proc/sys/kernel/numa_balancing", "7", Reading::Plain),
            ],
        ),
        change("clamped", vec![write("/sys/kernel/clamped", "9", Reading::Plain)]),
        change("later", vec![irq(6, "0-1")]),
        change("so already", vec![write("/proc/sys/kernel/numa_balancing", "0", Reading::Plain)]),
        Change { blast: Blast::Breaking, ..change("broad", vec![write("/sys/kernel/clamped", "2", Reading::Plain)]) },
    ]
}

pub fn request() -> Request {
    Request { kind: Purpose::Tuned, asked: punctual_linux::journal::TuningRequest::default(), confirm_within: None }
}

pub fn tune(hand: &dyn Hand, changes: &[Change]) -> Result<Applied, EngineError> {
    Transaction::begin(hand, &request())?.apply(changes, Blast::Disturbing)
}
