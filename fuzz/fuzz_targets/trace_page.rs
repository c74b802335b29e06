//! Decodes any bytes as a page of the kernel's trace. The number of events must be bounded, and their times must not go
//! backwards.

#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_numbers::trace::{Decoder, EVENTS, Names, PageLayout};
use std::sync::OnceLock;

const HEADER: &str = include_str!("../../fixtures/trace/6.18/header_page");
const FORMATS: &str = include_str!("../../fixtures/trace/6.18/formats");

fuzz_target!(|bytes: &[u8]| {
    let (layout, decoder) = kernel();
    let Ok(page) = layout.page(bytes) else { return };
    let mut names = Names::default();
    let (mut last, mut count, mut failed) = (page.start, 0, false);
    for event in page.events() {
        assert!(!failed, "nothing comes after an error");
        count += 1;
        let Ok(event) = event else {
            failed = true;
            continue;
        };
        assert!(event.at >= last && event.payload.len() <= bytes.len());
        last = event.at;
        let mut records = Vec::new();
        decoder.decode_each(&event, &mut names, |record| records.push(record));
        assert_eq!(decoder.decode(&event, &mut names).as_ref(), records.first());
        assert!(records.iter().all(|record| record.at == event.at));
    }
    assert!(count <= bytes.len() / 4);
});

fn kernel() -> &'static (PageLayout, Decoder) {
    static KERNEL: OnceLock<(PageLayout, Decoder)> = OnceLock::new();
    KERNEL.get_or_init(|| {
        let mut decoder = Decoder::new();
        for part in FORMATS.split("== ").skip(1) {
            let (path, text) = part.split_once('\n').expect("a first line");
            let (group, name) = path.split_once(':').expect("a group");
            decoder.learn(group, name, text).expect("a format of a real kernel");
        }
        assert!(EVENTS.iter().all(|wanted| !wanted.everywhere || decoder.knows(wanted.group, wanted.name)));
        (PageLayout::parse(HEADER).expect("a head of a real kernel"), decoder)
    })
}
