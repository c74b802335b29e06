//! Pages of the book's reference that are generated from the sources of the libraries.

pub mod c;
pub mod rust;

use anyhow::{Context, Result};
use std::path::Path;

/// Text for one cell of a table in Markdown.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', r"\|")
}

fn parsed(path: &Path) -> Result<syn::File> {
    let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    syn::parse_file(&text).with_context(|| format!("parse {}", path.display()))
}
