//! Compares pictures of the live view with golden files that a reviewer has read, and tests what keys do.

use super::keys::Key;
use super::picture::{Picture, Wish};
use super::terminal::tests::{modes, unread};
use super::view::View;
use crate::render::golden::assert_golden;
use punctual_hist::{Counts, MonoTime, Nanos};
use punctual_linux::measure::{CpuSoFar, PhaseNumber, Progress, Spike};

/// A CPU after `seconds` at a period of 1 ms: latencies of 12 us and a little more, and one spike of 480 us in second
/// 3.
fn cpu(number: u32, seconds: u64) -> CpuSoFar {
    let mut ran = Counts::new();
    for n in 0..seconds * 1000 {
        ran.record(Nanos::from_ns(12_000 + n % 10 * 300 + u64::from(number) * 1_000));
    }
    let spike = Spike {
        woke: MonoTime::from_ns(103_200_000_000),
        latency: Nanos::from_us(480),
        cause: (number == 1).then(|| "IRQ 131 nvme0q3".to_owned()),
    };
    let has_spike = seconds >= 4;
    if has_spike {
        ran.record(spike.latency);
    }
    CpuSoFar { cpu: number, ran, skipped: if has_spike { 2 } else { 0 }, last_spike: has_spike.then_some(spike) }
}

fn progress(cpus: u32, seconds: u64) -> Progress {
    Progress {
        at: MonoTime::from_ns(100_000_000_000).plus(Nanos::from_secs(seconds)),
        elapsed: Nanos::from_secs(seconds),
        total: Nanos::from_secs(300),
        is_idle: false,
        phase: "cpu+memory".to_owned(),
        phase_number: PhaseNumber { number: 2, of: 3 },
        warming_up: false,
        cpus: Vec::new(),
        skipped: 0,
        latencies: (0..cpus).map(|number| cpu(number, seconds)).collect(),
    }
}

fn after(cpus: u32, seconds: std::ops::RangeInclusive<u64>) -> View {
    let mut view = View::default();
    seconds.for_each(|second| view.take(progress(cpus, second)));
    view
}

fn picture(view: &mut View, columns: usize, rows: usize) -> String {
    let lines = view.lines(columns, rows);
    assert!(lines.len() <= rows, "{} lines in {rows} rows", lines.len());
    assert!(lines.iter().all(|line| line.text.len() <= columns && line.text.is_ascii()));
    lines.iter().fold(String::new(), |text, line| text + &line.text + "\n")
}

#[test]
fn pictures() {
    assert_golden("live-80x24.txt", &picture(&mut after(2, 1..=12), 80, 24));
    assert_golden("live-wide.txt", &picture(&mut after(4, 1..=12), 130, 16));
    assert_golden("live-many-cpus.txt", &picture(&mut after(64, 1..=5), 130, 20));
    assert_golden("live-begin.txt", &picture(&mut after(2, 1..=1), 80, 16));
    assert_golden("live-small.txt", &picture(&mut after(2, 1..=12), 30, 6));
}

#[test]
fn whatever_the_size_the_picture_fits() {
    let mut view = after(64, 1..=5);
    for columns in [0, 1, 39, 40, 79, 80, 81, 200, 1000] {
        for rows in [0, 1, 7, 8, 9, 24, 100] {
            if rows > 0 {
                picture(&mut view, columns, rows);
            }
        }
    }
    assert_eq!(picture(&mut after(2, 1..=5), 12, 1), "0 max 480.0\n", "the least is the worst of one CPU");
    assert_eq!(picture(&mut View::default(), 80, 24), "about to begin\n");
}

#[test]
fn a_paused_view_stands_still_but_for_the_time() {
    let mut view = after(2, 1..=3);
    assert_eq!(view.press(Key::Char('p')), None);
    let before = picture(&mut view, 130, 16);
    view.take(progress(2, 9));
    let paused = picture(&mut view, 130, 16);
    let table = |text: &str| text.lines().skip(4).take(3).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(table(&before), table(&paused));
    assert!(paused.contains("PAUSED") && paused.contains("9 s of 5 min"), "{paused}");
    view.press(Key::Char(' '));
    let on = picture(&mut view, 130, 16);
    assert!(on.contains("480.0") && !on.contains("PAUSED"), "what came meanwhile is shown:\n{on}");
}

#[test]
fn on_a_small_screen_cpus_are_scrolled_and_what_is_the_matter_is_said() {
    let mut view = after(64, 1..=5);
    assert!(picture(&mut view, 30, 4).starts_with("0 max 480.0 p99.9 "), "{}", picture(&mut view, 30, 4));
    view.press(Key::PageDown);
    assert!(picture(&mut view, 30, 4).starts_with("4 max 480.0"), "{}", picture(&mut view, 30, 4));
    view.press(Key::Char('p'));
    assert!(picture(&mut view, 30, 4).ends_with("PAUSED, p continues\n"));
    view.press(Key::Char('q'));
    assert!(picture(&mut view, 30, 4).ends_with("ending\n"));
}

#[test]
fn a_reset_begins_anew_with_what_comes_after_it() {
    let mut view = after(1, 1..=6);
    assert!(picture(&mut view, 130, 16).contains("480.0       2"));
    view.press(Key::Char('r'));
    view.take(progress(1, 7));
    let text = picture(&mut view, 130, 16);
    let row = text.lines().find(|line| line.starts_with("  0 ")).unwrap();
    let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells[2..5], cells[5..8], "one second of late is all there is: {row}");
    assert_eq!(cells[8], "0", "{row}");
    assert!(text.contains("since the reset at 6.000 s"), "{text}");
    assert_eq!(View::default().press(Key::Char('r')), None, "before there is anything");
}

#[test]
fn a_warm_up_is_in_no_rate() {
    let mut view = after(1, 1..=2);
    let warming_up = Progress { warming_up: true, latencies: Vec::new(), ..progress(1, 2) };
    view.take(warming_up);
    assert!(picture(&mut view, 130, 16).contains("cpu+memory, warming up: not counted"));
    view.take(progress(1, 8));
    let row = |text: String| text.lines().find(|line| line.starts_with("  0 ")).map(str::to_owned).unwrap();
    assert!(row(picture(&mut view, 130, 16)).starts_with("  0       -"), "one reading gives no rate");
    view.take(progress(1, 9));
    assert!(row(picture(&mut view, 130, 16)).starts_with("  0   1 000"));
}

#[test]
fn keys_scroll_and_ask() {
    let mut view = after(64, 1..=5);
    picture(&mut view, 130, 20);
    assert_eq!([Key::PageDown, Key::Down, Key::Up, Key::Down].map(|key| view.press(key)), [None; 4]);
    assert!(picture(&mut view, 130, 20).contains("CPU rows 14 to 25 of 64"), "{}", picture(&mut view, 130, 20));
    (0..20).for_each(|_| assert_eq!(view.press(Key::PageDown), None));
    assert!(picture(&mut view, 130, 20).contains("CPU rows 53 to 64 of 64"));
    view.press(Key::Up);
    assert!(
        picture(&mut view, 130, 20).contains("CPU rows 52 to 63 of 64"),
        "there is nothing beyond the end to come back from"
    );
    assert_eq!(view.press(Key::Char('m')), Some(Wish::Mark));
    assert_eq!(view.press(Key::Char('x')), None);
    assert_eq!(view.press(Key::Char('q')), Some(Wish::Quit));
    assert!(picture(&mut view, 130, 20).contains("ending"));
}

#[test]
fn whoever_panics_puts_the_terminal_back_first() {
    let (terminal, _master) = unread();
    let terminal = std::sync::Arc::new(terminal);
    let before = modes(&terminal);
    let abandoned = super::put_back_on_panic(&terminal);
    terminal.enter();
    let panicked = std::thread::spawn(|| panic!("on purpose")).join();
    assert!(panicked.is_err() && abandoned.load(std::sync::atomic::Ordering::Relaxed));
    assert_eq!((modes(&terminal), terminal.is_taken()), (before, false));
    drop(std::panic::take_hook());
}
