//! The machines that packages are made for, and what building for each of them needs.

use crate::run;
use anyhow::Result;
use std::path::Path;

/// A kind of machine, by the names that everybody concerned gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Platform {
    /// Debian's name, which the command line uses.
    pub debian: &'static str,
    pub rpm: &'static str,
    /// Target of the program, which is static: with musl where rustup has it, otherwise with Debian's C library.
    pub program: &'static str,
    /// Target of the C library, which uses the C library of the machine.
    pub library: &'static str,
    /// Prefix of Debian's compiler and of its folder for libraries.
    pub gnu: &'static str,
    /// Folder for libraries in distributions that use RPM.
    pub libraries: &'static str,
}

pub const PLATFORMS: [Platform; 4] = [
    Platform {
        debian: "amd64",
        rpm: "x86_64",
        program: "x86_64-unknown-linux-musl",
        library: "x86_64-unknown-linux-gnu",
        gnu: "x86_64-linux-gnu",
        libraries: "usr/lib64",
    },
    Platform {
        debian: "arm64",
        rpm: "aarch64",
        program: "aarch64-unknown-linux-musl",
        library: "aarch64-unknown-linux-gnu",
        gnu: "aarch64-linux-gnu",
        libraries: "usr/lib64",
    },
    Platform {
        debian: "armhf",
        rpm: "armv7hl",
        program: "armv7-unknown-linux-gnueabihf",
        library: "armv7-unknown-linux-gnueabihf",
        gnu: "arm-linux-gnueabihf",
        libraries: "usr/lib",
    },
    Platform {
        debian: "riscv64",
        rpm: "riscv64",
        program: "riscv64gc-unknown-linux-gnu",
        library: "riscv64gc-unknown-linux-gnu",
        gnu: "riscv64-linux-gnu",
        libraries: "usr/lib64",
    },
];

impl Platform {
    pub fn compiler(&self) -> String {
        format!("{}-gcc", self.gnu)
    }

    /// Name of the variable that tells Cargo which linker a target has.
    pub fn linker_variable(target: &str) -> String {
        format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_"))
    }

    /// Commands that install what is missing to build for this machine. Empty if nothing is missing.
    pub fn missing(&self, root: &Path) -> Result<Vec<String>> {
        let mut commands = Vec::new();
        for target in [self.program, self.library] {
            let command = format!("rustup target add {target}");
            if !run::has_target(target, root)? && !commands.contains(&command) {
                commands.push(command);
            }
        }
        if !run::has_program(&self.compiler()) {
            commands.push(format!("apt install gcc-{} libc6-dev-{}-cross", self.gnu, self.debian));
        }
        Ok(commands)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_gets_its_linker_by_a_name_in_capitals() {
        let name = Platform::linker_variable("x86_64-unknown-linux-musl");
        assert_eq!(name, "CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER");
    }

    #[test]
    fn no_name_stands_for_two_machines() {
        for (n, one) in PLATFORMS.iter().enumerate() {
            for other in &PLATFORMS[..n] {
                assert!(one.debian != other.debian && one.rpm != other.rpm && one.gnu != other.gnu, "{one:?}");
            }
        }
    }
}
