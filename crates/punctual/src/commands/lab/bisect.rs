//! `punctual lab bisect`: finds what made a kernel worse, by halving.

use super::bench::{Bench, Measured};
use crate::cli::LabBisectArgs;
use crate::exit::Exit;
use crate::render;
use crate::render::lab::{self, BisectStep, Bisected, Culprit};
use anyhow::{Context, Result, bail, ensure};
use punctual_lab::choice::{Choice, Source};
use punctual_lab::config::{Change, changes, with};
use punctual_lab::search::{first_bad, smallest_bad};
use punctual_linux::interrupt;
use punctual_numbers::kernels::Criterion;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Measures good and bad, finds the number that tells them apart, and halves. Exits with 3 if they do not differ.
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
    Ok(Exit::doubtful_if(bisected.criterion.is_none()))
}

struct Search {
    bench: Bench,
    seeds: Vec<u64>,
    margin: f64,
}

impl Search {
    /// Several kernels in order.
    fn list(&self, kernels: &[Choice]) -> Result<Bisected> {
        let [first, .., last] = kernels else {
            bail!(
                "name two kernels or more with --kernel, the first good and the last bad; or --good-words and --bad-words"
            );
        };
        let Some((criterion, mut steps)) = self.ends(first, last)? else { return Ok(Bisected::default()) };
        let found = first_bad(kernels.len(), |place| {
            let kernel = kernels.get(place).context("a kernel of the list")?;
            self.ask(&criterion, kernel, kernel.name.clone(), &mut steps)
        })?;
        let name = |place: usize| kernels.get(place).map(|kernel| kernel.name.clone()).unwrap_or_default();
        let culprit = Culprit::Kernel { good: name(found.saturating_sub(1)), bad: name(found) };
        Ok(Bisected { criterion: Some(criterion), steps, culprit: Some(culprit) })
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
        let Some((criterion, mut steps)) = self.ends(&of(lines(good)), &of(lines(bad)))? else {
            return Ok(Bisected::default());
        };
        let found = smallest_bad(changes.len(), |set| {
            let some = chosen(&changes, set);
            self.ask(&criterion, &of(with(&lines(good), &some)), said(&some), &mut steps)
        })?;
        let culprit = Culprit::Words { words: chosen(&changes, &found).iter().map(Change::to_string).collect() };
        Ok(Bisected { criterion: Some(criterion), steps, culprit: Some(culprit) })
    }

    /// Configurations, each built by the user's command.
    fn configurations(&self, args: &LabBisectArgs, command: &str) -> Result<Bisected> {
        let read = |path: &Option<std::path::PathBuf>| {
            let path = path.as_deref().context("--build takes --good-config and --bad-config")?;
            fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
        };
        let (good, bad) = (read(&args.good_config)?, read(&args.bad_config)?);
        let changes = changes(&good, &bad);
        ensure!(!changes.is_empty(), "--good-config and --bad-config have the same options");
        let build = |config: &str| built(command, config, &args.guest.out);
        let Some((criterion, mut steps)) = self.ends(&build(&good)?, &build(&bad)?)? else {
            return Ok(Bisected::default());
        };
        let found = smallest_bad(changes.len(), |set| {
            let some = chosen(&changes, set);
            self.ask(&criterion, &build(&with(&good, &some))?, said(&some), &mut steps)
        })?;
        let culprit = Culprit::Options { options: chosen(&changes, &found).iter().map(Change::to_string).collect() };
        Ok(Bisected { criterion: Some(criterion), steps, culprit: Some(culprit) })
    }

    /// Measures both ends. `None` if nothing tells them apart.
    fn ends(&self, good: &Choice, bad: &Choice) -> Result<Option<(Criterion, Vec<BisectStep>)>> {
        let [of_good, of_bad] = [self.measure(good)?, self.measure(bad)?];
        let criterion = Criterion::between(&of_good.runs(), &of_bad.runs(), self.margin);
        let step = |what: &str, value, is_bad| BisectStep { what: what.to_owned(), value, is_bad };
        Ok(criterion.map(|found| {
            let steps = vec![step("good", found.good, false), step("bad", found.bad, true)];
            (found, steps)
        }))
    }

    fn ask(&self, by: &Criterion, kernel: &Choice, what: String, steps: &mut Vec<BisectStep>) -> Result<bool> {
        let measured = self.measure(kernel)?;
        let value = by.value(&measured.runs()).with_context(|| format!("{what}: nothing was measured"))?;
        let is_bad = by.is_bad(value);
        steps.push(BisectStep { what, value, is_bad });
        Ok(is_bad)
    }

    fn measure(&self, kernel: &Choice) -> Result<Measured> {
        let measured = self.bench.measure(&self.bench.get([kernel]), &self.seeds)?.pop().context("nothing measured")?;
        if let Some(missing) = &measured.failure {
            bail!(lab::missing(missing));
        }
        Ok(measured)
    }
}

/// Words as lines, the form of which `changes` and `with` take texts.
fn lines(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join("\n")
}

fn chosen(changes: &[Change], set: &[usize]) -> Vec<Change> {
    set.iter().filter_map(|place| changes.get(*place).cloned()).collect()
}

fn said(changes: &[Change]) -> String {
    changes.iter().map(Change::to_string).collect::<Vec<_>>().join(" ")
}

/// Builds a kernel with the user's command, once for each configuration.
fn built(command: &str, config: &str, folder: &Path) -> Result<Choice> {
    let mut key = punctual_lab::key::Key::default();
    key.text(command);
    key.text(config);
    let name = format!("build-{:08x}", key.value());
    let (file, image) = (folder.join(format!("{name}.config")), folder.join(format!("{name}.image")));
    if !image.is_file() {
        fs::write(&file, config).with_context(|| format!("write {}", file.display()))?;
        render::say(&lab::building(&name));
        let part = image.with_extension("part");
        let status = Command::new("sh")
            .args(["-c", command])
            .env("PUNCTUAL_CONFIG", absolute(&file)?)
            .env("PUNCTUAL_IMAGE", absolute(&part)?)
            .stdin(Stdio::null())
            .stdout(std::io::stderr())
            .status()
            .context("start sh")?;
        ensure!(status.success(), "`{command}` ended with {status}, for {}", file.display());
        fs::rename(&part, &image).with_context(|| format!("`{command}` left no image in $PUNCTUAL_IMAGE"))?;
    }
    Ok(Choice { name, source: Source::Image(image), words: Vec::new(), modules: Vec::new() })
}

fn absolute(path: &Path) -> Result<std::path::PathBuf> {
    std::path::absolute(path).with_context(|| format!("find {}", path.display()))
}
