//! The list of loads: what each of them stresses, and which outside programs are available on this machine.

use punctual_linux::load::{ALL, PRESETS};
use std::fmt::Write;

pub fn list() -> String {
    let mut text = String::from("Loads of this program (join with +, in turn with a comma):\n");
    for load in ALL {
        let _ = writeln!(text, "  {:<10} {} (one operation: {})", load.name, load.stresses, load.unit);
    }
    text.push_str("\nOutside programs, when they are found:\n");
    for preset in PRESETS {
        let state = preset.unavailable().map_or_else(|| "found".to_owned(), |why| format!("not here: {why}"));
        let _ = writeln!(text, "  {:<10} {} ({state})", preset.name, preset.stresses);
    }
    text.push_str("\nAny other program: --load 'cmd:PROGRAM ARGUMENTS'\n");
    text
}
