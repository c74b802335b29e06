//! Parses any bytes as a captured machine. A machine that was accepted must survive printing and parsing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_facts::tree::MemTree;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(machine) = MemTree::from_bytes(bytes) {
        let text = machine.to_string();
        // If the bytes name a path both as a file and as a folder, only the file remains after printing and parsing. So
        // `machine` itself is not compared.
        let again = MemTree::parse(&text).expect("what was printed can be read");
        assert_eq!(again.to_string(), MemTree::parse(&again.to_string()).expect("and once more").to_string());
    }
    let mut machine = MemTree::new();
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _refused = machine.overlay(text, 1);
    }
});
