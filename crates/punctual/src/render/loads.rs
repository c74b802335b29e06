//! The list of loads: what each of them stresses, and which outside programs are available on this machine.

use crate::render::lang::{said, tr};
use punctual_linux::load::{ALL, PRESETS};
use std::fmt::Write;

pub fn list() -> String {
    let mut text = String::from(tr!(
        "Loads of punctual itself (joined by +, they run at the same time; separated by a comma, one after the \
         other):\n"
    ));
    for load in ALL {
        let (stresses, unit) = (said(load.stresses), said(load.unit));
        let told = tr!("{stresses} (one operation: {unit})", stresses, unit);
        let _ = writeln!(text, "  {:<10} {told}", load.name);
    }
    text.push_str(tr!("\nOther programs, if they are installed:\n"));
    for preset in PRESETS {
        let state = preset
            .unavailable()
            .map_or_else(|| tr!("found here").to_owned(), |why| tr!("not here: {why}", why = said(&why)));
        let _ = writeln!(text, "  {:<10} {} ({state})", preset.name, said(preset.stresses));
    }
    text.push_str(tr!("\nAny other program: --load 'cmd:PROGRAM ARGUMENTS'\n"));
    text
}
