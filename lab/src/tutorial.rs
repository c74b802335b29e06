//! `cargo xtask lab tutorial`: the session of the tutorial in virtual time, so that its figures can be had again to the bit.
//!
//! One guest with Debian's stock kernel and one with its PREEMPT_RT kernel are audited and checked under the same load. Each
//! is booted twice, and both runs must print the same bytes and write the same recording. The recordings go into
//! `fixtures/tutorial`, from which a test of the product makes what else the page shows.

use crate::product::cargo;
use crate::{program, twice};
use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lzma_rust2::{XzOptions, XzWriter};
use punctual_lab::inside::Job;
use punctual_lab::packages::Shelf;
use punctual_lab::run::PROGRAM;
use std::fs;
use std::io::Write;
use std::path::Path;

/// The kernels, with the name of each one's recording and of its blocks on the page.
const KERNELS: [(&str, &str); 2] = [("debian:13-amd64", "before"), ("debian:13-rt-amd64", "after")];
const PAGES: [&str; 2] = ["book/src/tutorial.md", "book/src/zh/tutorial.md"];
const FIXTURES: &str = "fixtures/tutorial";
/// The need of the page, as words of `audit` and `check`.
const NEED: [&str; 6] = ["--period", "1ms", "--budget", "100us", "--cpus", "0"];
/// What runs beside the loop: files are written, and threads wake each other.
const LOAD: [&str; 4] = ["--load", "io-write+switch", "--duration", "4s"];
/// Number of base64 letters on one line of a fixture.
const LINE: usize = 120;

pub fn tell(root: &Path, shelf: impl Fn() -> Result<Shelf>) -> Result<()> {
    twice::release(root, &["punctual"])?;
    for (kernel, name) in KERNELS {
        let answers = twice::answers(root, kernel, &shelf, &[], &jobs(name))?;
        let [audit, check] = answers.as_slice() else { bail!("{kernel}: {} answers", answers.len()) };
        let [Some(recording)] = check.files.as_slice() else { bail!("{kernel}: no recording: {}", check.err.trim()) };
        let path = root.join(FIXTURES).join(format!("{name}.base64"));
        fs::create_dir_all(root.join(FIXTURES)).with_context(|| format!("create {FIXTURES}"))?;
        fs::write(&path, packed(recording)?).with_context(|| format!("write {}", path.display()))?;
        for page in PAGES {
            write_block(&root.join(page), &format!("audit-{name}"), &audit.out)?;
            write_block(&root.join(page), &format!("check-{name}"), &check.out)?;
        }
    }
    // What is read from the recordings is made by the test that holds it.
    let mut test = cargo(root);
    test.args(["test", "--quiet", "--package", "punctual", "--test", "it", "tutorial::"]).env("BLESS", "1");
    program::read(&mut test).map(|_| ())
}

fn jobs(name: &str) -> Vec<Job> {
    let recording = format!("{name}.punctual");
    // Causes are looked for once, on the machine that is late. They are most of a recording.
    let look: &[&str] = if name == "before" { &[] } else { &["--no-explain"] };
    let audit = [&["audit", "--brief"][..], &NEED].concat();
    let check = [&["check"][..], &NEED, &LOAD, look, &["--out", &recording]].concat();
    let job = |words: &[&str], files: Vec<String>| {
        let words = [PROGRAM].iter().chain(words).map(|word| (*word).to_owned()).collect();
        Job { words, files, beside: Vec::new() }
    };
    // Commands run in the folder /tmp.
    vec![job(&audit, Vec::new()), job(&check, vec![format!("/tmp/{recording}")])]
}

/// The recording as text: compressed, as base64.
fn packed(recording: &[u8]) -> Result<String> {
    let mut packer = XzWriter::new(Vec::new(), XzOptions::with_preset(9))?;
    packer.write_all(recording)?;
    let letters = STANDARD.encode(packer.finish()?);
    let lines: Vec<&str> =
        (0..letters.len()).step_by(LINE).filter_map(|at| letters.get(at..letters.len().min(at + LINE))).collect();
    Ok(lines.join("\n") + "\n")
}

/// Replaces what stands in the page between the marks of this block, below the command that the block begins with.
fn write_block(path: &Path, name: &str, text: &str) -> Result<()> {
    let page = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    // A page need not show every block.
    let Some((before, rest)) = page.split_once(&format!("<!-- {name}: ")) else { return Ok(()) };
    let (mark, rest) = rest.split_once("\n```\n").with_context(|| format!("find the beginning of {name}"))?;
    let (block, after) = rest.split_once("```\n").with_context(|| format!("find the end of {name}"))?;
    let command = block
        .lines()
        .next()
        .filter(|line| line.starts_with("$ "))
        .with_context(|| format!("find the command of {name}"))?;
    let text = format!("{before}<!-- {name}: {mark}\n```\n{command}\n{}\n```\n{after}", text.trim_end());
    fs::write(path, text).with_context(|| format!("write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_keeps_its_command_and_the_text_around_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.md");
        fs::write(&path, "# a\n<!-- x: by y -->\n```\n$ punctual audit\nold\n```\nb\n").unwrap();
        write_block(&path, "x", "new\n\n").unwrap();
        write_block(&path, "absent", "new").unwrap();
        let page = fs::read_to_string(&path).unwrap();
        assert_eq!(page, "# a\n<!-- x: by y -->\n```\n$ punctual audit\nnew\n```\nb\n");
    }

    #[test]
    fn a_recording_of_any_length_is_lines_of_letters() {
        let text = packed(&(0..=255).cycle().take(100_000).collect::<Vec<u8>>()).unwrap();
        assert!(text.is_ascii() && text.lines().all(|line| line.len() <= LINE) && text.ends_with('\n'));
    }
}
