//! Plans under good conditions: what they do, what they report for each change, and how they are undone.

use crate::bench::{Bench, GRUB, GRUBENV, booted_again, change, edit, irq, own, plan, request, tune, write};
use punctual_linux::apply::{Extent, Fate, Hand, Request, Transaction, revert};
use punctual_linux::journal::store::FILE;
use punctual_linux::journal::{KeptSetting, SessionStage, Undone, read};
use punctual_tuning::knobs::Blast;
use punctual_tuning::plan::{Change, Invocation, Keep, Reading, Step};

#[test]
fn each_change_is_done_whole_or_not_at_all_and_says_which() {
    let (_folder, bench) = Bench::new();
    let start = bench.picture();
    let applied = tune(&bench, &plan(&bench)).unwrap();
    let fates: Vec<(&str, &Fate)> = applied.changes.iter().map(|tried| (tried.id.as_str(), &tried.fate)).collect();
    for (id, fate) in &fates {
        let fits = match *id {
            "refused" | "clamped" => matches!(fate, Fate::TakenBack { .. }),
            "later" => **fate == Fate::Waits,
            "so already" => **fate == Fate::Already,
            "broad" => matches!(fate, Fate::TooBroad { .. }),
            _ => **fate == Fate::Done,
        };
        assert!(fits, "{id}: {fate:?}");
    }
    assert_eq!(fates.len(), 11);
    assert!(applied.stands);
    assert_eq!(bench.text("/proc/sys/kernel/numa_balancing"), "0\n");
    assert_eq!(bench.text("/boot/grub/grub.cfg"), "quiet isolcpus=2-3\n");
    assert_eq!(bench.text("/sys/fs/cgroup/cgroup.subtree_control"), "cpu cpuset memory\n");
    assert_eq!(bench.text("/sim/task/77"), "0-1 fifo 10\n");
    assert_eq!(bench.text("/sim/unit/tuned.service"), "inactive masked-good\n");
    assert!(!bench.file("/etc/tmpfiles.d").exists() && bench.text("/sys/kernel/clamped") == "1\n");
    let session = read(&bench).unwrap().unwrap().sessions.remove(0);
    assert!(session.stage == SessionStage::Applied && session.was.len() == 1 && session.begun.is_some());
    let back = revert(&bench, Extent::All, false).unwrap();
    assert!(back.closed && back.trouble.is_empty(), "{back:?}");
    assert_eq!(bench.picture(), start);
    assert!(revert(&bench, Extent::All, false).unwrap().undone.is_empty());
    assert_eq!(bench.picture(), start);
}

#[test]
fn what_changes_nothing_leaves_nothing_behind() {
    let (_folder, bench) = Bench::new();
    let start = bench.picture();
    let nothing = [change("refused", vec![write("/sys/kernel/refused", "0", Reading::Plain)])];
    assert!(!tune(&bench, &nothing).unwrap().stands);
    assert_eq!(bench.picture(), start);
}

#[test]
fn words_for_the_next_boot_are_not_so_already() {
    let (_folder, bench) = Bench::new();
    let words = Change { keeps: vec![Keep::Word("isolcpus=2-3".to_owned())], ..change("iso.domain", Vec::new()) };
    let applied = tune(&bench, &[words]).unwrap();
    assert_eq!(applied.changes[0].fate, Fate::NextBoot);
}

#[test]
fn one_goes_back_as_far_as_asked() {
    let (_folder, bench) = Bench::new();
    let start = bench.picture();
    let path = "/proc/sys/kernel/numa_balancing";
    let file = "/etc/tmpfiles.d/punctual.conf";
    for value in ["2", "3", "4"] {
        let steps = vec![write(path, value, Reading::Plain), own(file, value)];
        assert!(tune(&bench, &[change("x", steps)]).unwrap().stands);
    }
    let back = revert(&bench, Extent::DownTo(2), false).unwrap();
    assert_eq!((bench.text(path).as_str(), bench.text(file).as_str()), ("3\n", "3"));
    assert_eq!(back.transactions, [3]);
    // The second step changed the same file later, so the first one can be undone only together with it.
    let back = revert(&bench, Extent::Only(1), false).unwrap();
    assert_eq!((back.undone.len(), back.trouble.len()), (0, 2));
    assert_eq!(bench.text(path), "3\n");
    let back = revert(&bench, Extent::Only(2), false).unwrap();
    assert_eq!(back.transactions, [1, 2]);
    assert!(back.closed);
    assert_eq!(bench.picture(), start);
}

#[test]
fn what_a_later_one_found_done_goes_back_with_that() {
    let (_folder, bench) = Bench::new();
    let start = bench.picture();
    let (path, file) = ("/proc/sys/kernel/numa_balancing", "/etc/tmpfiles.d/punctual.conf");
    let first = || vec![write(path, "2", Reading::Plain), own(file, "x")];
    tune(&bench, &[change("x", first())]).unwrap();
    let more = first().into_iter().chain([own("/etc/sysctl.d/90-punctual.conf", "y")]).collect();
    assert!(tune(&bench, &[change("x", more)]).unwrap().stands);
    let back = revert(&bench, Extent::Only(1), false).unwrap();
    assert_eq!((back.undone.len(), back.trouble.len()), (0, 2));
    assert!(back.trouble.iter().all(|trouble| trouble.why.contains("transaction 2 relies on it") && !trouble.conflict));
    assert_eq!((bench.text(path).as_str(), bench.text(file).as_str()), ("2\n", "x"));
    let back = revert(&bench, Extent::Only(2), false).unwrap();
    assert!(back.closed && back.trouble.is_empty(), "{back:?}");
    assert_eq!(bench.picture(), start);
}

#[test]
fn what_somebody_else_changed_is_not_touched() {
    let (_folder, bench) = Bench::new();
    let start = bench.picture();
    let env = bench.text(GRUBENV);
    let steps = vec![
        edit(GRUB, &bench.text(GRUB), "ours\n", false),
        edit(GRUBENV, &env, &env.to_uppercase(), true),
        write("/proc/sys/kernel/numa_balancing", "0", Reading::Plain),
    ];
    tune(&bench, &[change("x", steps)]).unwrap();
    bench.set(GRUB, "theirs\n");
    // What the boot loader itself wrote is not a change by somebody else.
    bench.set(GRUBENV, "what the loader made");
    let back = revert(&bench, Extent::All, false).unwrap();
    assert!(!back.closed && back.trouble.len() == 1 && back.trouble[0].conflict, "{back:?}");
    assert!(back.trouble[0].why.contains("/var/lib/punctual/saved/1-1"), "{}", back.trouble[0].why);
    assert_eq!(bench.text(GRUB), "theirs\n");
    assert_eq!((bench.text(GRUBENV), bench.text("/proc/sys/kernel/numa_balancing")), (env, "1\n".to_owned()));
    let left = revert(&bench, Extent::All, true).unwrap();
    assert!(left.closed && matches!(left.undone[0].how, Undone::Left { .. }));
    bench.set(GRUB, &String::from_utf8_lossy(&start["etc/default/grub"].2));
    assert_eq!(bench.picture(), start);
}

#[test]
fn a_boot_loader_may_note_its_own_meanwhile() {
    let (_folder, bench) = Bench::new();
    let block = |used: &str| format!("# GRUB Environment Block\n{used}{}", "#".repeat(999 - used.len()));
    let other = "/boot/grub2/grubenv";
    bench.set(GRUBENV, &block("saved_entry=a\n"));
    let chosen = block("saved_entry=a\nnext_entry=punctual-trial\n");
    let steps = || vec![edit(GRUBENV, &block("saved_entry=a\n"), &chosen, true), own(other, &block("next_entry=x\n"))];
    let start = bench.picture();
    // In the first case a boot used the choice and saved the booted entry; in the second it saved nothing.
    for (there, new, then) in
        [("saved_entry=b\n", "next_entry=\nsaved_entry=b\n", true), ("saved_entry=a\n", "next_entry=\n", false)]
    {
        tune(&bench, &[change("x", steps())]).unwrap();
        bench.set(GRUBENV, &block(&format!("next_entry=\n{there}")));
        bench.set(other, &block(new));
        let back = revert(&bench, Extent::All, false).unwrap();
        assert!(back.closed && back.trouble.is_empty(), "{:?}", back.trouble);
        assert_eq!(bench.text(GRUBENV), block(there));
        assert_eq!(bench.text(other), if then { block("saved_entry=b\n") } else { String::new() });
        if then {
            std::fs::remove_dir_all(bench.file("/boot/grub2")).unwrap();
            bench.set(GRUBENV, &block("saved_entry=a\n"));
        }
        assert_eq!(bench.picture(), start);
    }
    tune(&bench, &[change("x", steps())]).unwrap();
    bench.set(GRUBENV, &block("saved_entry=a\nnext_entry=theirs\n"));
    assert!(revert(&bench, Extent::All, false).unwrap().trouble.iter().all(|trouble| trouble.conflict));
    assert_eq!(bench.text(GRUBENV), block("saved_entry=a\nnext_entry=theirs\n"));
}

#[test]
fn what_is_gone_needs_nothing() {
    let (_folder, bench) = Bench::new();
    tune(&bench, &plan(&bench)).unwrap();
    for gone in ["/proc/irq/5", "/sys/fs/cgroup/punctual", "/sys/block/sda"] {
        std::fs::remove_dir_all(bench.file(gone)).unwrap();
    }
    for gone in
        ["/sim/task/77", "/sim/nic/eth0", "/sim/unit/tuned.service", "/etc/systemd/system.conf.d/90-punctual.conf"]
    {
        std::fs::remove_file(bench.file(gone)).unwrap();
    }
    let back = revert(&bench, Extent::All, false).unwrap();
    assert!(back.closed && back.trouble.is_empty(), "{:?}", back.trouble);
    let gone = |undone: &Undone| matches!(undone, Undone::Nothing { why } if why.contains("gone") || why.contains("no such unit"));
    assert_eq!(back.undone.iter().filter(|step| gone(&step.how)).count(), 10, "{:#?}", back.undone);
}

#[test]
fn another_run_of_the_machine_has_undone_what_was_only_in_memory() {
    let (_folder, bench) = Bench::new();
    let mut start = bench.picture();
    tune(&bench, &plan(&bench)).unwrap();
    bench.reboot();
    bench.set("/proc/sys/kernel/numa_balancing", "5\n");
    let back = revert(&bench, Extent::All, false).unwrap();
    assert!(back.closed, "{:?}", back.trouble);
    assert_eq!(bench.text("/proc/sys/kernel/numa_balancing"), "5\n");
    bench.set("/proc/sys/kernel/numa_balancing", "1\n");
    booted_again(&mut start);
    assert_eq!(bench.picture(), start);
}

#[test]
fn what_our_files_set_at_boot_goes_back_at_once() {
    let (_folder, bench) = Bench::new();
    let mut start = bench.picture();
    let (path, other) = ("/proc/sys/kernel/numa_balancing", "/sys/kernel/clamped");
    let keeps = [
        Keep::Sysctl { name: "kernel.numa_balancing".to_owned(), value: "0".to_owned() },
        Keep::Write { path: other.to_owned(), value: "2".to_owned() },
    ];
    let keeps = keeps.map(|keep| KeptSetting { knob: "x".to_owned(), keep }).to_vec();
    let asked = punctual_linux::journal::TuningRequest { keeps, ..punctual_linux::journal::TuningRequest::default() };
    let steps = vec![write(path, "0", Reading::Plain), write(other, "2", Reading::Plain), irq(5, "0-1")];
    let transaction = Transaction::begin(&bench, &Request { asked, ..request() }).unwrap();
    transaction.apply(&[change("x", steps)], Blast::Harmless).unwrap();
    bench.reboot();
    // Our files keep the first value; somebody else changed the second; nothing keeps the third.
    bench.set(path, "0\n");
    bench.set(other, "7\n");
    bench.set("/proc/irq/5/smp_affinity_list", "0-1\n");
    let back = revert(&bench, Extent::All, false).unwrap();
    assert!(back.closed && back.trouble.is_empty(), "{:?}", back.trouble);
    let texts = [path, other, "/proc/irq/5/smp_affinity_list"].map(|path| bench.text(path));
    assert_eq!(texts, ["1\n", "7\n", "0-1\n"]);
    bench.reboot();
    booted_again(&mut start);
    assert_eq!(bench.picture(), start);
}

fn systemctl<const N: usize>(words: [&str; N]) -> Invocation {
    Invocation::from_words("systemctl".to_owned(), words.map(str::to_owned).to_vec())
}

/// The steps that make a systemd unit for this boot only, as partitioning CPUs does.
fn slice(content: &str) -> Vec<Step> {
    let reload = || systemctl(["daemon-reload"]);
    vec![
        Step::Run { doing: None, undoing: Some(reload()) },
        own("/run/systemd/system/punctual.slice", content),
        Step::Run { doing: Some(reload()), undoing: None },
        Step::Run {
            doing: Some(systemctl(["start", "punctual.slice"])),
            undoing: Some(systemctl(["stop", "punctual.slice"])),
        },
    ]
}

#[test]
fn what_was_made_for_one_run_of_the_machine_is_gone_in_the_next() {
    let (_folder, bench) = Bench::new();
    let mut start = bench.picture();
    tune(&bench, &[change("slice", slice("first"))]).unwrap();
    tune(&bench, &[change("slice", slice("second"))]).unwrap();
    bench.reboot();
    let back = revert(&bench, Extent::All, false).unwrap();
    assert!(back.closed && back.trouble.is_empty(), "{:#?}", back.trouble);
    booted_again(&mut start);
    assert_eq!(bench.picture(), start);
}

#[test]
fn without_systemd_its_files_go_back_all_the_same() {
    let (_folder, bench) = Bench::new();
    let mut start = bench.picture();
    let unit = own("/etc/systemd/system/punctual-latency.service", "[Service]\n");
    let (restart, stop) = (["restart", "punctual-latency.service"], ["stop", "punctual-latency.service"]);
    let run = Step::Run { doing: Some(systemctl(restart)), undoing: Some(systemctl(stop)) };
    let reload = Step::Run { doing: None, undoing: Some(systemctl(["daemon-reload"])) };
    let silence = Step::Silence { unit: "irqbalance.service".to_owned(), lasting: true };
    tune(&bench, &[change("boot.files", vec![reload, unit, run]), change("irqbalance", vec![silence])]).unwrap();
    bench.reboot();
    // In a rescue shell init is not systemd, and the mask is an ordinary link.
    std::fs::remove_dir_all(bench.file("/run/systemd")).unwrap();
    std::os::unix::fs::symlink("/dev/null", bench.file("/etc/systemd/system/irqbalance.service")).unwrap();
    let back = revert(&bench, Extent::All, false).unwrap();
    assert!(back.trouble.is_empty() && back.closed, "{:#?}", back.trouble);
    let said = |undone: &Undone| matches!(undone, Undone::Nothing { why } if why.contains("'systemctl stop punctual"));
    assert!(back.undone.iter().any(|step| said(&step.how)), "{:?}", back.undone);
    assert_eq!(bench.text("/sim/unit/irqbalance.service"), "inactive\n");
    std::fs::remove_file(bench.file("/etc/systemd/system/irqbalance.service")).unwrap();
    std::fs::remove_dir(bench.file("/etc/systemd/system")).unwrap();
    std::fs::remove_dir(bench.file("/etc/systemd")).unwrap();
    let there = |picture: &crate::bench::Picture| {
        picture.keys().filter(|path| path.starts_with("etc") || path.starts_with("var")).cloned().collect::<Vec<_>>()
    };
    start.retain(|path, _| path.starts_with("etc") || path.starts_with("var"));
    assert_eq!(there(&bench.picture()), start.into_keys().collect::<Vec<_>>());
}

#[test]
fn a_plan_that_is_out_of_date_is_not_carried_out() {
    let (_folder, bench) = Bench::new();
    let planned = edit(GRUB, &bench.text(GRUB), "ours\n", false);
    bench.set(GRUB, "theirs\n");
    let applied = tune(&bench, &[change("x", vec![planned])]).unwrap();
    assert!(matches!(&applied.changes[0].fate, Fate::TakenBack { why } if why.contains("changed since")));
    assert_eq!(bench.text(GRUB), "theirs\n");
}

#[test]
fn nothing_unsound_is_written() {
    let (_folder, bench) = Bench::new();
    let start = bench.picture();
    std::os::unix::fs::symlink(bench.file("/etc/modprobe.d/old.conf"), bench.file("/etc/sysctl.d/link.conf")).unwrap();
    let policy = punctual_tuning::plan::SchedPolicy::Fifo(96);
    for step in [
        write("/proc/sys/kernel/core_pattern", "|/bin/sh", Reading::Plain),
        write("/proc/sys/kernel/../kernel/numa_balancing", "0", Reading::Plain),
        write("/proc/sys/kernel/numa_balancing", "0\u{0}1", Reading::Plain),
        write(GRUB, "0", Reading::Plain),
        own("/etc/passwd", "root::0:0::/:\n"),
        own("/etc/sysctl.d/link.conf", "x"),
        own("relative", "x"),
        Step::Folder { path: "/sys/kernel/x".to_owned() },
        Step::Policy { task: crate::bench::task(77), policy },
        Step::Affinity { task: crate::bench::task(77), cpus: crate::bench::cpus("") },
    ] {
        let applied = tune(&bench, &[change("x", vec![step.clone()])]).unwrap();
        assert!(matches!(applied.changes[0].fate, Fate::TakenBack { .. } | Fate::Gone), "{step:?}: {applied:?}");
    }
    std::fs::remove_file(bench.file("/etc/sysctl.d/link.conf")).unwrap();
    assert_eq!(bench.picture(), start);
    assert!(bench.stat("/etc/../etc").is_err());
    assert!(tune(&bench, &[change("irq", vec![irq(5, "0")])]).unwrap().stands);
}

#[test]
fn of_steps_that_stand_for_themselves_a_refused_one_leaves_the_others() {
    let (_folder, bench) = Bench::new();
    let start = bench.picture();
    let path = "/proc/sys/kernel/numa_balancing";
    let steps = vec![write("/sys/kernel/refused", "0", Reading::Plain), write(path, "2", Reading::Plain)];
    let together = change("together", steps);
    let apart = Change { is_apart: true, ..together.clone() };
    let fate = |change: Change| tune(&bench, &[change]).unwrap().changes.remove(0).fate;
    assert!(matches!(fate(together), Fate::TakenBack { .. }));
    assert_eq!(bench.picture(), start);
    assert!(matches!(fate(apart), Fate::Partly { refused: 1, of: 2, .. }));
    assert_eq!(bench.text(path), "2\n");
    revert(&bench, Extent::All, false).unwrap();
    assert_eq!(bench.picture(), start);
}

#[test]
fn a_journal_forgets_what_was_taken_back_and_keeps_the_rest() {
    let (_folder, bench) = Bench::new();
    let start = bench.picture();
    let path = "/proc/sys/kernel/numa_balancing";
    let kept = [change("kept", vec![own("/etc/tmpfiles.d/punctual.conf", "kept")])];
    tune(&bench, &kept).unwrap();
    let mut sizes = Vec::new();
    for _ in 0..3 {
        let boot = tune(&bench, &[change("boot", vec![write(path, "2", Reading::Plain)])]).unwrap();
        sizes.push(bench.text(FILE).len());
        revert(&bench, Extent::Only(boot.transaction), false).unwrap();
    }
    assert!(sizes.windows(2).all(|pair| pair[1] <= pair[0]), "{sizes:?}");
    assert_eq!(read(&bench).unwrap().unwrap().standing().count(), 1);
    revert(&bench, Extent::All, false).unwrap();
    assert_eq!(bench.picture(), start);
}
