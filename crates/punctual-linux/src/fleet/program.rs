//! A program of this machine that is brought to hosts, with the machines that it runs on.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// (number in the header of a program, how the names of machines begin that run it). Sources: elf(5), uname -m.
const MACHINES: [(u16, &str); 4] = [(62, "x86_64"), (183, "aarch64"), (40, "armv"), (243, "riscv64")];

#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    bytes: u64,
    machine: &'static str,
}

#[derive(Debug, Error)]
pub enum ProgramError {
    #[error("{}: {reason}", path.display())]
    Read { path: PathBuf, reason: io::Error },
    #[error("{} is no program of Linux for x86-64, arm64, arm or riscv64", .0.display())]
    Other(PathBuf),
}

impl Program {
    pub fn read(path: &Path) -> Result<Self, ProgramError> {
        let failed = |reason| ProgramError::Read { path: path.to_owned(), reason };
        let file = File::open(path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        let mut header = Vec::new();
        file.take(20).read_to_end(&mut header).map_err(failed)?;
        let machine = machine(&header).ok_or_else(|| ProgramError::Other(path.to_owned()))?;
        Ok(Self { path: path.to_owned(), bytes, machine })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether a machine of this name runs the program. A 64-bit ARM kernel that calls itself `armv8l` serves 32-bit
    /// programs.
    pub fn runs_on(&self, machine: &str) -> bool {
        machine.starts_with(self.machine)
    }
}

/// The machine of a little-endian program.
fn machine(header: &[u8]) -> Option<&'static str> {
    let is_little = header.starts_with(b"\x7fELF") && header.get(5) == Some(&1);
    let number = u16::from_le_bytes([*header.get(18)?, *header.get(19)?]);
    MACHINES.iter().find(|(known, _)| is_little && *known == number).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_runs_on_machines_of_its_kind() {
        let own = Program::read(&std::env::current_exe().unwrap()).unwrap();
        assert!(own.runs_on(std::env::consts::ARCH) && !own.runs_on("sparc64") && own.bytes() > 1_000);
        let mut header = [0; 20];
        header[..6].copy_from_slice(b"\x7fELF\x01\x01");
        header[18] = 40;
        assert_eq!(machine(&header), Some("armv"));
        header[5] = 2;
        assert_eq!(machine(&header), None);
        assert_eq!(machine(b"#!/bin/sh\nexit 0\n# ..."), None);
    }

    #[test]
    fn what_is_no_program_is_refused() {
        let error = Program::read(&fixtures::repository("README.md")).unwrap_err().to_string();
        assert!(error.ends_with("README.md is no program of Linux for x86-64, arm64, arm or riscv64"), "{error}");
        assert!(matches!(Program::read(Path::new("/nonexistent")), Err(ProgramError::Read { .. })));
    }
}
