//! Compiles the BPF programs that the `bpf` feature loads into the kernel. Does nothing without that feature.

#![allow(clippy::print_stdout, reason = "this is how a build script speaks to Cargo")]

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

const PROGRAMS: [&str; 2] = ["flight", "program"];

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-env-changed=CLANG");
    if env::var_os("CARGO_FEATURE_BPF").is_none() {
        return Ok(());
    }
    PROGRAMS.iter().try_for_each(|name| compile(name))
}

fn compile(name: &str) -> Result<(), String> {
    let source = format!("bpf/{name}.bpf.c");
    let clang = env::var_os("CLANG").unwrap_or_else(|| OsString::from("clang"));
    let target = match env::var("CARGO_CFG_TARGET_ENDIAN").as_deref() {
        Ok("big") => "bpfeb",
        _ => "bpfel",
    };
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR: build with cargo")?);
    let status = Command::new(&clang)
        // `-mcpu=v3` allows atomic operations that return the old value, which kernels know since 5.12. Loading needs
        // the type information of `-g`.
        .args(["-O2", "-g", "-Wall", "-Werror", "-target", target, "-mcpu=v3", "-c", &source, "-o"])
        .arg(folder.join(format!("{name}.bpf.o")))
        .status();
    let remedy = "install clang 12 or later, name it in $CLANG, or build without the feature `bpf`";
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{} could not compile {source} ({status}): {remedy}", clang.to_string_lossy())),
        Err(error) => Err(format!("run {}: {error}: {remedy}", clang.to_string_lossy())),
    }
}
