//! Masks a machine with any contents. A value that identifies the machine or its owner, planted between any words of
//! any file, must not occur in the result.

#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_facts::fact::Fact;
use punctual_facts::tree::{Masks, MemTree, masked};

const SECRETS: [&str; 6] = [
    "zaphod-beeble",
    "52:54:00:ab:cd:ef",
    "01234567-89ab-4cde-8f01-23456789abcd",
    "10.11.12.13",
    "S3X9NX0K712345",
    "fd00:1234::77",
];
const FILES: [&str; 6] =
    ["/proc/cmdline", "punctual:/kernel/log", "/proc/interrupts", "/boot/grub/grub.cfg", "/sys/x/serial", "/etc/x"];

fuzz_target!(|bytes: &[u8]| {
    let Some((way, rest)) = bytes.split_first() else { return };
    let mut tree = MemTree::new();
    tree.file("/proc/sys/kernel/hostname", Fact::Known(b"zaphod-beeble\n".to_vec()));
    tree.file("/sys/block/sda/serial", Fact::Known(b"S3X9NX0K712345\n".to_vec()));
    let path = FILES[usize::from(*way) % FILES.len()];
    let secret = SECRETS[usize::from(*way) / FILES.len() % SECRETS.len()];
    // A secret that the fuzzer wrote next to other letters is not a separate word, and is not recognised.
    if rest.windows(secret.len()).any(|part| part.eq_ignore_ascii_case(secret.as_bytes())) {
        return;
    }
    let half = rest.len() / 2;
    let content = [&rest[..half], b" ", secret.as_bytes(), b" ", &rest[half..]].concat();
    tree.file(path, Fact::Known(content.clone()));
    tree.file(&format!("/sys/class/net/{secret}"), Fact::Known(content));
    let masked = masked(&tree);
    let text = masked.to_string();
    assert!(!text.contains(secret), "{secret} in\n{text}");
    assert_eq!(MemTree::parse(&text).expect("what was printed can be read"), masked);
    let _text = Masks::default().text(&String::from_utf8_lossy(rest));
});
