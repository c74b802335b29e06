//! `punctual init`: a project file that states the need once.

use super::files::write_new;
use super::need::Stated;
use crate::cli::{InitArgs, NeedArgs, parse_cpus, parse_duration};
use crate::exit::Exit;
use crate::render;
use crate::render::words::command::length;
use anyhow::{Context, Result, bail};
use punctual_tuning::presets;
use std::fmt::Write;
use std::io::{self, IsTerminal};

/// Writes the file, from what was typed and what is answered.
pub fn run(args: &InitArgs) -> Result<Exit> {
    let text = text(args)?;
    // What is written must be what every other command can read.
    let path = args.out.clone();
    write_new(&path, &text)?;
    Stated::read(&NeedArgs { profile: None, config: Some(path) })?;
    render::say(&format!("Wrote {}. Next: sudo punctual check", args.out.display()));
    Ok(Exit::Fine)
}

fn text(args: &InitArgs) -> Result<String> {
    let names = presets::ALL.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ");
    let asks = !args.yes && io::stdin().is_terminal();
    let is_empty = args.profile.is_none() && args.period.is_none() && args.budget.is_none() && args.cpus.is_none();
    if !asks && is_empty {
        bail!("nobody can be asked here: say what is needed, as in punctual init --profile ethercat --cpus 2-3");
    }
    let profile = answered(args.profile.clone(), asks, &format!("Kind of work ({names})"), "", |text| {
        presets::find(text).map(|preset| preset.name.to_owned()).ok_or_else(|| format!("there are {names}"))
    })?;
    let preset = profile
        .as_deref()
        .map(|name| presets::find(name).with_context(|| format!("there is no preset '{name}'; there are {names}")))
        .transpose()?;
    let usual =
        |of: fn(&presets::Preset) -> punctual_hist::Nanos| preset.map_or_else(String::new, |preset| length(of(preset)));
    let period = answered(args.period, asks, "Time between releases", &usual(|preset| preset.period), parse_duration)?;
    let budget = answered(
        args.budget,
        asks,
        "Largest latency you can live with",
        &usual(|preset| preset.budget),
        parse_duration,
    )?;
    let cpus = answered(
        args.cpus.clone(),
        asks,
        "CPUs for the real-time work, as in 2-3",
        "chosen by each command",
        parse_cpus,
    )?;
    let mut text =
        String::from("# What this machine is needed for; every command of punctual in this folder reads it.\n");
    let lines = [
        ("preset", profile),
        ("period", period.map(length)),
        ("budget", budget.map(length)),
        ("cpus", cpus.map(|cpus| cpus.to_string())),
    ];
    for (key, value) in lines.into_iter().filter_map(|(key, value)| Some((key, value?))) {
        let _ = writeln!(text, "{key} = \"{value}\"");
    }
    Ok(text)
}

/// What was typed, or else what is answered; an empty answer leaves it to the preset.
fn answered<T>(
    typed: Option<T>,
    asks: bool,
    question: &str,
    usual: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>> {
    if typed.is_some() || !asks {
        return Ok(typed);
    }
    let usual = if usual.is_empty() { String::new() } else { format!(" [{usual}]") };
    loop {
        render::ask(&format!("{question}{usual}: "));
        let mut answer = String::new();
        let read = io::stdin().read_line(&mut answer).context("cannot read the answer")?;
        match answer.trim() {
            "" if read == 0 => bail!("the answers ended before the file could be written"),
            "" => return Ok(None),
            answer => match parse(answer) {
                Ok(value) => return Ok(Some(value)),
                Err(why) => render::say(&why),
            },
        }
    }
}
