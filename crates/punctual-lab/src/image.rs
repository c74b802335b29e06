//! The architecture of a kernel's image and of a program, from their first bytes.
//!
//! An image is recognised only if QEMU can start it without a boot loader.

use crate::kernel::Arch;
use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Number of bytes that are looked at.
const HEAD: u64 = 1024;

/// The architecture of a kernel's image.
pub fn arch_of(image: &Path) -> Result<Arch> {
    let head = head(image)?;
    arch_of_bytes(&head).with_context(|| image.display().to_string())
}

fn arch_of_bytes(head: &[u8]) -> Result<Arch> {
    let has = |at: usize, magic: &[u8]| head.get(at..at + magic.len()).is_some_and(|there| there == magic);
    if has(0, &[0x1f, 0x8b]) {
        let mut inside = Vec::new();
        // The file is cut off, so the end of the packed data is missing.
        let _ = GzDecoder::new(head).take(HEAD).read_to_end(&mut inside);
        return arch_of_bytes(&inside);
    }
    if has(0x202, b"HdrS") {
        return Ok(Arch::Amd64);
    }
    if has(0x38, b"ARM\x64") {
        return Ok(Arch::Arm64);
    }
    if has(0x30, b"RISCV") {
        bail!("an image for RISC-V; kernels are booted on x86_64 and aarch64 only");
    }
    if has(4, b"zimg") {
        bail!("an EFI image that unpacks itself, which QEMU starts only from a disk; take arch/arm64/boot/Image");
    }
    if has(0, b"\x7fELF") {
        bail!("an ELF file (vmlinux?); take what boot loaders start: bzImage, or arch/arm64/boot/Image");
    }
    bail!("no image of a kernel that is known here (bzImage, or Image of arm64)")
}

/// The architecture of a program, which must need nothing but the kernel.
pub fn arch_of_program(program: &Path) -> Result<Arch> {
    let head = head(program)?;
    program_arch(&head).with_context(|| program.display().to_string())
}

fn program_arch(head: &[u8]) -> Result<Arch> {
    const INTERPRETER: u32 = 3;
    let half = |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
    if !head.starts_with(b"\x7fELF\x02\x01") {
        bail!("not a 64-bit program");
    }
    // The program headers follow the file's header; a linker puts the interpreter among the first.
    let at = head.get(32..40).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    let at = at.and_then(|at| usize::try_from(at).ok()).context("a program without program headers")?;
    let count = usize::from(half(56).unwrap_or(0));
    if (0..count).any(|number| word(at + number * 56) == Some(INTERPRETER)) {
        bail!("it needs shared libraries, which a guest does not have");
    }
    match half(18) {
        Some(62) => Ok(Arch::Amd64),
        Some(183) => Ok(Arch::Arm64),
        other => bail!("a program for another architecture (ELF machine {})", other.unwrap_or(0)),
    }
}

fn head(path: &Path) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    let file = File::open(path).with_context(|| format!("open {}", path.display()))?;
    file.take(HEAD * 64).read_to_end(&mut head).with_context(|| format!("read {}", path.display()))?;
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn with(at: usize, magic: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 1024];
        bytes[at..at + magic.len()].copy_from_slice(magic);
        bytes
    }

    #[test]
    fn images_are_told_apart() {
        assert_eq!(arch_of_bytes(&with(0x202, b"HdrS")).unwrap(), Arch::Amd64);
        assert_eq!(arch_of_bytes(&with(0x38, b"ARM\x64")).unwrap(), Arch::Arm64);
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&with(0x38, b"ARM\x64")).unwrap();
        let mut packed = packed.finish().unwrap();
        packed.truncate(packed.len() - 10);
        assert_eq!(arch_of_bytes(&packed).unwrap(), Arch::Arm64);
    }

    #[test]
    fn what_cannot_be_started_says_why() {
        let why = |bytes: &[u8]| arch_of_bytes(bytes).unwrap_err().to_string();
        assert!(why(&with(0x30, b"RISCV")).contains("RISC-V"));
        assert!(why(&with(4, b"zimg")).contains("EFI"));
        assert!(why(b"\x7fELF").contains("bzImage"));
        assert!(why(b"#!/bin/sh").contains("no image"));
        assert!(why(&[]).contains("no image"));
    }

    #[test]
    fn a_program_must_be_static() {
        let mut program = vec![0; 200];
        program[..6].copy_from_slice(b"\x7fELF\x02\x01");
        program[18] = 183;
        program[32] = 64;
        program[56] = 2;
        program[64] = 1;
        assert_eq!(program_arch(&program).unwrap(), Arch::Arm64);
        program[64 + 56] = 3;
        assert!(program_arch(&program).unwrap_err().to_string().contains("shared libraries"));
        assert!(program_arch(b"#!/bin/sh").is_err());
    }
}
