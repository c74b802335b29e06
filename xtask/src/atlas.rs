//! `cargo xtask atlas`: one page, made of all entries of the atlas, that can be searched and needs no server.
//!
//! What is wrong with an entry is told by tests and by `punctual share --check`; here an entry only has to be JSON.

use crate::step::StepOutcome;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The element of the page that takes the entries.
const PLACE: &str = "<script type=\"application/json\" id=\"entries\">[]</script>";

pub fn run(root: &Path) -> Result<()> {
    let mut paths: Vec<PathBuf> = fs::read_dir(root.join("atlas/entries"))
        .context("list atlas/entries")?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    let entries: Vec<Value> = paths.iter().map(|path| entry(path)).collect::<Result<_>>()?;
    ensure!(!entries.is_empty(), "the atlas has no entries");
    let page = fs::read_to_string(root.join("atlas/page.html")).context("read atlas/page.html")?;
    ensure!(page.matches(PLACE).count() == 1, "atlas/page.html has no place for the entries, or several");
    let folder = root.join("target/atlas");
    fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let out = folder.join("index.html");
    fs::write(&out, page.replace(PLACE, &place(&entries)?)).with_context(|| format!("write {}", out.display()))?;
    println!("{} entries: {}", entries.len(), out.display());
    Ok(())
}

pub fn step(root: &Path) -> StepOutcome {
    StepOutcome::of(run(root))
}

/// One entry, without the snapshot, which the page does not show.
fn entry(path: &Path) -> Result<Value> {
    let read = || -> Result<Value> { Ok(serde_json::from_slice(&fs::read(path)?)?) };
    let mut entry = read().with_context(|| format!("read {}", path.display()))?;
    entry.as_object_mut().with_context(|| format!("{} is no object", path.display()))?.remove("snapshot");
    Ok(entry)
}

/// The entries within the page. A text of an entry cannot end the element.
fn place(entries: &[Value]) -> Result<String> {
    let json = serde_json::to_string(entries)?.replace('<', "\\u003c");
    Ok(PLACE.replace("[]", &json))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_an_entry_cannot_end_the_element_of_the_page() {
        let entry = serde_json::json!({ "title": "</script><script>alert(1)</script>" });
        let placed = place(std::slice::from_ref(&entry)).unwrap();
        assert_eq!(placed.matches("</script>").count(), 1, "{placed}");
        let json = placed.split_once('>').unwrap().1.trim_end_matches("</script>");
        assert_eq!(serde_json::from_str::<Value>(json).unwrap(), serde_json::json!([entry]));
    }
}
