//! Format 1 of the journal is fixed: what this version writes is byte for byte the committed file, and that file is
//! read back correctly. `BLESS=1 cargo test -p punctual-linux --test engine golden` writes it anew. If an existing
//! format changed, machines in use could no longer be restored.

use crate::bench::{cpus, irq, own, task, write};
use punctual_linux::journal::format::{first_line, line, parse};
use punctual_linux::journal::{
    Begun, Intent, JournalRecord, KeptSetting, Owner, Purpose, StepOutcome, TuningRequest, Undone, Was,
};
use punctual_tuning::plan::{Before, Invocation, Keep, Lasts, NicSetting, Reading, SchedPolicy, Step};

fn begun(transaction: u32, kind: Purpose, confirm_by_ns: Option<u64>) -> JournalRecord {
    JournalRecord::Begun(Begun {
        transaction,
        at_unix_s: 1_700_000_000,
        boot: "5b6a0c4e-0000-4000-8000-000000000001".to_owned(),
        version: "0.1.0".to_owned(),
        asked: TuningRequest {
            cpus: "2-3".to_owned(),
            profile: "periodic".to_owned(),
            arguments: ["tune", "--cpus", "2-3"].map(str::to_owned).to_vec(),
            keeps: keeps(),
        },
        kind,
        owner: Owner { pid: 4242, started: 987_654 },
        confirm_by_ns,
    })
}

/// Every kind of setting that is kept across boots.
fn keeps() -> Vec<KeptSetting> {
    let text = str::to_owned;
    let keeps = [
        Keep::Word(text("nohz_full=2-3")),
        Keep::NoWord(text("threadirqs")),
        Keep::Sysctl { name: text("vm.stat_interval"), value: text("10") },
        Keep::Write { path: text("/sys/kernel/mm/ksm/run"), value: text("0") },
        Keep::ModuleOptions(text("kvm halt_poll_ns=0")),
        Keep::NoModule(text("evbug")),
        Keep::Udev(text("SUBSYSTEM==\"usb\", ATTR{power/control}=\"on\"")),
        Keep::Limit(text("@realtime - rtprio 95")),
        Keep::Manager(cpus("0-1")),
        Keep::Hold(2),
        Keep::Anew,
    ];
    keeps.map(|keep| KeptSetting { knob: text("some.knob"), keep }).to_vec()
}

/// Every kind of step, with the previous state that is kept for it.
fn steps() -> Vec<(Step, Before)> {
    let text = str::to_owned;
    let value = |value: &str| Before::Value(text(value));
    let rx = |value| NicSetting { name: text("rx-usecs"), value };
    let file =
        |number: u32| Before::File { copy: format!("1-{number}"), mode: 0o644, uid: 0, gid: 0, sum: 0xdead_beef };
    let edit = |seen: &[u8], in_place| Step::Edit {
        path: text("/boot/grub/grubenv"),
        seen: seen.to_vec(),
        content: b"next_entry=punctual-trial\n".to_vec(),
        also_ours: vec![b"next_entry=\n".to_vec()],
        in_place,
    };
    vec![
        (write("/proc/sys/kernel/numa_balancing", "0", Reading::Plain), value("1")),
        (write("/sys/block/sda/queue/scheduler", "none", Reading::Marked), value("mq-deadline")),
        (write("/proc/irq/default_smp_affinity", "3", Reading::CpuMask), value("f")),
        (irq(5, "0-1"), value("0-3")),
        (write("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset", Reading::Switches), value("-cpuset")),
        (write("/sys/fs/resctrl/schemata", "L3:0=f", Reading::Schemata), value("L3:0=fff")),
        (own("/etc/a/b.conf", "x\n\"y\"\n"), Before::Nothing { folders_made: vec![text("/etc/a")] }),
        (own("/etc/sysctl.d/90-punctual.conf", ""), file(8)),
        (edit(b"\xff\x00old", true), file(9)),
        (edit(b"old", false), file(10)),
        (Step::Remove { path: text("/etc/modprobe.d/old.conf") }, file(11)),
        (Step::Folder { path: text("/sys/fs/cgroup/punctual") }, Before::Nothing { folders_made: Vec::new() }),
        (Step::Affinity { task: task(77), cpus: cpus("0-1") }, Before::Cpus(cpus("0-3,8"))),
        (Step::Policy { task: task(77), policy: SchedPolicy::Fifo(50) }, Before::Policy(SchedPolicy::Other(-5))),
        (Step::Policy { task: task(77), policy: SchedPolicy::Other(0) }, Before::Policy(SchedPolicy::Rr(9))),
        (Step::Nic { device: text("eth0"), settings: vec![rx(0)] }, Before::Nic(vec![rx(3)])),
        (
            Step::Silence { unit: text("irqbalance.service"), lasting: true },
            Before::Unit { was_active: true, was_masked: false },
        ),
        (Step::Run { doing: Some(Invocation::new("update-grub", [])), undoing: None }, Before::Program),
        (Step::Run { doing: None, undoing: Some(Invocation::new("systemctl", ["disable", "x y"])) }, Before::Program),
    ]
}

fn records() -> Vec<JournalRecord> {
    let text = str::to_owned;
    let mut records = vec![begun(1, Purpose::Tuned, Some(123_000_000_000))];
    let outcomes = [
        StepOutcome::Effective,
        StepOutcome::Waits { seen: text("3") },
        StepOutcome::Differs { seen: text("2") },
        StepOutcome::Refused { why: text("x: write '0': Operation not permitted") },
        StepOutcome::Gone { what: text("thread 77 is gone") },
    ];
    let hows = [
        Undone::Restored,
        Undone::Nothing { why: text("it is as before") },
        Undone::Left { what: text("somebody else changed it") },
    ];
    for (number, (step, before)) in (1..).zip(steps()) {
        let lasts = [Lasts::Process, Lasts::Reboot, Lasts::ForGood][number as usize % 3];
        let change = text("irq.affinity");
        records.push(JournalRecord::Intent(Intent { transaction: 1, number, change, lasts, step, before }));
        let outcome = outcomes[number as usize % outcomes.len()].clone();
        records.push(JournalRecord::Outcome { transaction: 1, number, outcome });
        let how = hows[number as usize % hows.len()].clone();
        records.push(JournalRecord::Undone { transaction: 1, number, how });
    }
    let step = steps().swap_remove(0).0;
    records.push(JournalRecord::Was(Was { transaction: 1, change: text("sched.autogroup"), step }));
    records.extend([JournalRecord::Applied { transaction: 1 }, JournalRecord::Confirmed { transaction: 1 }]);
    records.extend([JournalRecord::Leaving { transaction: 1 }, JournalRecord::Reverted { transaction: 1 }]);
    records.push(begun(2, Purpose::ForCommand { command: vec![text("./loop"), text("--fast")] }, None));
    records.push(begun(3, Purpose::Adopted { of: 1 }, None));
    records.push(begun(4, Purpose::Boot, None));
    records.push(begun(5, Purpose::Campaign { folder: text("/srv/campaign") }, None));
    records.push(begun(6, Purpose::Watch { store: text("/var/lib/punctual-watch") }, None));
    records
}

#[test]
fn the_journal_is_byte_for_byte_the_committed_one() {
    let path = fixtures::repository("fixtures/journal/format-1.txt");
    let mut written = first_line();
    for record in records() {
        written.push_str(&line(&record).unwrap());
    }
    fixtures::check(&path, &written);
    let committed = std::fs::read_to_string(&path).unwrap();
    let parsed = parse(committed.as_bytes()).unwrap();
    assert_eq!((parsed.records, parsed.damage.len()), (records(), 0));
    assert_eq!(parsed.good_bytes, committed.len());
}

#[test]
fn whatever_is_cut_off_or_garbled_the_rest_is_read() {
    let mut whole = first_line().into_bytes();
    for record in records() {
        whole.extend(line(&record).unwrap().bytes());
    }
    let all = records();
    for cut in (first_line().len()..whole.len()).step_by(13) {
        let parsed = parse(&whole[..cut]).unwrap();
        assert!(parsed.damage.is_empty() && parsed.records == all[..parsed.records.len()]);
        assert!(parsed.good_bytes <= cut);
    }
    for at in (0..whole.len()).step_by(11) {
        let mut garbled = whole.clone();
        garbled[at] ^= 0x15;
        if let Ok(parsed) = parse(&garbled) {
            assert!(parsed.records.len() + 2 >= all.len() && parsed.damage.len() <= 2, "{at}: {:?}", parsed.damage);
        }
    }
    assert!(parse(b"").is_err() && parse(b"\n\n").is_err() && parse(b"\xff\xfe").is_err());
}
