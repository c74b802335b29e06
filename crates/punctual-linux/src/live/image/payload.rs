//! Finds the kernel inside a boot image, whatever boot loaders and firmware require around it, and unpacks it.
//!
//! Input and output are bytes; the content of the kernel is not interpreted. Whatever an image claims, at most
//! [`MOST_BYTES`] bytes are unpacked.

use crate::live::files::bounded;
use std::borrow::Cow;
use std::io::Read;

/// Limit on unpacked bytes. The largest kernels, built for debugging and stripped, have about 120 MB.
pub const MOST_BYTES: u64 = 256 << 20;
/// Limit on memory for the dictionary of xz, in KiB. Kernels are packed with 32 MiB, or 128 MiB since 6.12.
const MOST_KIB: u32 = 256 << 10;
/// Limit on nested images: a unified image contains a boot image, which contains a packed kernel.
const MOST_LAYERS: usize = 4;

/// Compression formats that are recognised but not unpacked.
const OTHERS: [(&[u8], &str); 4] =
    [(b"\x02\x21\x4c\x18", "lz4"), (b"\x89LZO\0\r\n\x1a\n", "lzo"), (b"BZh", "bzip2"), (b"\x5d\0\0", "lzma")];

/// The kernel in the form in which it is loaded: an ELF file, or the raw image of arm64.
pub(super) fn kernel(image: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    within(image, MOST_BYTES)
}

fn within(image: &[u8], most_bytes: u64) -> Result<Cow<'_, [u8]>, String> {
    let mut bytes = Cow::Borrowed(image);
    for _ in 0..MOST_LAYERS {
        if is_elf(&bytes) || is_raw(&bytes) {
            return Ok(bytes);
        }
        bytes = match bytes {
            Cow::Borrowed(bytes) => inner(bytes, most_bytes)?,
            Cow::Owned(bytes) => Cow::Owned(inner(&bytes, most_bytes)?.into_owned()),
        };
    }
    Err("it is wrapped too often".to_owned())
}

pub(super) fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF")
}

pub(super) fn is_raw(bytes: &[u8]) -> bool {
    bytes.get(56..60) == Some(b"ARM\x64")
}

fn inner(bytes: &[u8], most_bytes: u64) -> Result<Cow<'_, [u8]>, String> {
    if let Some(payload) = of_x86(bytes).or_else(|| of_zboot(bytes)) {
        return unpacked(payload?, most_bytes);
    }
    if bytes.starts_with(b"MZ") {
        return section(bytes, b".linux").map(Cow::Borrowed).ok_or_else(|| "no kernel is found in it".to_owned());
    }
    unpacked(bytes, most_bytes)
}

type Found<'a> = Option<Result<&'a [u8], String>>;

/// The payload of a bzImage, whose header contains its position since protocol 2.08
/// (`Documentation/arch/x86/boot.rst`).
fn of_x86(bytes: &[u8]) -> Found<'_> {
    if bytes.get(0x202..0x206) != Some(b"HdrS") {
        return None;
    }
    if u16_at(bytes, 0x206)? < 0x0208 {
        return Some(Err("its boot protocol is older than 2.08".to_owned()));
    }
    let sectors = match bytes[0x1f1] {
        0 => 4,
        sectors => usize::from(sectors),
    };
    Some(part(bytes, (sectors + 1) * 512 + size_at(bytes, 0x248)?, size_at(bytes, 0x24c)?))
}

/// The payload of an EFI zboot image (`drivers/firmware/efi/libstub/zboot-header.S`).
fn of_zboot(bytes: &[u8]) -> Found<'_> {
    if !bytes.starts_with(b"MZ\0\0zimg") {
        return None;
    }
    Some(part(bytes, size_at(bytes, 8)?, size_at(bytes, 12)?))
}

fn part(bytes: &[u8], start: usize, length: usize) -> Result<&[u8], String> {
    let end = start.checked_add(length);
    end.and_then(|end| bytes.get(start..end)).ok_or_else(|| "it is cut off".to_owned())
}

/// The content of the named section of a PE file, which is the format of unified kernel images.
fn section<'a>(bytes: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let head = size_at(bytes, 0x3c)?;
    if bytes.get(head..head.checked_add(4)?)? != b"PE\0\0" {
        return None;
    }
    let count = usize::from(u16_at(bytes, head + 6)?);
    let table = head + 24 + usize::from(u16_at(bytes, head + 20)?);
    let sections = bytes.get(table..)?.chunks_exact(40).take(count);
    let found =
        sections.into_iter().find(|s| s[..8].strip_prefix(name).is_some_and(|rest| rest.iter().all(|b| *b == 0)))?;
    // The section has a size in memory and a size in the file; its content has the smaller one.
    let length = size_at(found, 8)?.min(size_at(found, 16)?);
    part(bytes, size_at(found, 20)?, length).ok()
}

fn unpacked(packed: &[u8], most_bytes: u64) -> Result<Cow<'_, [u8]>, String> {
    let failed = |why: String| format!("it cannot be unpacked: {why}");
    let read = |source: &mut dyn Read| bounded(source, most_bytes).map_err(|e| e.to_string());
    let done = match packed {
        [0x1f, 0x8b, ..] => read(&mut flate2::read::GzDecoder::new(packed)),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            read(&mut lzma_rust2::XzReader::new_mem_limit(packed, false, MOST_KIB))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => match ruzstd::decoding::StreamingDecoder::new(packed) {
            Ok(mut decoder) => read(&mut decoder),
            Err(why) => Err(why.to_string()),
        },
        _ if is_elf(packed) || is_raw(packed) => return Ok(Cow::Borrowed(packed)),
        _ => {
            let known = OTHERS.iter().find(|(magic, _)| packed.starts_with(magic));
            return Err(known.map_or("no kernel is found in it".to_owned(), |(_, name)| format!("packed with {name}")));
        }
    };
    done.map(Cow::Owned).map_err(failed)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn size_at(bytes: &[u8], at: usize) -> Option<usize> {
    let size = u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?);
    usize::try_from(size).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn what_unpacks_to_too_much_is_given_up() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&vec![0; 1 << 20]).unwrap();
        let bomb = encoder.finish().unwrap();
        assert!(bomb.len() < 20_000);
        let why = within(&bomb, 1 << 19).unwrap_err();
        assert!(why.contains("larger than 524288 bytes"), "{why}");
        assert_eq!(within(&bomb, 1 << 21).unwrap_err(), "no kernel is found in it");
    }

    #[test]
    fn what_is_not_undone_is_named() {
        assert_eq!(kernel(b"\x02\x21\x4c\x18rest").unwrap_err(), "packed with lz4");
        assert_eq!(kernel(b"BZh91AY&SY").unwrap_err(), "packed with bzip2");
        for strange in [b"".as_slice(), b"MZ", b"MZ\0\0zimg", b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"] {
            assert!(kernel(strange).is_err(), "{strange:?}");
        }
    }
}
