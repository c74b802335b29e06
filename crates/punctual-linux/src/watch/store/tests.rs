//! Tests of the store: what a crash at any moment leaves behind, and what a full store gives up.

use super::*;
use punctual_hist::{Counts, MonoTime, Nanos};
use punctual_numbers::placement::Placement;
use punctual_numbers::recording::{
    Clock, CpuInterval, End, EndReason, Header, Interval, RecTime, encode, encode_preamble,
};
use punctual_numbers::scenario::{Amount, Policy, Scenario};
use punctual_numbers::watch::{DAY, Day, History};
use std::os::unix::ffi::OsStrExt;

const BEGUN: u64 = 20_000 * DAY.as_ns();

fn header(day: u64) -> Frame {
    Frame::Header(Box::new(Header {
        tool_version: "0.1.0".to_owned(),
        started_unix_ns: BEGUN + day * DAY.as_ns(),
        epoch: MonoTime::from_ns(1_000_000_000),
        scenario: Scenario::plain([1], Nanos::from_ms(1), Policy::Fifo(90), Amount::Time(DAY)),
        machine: Vec::new(),
        placement: Placement::default(),
        clock: Clock::default(),
        checkpoint: Nanos::from_secs(10),
    }))
}

/// An interval of a minute with latencies from the given one on, in as many buckets as a real one has.
fn interval(minute: u64, from_us: u64) -> Frame {
    let mut counts = Counts::new();
    (0..40).for_each(|n| counts.record_n(Nanos::from_ns(from_us * 1000 + n * n * 40), 1 + (n * 7 + minute) % 13));
    let max = (u32::try_from(minute * 60).unwrap(), counts.max().unwrap());
    let cpu = CpuInterval { block_max: vec![max], ..CpuInterval::of(1, &counts, &Counts::new()) };
    Frame::Interval(Interval {
        start: RecTime::from_secs(minute * 60),
        length: Nanos::from_secs(60),
        phase: 0,
        cpus: vec![cpu],
    })
}

fn day(number: u64, minutes: u64) -> Vec<Frame> {
    let mut frames = vec![header(number)];
    frames.extend((0..minutes).map(|minute| interval(minute, 3 + number % 5)));
    frames.push(Frame::End(End {
        at: RecTime::from_secs(minutes * 60),
        reason: EndReason::Completed,
        write_error: None,
    }));
    frames
}

fn record(store: &mut Store, frames: &[Frame]) {
    let mut writer = store.begin().unwrap();
    for frame in frames {
        writer.append(frame).unwrap();
    }
    writer.finish().unwrap();
    drop(writer);
    store.end().unwrap();
}

fn history(folder: &Path) -> History {
    History::of(read_segments(folder).unwrap()).unwrap()
}

fn ran(folder: &Path) -> u64 {
    history(folder).days.iter().map(Day::ran).sum()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn segments_are_condensed_one_after_the_other() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("it's a \u{1f550} store");
    let mut store = Store::open(&folder, BYTES_MIN).unwrap();
    record(&mut store, &day(0, 30));
    record(&mut store, &day(1, 30));
    assert_eq!(names(&folder), ["watch-000001-5m.punctual", "watch-000002-5m.punctual", "watch.lock"]);
    let each = ran(&folder) / 2;
    drop(store);
    let mut store = Store::open(&folder, BYTES_MIN).unwrap();
    record(&mut store, &day(2, 30));
    assert_eq!(files(&folder).unwrap().last().unwrap().number, 3);
    assert!(ran(&folder) > each * 2);
}

#[test]
fn a_name_that_is_no_text_is_a_name() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join(std::ffi::OsStr::from_bytes(b"no\xfftext"));
    record(&mut Store::open(&folder, BYTES_MIN).unwrap(), &day(0, 5));
    assert_eq!(history(&folder).days.len(), 1);
}

#[test]
fn a_second_watch_of_one_store_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let first = Store::open(dir.path(), BYTES_MIN).unwrap();
    let refused = Store::open(dir.path(), BYTES_MIN).unwrap_err().to_string();
    assert!(refused.contains(&format!("process {}", std::process::id())) && refused.contains("--store"), "{refused}");
    drop(first);
    Store::open(dir.path(), BYTES_MIN).unwrap();
}

#[test]
fn what_is_no_folder_is_refused_with_a_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [file.clone(), file.join("below"), PathBuf::from("/proc/no store can be here")] {
        let refused = Store::open(&path, BYTES_MIN).unwrap_err().to_string();
        assert!(refused.contains("--store"), "{refused}");
    }
    assert!(matches!(read_segments(dir.path()), Err(StoreError::NoStore { .. })));
    assert!(matches!(read_segments(&file), Err(StoreError::Io { .. })));
}

/// What a killed process or a power failure leaves: the first bytes of the segment.
#[test]
fn a_segment_cut_off_anywhere_is_read_up_to_there_and_the_next_begins() {
    let mut bytes = Vec::new();
    encode_preamble(&mut bytes);
    for frame in day(0, 20) {
        encode(&frame, &mut bytes).unwrap();
    }
    let mut before = 0;
    for cut in (0..bytes.len()).step_by(97) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("watch-000001.punctual"), &bytes[..cut]).unwrap();
        let mut store = Store::open(dir.path(), BYTES_MIN).unwrap();
        let read: u64 = read_segments(dir.path()).map_or(0, |_| ran(dir.path()));
        assert!(read >= before, "{cut} bytes");
        before = read;
        record(&mut store, &day(1, 2));
        let history = history(dir.path());
        assert!(history.damaged.is_empty() && !history.is_open);
        assert!(names(dir.path()).iter().all(|name| !name.contains(".new")));
    }
    assert!(before > 0);
}

/// A crash between any two operations of condensing: the file that is being written, the renamed file beside the original.
#[test]
fn a_crash_while_condensing_loses_and_doubles_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path(), BYTES_MIN).unwrap();
    let mut writer = store.begin().unwrap();
    for frame in &day(0, 30) {
        writer.append(frame).unwrap();
    }
    writer.finish().unwrap();
    drop((writer, store));
    let original = fs::read(dir.path().join("watch-000001.punctual")).unwrap();
    let whole = ran(dir.path());
    drop(Store::open(dir.path(), BYTES_MIN).unwrap());
    let condensed = fs::read(dir.path().join("watch-000001-5m.punctual")).unwrap();
    assert!(condensed.len() < original.len());
    for (new, both) in [(Some(condensed.len() / 2), false), (Some(condensed.len()), false), (None, true)] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("watch-000001.punctual"), &original).unwrap();
        if let Some(length) = new {
            fs::write(dir.path().join("watch-000001-5m.punctual.new"), &condensed[..length]).unwrap();
        }
        if both {
            fs::write(dir.path().join("watch-000001-5m.punctual"), &condensed).unwrap();
        }
        assert_eq!(ran(dir.path()), whole, "before it is put in order");
        drop(Store::open(dir.path(), BYTES_MIN).unwrap());
        assert_eq!(names(dir.path()), ["watch-000001-5m.punctual", "watch.lock"]);
        assert_eq!(ran(dir.path()), whole);
    }
}

#[test]
fn damage_in_the_middle_is_kept_and_said() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path(), BYTES_MIN).unwrap();
    let mut writer = store.begin().unwrap();
    for frame in &day(0, 30) {
        writer.append(frame).unwrap();
    }
    writer.finish().unwrap();
    drop((writer, store));
    let path = dir.path().join("watch-000001.punctual");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&path, &bytes).unwrap();
    drop(Store::open(dir.path(), BYTES_MIN).unwrap());
    assert_eq!(fs::read(&path).unwrap(), bytes, "the bytes behind the damage could be of use");
    assert_eq!(history(dir.path()).damaged, [1]);
}

#[test]
fn a_full_store_loses_detail_and_then_its_oldest_days() {
    let dir = tempfile::tempdir().unwrap();
    let one = {
        let mut store = Store::open(dir.path(), BYTES_MIN).unwrap();
        record(&mut store, &day(0, 60));
        files(dir.path()).unwrap()[0].bytes
    };
    // So small a store is refused to users; here it makes the test short.
    let mut store = Store { bytes_max: one * 6, ..Store::open(dir.path(), BYTES_MIN).unwrap() };
    let mut most = 0;
    for number in 1..40 {
        record(&mut store, &day(number, 60));
        most = most.max(files(dir.path()).unwrap().iter().map(|file| file.bytes).sum());
    }
    assert!(most <= one * 6, "{most} bytes");
    let kept = files(dir.path()).unwrap();
    let levels: Vec<Option<usize>> = kept.iter().map(|file| file.level).collect();
    assert!(levels.is_sorted_by_key(|level| std::cmp::Reverse(*level)), "the oldest have the least detail: {levels:?}");
    assert!(levels.contains(&Some(2)) && levels.contains(&Some(0)), "{levels:?}");
    assert_eq!(kept.last().unwrap().number, 40);
    let history = history(dir.path());
    assert_eq!(history.days.last().unwrap().watched_ns, Nanos::from_secs(3600));
    assert!(history.days.len() >= 6, "{} days", history.days.len());
}

#[test]
fn several_segments_of_a_day_are_read_together() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path(), BYTES_MIN).unwrap();
    record(&mut store, &day(0, 10));
    record(&mut store, &day(0, 20));
    let recording = read_together(dir.path(), &[1, 2], Some(2)).unwrap().unwrap();
    assert_eq!((recording.runs.len(), recording.covered), (2, Nanos::from_secs(1800)));
    assert_eq!(recording.cpus[&1].ran.count(), ran(dir.path()));
    assert!(read_together(dir.path(), &[7], None).unwrap().is_none());
}
