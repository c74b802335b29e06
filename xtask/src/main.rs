//! Automation of this repository: commands that run every check, and a few that write files.
//!
//! This program knows the product only as sources on disk and as a built program. It must not depend on any product
//! crate, so that it still builds when the product does not.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what automation is for")]

mod arm64;
mod arrows;
mod atlas;
mod bench;
mod book;
mod capi;
mod causes;
mod ci;
mod circles;
mod codegen;
mod dist;
mod duplicates;
mod header;
mod inspect_truth;
mod lab;
mod packages;
mod panic_free;
mod run;
mod screenshots;
mod step;
mod tidy;
mod truth;
mod words;

use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  ci [--all] [--must=STEP...] [STEP...]
                 run every check, or only those named; all run even when one fails;
                 with --all, one that could not run is a failure; with --must, that one
  tidy           the house rules that a program can hold
  codegen        write the generated files: man/, completions/, schemas/, punctual_rt.h, book/src/img/
                 and pages of the book's reference
  capi [--prefix DIR] [--destdir DIR]
                 build the C library and install it (target/punctual_rt)
  dist [--twice] [ARCHITECTURE...]
                 static programs and packages for amd64, arm64, armhf, riscv64, or those named,
                 with checksums, bill of materials and licences (target/made); with --twice,
                 a second time in another folder, which must give the same bytes
  book [FOLDER]  build the book, to be served from anywhere, and follow its links (target/book)
  atlas          one page of all entries of the atlas (target/atlas)
  bench [NAME]   run the benchmarks, or those of this name; words after the name go to it
                 (bench waits --seconds 30 --json)
  causes [--quick] [--kind KIND]...
                 plant delays of known cause and hold `punctual explain` against them; as root
  inspect-truth [--quick] [--cycles N]
                 plant defects in small loops and hold `punctual inspect` against them; as root
  screenshots [FOLDER]
                 the pages of samples in Chromium, checked and as pictures (target/screenshots)
  truth [WORDS...]
                 hold limits, odds and comparisons against families of known law (truth --help)
  words KERNEL=FOLDER...
                 write the linter's tables from kernel sources (words 6.1=DIR 6.1-rt=DIR)
  lab [WORDS...] boot kernels in QEMU and try the product in them (lab --help)";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(words: &[String]) -> Result<()> {
    let root = root();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["ci", only @ ..] => ci::run(&root, only),
        ["tidy"] => tidy::run(&root),
        ["codegen"] => codegen::write(&root),
        ["capi", options @ ..] => capi::run(&root, options),
        ["dist", names @ ..] => dist::run(&root, names),
        ["atlas"] => atlas::run(&root),
        ["book", rest @ ..] => book::run(&root, rest),
        ["bench", rest @ ..] => bench::run(&root, rest),
        ["causes", rest @ ..] => causes::run(&root, rest),
        ["inspect-truth", rest @ ..] => inspect_truth::run(&root, rest),
        ["screenshots", rest @ ..] => screenshots::run(&root, rest),
        ["truth", rest @ ..] => truth::run(&root, rest),
        ["words", kernels @ ..] => words::run(&root, kernels),
        ["lab", rest @ ..] => lab::run(&root, rest),
        ["help" | "-h" | "--help"] => {
            println!("{USAGE}");
            Ok(())
        }
        [] => bail!("no command given\n{USAGE}"),
        other => bail!("unknown command `{}`\n{USAGE}", other.join(" ")),
    }
}

/// The root of the repository, which is the folder above this crate's folder.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}
