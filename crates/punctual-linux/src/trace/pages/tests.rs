//! Pages from a file instead of the kernel: complete ones, ones before which records were lost, and noise.

use super::*;
use std::fs::File;
use std::io::{Seek, Write};

const HEADER: &str = include_str!("../../../../../fixtures/trace/6.18/header_page");
const IDLE: &str = "name: cpu_idle\nID: 7\nformat:\n\
    \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
    \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
    \tfield:u32 state;\toffset:8;\tsize:4;\tsigned:0;\n\
    \tfield:u32 cpu_id;\toffset:12;\tsize:4;\tsigned:0;\n";
const MISSED: u64 = 1 << 31;

fn layout() -> PageLayout {
    PageLayout::parse(HEADER).unwrap()
}

fn at(us: u64) -> MonoTime {
    MonoTime::from_ns(us * 1_000)
}

fn page(missed: bool, times_us: &[u64]) -> Vec<u8> {
    let mut data = Vec::new();
    let mut now = times_us[0];
    for us in times_us {
        let delta = u32::try_from((us - now) * 1_000).unwrap();
        now = *us;
        let words = [4 | delta << 5, 7, 0, 1, 1];
        data.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }
    let commit = data.len() as u64 | if missed { MISSED } else { 0 };
    let mut page = [(times_us[0] * 1_000).to_le_bytes(), commit.to_le_bytes()].concat();
    page.extend(data);
    page
}

/// A page that claims an impossible length.
fn noise() -> Vec<u8> {
    [at(0).as_ns().to_le_bytes(), 100_000_u64.to_le_bytes()].concat()
}

/// A reader with these pages, read at 10 ms, of a trace that began at 0.
fn read_of(pages: &[Vec<u8>]) -> Pages {
    let mut file = tempfile::tempfile().unwrap();
    for page in pages {
        let mut whole = page.clone();
        whole.resize(layout().size(), 0);
        file.write_all(&whole).unwrap();
    }
    file.rewind().unwrap();
    let mut read = Pages::new(1, File::into(file), layout().size(), 1 << 20);
    read.begin(at(0));
    read.drain(&layout(), || at(10_000));
    read
}

/// Times of the records in a span in microseconds, each with whether it is a loss.
fn told(pages: &Pages, from_us: u64, to_us: u64) -> Vec<(u64, bool)> {
    let mut decoder = Decoder::new();
    decoder.learn("power", "cpu_idle", IDLE).unwrap();
    let records = pages.records(Span { from: at(from_us), to: at(to_us) }, &layout(), &decoder, &mut Names::default());
    let each = |record: &TraceRecord| (record.at.as_ns() / 1_000, matches!(record.what, TraceEvent::Lost { .. }));
    records.iter().map(each).collect()
}

#[test]
fn a_loss_reaches_from_the_last_record_before_it_to_the_next() {
    let pages = read_of(&[page(false, &[100, 200]), page(true, &[500, 600])]);
    assert_eq!(told(&pages, 0, 900), [(100, false), (200, false), (200, true), (500, false), (600, false)]);
    assert_eq!(told(&pages, 150, 400), [(200, false), (200, true)], "the page after it lies beyond the span");
    assert_eq!(told(&pages, 300, 400), [(300, true)], "all of the span is in it");
    assert_eq!(told(&pages, 100, 199), [(100, false)], "it was before that");
    assert_eq!(told(&pages, 510, 900), [(600, false)], "it was over by then");
}

#[test]
fn a_page_that_is_not_understood_is_a_hole_in_its_place() {
    let pages = read_of(&[page(false, &[100, 200]), noise(), page(false, &[500, 600])]);
    assert_eq!(pages.damaged, 1);
    assert_eq!(told(&pages, 0, 900), [(100, false), (200, false), (200, true), (500, false), (600, false)]);
    assert_eq!(told(&pages, 300, 400), [(300, true)]);
    assert_eq!(told(&pages, 550, 900), [(600, false)]);
    let pages = read_of(&[page(false, &[100, 200]), noise()]);
    assert_eq!(told(&pages, 150, 400), [(200, false), (200, true)], "nobody knows where it ends");
}

#[test]
fn of_a_page_that_is_damaged_within_the_rest_is_missing() {
    let mut broken = page(false, &[100, 200, 300]);
    // The second record claims to be longer than the page.
    broken[16 + 20..16 + 24].copy_from_slice(&[0x1c | 0x20, 0, 0, 0]);
    broken.truncate(16 + 40);
    broken[8..16].copy_from_slice(&40_u64.to_le_bytes());
    let pages = read_of(&[broken, page(false, &[500])]);
    assert_eq!(told(&pages, 0, 900), [(100, false), (100, true), (500, false)]);
}

#[test]
fn pages_tell_from_when_to_when_they_reach() {
    let pages = read_of(&[page(false, &[100])]);
    assert_eq!(pages.covered(), Span { from: at(0), to: at(10_000) });
    assert!(!pages.warped);
    assert!(read_of(&[page(false, &[20_000])]).warped, "of the future");
}
