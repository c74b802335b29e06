//! The catalogue of translations: files in the format of gettext (PO), which `build.rs` packs into the program.
//!
//! Only the part of the format is read that a translator's editor writes for plain messages: `msgid` and `msgstr` in
//! quotes, over several lines, and comments. The files are unpacked and read when the first text is translated.

use flate2::read::ZlibDecoder;
use std::io::Read;

const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/zh-CN.po.zz"));

/// The text of all catalogues. A text that cannot be unpacked would be a mistake of the build; all then stays English.
pub(super) fn unpacked() -> String {
    let mut text = String::new();
    match ZlibDecoder::new(PACKED).read_to_string(&mut text) {
        Ok(_) => text,
        Err(_) => String::new(),
    }
}

/// The messages of a catalogue that have a translation, in the order of the file. The header, which translates the empty
/// text, is left out.
pub(super) fn messages(catalogue: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    let mut is_translation = false;
    for line in catalogue.lines().map(str::trim) {
        let quoted = if let Some(rest) = line.strip_prefix("msgid ") {
            all.push((String::new(), String::new()));
            is_translation = false;
            rest
        } else if let Some(rest) = line.strip_prefix("msgstr ") {
            is_translation = true;
            rest
        } else if line.starts_with('"') {
            line
        } else {
            continue;
        };
        let Some((english, translation)) = all.last_mut() else { continue };
        let side = if is_translation { translation } else { english };
        side.push_str(&unquoted(quoted));
    }
    all.retain(|(english, translation)| !english.is_empty() && !translation.is_empty());
    all
}

/// The text between the quotes, with the escapes of C resolved.
fn unquoted(quoted: &str) -> String {
    let inner = quoted.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default();
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => text.extend(characters.next().map(|escaped| if escaped == 'n' { '\n' } else { escaped })),
            c => text.push(c),
        }
    }
    text
}
