//! Searches any bytes for the words of a kernel image: cut off, hostile, or no kernel at all. Words that are found must
//! include those that every kernel takes, and must survive printing and parsing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_facts::lint::Image;
use punctual_linux::live::image::words;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(found) = words(bytes) {
        assert!(found.banner.starts_with("Linux version "), "{found:?}");
        let image = Image::parse(&found.to_string()).expect("the text is one that is read");
        for word in ["init=x", "quiet", "panic=1"] {
            assert!(image.takes(word) != Some(false), "{word}");
        }
    }
});
