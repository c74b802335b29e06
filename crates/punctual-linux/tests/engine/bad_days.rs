//! Tests with journals that are cut off, garbled, from newer versions or of doubtful origin; with two programs at once;
//! with missing rights and full disks.

use crate::bench::{Bench, Fault, Faulty, GRUB, change, edit, folder, own, plan, request, tune, write};
use punctual_linux::apply::{EngineError, Extent, Transaction, confirm, revert, revert_pending};
use punctual_linux::journal::store::{FILE, FOLDER};
use punctual_linux::journal::{Begun, Journal, JournalRecord, Now, Owner, Pending, Purpose, format, read};
use punctual_tuning::plan::Reading;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

#[test]
fn only_one_at_a_time_and_it_is_said_who() {
    let (_folder, bench) = Bench::new();
    let first = Transaction::begin(&bench, &request()).unwrap();
    for refused in [
        Transaction::begin(&bench, &request()).map(drop).unwrap_err(),
        revert(&bench, Extent::All, false).map(drop).unwrap_err(),
    ] {
        assert!(matches!(refused, EngineError::Locked { by: Some(pid) } if pid == std::process::id()), "{refused}");
        assert!(refused.to_string().contains(&format!("process {}", std::process::id())));
    }
    first.cancel().unwrap();
    assert!(!bench.file(FOLDER).exists());
}

#[test]
fn half_a_line_at_the_end_is_cut_off_and_said() {
    let (_folder, bench) = Bench::new();
    let start = bench.picture();
    tune(&bench, &plan(&bench)).unwrap();
    bench.set(FILE, &(bench.text(FILE) + "00000000 {\"record\":\"inte"));
    assert!(read(&bench).unwrap().unwrap().torn);
    tune(&bench, &[change("x", vec![write("/proc/sys/kernel/numa_balancing", "9", Reading::Plain)])]).unwrap();
    let contents = read(&bench).unwrap().unwrap();
    assert!(!contents.torn && contents.damage.is_empty() && contents.sessions.len() == 2);
    bench.set(FILE, &(bench.text(FILE) + "0000"));
    let back = revert(&bench, Extent::All, false).unwrap();
    assert!(back.torn && back.closed);
    assert_eq!(bench.picture(), start);
}

#[test]
fn a_damaged_line_costs_that_line() {
    let (_folder, bench) = Bench::new();
    let steps = vec![
        write("/proc/sys/kernel/numa_balancing", "0", Reading::Plain),
        own("/etc/sysctl.d/90-punctual.conf", "x\n"),
        edit(GRUB, &bench.text(GRUB), "ours\n", false),
    ];
    let grub = bench.text(GRUB);
    tune(&bench, &[change("x", steps)]).unwrap();
    bench.set(FILE, &bench.text(FILE).replace("90-punctual", "90-punktual"));
    let refused = tune(&bench, &[]).unwrap_err();
    assert!(matches!(refused, EngineError::Damaged { lines: 1 }), "{refused}");
    let back = revert(&bench, Extent::All, false).unwrap();
    assert_eq!((back.damage.len(), back.damage[0].line, back.undone.len()), (1, 5, 2));
    assert_eq!((bench.text(GRUB), bench.text("/proc/sys/kernel/numa_balancing")), (grub, "1\n".to_owned()));
    // The setting of the damaged line is still in place, and the journal was put aside.
    assert!(bench.file("/etc/sysctl.d/90-punctual.conf").exists());
    assert!(bench.file("/var/lib/punctual/journal.damaged").exists() && !bench.file(FILE).exists());
    assert!(tune(&bench, &[change("x", vec![own("/etc/sysctl.d/91.conf", "x\n")])]).unwrap().stands);
    assert!(revert(&bench, Extent::All, false).unwrap().closed);
}

#[test]
fn copies_of_a_damaged_journal_are_kept_whatever_comes_after() {
    let (_folder, bench) = Bench::new();
    let user = "/etc/sysctl.d/10-user.conf";
    let kept = bench.text(user);
    for ending in [".damaged", ".damaged-2", ".damaged-3"] {
        let steps = vec![own(user, "ours\n"), write("/proc/sys/kernel/numa_balancing", "0", Reading::Plain)];
        tune(&bench, &[change("x", steps)]).unwrap();
        bench.set(FILE, &bench.text(FILE).replacen("10-user", "10-uzer", 1));
        assert!(revert(&bench, Extent::All, false).unwrap().closed);
        assert_eq!(bench.text(&format!("{FOLDER}/saved{ending}/1-1")), kept);
        assert!(bench.file(&format!("{FOLDER}/journal{ending}")).exists());
        bench.set(user, &kept);
    }
    // The user moves the journal away, as the error message advises. The saved copies stay.
    tune(&bench, &[change("x", vec![own(user, "ours\n")])]).unwrap();
    fs::rename(bench.file(FILE), bench.file("/var/lib/other/journal")).unwrap();
    tune(&bench, &[change("x", vec![own(user, "ours again\n")])]).unwrap();
    assert!(revert(&bench, Extent::All, false).unwrap().closed);
    assert_eq!(bench.text(&format!("{FOLDER}/saved.damaged-4/1-1")), kept);
    assert_eq!(bench.text(user), "ours\n");
}

#[test]
fn a_journal_that_is_not_understood_is_left_alone() {
    let (_folder, bench) = Bench::new();
    tune(&bench, &plan(&bench)).unwrap();
    let good = bench.text(FILE);
    let unknown = "{\"record\":\"wished\"}";
    let unknown = format!("{:08x} {unknown}\n", crc32fast_of(unknown));
    for (text, said) in [
        (good.replacen("journal 1", "journal 2", 1), "it is of version 2"),
        ("something else\n".to_owned(), "no journal of punctual's"),
        (String::new(), "no journal of punctual's"),
        (good.clone() + &unknown, "unknown kind 'wished'"),
    ] {
        bench.set(FILE, &text);
        let before = bench.picture();
        for refused in [
            tune(&bench, &[]).map(drop).unwrap_err(),
            revert(&bench, Extent::All, false).map(drop).unwrap_err(),
            EngineError::from(read(&bench).map(drop).unwrap_err()),
        ] {
            assert!(refused.to_string().contains(said), "{refused}");
        }
        let mut after = bench.picture();
        after.remove("var/lib/punctual/lock");
        assert!(after.iter().all(|(path, there)| before.get(path) == Some(there)));
    }
    bench.set(FILE, &good);
    assert!(revert(&bench, Extent::All, false).unwrap().closed);
}

/// The CRC-32 of a text. This implementation is slow but short; the crate for it is not a dependency of the tests.
fn crc32fast_of(text: &str) -> u32 {
    let step = |sum: u32, _: u32| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
    !text.bytes().fold(u32::MAX, |sum, byte| (0..8).fold(sum ^ u32::from(byte), step))
}

#[test]
fn a_journal_that_others_could_have_written_is_not_believed() {
    let (_folder, bench) = Bench::new();
    tune(&bench, &plan(&bench)).unwrap();
    for (path, mode) in [(FILE, 0o666), (FOLDER, 0o777)] {
        let kept = fs::metadata(bench.file(path)).unwrap().permissions();
        fs::set_permissions(bench.file(path), Permissions::from_mode(mode)).unwrap();
        let refused = revert(&bench, Extent::All, false).unwrap_err().to_string();
        assert!(refused.contains("others may write"), "{refused}");
        fs::set_permissions(bench.file(path), kept).unwrap();
    }
    assert_eq!(fs::metadata(bench.file(FILE)).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(bench.file(FOLDER)).unwrap().permissions().mode() & 0o777, 0o700);
    if std::os::unix::fs::chown(bench.file(FILE), Some(12345), None).is_ok() {
        let refused = revert(&bench, Extent::All, false).unwrap_err().to_string();
        assert!(refused.contains("user 12345"), "{refused}");
        std::os::unix::fs::chown(bench.file(FILE), Some(0), None).unwrap();
    }
    fs::rename(bench.file(FILE), bench.file("/var/lib/other/moved")).unwrap();
    std::os::unix::fs::symlink(bench.file("/var/lib/other/moved"), bench.file(FILE)).unwrap();
    assert!(revert(&bench, Extent::All, false).unwrap_err().to_string().contains("symbolic link"));
}

#[test]
fn where_nothing_can_be_written_down_nothing_is_done() {
    for (number, said) in [(libc::EACCES, "superuser"), (libc::EROFS, "remount"), (libc::ENOSPC, "make room")] {
        let folder = folder();
        let bench = Bench::make(folder.path());
        let start = bench.picture();
        // Faults in the operations for the folder, the lock, the journal, its first line, and the room for the rest.
        for at in [0, 2, 3, 4, 5] {
            let refused = tune(&Faulty::new(&bench, at, Fault::Fails(number)), &plan(&bench)).unwrap_err().to_string();
            assert!(refused.contains(said) && refused.contains("/var/lib/punctual"), "{at}: {refused}");
            assert_eq!(bench.picture(), start, "{at}: {refused}");
        }
    }
}

#[test]
fn what_nobody_watches_over_any_more_is_known() {
    let now = Now { boot: "a".to_owned(), boottime_ns: 100 };
    let begun = |boot: &str, kind: Purpose, confirm_by_ns| Begun {
        transaction: 1,
        at_unix_s: 0,
        boot: boot.to_owned(),
        version: String::new(),
        asked: punctual_linux::journal::TuningRequest::default(),
        kind,
        owner: Owner { pid: 7, started: 7 },
        confirm_by_ns,
    };
    let command = || Purpose::ForCommand { command: Vec::new() };
    let applied = JournalRecord::Applied { transaction: 1 };
    let leaving = JournalRecord::Leaving { transaction: 1 };
    let confirmed = JournalRecord::Confirmed { transaction: 1 };
    let cases = [
        (begun("a", Purpose::Tuned, None), vec![], false, Some(Pending::HalfApplied)),
        (begun("a", Purpose::Tuned, None), vec![], true, None),
        (begun("a", Purpose::Tuned, None), vec![applied.clone()], false, None),
        (begun("a", Purpose::Tuned, None), vec![applied.clone(), leaving], false, Some(Pending::HalfReverted)),
        (begun("a", command(), None), vec![applied.clone()], false, Some(Pending::OwnerGone)),
        (begun("a", command(), None), vec![applied.clone()], true, None),
        (begun("b", command(), None), vec![applied.clone()], true, Some(Pending::OwnerGone)),
        (begun("a", Purpose::Tuned, Some(101)), vec![applied.clone()], false, None),
        (begun("a", Purpose::Tuned, Some(100)), vec![applied.clone()], false, Some(Pending::NotConfirmed)),
        (begun("b", Purpose::Tuned, Some(101)), vec![applied.clone()], false, Some(Pending::NotConfirmed)),
        (begun("b", Purpose::Tuned, Some(101)), vec![applied, confirmed], false, None),
    ];
    for (begun, records, alive, wanted) in cases {
        let mut contents = punctual_linux::journal::Contents::default();
        let what = format!("{begun:?} {records:?} {alive}");
        contents.take(JournalRecord::Begun(begun));
        for record in records {
            contents.take(record);
        }
        let found = contents.pending(&now, &|_| alive).map(|(_, why)| why).next();
        assert_eq!(found, wanted, "{what}");
    }
}

#[test]
fn only_what_waits_is_confirmed_and_only_in_time() {
    let (_folder, bench) = Bench::new();
    let steps = || vec![change("x", vec![write("/proc/sys/kernel/numa_balancing", "0", Reading::Plain)])];
    let within = |time| punctual_linux::apply::Request { confirm_within: Some(time), ..request() };
    let blast = punctual_tuning::knobs::Blast::Harmless;
    assert!(confirm(&bench, None).is_err());
    Transaction::begin(&bench, &within(Duration::from_secs(60))).unwrap().apply(&steps(), blast).unwrap();
    assert!(confirm(&bench, Some(2)).is_err());
    assert_eq!(confirm(&bench, None).unwrap(), 1);
    assert!(confirm(&bench, None).is_err());
    revert(&bench, Extent::All, false).unwrap();
    Transaction::begin(&bench, &within(Duration::ZERO)).unwrap().apply(&steps(), blast).unwrap();
    assert!(confirm(&bench, None).unwrap_err().to_string().contains("time is up"));
    revert(&bench, Extent::All, false).unwrap();
    assert_eq!(format::VERSION, 1);
}

#[test]
fn what_was_confirmed_or_has_only_the_number_is_not_put_back_unasked() {
    let folder = folder();
    let bench = Bench::make(folder.path());
    let path = "/proc/sys/kernel/numa_balancing";
    let tune = |value| {
        let request = punctual_linux::apply::Request { confirm_within: Some(Duration::ZERO), ..request() };
        let changes = [change("x", vec![write(path, value, Reading::Plain)])];
        let blast = punctual_tuning::knobs::Blast::Harmless;
        assert_eq!(Transaction::begin(&bench, &request).unwrap().apply(&changes, blast).unwrap().transaction, 1);
        read(&bench).unwrap().unwrap().sessions.remove(0).begun.unwrap()
    };
    let first = tune("2");
    revert(&bench, Extent::All, false).unwrap();
    let second = tune("3");
    // Another program saw the first transaction as pending, and has waited for the lock since.
    assert_eq!(revert_pending(&bench, &first).unwrap(), None);
    assert_eq!(bench.text(path), "3\n");
    Journal::open(&bench).unwrap().unwrap().append(JournalRecord::Confirmed { transaction: 1 }).unwrap();
    assert_eq!(revert_pending(&bench, &second).unwrap(), None);
    assert_eq!(bench.text(path), "3\n");
    revert(&bench, Extent::All, false).unwrap();
    let third = tune("4");
    assert!(revert_pending(&bench, &third).unwrap().unwrap().closed);
    assert_eq!(bench.text(path), "1\n");
    assert_eq!(revert_pending(&bench, &third).unwrap(), None);
}

/// A file system that is mounted below the machine's folder until this value is dropped.
struct Mounted(std::path::PathBuf);

impl Mounted {
    /// Mounts a file system; `None` if this user or this place does not permit it.
    fn new(at: &std::path::Path, options: &str) -> Option<Self> {
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).status();
        mount.is_ok_and(|status| status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        Command::new("umount").arg(&self.0).status().unwrap();
    }
}

#[test]
fn a_disk_that_is_really_full_or_read_only_stops_everything_before_it_begins() {
    for (options, said) in [("size=64k,mode=755", "make room"), ("size=64k,mode=755,ro", "remount")] {
        let folder = folder();
        let bench = Bench::make(folder.path());
        let Some(_mounted) = Mounted::new(&bench.file("/var/lib"), options) else {
            return println!("skipped: no file system can be mounted here");
        };
        // The last pages are used by the folder itself, so that even the first file finds no room.
        let filled = fs::write(bench.file("/var/lib/filler"), vec![1; 1 << 17]);
        assert!(filled.is_err());
        let start = bench.picture();
        let refused = tune(&bench, &plan(&bench)).unwrap_err().to_string();
        assert!(refused.contains(said) && refused.contains("/var/lib/punctual"), "{refused}");
        assert_eq!(bench.picture(), start);
    }
}
