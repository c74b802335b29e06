//! Reads any bytes as a kernel image, to find the parameters that the kernel takes. The image may be cut off, hostile,
//! or no kernel at all. A result must survive printing and parsing, and must not deny parameters that every kernel
//! takes.

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
