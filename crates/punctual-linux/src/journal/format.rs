//! Format 1 of the journal: how records are written, one per line, and read back.
//!
//! ```text
//! punctual journal 1
//! 1f2e3d4c {"record":"begun",...}
//! ```
//!
//! Each line after the first consists of the CRC-32 of its JSON, a space, and the JSON. The types that are written
//! stand in `twins` and nowhere else. Nothing here opens a file.

mod twins;

use super::record::JournalRecord;
use serde::Serialize;
use twins::{Line, Written};

pub const VERSION: u32 = 1;
const MAGIC: &str = "punctual journal ";

pub fn first_line() -> String {
    format!("{MAGIC}{VERSION}\n")
}

pub fn line(record: &JournalRecord) -> Result<String, serde_json::Error> {
    let json = serde_json::to_string(&Line::of(record.clone()))?;
    Ok(format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes())))
}

/// A line of the journal that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[error("line {line}: {why}")]
pub struct Damage {
    /// Number of the line, counted from one.
    pub line: usize,
    pub why: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    pub records: Vec<JournalRecord>,
    pub damage: Vec<Damage>,
    /// Where the last whole line ends. The bytes after it belong to a line that was cut off while it was written.
    pub good_bytes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    Newer(u32),
    NotAJournal,
    /// A line with a correct checksum holds a record that this program does not know.
    UnknownRecord {
        line: usize,
        kind: String,
    },
}

pub fn parse(bytes: &[u8]) -> Result<Parsed, Unusable> {
    let mut parsed = Parsed::default();
    let mut sound = false;
    for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let Some(line) = line.strip_suffix(b"\n") else { break };
        parsed.good_bytes += line.len() + 1;
        let result = if number == 0 { version(line).map(|()| None) } else { record(line, number + 1).map(Some) };
        match result {
            Ok(found) => {
                sound = true;
                parsed.records.extend(found);
            }
            Err(Trouble::Unusable(unusable)) => return Err(unusable),
            Err(Trouble::Damaged(why)) => parsed.damage.push(Damage { line: number + 1, why }),
        }
    }
    if sound { Ok(parsed) } else { Err(Unusable::NotAJournal) }
}

enum Trouble {
    Unusable(Unusable),
    Damaged(String),
}

fn damaged(why: &(impl ToString + ?Sized)) -> Trouble {
    Trouble::Damaged(why.to_string())
}

fn version(line: &[u8]) -> Result<(), Trouble> {
    let text = std::str::from_utf8(line).map_err(|_| damaged("the first line is not text"))?;
    let number = text.strip_prefix(MAGIC).and_then(|rest| rest.parse::<u32>().ok());
    match number {
        Some(VERSION) => Ok(()),
        Some(newer) if newer > VERSION => Err(Trouble::Unusable(Unusable::Newer(newer))),
        _ => Err(damaged("the first line does not name format and version")),
    }
}

fn record(line: &[u8], number: usize) -> Result<JournalRecord, Trouble> {
    let text = std::str::from_utf8(line).map_err(|_| damaged("it is not text"))?;
    let (sum, json) = text.split_once(' ').ok_or_else(|| damaged("it has no checksum"))?;
    if u32::from_str_radix(sum, 16).ok().filter(|_| sum.len() == 8) != Some(crc32fast::hash(json.as_bytes())) {
        return Err(damaged("its checksum is wrong"));
    }
    let value: serde_json::Value = serde_json::from_str(json).map_err(|error| damaged(&error))?;
    let kind = value.get("record").and_then(serde_json::Value::as_str).unwrap_or_default();
    if !twins::KINDS.contains(&kind) {
        let kind = kind.to_owned();
        return Err(Trouble::Unusable(Unusable::UnknownRecord { line: number, kind }));
    }
    let line: Line = serde_json::from_value(value).map_err(|error| damaged(&error))?;
    line.own().map_err(|error: String| damaged(&error))
}
