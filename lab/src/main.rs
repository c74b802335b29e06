//! Boots real kernels in QEMU and tries the product on them.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what the lab is for")]
mod disk;
fn main() -> anyhow::Result<()> { disk::run() }
