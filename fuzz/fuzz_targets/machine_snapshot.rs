//! Any bytes are a captured machine or refused; and what was read can be written and read again as the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_facts::tree::MemTree;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(machine) = MemTree::from_bytes(bytes) {
        let text = machine.to_string();
        // A path may be named as a file and as a folder; printed, the file comes last and wins.
        let again = MemTree::parse(&text).expect("what was printed can be read");
        assert_eq!(again.to_string(), MemTree::parse(&again.to_string()).expect("and once more").to_string());
    }
    let mut machine = MemTree::new();
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _refused = machine.overlay(text, 1);
    }
});
