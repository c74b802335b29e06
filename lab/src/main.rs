//! Boots real kernels in QEMU and tries the product on them.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what the lab is for")]

mod disk;

use anyhow::{Context, Result};
use std::path::Path;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (program, stories) = words.split_first().context("usage: lab PROGRAM [STORY...], with a static build")?;
    if stories.first().is_some_and(|word| word == "claims") {
        disk::claims().for_each(|(id, sentence)| println!("{id}: {sentence}"));
        return Ok(());
    }
    disk::run(Path::new(program), &stories.iter().map(String::as_str).collect::<Vec<_>>())
}
