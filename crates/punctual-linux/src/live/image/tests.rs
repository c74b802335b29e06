//! Small kernel images made by these tests, in every supported form, whole and broken.

use super::*;
use proptest::prelude::*;
use std::fs;
use std::io::Write as _;

const BANNER_LINE: &str = "Linux version 6.1.0-test (a@b) (gcc) #1 SMP PREEMPT_RT";
const ID: [u8; 20] = [7; 20];
const X86_BASE: u64 = 0xffff_ffff_8100_0000;
const ARM_BASE: u64 = 0xffff_8000_0800_0000;
const SETUP: [(&str, u64); 12] = [
    ("quiet", 1),
    ("loglevel", 1),
    ("init=", 0),
    ("rdinit=", 0),
    ("isolcpus=", 0),
    ("nohz_full=", 0),
    ("ro", 0),
    ("mce", 0),
    ("kthread_cpus", 1),
    ("workqueue.unbound_cpus=", 0),
    ("a", 1),
    ("b=", 0),
];
const PARAMS: [(&str, u16); 8] = [
    ("initcall_debug", 0o644),
    ("panic", 0o644),
    ("rcutree.kthread_prio", 0o444),
    ("x.a", 0),
    ("x.b", 0),
    ("x.c", 0),
    ("x.d", 0),
    ("x.e", 0o400),
];

struct Made {
    bytes: Vec<u8>,
    setup: std::ops::Range<usize>,
    params: std::ops::Range<usize>,
    pointers: Vec<usize>,
}

fn number(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend(number.to_le_bytes());
}

fn made(base: u64, head: usize) -> Made {
    let mut bytes = vec![0xcc; head];
    let mut pointers = Vec::new();
    let text = |bytes: &mut Vec<u8>, text: &str| {
        let at = base + bytes.len() as u64;
        bytes.extend(text.as_bytes());
        bytes.push(0);
        at
    };
    text(&mut bytes, "Linux version %s (draft)");
    text(&mut bytes, &format!("{BANNER_LINE}\n"));
    bytes.extend(b"idle hpet not_a_word=\0");
    bytes.extend(ID);
    let setup: Vec<(u64, u64)> = SETUP.iter().map(|(name, early)| (text(&mut bytes, name), *early)).collect();
    let params: Vec<(u64, u16)> = PARAMS.iter().map(|(name, perm)| (text(&mut bytes, name), *perm)).collect();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    number(&mut bytes, 3);
    let start = bytes.len();
    for (name, early) in setup {
        pointers.extend([bytes.len(), bytes.len() + 8]);
        number(&mut bytes, name);
        number(&mut bytes, base + 4);
        number(&mut bytes, early);
    }
    let setup = start..bytes.len();
    number(&mut bytes, u64::MAX);
    let start = bytes.len();
    for (name, perm) in params {
        pointers.extend([bytes.len(), bytes.len() + 16, bytes.len() + 32]);
        number(&mut bytes, name);
        number(&mut bytes, 0);
        number(&mut bytes, base + 8);
        number(&mut bytes, u64::from(perm) | 0xff << 16);
        number(&mut bytes, base);
    }
    let params = start..bytes.len();
    number(&mut bytes, 0);
    Made { bytes, setup, params, pointers }
}

/// An x86-64 `vmlinux` with one segment and the sections that the reader uses.
fn elf() -> Vec<u8> {
    const HEAD: usize = 64 + 56;
    let Made { bytes: memory, setup, params, .. } = made(X86_BASE, 16);
    let names = b"\0__param\0.init.data\0.shstrtab\0";
    let mut out = Vec::new();
    let names_at = HEAD + memory.len();
    let sections_at = (names_at + names.len()).next_multiple_of(8);
    out.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0");
    number(&mut out, X86_BASE);
    number(&mut out, 64);
    number(&mut out, sections_at as u64);
    out.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 4, 0, 3, 0]);
    out.extend([1, 0, 0, 0, 7, 0, 0, 0]);
    for field in [HEAD as u64, X86_BASE, X86_BASE, memory.len() as u64, memory.len() as u64 + 4096, 8] {
        number(&mut out, field);
    }
    out.extend(&memory);
    out.extend(names);
    out.resize(sections_at, 0);
    out.extend([0; 64]);
    // The section contains other data before and after the table of `__setup`.
    let data = setup.start - 8..setup.end + 8;
    for (name, kind, range, at) in
        [(1_u32, 1_u32, params.start..params.end, HEAD), (9, 1, data, HEAD), (20, 3, 0..names.len(), names_at)]
    {
        out.extend(name.to_le_bytes());
        out.extend(kind.to_le_bytes());
        let length = (range.end - range.start) as u64;
        for field in [2, X86_BASE + range.start as u64, (at + range.start) as u64, length, 0, 8, 0] {
            number(&mut out, field);
        }
    }
    out
}

/// An arm64 `Image` with pointers in place, or in a table of relocations.
fn raw(has_relocations: bool) -> Vec<u8> {
    let Made { mut bytes, pointers, .. } = made(ARM_BASE, 64);
    let size = bytes.len() as u64 + 4096;
    bytes[..64].fill(0);
    bytes[..2].copy_from_slice(b"MZ");
    bytes[16..24].copy_from_slice(&size.to_le_bytes());
    bytes[56..60].copy_from_slice(b"ARMd");
    if has_relocations {
        let values: Vec<[u8; 8]> = pointers.iter().map(|at| bytes[*at..at + 8].try_into().unwrap()).collect();
        for at in &pointers {
            bytes[*at..at + 8].fill(0);
        }
        let zero = ARM_BASE.to_le_bytes();
        // A small kernel has about 2000 relocations. The ones added here all change an unused place.
        let others = std::iter::repeat_n((24_usize, zero), 2000);
        for (at, value) in pointers.iter().copied().zip(values).chain(others) {
            number(&mut bytes, ARM_BASE + at as u64);
            number(&mut bytes, 0x403);
            bytes.extend(value);
        }
    }
    bytes
}

fn bz_image(payload: &[u8]) -> Vec<u8> {
    let mut image = vec![0; 1024];
    image[..2].copy_from_slice(b"MZ");
    image[0x1f1] = 1;
    image[0x202..0x208].copy_from_slice(b"HdrS\x0f\x02");
    image[0x248..0x24c].copy_from_slice(&16_u32.to_le_bytes());
    image[0x24c..0x250].copy_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes());
    image.extend([0; 16]);
    image.extend(payload);
    image.extend([0; 100]);
    image
}

fn zboot(payload: &[u8]) -> Vec<u8> {
    let mut image = b"MZ\0\0zimg".to_vec();
    image.extend(64_u32.to_le_bytes());
    image.extend(u32::try_from(payload.len()).unwrap().to_le_bytes());
    image.resize(64, 0);
    image.extend(payload);
    image
}
fn unified(kernel: &[u8]) -> Vec<u8> {
    let mut image = vec![0; 0x400];
    image[..2].copy_from_slice(b"MZ");
    image[0x3c] = 0x80;
    image[0x80..0x84].copy_from_slice(b"PE\0\0");
    image[0x86] = 2;
    let length = u32::try_from(kernel.len()).unwrap().to_le_bytes();
    image[0x98..0xa0].copy_from_slice(b".osrel\0\0");
    let section = &mut image[0xc0..0xe8];
    section[..8].copy_from_slice(b".linux\0\0");
    section[8..12].copy_from_slice(&length);
    section[16..20].copy_from_slice(&length);
    section[20..24].copy_from_slice(&0x400_u32.to_le_bytes());
    image.extend(kernel);
    image
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zst(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

fn expected() -> Vec<ImageWord> {
    let setup = SETUP.iter().map(|(name, early)| (*name, if *early == 1 { WordKind::Early } else { WordKind::Setup }));
    let params = PARAMS.iter().map(|(name, perm)| (*name, WordKind::Param(*perm)));
    let mut words: Vec<ImageWord> =
        setup.chain(params).map(|(name, kind)| ImageWord { name: name.to_owned(), kind }).collect();
    words.sort();
    words
}

#[test]
fn every_form_tells_the_same_words() {
    let tail = |mut bytes: Vec<u8>| {
        // Packed kernels end with their unpacked size.
        bytes.extend(1_u32.to_le_bytes());
        bytes
    };
    let x86 =
        [elf(), bz_image(&gz(&elf())), bz_image(&tail(xz(&elf()))), bz_image(&tail(zst(&elf()))), bz_image(&elf())];
    let arm = [raw(false), raw(true), gz(&raw(true)), zboot(&tail(zst(&raw(false)))), zboot(&gz(&raw(true)))];
    let unified = [unified(&bz_image(&gz(&elf()))), unified(&zboot(&gz(&raw(false))))];
    for (n, image) in x86.iter().chain(&arm).chain(&unified).enumerate() {
        let found = words(image).unwrap_or_else(|why| panic!("form {n}: {why}"));
        assert_eq!(found.words, expected(), "form {n}");
        assert_eq!(found.banner, BANNER_LINE, "form {n}");
    }
    assert_eq!(words(&elf()).unwrap().arch, Arch::X86);
    assert_eq!(words(&raw(true)).unwrap().arch, Arch::Arm64);
}

#[test]
fn the_text_is_one_that_core_reads() {
    let text = words(&elf()).unwrap().to_string();
    assert!(text.starts_with("complete\n") && text.contains("\nsetup isolcpus=\n"), "{text}");
    assert!(text.contains("\nparam rcutree.kthread_prio 0444\n") && text.contains("\nearly quiet\n"), "{text}");
    assert!(punctual_facts::lint::Image::parse(&text).is_ok());
}

#[test]
fn a_table_without_a_word_that_every_kernel_has_is_not_believed() {
    for (missing, table) in [(b"loglevel\0".as_slice(), "__setup"), (b"initcall_debug\0", "__param")] {
        let mut image = elf();
        let at = memmem::find(&image, missing).unwrap();
        image[at] = b'?';
        let why = words(&image).unwrap_err().to_string();
        assert!(why.contains(table), "{why}");
    }
}

/// What a machine with this kernel image answers.
fn machine(version: &str, image: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let put = |path: &str, bytes: &[u8]| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    put("proc/sys/kernel/osrelease", b"6.1.0-test\n");
    put("proc/version", version.as_bytes());
    let mut notes = vec![4, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0];
    notes.extend(b"abc\0x\0\0\0");
    notes.extend([4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0]);
    notes.extend(b"GNU\0");
    notes.extend(ID);
    put("sys/kernel/notes", &notes);
    if !image.is_empty() {
        put("boot/vmlinuz-6.1.0-test", b"\x02\x21\x4c\x18");
        put("usr/lib/modules/6.1.0-test/vmlinuz", image);
    }
    let text = read(&Files::new(folder.path().to_owned()));
    String::from_utf8(text.known().unwrap().clone()).unwrap()
}

#[test]
fn only_the_running_kernels_image_is_believed() {
    let banner = format!("{BANNER_LINE}\n");
    assert_eq!(machine(&banner, &bz_image(&gz(&elf()))), words(&elf()).unwrap().to_string());
    let other = machine("Linux version 6.1.0-test (a@b) (gcc) #2 SMP PREEMPT_RT\n", &elf());
    assert!(other.starts_with("undetermined: ") && other.contains("another kernel"), "{other}");
    assert!(other.contains("/boot/vmlinuz-6.1.0-test: packed with lz4"), "{other}");
    let mut rebuilt = elf();
    let at = memmem::find(&rebuilt, &ID).unwrap();
    rebuilt[at] ^= 1;
    let rebuilt = machine(&banner, &rebuilt);
    assert!(rebuilt.contains("another kernel"), "{rebuilt}");
    let none = machine(&banner, b"");
    assert!(none.starts_with("undetermined: no image"), "{none}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A damaged image yields all words or a reason, never some of the words.
    #[test]
    fn a_cut_image_tells_everything_or_nothing(which in 0_usize..5, cut in any::<prop::sample::Index>()) {
        let image = vec![elf(), raw(false), raw(true), bz_image(&zst(&elf())), zboot(&xz(&raw(true)))].swap_remove(which);
        let image = &image[..cut.index(image.len())];
        if let Ok(found) = words(image) {
            prop_assert_eq!(found.words, expected());
        }
    }

    #[test]
    fn no_image_makes_it_panic(which in 0_usize..5, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 1..6)) {
        let mut image = vec![elf(), raw(false), raw(true), bz_image(&elf()), unified(&zboot(&raw(true)))].swap_remove(which);
        for (at, value) in changes {
            let at = at.index(image.len() / 8) * 8;
            image[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        let _ = words(&image);
    }

    #[test]
    fn no_notes_make_it_panic(notes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = build_id(&notes);
    }
}
