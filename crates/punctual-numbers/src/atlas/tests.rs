//! Entries of recordings and of other programs' files, and what is wrong with spoilt ones.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::*;
use crate::fleet::of_recording;
use crate::foreign::{ImportOptions, import};
use crate::recording::{Recording, sample};

fn told() -> Told {
    Told { load: Some("idle".to_owned()), ..Told::default() }
}

fn of_file(name: &str) -> Entry {
    let bytes = std::fs::read(fixtures::repository("fixtures/foreign").join(name)).unwrap();
    let run = import(&bytes, ImportOptions::default()).unwrap();
    let machine = vec![("model", "a board").into()];
    Entry::of_foreign(&run, Told { machine, ..told() })
}

#[test]
fn a_recording_has_a_result_for_each_cpu_and_load() {
    let mut header = sample::header(0);
    header.machine = vec![("model", "a board").into(), ("kernel", "6.12.1, PREEMPT_RT, arm64").into()];
    let mut recording = Recording::new(header);
    for (n, latency_us) in [10, 12, 70].into_iter().enumerate() {
        recording.add(sample::second(n as u64, Nanos::from_us(latency_us)));
    }
    let packed = of_recording(&recording, String::new(), 0);
    let entry = Entry::of_recording(&packed, &recording.header.machine, Vec::new(), Told::default());
    assert_eq!(entry.title, "a board, 6.12.1, PREEMPT_RT, arm64");
    assert_eq!(entry.complaints(), []);
    let counted: u64 = entry.results.iter().flat_map(|result| &result.cells).map(|[.., count]| count).sum();
    assert_eq!(counted, packed.run.ran);
    assert_eq!(entry.results.iter().filter_map(|result| result.max_ns).max(), Some(70_000));
    let text = serde_json::to_string(&entry).unwrap();
    assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), entry);
}

#[test]
fn a_mean_that_is_read_from_cells_stays_between_the_extremes() {
    for latency_ns in (10_000..11_000).step_by(7) {
        let mut recording = Recording::new(sample::header(0));
        recording.add(sample::second(0, Nanos::from_ns(latency_ns)));
        let packed = of_recording(&recording, String::new(), 0);
        let machine = vec![("model", "a board").into()];
        let entry = Entry::of_recording(&packed, &machine, Vec::new(), Told::default());
        assert_eq!(entry.complaints(), [], "{latency_ns}");
    }
}

#[test]
fn files_of_other_programs_become_sound_entries() {
    for name in ["latmus-rk3588-2h.txt", "cyclictest.json", "rtla-timerlat.txt"] {
        let entry = of_file(name);
        assert_eq!(entry.complaints(), [], "{name}");
        assert_eq!(entry.source.kind, SourceKind::OtherProgram);
    }
}

#[test]
fn what_is_wrong_with_an_entry_is_told() {
    let good = of_file("latmus-rk3588-2h.txt");
    let spoilt = |spoil: fn(&mut Entry)| {
        let mut entry = Entry { doubts: Vec::new(), ..good.clone() };
        spoil(&mut entry);
        entry.complaints()
    };
    let result = good.results[0].name.clone();
    assert_eq!(spoilt(|_| ()), []);
    assert_eq!(spoilt(|entry| entry.title = " ".to_owned()), [Complaint::NoTitle]);
    assert_eq!(spoilt(|entry| entry.machine.clear()), [Complaint::NoMachine]);
    assert_eq!(spoilt(|entry| entry.results.clear()), [Complaint::NoResult]);
    assert_eq!(spoilt(|entry| entry.source.kind = SourceKind::Published), [Complaint::NoSource]);
    assert_eq!(spoilt(|entry| entry.source.day = Some("27.11.2026".to_owned())), [Complaint::Day("27.11.2026".into())]);
    assert_eq!(spoilt(|entry| entry.source.day = Some("2026-11-27".to_owned())), []);
    assert_eq!(spoilt(|entry| entry.results[0].load.clear()), [Complaint::NoLoad { result: result.clone() }]);
    let (ran, counted) = (good.results[0].ran, good.results[0].ran + 1);
    assert_eq!(
        spoilt(|entry| entry.results[0].cells[0][2] += 1),
        [Complaint::Counts { result: result.clone(), ran, counted }]
    );
    assert_eq!(spoilt(|entry| entry.results[0].cells.swap(0, 1)), [Complaint::Order { result: result.clone() }]);
    assert_eq!(spoilt(|entry| entry.results[0].max_ns = Some(1)), [Complaint::Extremes { result }]);
}

/// Entries of the repository are checked as contributions are.
#[test]
fn every_entry_of_the_repository_is_sound() {
    let mut seen = 0;
    for path in std::fs::read_dir(fixtures::repository("atlas/entries")).unwrap().map(|file| file.unwrap().path()) {
        let mut value: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let head = value.as_object_mut().unwrap();
        assert_eq!(head.remove("schema"), Some(SCHEMA.into()), "{}", path.display());
        head.remove("tool_version");
        let entry: Entry = serde_json::from_value(value).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(entry.complaints(), [], "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 3, "{seen} entries");
}
