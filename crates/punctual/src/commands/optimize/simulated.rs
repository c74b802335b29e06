//! A simulated machine with a campaign across boots, for tests.

use punctual_hist::Nanos;
use punctual_linux::apply::{Fate, Machine, Request, Transaction};
use punctual_linux::journal::{KeptSetting, Purpose, TuningRequest};
use punctual_optimize::format::{Doubts, Kept};
use punctual_optimize::{Campaign, Candidate, Design, Strategy};
use punctual_tuning::knobs::Blast;
use punctual_tuning::plan::{Change, Keep, Lasts, Step, Takes};
use std::fs;

/// The campaign's folder, which the tests need not create.
pub const FOLDER: &str = "/srv/campaign";
/// Paths of the campaign's boot entry and of its systemd unit, relative to the machine's root.
pub const ENTRY: &str = "boot/loader/entries/punctual.conf";
pub const UNIT: &str = "etc/systemd/system/punctual-campaign.service";

/// A campaign without measurements that was begun with these words.
pub fn kept(arguments: &[&str]) -> Kept {
    let text = String::new;
    let candidate = |id: &str| Candidate { id: id.to_owned(), title: text(), cost: text(), boot: Vec::new() };
    let design = Design::new(vec![candidate("a"), candidate("b")], Strategy::OneAtATime, 1, 0.1, 100).unwrap();
    Kept {
        arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
        spent: Nanos::ZERO,
        last: None,
        campaign: Campaign::new(design),
        across: None,
        doubts: Doubts::default(),
    }
}

/// A simulated machine on which nothing has been changed.
pub fn machine() -> (tempfile::TempDir, Machine) {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["proc/sys/kernel/random", "boot/loader/entries", "etc/systemd/system", "var/lib"] {
        fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    fs::write(dir.path().join("proc/sys/kernel/random/boot_id"), "this-boot\n").unwrap();
    let hand = Machine::below(dir.path());
    (dir, hand)
}

/// Applies the boot entry and the unit of a campaign in this folder.
pub fn under_way(hand: &Machine, folder: &str) {
    under_way_as(hand, folder, &format!("/{ENTRY}"), &format!("/{UNIT}"));
}

/// Like [`under_way`], with these paths for entry and unit.
pub fn under_way_as(hand: &Machine, folder: &str, entry: &str, unit: &str) {
    applied(hand, folder, unit, Vec::new());
    applied(
        hand,
        folder,
        entry,
        vec![KeptSetting { knob: "tick.skew".to_owned(), keep: Keep::Word("skew_tick=1".to_owned()) }],
    );
}

fn applied(hand: &Machine, folder: &str, path: &str, keeps: Vec<KeptSetting>) {
    let asked = TuningRequest { cpus: "1".to_owned(), profile: "periodic".to_owned(), arguments: Vec::new(), keeps };
    let kind = Purpose::Campaign { folder: folder.to_owned() };
    let request = Request { kind, asked, confirm_within: None };
    let change = Change {
        id: "boot.entry".to_owned(),
        title: String::new(),
        before: String::new(),
        after: String::new(),
        why: String::new(),
        cost: String::new(),
        risk: String::new(),
        blast: Blast::Harmless,
        lasts: Lasts::ForGood,
        takes: Takes::NextBoot,
        undo: String::new(),
        proof: String::new(),
        steps: vec![Step::Own { path: path.to_owned(), content: "ours\n".to_owned(), mode: 0o644 }],
        keeps: Vec::new(),
        also: Vec::new(),
        is_apart: false,
    };
    let applied = Transaction::begin(hand, &request).unwrap().apply(&[change], Blast::Harmless).unwrap();
    assert!(applied.stands && applied.changes.iter().all(|tried| tried.fate == Fate::Done), "{applied:?}");
}
