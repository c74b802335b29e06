//! The kernel inside a boot image: finds it in whatever boot loaders and firmware want around it, and unpacks it.
//!
//! In and out are bytes; knows nothing of what stands in the kernel. Whatever the image claims, no more than
//! [`MOST_BYTES`] are ever unpacked.

use crate::live::files::bounded;
use std::borrow::Cow;
use std::io::Read;

/// More of an unpacked kernel is not looked at; the largest, built with everything for debugging and stripped, have
/// some 120 MB.
pub const MOST_BYTES: u64 = 256 << 20;
/// What a decoder of xz may take for its dictionary; kernels are packed with 32 MiB, or 128 MiB since 6.12.
const MOST_KIB: u32 = 256 << 10;
/// A unified image around a boot image around a packed kernel.
const MOST_LAYERS: usize = 4;

/// Kinds of packing that are known and not undone here.
const OTHERS: [(&[u8], &str); 4] =
    [(b"\x02\x21\x4c\x18", "lz4"), (b"\x89LZO\0\r\n\x1a\n", "lzo"), (b"BZh", "bzip2"), (b"\x5d\0\0", "lzma")];

/// The kernel as it will lie in memory: an ELF file, or the raw image of arm64.
pub(super) fn kernel(image: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let mut bytes = Cow::Borrowed(image);
    for _ in 0..MOST_LAYERS {
        if is_elf(&bytes) || is_raw(&bytes) {
            return Ok(bytes);
        }
        bytes = match bytes {
            Cow::Borrowed(bytes) => inner(bytes)?,
            Cow::Owned(bytes) => Cow::Owned(inner(&bytes)?.into_owned()),
        };
    }
    Err("it is wrapped too often".to_owned())
}

/// An ELF file.
pub(super) fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF")
}

/// The raw image of arm64 (`Documentation/arch/arm64/booting.rst`).
pub(super) fn is_raw(bytes: &[u8]) -> bool {
    bytes.get(56..60) == Some(b"ARM\x64")
}

/// One layer less.
fn inner(bytes: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    if let Some(payload) = of_x86(bytes).or_else(|| of_zboot(bytes)) {
        return unpacked(payload?);
    }
    if bytes.starts_with(b"MZ") {
        return section(bytes, b".linux").map(Cow::Borrowed).ok_or_else(|| "no kernel is found in it".to_owned());
    }
    unpacked(bytes)
}

type Found<'a> = Option<Result<&'a [u8], String>>;

/// The payload of a bzImage, which tells its place since protocol 2.08 (`Documentation/arch/x86/boot.rst`).
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

/// A section of a PE file, as unified kernel images are.
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
    // What is in use of it, and what lies in the file; the smaller is the content.
    let length = size_at(found, 8)?.min(size_at(found, 16)?);
    part(bytes, size_at(found, 20)?, length).ok()
}

fn unpacked(packed: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let failed = |why: String| format!("it cannot be unpacked: {why}");
    let done = match packed {
        [0x1f, 0x8b, ..] => read(flate2::read::GzDecoder::new(packed)),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => read(lzma_rust2::XzReader::new_mem_limit(packed, false, MOST_KIB)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => match ruzstd::decoding::StreamingDecoder::new(packed) {
            Ok(decoder) => read(decoder),
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

fn read(source: impl Read) -> Result<Vec<u8>, String> {
    bounded(source, MOST_BYTES).map_err(|e| e.to_string())
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn size_at(bytes: &[u8], at: usize) -> Option<usize> {
    let size = u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?);
    usize::try_from(size).ok()
}
