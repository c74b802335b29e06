//! The truth with which explanations are compared: what was planted and when, and its form in a file.
//!
//! Each plant is one line `kind name start_ns end_ns [gaps_ns]`, on `CLOCK_MONOTONIC`. This module must not know how
//! anything is planted.

use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::path::Path;

/// A delay that was planted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plant {
    /// The name of the kind on the command line.
    pub kind: String,
    /// The culprit: a thread, a function of the kernel, or a softirq; `-` if the kind alone says enough.
    pub name: String,
    pub start_ns: u64,
    pub end_ns: u64,
    /// The part of the delay during which the planter noticed that interrupts or a hypervisor stopped it.
    pub gaps_ns: u64,
}

/// Writes all plants to a file.
pub fn write(path: &Path, plants: &[Plant]) -> Result<()> {
    let mut text = String::new();
    for plant in plants {
        let name = plant.name.replace(char::is_whitespace, "_");
        let name = if name.is_empty() { "-" } else { &name };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{} {name} {} {} {}", plant.kind, plant.start_ns, plant.end_ns, plant.gaps_ns);
    }
    std::fs::write(path, text).with_context(|| format!("write what was planted to {}", path.display()))
}

pub fn read(path: &Path) -> Result<Vec<Plant>> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("read what was planted from {}", path.display()))?;
    let plants: Result<Vec<Plant>> =
        text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(parse).collect();
    plants.with_context(|| format!("understand {}", path.display()))
}

fn parse(line: &str) -> Result<Plant> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (words, gaps) = match words.as_slice() {
        [words @ .., gaps] if words.len() == 4 => (words, *gaps),
        words => (words, "0"),
    };
    let [kind, name, start, end] = words else { bail!("`{line}` is not `kind name start_ns end_ns [gaps_ns]`") };
    let number = |word: &str| word.parse::<u64>().with_context(|| format!("`{word}` in `{line}` is no time"));
    Ok(Plant {
        kind: (*kind).to_owned(),
        name: (*name).to_owned(),
        start_ns: number(start)?,
        end_ns: number(end)?,
        gaps_ns: number(gaps)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let path = std::env::temp_dir().join(format!("causes-truth-{}", std::process::id()));
        let plants = [
            Plant { kind: "hog".into(), name: "hog".into(), start_ns: 1, end_ns: 2, gaps_ns: 1 },
            Plant { kind: "ipi".into(), name: String::new(), start_ns: 3, end_ns: 4, gaps_ns: 0 },
        ];
        write(&path, &plants).unwrap();
        let back = read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(back[0], plants[0]);
        assert_eq!(back[1].name, "-");
        assert_eq!(parse("hog hog 1 2").unwrap().gaps_ns, 0);
        assert!(parse("hog hog 1").is_err());
        assert!(parse("hog hog 1 x").is_err());
    }
}
