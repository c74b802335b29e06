//! Which tables this program understands.

use crate::render::fleet::SCHEMA;
use anyhow::{Context, Result, bail};
use std::path::Path;

/// Refuses tables of a later schema, whose columns may mean something else.
pub fn refuse_later(folder: &Path, text: &str) -> Result<()> {
    let value: serde_json::Value =
        serde_json::from_str(text).with_context(|| format!("read punctual-fleet.json of {}", folder.display()))?;
    let schema = value.get("schema").and_then(serde_json::Value::as_str).unwrap_or_default();
    let number = |schema: &str| schema.strip_prefix("punctual/fleet/").and_then(|n| n.parse::<u32>().ok());
    match (number(schema), number(SCHEMA)) {
        (Some(theirs), Some(ours)) if theirs <= ours => Ok(()),
        _ => bail!(
            "{}: its schema is {schema:?}, and this program knows {SCHEMA}: use the program that wrote it, or a new folder",
            folder.display()
        ),
    }
}
