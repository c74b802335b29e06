//! Parses any text as a CPU list and as a CPU mask. A set that was accepted must survive printing and parsing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_facts::cpu_set::{CPU_LIMIT, CpuSet};

fuzz_target!(|text: &str| {
    for set in [CpuSet::parse_list(text), CpuSet::parse_mask(text)].into_iter().flatten() {
        assert!(set.iter().all(|cpu| cpu < CPU_LIMIT));
        assert_eq!(CpuSet::parse_list(&set.to_string()).as_ref(), Ok(&set));
        assert_eq!(CpuSet::parse_mask(&set.mask()), Ok(set));
    }
});
