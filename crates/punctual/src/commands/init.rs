//! `punctual init`: a project file that states the need once.

use super::files::write_new;
use super::here::Here;
use super::need::{Stated, below_the_period};
use super::project::{among, parse};
use crate::cli::{InitArgs, parse_cpus, parse_duration};
use crate::exit::Exit;
use crate::render;
use crate::render::lang::tr;
use crate::render::words::command::length;
use anyhow::{Context, Result, bail};
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use punctual_linux::result_file::replace;
use punctual_tuning::presets::{self, Preset};
use std::fmt::Write;
use std::io::{self, BufRead, IsTerminal};

/// Writes the project file from options and answers, and prints it.
pub fn run(args: &InitArgs) -> Result<Exit> {
    let path = args.out.display();
    let is_there = args.out.exists();
    if is_there && !args.replace {
        bail!("{path} exists already. To replace it, add --replace");
    }
    let asks = !args.yes && io::stdin().is_terminal();
    let answers = |question: &str| {
        render::ask(question);
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
        Ok((read > 0).then_some(answer))
    };
    let text = render::for_people(|| text(args, &Here::read().cpus.online, asks.then_some(&answers)))?;
    // Checks that every other command can read the file.
    let terms = Stated::of(parse(&text, &args.out)?, None, &args.out)?.terms;
    below_the_period(terms.budget, terms.period).map_err(anyhow::Error::msg)?;
    if args.replace {
        replace(&args.out, text.as_bytes()).with_context(|| format!("write {path}"))?;
    } else {
        write_new(&args.out, &text)?;
    }
    let wrote = if is_there { "Replaced" } else { "Wrote" };
    let indented = text.trim_end().replace('\n', "\n  ");
    let next = if args.out == std::path::Path::new(super::project::FILE) {
        String::new()
    } else {
        format!(" --config {path}")
    };
    if args.form.quiet {
        return Ok(Exit::Fine);
    }
    render::print(&format!("{wrote} {path}:\n\n  {indented}\n\nNext: sudo punctual check{next}"))?;
    Ok(Exit::Fine)
}

/// Asks a question and returns what was typed; `None` at the end of the input.
type Ask<'a> = &'a dyn Fn(&str) -> Result<Option<String>>;

/// The text of the project file. `online` are the CPUs of this machine. `ask` is `None` if there is no terminal for
/// questions.
fn text(args: &InitArgs, online: &CpuSet, ask: Option<Ask<'_>>) -> Result<String> {
    let names: Vec<&str> = presets::ALL.iter().map(|preset| preset.name).collect();
    let is_empty = args.profile.is_none() && args.period.is_none() && args.budget.is_none() && args.cpus.is_none();
    if ask.is_none() && is_empty {
        bail!("there is no terminal for questions: state the need, as in punctual init --profile ethercat --cpus 2-3");
    }
    let known =
        |name: &str| presets::find(name).ok_or_else(|| format!("there is no preset '{name}'{}", among(name, &names)));
    let preset = args.profile.as_deref().map(known).transpose().map_err(anyhow::Error::msg)?;
    let question = format!("Kind of work ({})", names.join(", "));
    let preset = answered(preset, ask, &question, "", known, |_| Ok(()))?;
    let usual = |of: fn(&Preset) -> Nanos| preset.map_or_else(String::new, |preset| length(of(preset)));
    let period = usual(|preset| preset.period);
    let period = answered(args.period, ask, "Time between releases", &period, parse_duration, |_| Ok(()))?;
    let releases = period.or(preset.map(|preset| preset.period));
    let budget = usual(|preset| preset.budget);
    let is_below = |budget: &Nanos| below_the_period(Some(*budget), releases);
    let budget = answered(args.budget, ask, "Largest latency you can live with", &budget, parse_duration, is_below)?;
    let is_here = |cpus: &CpuSet| match cpus.difference(online) {
        missing if missing.is_empty() => Ok(()),
        missing => Err(format!("this machine has no CPU {missing} online: it has {online}")),
    };
    let question = "CPUs for the real-time work, as in 2-3";
    let cpus = answered(args.cpus.clone(), ask, question, "chosen by each command", parse_cpus, is_here)?;
    let remark =
        tr!("# What this machine is needed for; every command of punctual that runs in this folder reads this file.");
    let mut text = format!("{remark}\n");
    let lines = [
        ("preset", preset.map(|preset| preset.name.to_owned())),
        ("period", period.map(length)),
        ("budget", budget.map(length)),
        ("cpus", cpus.map(|cpus| cpus.to_string())),
    ];
    for (key, value) in lines.into_iter().filter_map(|(key, value)| Some((key, value?))) {
        writeln!(text, "{key} = \"{value}\"")?;
    }
    Ok(text)
}

/// The value of the option or, without one, the answer to the question. An empty answer leaves the value to the preset.
/// An invalid option is refused; after an invalid answer the question is repeated.
fn answered<T>(
    typed: Option<T>,
    ask: Option<Ask<'_>>,
    question: &str,
    usual: &str,
    parse: impl Fn(&str) -> Result<T, String>,
    fits: impl Fn(&T) -> Result<(), String>,
) -> Result<Option<T>> {
    if let Some(typed) = typed {
        return fits(&typed).map(|()| Some(typed)).map_err(anyhow::Error::msg);
    }
    let Some(ask) = ask else { return Ok(None) };
    let usual = if usual.is_empty() { String::new() } else { format!(" [{usual}]") };
    loop {
        let Some(answer) = ask(&format!("{question}{usual}: "))? else {
            bail!("the answers ended before the file could be written");
        };
        match answer.trim() {
            "" => return Ok(None),
            answer => match parse(answer).and_then(|value| fits(&value).map(|()| value)) {
                Ok(value) => return Ok(Some(value)),
                Err(why) => render::say(&why),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;
    use std::cell::RefCell;

    fn written(words: &[&str], answers: Option<&[&str]>) -> Result<String> {
        let words = [&["punctual", "init"], words].concat();
        let Command::Init(args) = Cli::try_parse_from(words).unwrap().command else { panic!("another command") };
        let left = RefCell::new(answers.unwrap_or_default().iter());
        let next = |_: &str| Ok(left.borrow_mut().next().map(|answer| format!("{answer}\n")));
        let text = text(&args, &CpuSet::from_iter([0, 1]), answers.is_some().then_some(&next))?;
        assert_eq!(left.borrow().len(), 0, "each answer was asked for");
        Ok(text.lines().skip(1).collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn an_answer_that_cannot_be_is_asked_for_again() {
        let answers = ["ethercta", "cnc", "1", "2ms", "2ms", "300us", "0-7", "1"];
        let file = written(&[], Some(&answers)).unwrap();
        assert_eq!(file, "preset = \"cnc\"; period = \"2ms\"; budget = \"300us\"; cpus = \"1\"");
        assert_eq!(written(&["--cpus", "0"], Some(&["plc", "", ""])).unwrap(), "preset = \"plc\"; cpus = \"0\"");
        let why = written(&[], Some(&["cnc", ""])).unwrap_err().to_string();
        assert!(why.contains("the answers ended"), "{why}");
    }

    #[test]
    fn with_no_terminal_what_was_typed_is_enough_and_is_checked() {
        assert_eq!(written(&["--period", "1ms"], None).unwrap(), "period = \"1ms\"");
        for (words, wants) in [
            (&["--profile", "ethercta"][..], "did you mean 'ethercat'?"),
            (&["--period", "1ms", "--budget", "1ms"], "not below the period of 1ms"),
            (&["--profile", "cnc", "--budget", "2ms"], "not below the period of 1ms"),
            (&["--cpus", "1-9"], "no CPU 2-9 online: it has 0-1"),
            (&[], "no terminal for questions"),
        ] {
            let why = written(words, None).unwrap_err().to_string();
            assert!(why.contains(wants), "{words:?}: {why}");
        }
    }
}
