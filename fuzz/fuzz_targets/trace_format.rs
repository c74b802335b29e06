//! Parses any text as the layout of a trace page and as the format of an event, and decodes any bytes with the result,
//! which must not panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_numbers::trace::{Decoder, EVENTS, Names, PageLayout, RawEvent};
use punctual_hist::MonoTime;

fuzz_target!(|bytes: &[u8]| {
    let Some(([which, half], rest)) = bytes.split_first_chunk::<2>() else { return };
    let (text, payload) = rest.split_at(rest.len() * usize::from(*half) / 255);
    let text = String::from_utf8_lossy(text);
    if let Ok(layout) = PageLayout::parse(&text) {
        if let Ok(page) = layout.page(payload) {
            assert!(page.events().count() <= payload.len() / 4);
        }
    }
    let wanted = &EVENTS[usize::from(*which) % EVENTS.len()];
    let mut decoder = Decoder::new();
    let learned = decoder.learn(wanted.group, wanted.name, &text);
    assert_eq!(learned.is_ok(), decoder.knows(wanted.group, wanted.name));
    let event = RawEvent { at: MonoTime::from_ns(1), payload };
    let mut records = Vec::new();
    decoder.decode_each(&event, &mut Names::default(), |record| records.push(record));
    assert!(learned.is_ok() || records.is_empty());
    assert_eq!(decoder.decode(&event, &mut Names::default()).as_ref(), records.first());
});
