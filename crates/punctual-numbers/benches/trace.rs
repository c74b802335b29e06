//! Measures how fast raw pages of the kernel's trace are decoded: `cargo bench -p punctual-numbers --bench trace`.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and one that cannot go on has failed")]

use punctual_numbers::trace::{Decoder, Names, PageLayout};
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

fn main() {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/trace");
    for (kernel, dump) in [("6.18", "busy"), ("6.12-rt", "plain-cpu0")] {
        let text = |name: &str| std::fs::read_to_string(trace.join(kernel).join(name)).unwrap();
        let layout = PageLayout::parse(&text("header_page")).unwrap();
        let mut decoder = Decoder::new();
        for part in text("formats").split("== ").skip(1) {
            let (path, format) = part.split_once('\n').unwrap();
            let (group, name) = path.split_once(':').unwrap();
            decoder.learn(group, name, format).unwrap();
        }
        let pages: Vec<Vec<u8>> = text(&format!("{dump}.pages")).split("\n\n").map(bytes).collect();
        let mut names = Names::default();
        let mut best = f64::MAX;
        for _ in 0..20 {
            let (start, mut events) = (Instant::now(), 0_u32);
            for _ in 0..500 {
                for page in &pages {
                    for event in layout.page(black_box(page)).unwrap().events() {
                        events += 1;
                        black_box(decoder.decode(&event.unwrap(), &mut names));
                    }
                }
            }
            best = best.min(start.elapsed().as_secs_f64() / f64::from(events));
        }
        println!("{kernel} {dump}: {:.1} ns an event, {:.1} million a second", best * 1e9, 1e-6 / best);
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(char::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap()).collect()
}
