//! Reads information about a kernel module from any bytes, as the module's file and as the kernel's lists of modules.
//! An answer must consist of well-formed lines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_facts::fact::Fact;
use punctual_facts::tree::Tree;
use punctual_linux::live::Unpacked;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

const ENDINGS: [&str; 4] = ["", ".gz", ".xz", ".zst"];

fuzz_target!(|bytes: &[u8]| {
    let Some((way, rest)) = bytes.split_first() else { return };
    let folder = machine();
    let modules = folder.join("lib/modules/6.12.1");
    let file = format!("kernel/x.ko{}", ENDINGS[usize::from(*way) % ENDINGS.len()]);
    let list = if way & 4 == 0 { format!("{file}:\n").into_bytes() } else { rest.to_vec() };
    fs::write(modules.join("modules.dep"), list).expect("write the list");
    fs::write(modules.join(&file), rest).expect("write the module");
    let info: &[u8] = if way & 8 == 0 { b"" } else { rest };
    fs::write(modules.join("modules.builtin.modinfo"), info).expect("write the built-in ones");
    if let Fact::Known(answer) = Unpacked::open(folder).expect("a system").read("punctual:/modinfo/x") {
        let text = String::from_utf8(answer).expect("the answer is text");
        let mut lines = text.lines();
        let first = lines.next().expect("a first line");
        assert!(first == "built-in" || first.starts_with("file "), "{text:?}");
        assert!(lines.all(|line| line.starts_with("parm ") && line.split(' ').count() == 3), "{text:?}");
    }
});

/// The root folder of a machine for this process alone: in `/dev/shm` if it exists, because memory is faster.
fn machine() -> &'static PathBuf {
    static MACHINE: OnceLock<PathBuf> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let memory = PathBuf::from("/dev/shm");
        let place = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let folder = tempfile::Builder::new().prefix("punctual-fuzz").tempdir_in(place).expect("a folder").keep();
        fs::create_dir_all(folder.join("lib/modules/6.12.1/kernel")).expect("a folder");
        fs::create_dir_all(folder.join("proc/sys/kernel")).expect("a folder");
        fs::write(folder.join("proc/sys/kernel/osrelease"), "6.12.1\n").expect("a file");
        folder
    })
}
