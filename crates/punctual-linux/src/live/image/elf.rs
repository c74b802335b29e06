//! Finds the tables in a kernel that is an ELF file, such as the one inside the boot image of x86-64.
//!
//! This module does not know the format of records, unlike [`setup`](super::setup).

use super::setup::{Memory, Piece};
use super::{ImageWord, Unpacked};
use object::{Architecture, Object, ObjectSection, ObjectSegment};
use punctual_facts::machine::Arch;

pub(super) fn kernel(bytes: &[u8]) -> Result<Unpacked<'_>, String> {
    let file = object::File::parse(bytes).map_err(|e| format!("it is no readable ELF file: {e}"))?;
    if file.architecture() != Architecture::X86_64 {
        return Err(format!("an ELF file for {:?}", file.architecture()));
    }
    Ok(Unpacked { arch: Arch::X86, bytes, words })
}

fn words(bytes: &[u8]) -> Result<Vec<ImageWord>, String> {
    let file = object::File::parse(bytes).map_err(|e| e.to_string())?;
    let pieces = file.segments().filter_map(|segment| {
        Some(Piece { address: segment.address(), bytes: segment.data().ok()?, size: segment.size() })
    });
    let memory = Memory::new(pieces.collect());
    let section = |name: &str| file.section_by_name(name).and_then(|section| section.data().ok());
    let params = section("__param").ok_or("it has no section __param")?;
    // Newer kernels have no section of its own for the table of `__setup`, so it is searched for in this section.
    let data = section(".init.data").ok_or("it has no section .init.data")?;
    let mut words = memory.setup(data)?;
    words.extend(memory.params(params)?);
    Ok(words)
}
