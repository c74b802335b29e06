//! `punctual snapshot`: this machine as one readable file, for a bug report or for an audit elsewhere.
//!
//! Tree -> all files that an audit may read -> masked -> text. Reads only.

use super::files::{create_new, remove};
use super::source::Source;
use crate::cli::SnapshotArgs;
use crate::exit::Exit;
use crate::render;
use anyhow::{Context, Result};
use punctual_facts::tree::masked;
use punctual_tuning::capture::capture;
use std::io::Write;

pub fn run(args: &SnapshotArgs) -> Result<Exit> {
    // The file is created first, so that the capture is not made in vain and no file is overwritten.
    let file = args.out.as_deref().map(create_new).transpose()?;
    let raw = capture(Source::here().tree());
    let machine = if args.raw { raw } else { masked(&raw) };
    let text = render::snapshot(&machine, args.raw);
    match (file, &args.out) {
        (Some(mut file), Some(path)) => {
            // An incomplete snapshot would look like a whole machine without the missing files, so it is removed.
            let written = file.write_all(text.as_bytes()).inspect_err(|_| remove(path));
            written.with_context(|| format!("write {}", path.display()))?;
        }
        _ => render::print(&text)?,
    }
    Ok(Exit::Fine)
}
