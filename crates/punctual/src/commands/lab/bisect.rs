//! `punctual lab bisect`: finds what made a kernel worse, by halving.

use super::bench::{Bench, Measured};
use super::build::Builder;
use crate::cli::LabBisectArgs;
use crate::exit::Exit;
use crate::render;
use crate::render::lab::{self, BisectStep, Bisected, Culprit, Need, NotMeasured};
use anyhow::{Context, Result, bail, ensure};
use punctual_lab::choice::Choice;
use punctual_lab::config::{Change, changes, unmet, with};
use punctual_lab::search::{first_bad, smallest_bad};
use punctual_linux::interrupt;
use punctual_numbers::kernels::Criterion;
use std::fs;
use std::path::PathBuf;

/// Measures good and bad, finds the number that tells them apart, and halves. Exits with 3 if they do not differ, or if
/// kernels that could not be judged leave the answer open.
pub fn run(args: &LabBisectArgs) -> Result<Exit> {
    let interrupted = interrupt::flag().context("listen for Ctrl-C")?;
    let bench = Bench::open(&args.guest, false, false, interrupted)?;
    let search = Search { bench, seeds: (1..=args.seeds).collect(), margin: args.margin };
    let bisected = match (&args.build, args.good_words.as_deref().zip(args.bad_words.as_deref())) {
        (Some(command), _) => search.configurations(args, command)?,
        (_, Some((good, bad))) => search.words(&args.kernel, good, bad)?,
        _ => search.list(&args.kernel)?,
    };
    render::print(&match (args.json, args.form.brief) {
        (true, _) => lab::bisect_json(&bisected)?,
        (_, true) => lab::bisect_brief(&bisected),
        _ => lab::bisect_text(&bisected, render::style()),
    })?;
    Ok(Exit::doubtful_if(bisected.criterion.is_none() || !bisected.open.is_empty()))
}

struct Search {
    bench: Bench,
    seeds: Vec<u64>,
    margin: f64,
}

/// Both ends of a search, which were measured first.
struct Ends {
    criterion: Criterion,
    steps: Vec<BisectStep>,
    /// The options of the good and of the bad kernel, as far as these tell.
    configs: [Option<String>; 2],
}

/// A set of changes that was asked about.
struct Asked {
    set: Vec<usize>,
    is_bad: Option<bool>,
    /// The options of the kernel that has these changes; `None` if it does not tell, or if there is none.
    config: Option<String>,
}

impl Search {
    /// Several kernels in order.
    fn list(&self, kernels: &[Choice]) -> Result<Bisected> {
        let [first, .., last] = kernels else {
            bail!(
                "name two kernels or more with --kernel, the first good and the last bad; or --good-words and --bad-words"
            );
        };
        let Some(Ends { criterion, mut steps, .. }) = self.ends(first, last)? else { return Ok(Bisected::default()) };
        let found = first_bad(kernels.len(), |place| {
            let kernel = kernels.get(place).context("a kernel of the list")?;
            let (step, _) = self.ask(&criterion, Ok(kernel), kernel.name.clone())?;
            let is_bad = step.is_bad;
            steps.push(step);
            Ok(is_bad)
        })?;
        let name = |place: usize| kernels.get(place).map(|kernel| kernel.name.clone()).unwrap_or_default();
        let culprit = Culprit::Kernel { good: name(found.good), bad: name(found.bad) };
        let open = (found.good + 1..found.bad).map(name).collect();
        Ok(Bisected { criterion: Some(criterion), steps, culprit: Some(culprit), open })
    }

    /// One kernel, with and without words of its command line.
    fn words(&self, kernels: &[Choice], good: &str, bad: &str) -> Result<Bisected> {
        let [kernel] = kernels else { bail!("--good-words and --bad-words go with one --kernel") };
        let changes = changes(&lines(good), &lines(bad));
        ensure!(!changes.is_empty(), "--good-words and --bad-words are the same");
        let of = |words: String| {
            let words: Vec<String> = words.lines().map(str::to_owned).collect();
            let name = format!("{}+{}", kernel.name, words.join("+"));
            Choice { name, words: [kernel.words.clone(), words].concat(), ..kernel.clone() }
        };
        let Some(ends) = self.ends(&of(lines(good)), &of(lines(bad)))? else { return Ok(Bisected::default()) };
        let with_some = |some: &[Change]| Ok(Ok(of(with(&lines(good), some))));
        let (found, asked, steps) = self.smallest(&changes, &ends, with_some)?;
        let culprit = Culprit::Words { words: told(&chosen(&changes, &found)) };
        let open = open(&changes, &found, &asked);
        Ok(Bisected { criterion: Some(ends.criterion), steps, culprit: Some(culprit), open })
    }

    /// Configurations, each built by the user's command.
    fn configurations(&self, args: &LabBisectArgs, command: &str) -> Result<Bisected> {
        let read = |path: &Option<PathBuf>| {
            let path = path.as_deref().context("--build takes --good-config and --bad-config")?;
            fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
        };
        let (good, bad) = (read(&args.good_config)?, read(&args.bad_config)?);
        let to_bad = changes(&good, &bad);
        ensure!(!to_bad.is_empty(), "--good-config and --bad-config have the same options");
        let interrupted = &self.bench.interrupted;
        let builder = Builder { command, folder: &args.guest.out, keeps: true, interrupted };
        let end = |config: &str| builder.build(config)?.map_err(|missing| anyhow::anyhow!(lab::missing(&missing)));
        let Some(mut ends) = self.ends(&end(&good)?, &end(&bad)?)? else { return Ok(Bisected::default()) };
        let asked_of_ends = [changes(&bad, &good), to_bad.clone()];
        for ((step, asked), config) in ends.steps.iter_mut().zip(asked_of_ends).zip(&ends.configs) {
            step.dropped = dropped(&asked, config.as_deref());
        }
        let (found, asked, steps) = self.smallest(&to_bad, &ends, |some| builder.build(&with(&good, some)))?;
        let [good_config, bad_config] = &ends.configs;
        let of_found = asked.iter().find(|one| one.set == found).map_or(bad_config, |one| &one.config);
        let built = good_config.as_deref().zip(of_found.as_deref()).map(|(good, found)| told(&changes(good, found)));
        let culprit =
            Culprit::Options { options: told(&chosen(&to_bad, &found)), needs: needs(&to_bad, &found, &asked), built };
        let open = open(&to_bad, &found, &asked);
        Ok(Bisected { criterion: Some(ends.criterion), steps, culprit: Some(culprit), open })
    }

    /// The smallest bad set of changes, every set that was asked about, and what was measured.
    fn smallest(
        &self,
        all: &[Change],
        ends: &Ends,
        kernel: impl Fn(&[Change]) -> Result<Result<Choice, NotMeasured>>,
    ) -> Result<(Vec<usize>, Vec<Asked>, Vec<BisectStep>)> {
        let (mut asked, mut steps) = (Vec::new(), ends.steps.clone());
        let found = smallest_bad(all.len(), |set| {
            let some = chosen(all, set);
            let kernel = kernel(&some)?;
            let (mut step, config) = self.ask(&ends.criterion, kernel.as_ref(), told(&some).join(" "))?;
            step.dropped = dropped(&some, config.as_deref());
            let is_bad = step.is_bad;
            steps.push(step);
            asked.push(Asked { set: set.to_vec(), is_bad, config });
            Ok(is_bad)
        })?;
        Ok((found, asked, steps))
    }

    /// Measures both ends. `None` if nothing tells them apart.
    fn ends(&self, good: &Choice, bad: &Choice) -> Result<Option<Ends>> {
        let end = |kernel| self.measure(kernel)?.map_err(|missing| anyhow::anyhow!(lab::missing(&missing)));
        let [of_good, of_bad] = [end(good)?, end(bad)?];
        let criterion = Criterion::between(&of_good.runs(), &of_bad.runs(), self.margin);
        let configs = [of_good.config.clone(), of_bad.config.clone()];
        Ok(criterion.map(|criterion| {
            let steps = vec![
                BisectStep::judged("good".to_owned(), criterion.good, false),
                BisectStep::judged("bad".to_owned(), criterion.bad, true),
            ];
            Ends { criterion, steps, configs }
        }))
    }

    /// Measures a kernel and judges it. A kernel that is not there, or that does not boot, is told in its step.
    fn ask(
        &self,
        by: &Criterion,
        kernel: Result<&Choice, &NotMeasured>,
        what: String,
    ) -> Result<(BisectStep, Option<String>)> {
        let measured = match kernel {
            Ok(kernel) => self.measure(kernel)?,
            Err(missing) => Err(missing.clone()),
        };
        let measured = match measured {
            Ok(measured) => measured,
            Err(missing) => {
                render::say(&lab::missing(&missing));
                return Ok((BisectStep::not_judged(what, missing), None));
            }
        };
        let value = by.value(&measured.runs()).with_context(|| format!("{what}: nothing was measured"))?;
        Ok((BisectStep::judged(what, value, by.is_bad(value)), measured.config))
    }

    /// The outer error is one of this machine, the inner one is the kernel's.
    fn measure(&self, kernel: &Choice) -> Result<Result<Measured, NotMeasured>> {
        let measured = self.bench.measure(&self.bench.get([kernel]), &self.seeds)?.pop().context("nothing measured")?;
        Ok(match measured.failure {
            Some(missing) => Err(missing),
            None => Ok(measured),
        })
    }
}

/// Words as lines, the form of which `changes` and `with` take texts.
fn lines(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join("\n")
}

fn chosen(changes: &[Change], set: &[usize]) -> Vec<Change> {
    set.iter().filter_map(|place| changes.get(*place).cloned()).collect()
}

fn told(changes: &[Change]) -> Vec<String> {
    changes.iter().map(Change::to_string).collect()
}

/// The changes that Kconfig did not let into a kernel, as far as the kernel tells.
fn dropped(asked: &[Change], config: Option<&str>) -> Vec<String> {
    config.map(|config| told(&unmet(asked, config))).unwrap_or_default()
}

/// What was asked about all but one of the changes that were found, each with the change that was left out.
fn without_one<'a>(found: &'a [usize], asked: &'a [Asked]) -> impl Iterator<Item = (usize, &'a Asked)> {
    found.iter().filter_map(move |left_out| {
        let rest: Vec<usize> = found.iter().copied().filter(|one| one != left_out).collect();
        asked.iter().find(|one| one.set == rest).map(|asked| (*left_out, asked))
    })
}

/// Changes that might be left out of the answer: the kernel without each of them could not be judged.
fn open(changes: &[Change], found: &[usize], asked: &[Asked]) -> Vec<String> {
    let open: Vec<usize> =
        without_one(found, asked).filter(|(_, asked)| asked.is_bad.is_none()).map(|(left_out, _)| left_out).collect();
    told(&chosen(changes, &open))
}

/// Of the changes that were found, those without which Kconfig drops another one.
fn needs(changes: &[Change], found: &[usize], asked: &[Asked]) -> Vec<Need> {
    without_one(found, asked)
        .filter_map(|(left_out, asked)| {
            let of = dropped(&chosen(changes, &asked.set), asked.config.as_deref());
            let option = changes.get(left_out)?.to_string();
            (!of.is_empty()).then_some(Need { option, of })
        })
        .collect()
}
