//! The options of a campaign: checked before anything is changed, and written out so that they mean the same after a
//! boot.

use super::candidates::Selection;
use super::time::{WARM_UP, each, seed_of_the_clock};
use crate::cli::OptimizeArgs;
use crate::commands::adopt;
use crate::commands::files::unused;
use crate::commands::here::{Here, typed};
use crate::commands::source::Source;
use crate::commands::tune::{is_roots_alone, place};
use crate::render;
use crate::render::words::command::{Command, length};
use anyhow::{Context, Result, anyhow, bail};
use punctual_hist::Nanos;
use punctual_linux::load::LoadSpec;
use punctual_linux::{apply, journal};
use punctual_numbers::scenario::{Amount, Policy, Scenario};
use punctual_optimize::Tried;
use punctual_optimize::{Design, SCREENED_MAX, Strategy};
use std::path::{Path, PathBuf};

/// Fewest releases in a run: with fewer there is no activation beyond p99.9.
const RELEASES_MIN: u64 = 1_200;
const LOAD_DIR: &str = "--load-dir";

pub fn design(args: &OptimizeArgs, found: &Selection) -> Result<Design> {
    let releases = args.run.whole(args.period()).saturating_mul(found.cpus.len() as u64);
    if releases < RELEASES_MIN {
        bail!(
            "in {} there are {releases} releases, and p99.9 takes {RELEASES_MIN} at least: lengthen --run",
            render::units::duration(args.run)
        );
    }
    let each = each(args);
    let runs = args.time.as_ns() / each.as_ns().max(1);
    let seed = args.seed.unwrap_or_else(seed_of_the_clock);
    let listed: Vec<_> = found.candidates.iter().map(|found| found.candidate.clone()).collect();
    if args.strategy == Strategy::Screening && listed.len() > SCREENED_MAX {
        bail!("screening takes {SCREENED_MAX} knobs at most, and there are {}: name fewer with --knobs", listed.len());
    }
    Design::new(listed, args.strategy, seed, args.margin, runs).map_err(|short| {
        let needed = Nanos::from_ns(each.as_ns().saturating_mul(short.needed));
        anyhow!(
            "in {} there is time for {} of {}, and fewer than {} cannot tell anything: give it --time {}s, \
             or name fewer knobs, or shorten --run",
            render::units::duration(args.time),
            render::units::counted(short.have, "measurement"),
            render::units::duration(args.run),
            short.needed,
            needed.as_ns().div_ceil(1_000_000_000)
        )
    })
}

pub fn scenario(args: &OptimizeArgs, found: &Selection) -> Result<Scenario> {
    let here = Here::read();
    let policy = Policy::Fifo(args.priority());
    let scenario = Scenario {
        warm_up: Amount::Time(WARM_UP),
        budget: args.budget,
        dma_latency_us: args.dma_latency,
        load_phases: args.phases(),
        ..Scenario::plain(found.cpus.iter(), args.period(), policy, Amount::Time(args.run))
    };
    scenario.checked(&here.cpus).map_err(render::words::scenario_error)
}

/// The arguments to save with the campaign. They name the chosen CPUs, because a boot with another command line might
/// choose others. Their paths are absolute, because the campaign may be resumed from another folder.
pub fn arguments(args: &OptimizeArgs, found: &Selection) -> Result<Vec<String>> {
    let mut words = explicit(args, typed());
    if let Some(dir) = &args.load_dir {
        let whole = dir.canonicalize().with_context(|| format!("--load-dir: open the folder {}", dir.display()))?;
        name_whole(&mut words, whole.to_str().context("--load-dir: its path is not text")?);
    }
    if args.cpus.is_none() {
        words.extend(["--cpus".to_owned(), found.cpus.to_string()]);
    }
    Ok(words)
}

/// The arguments with the values of the project file or preset added as options, because the file may have changed or
/// be gone after a boot.
fn explicit(args: &OptimizeArgs, typed: impl Iterator<Item = String>) -> Vec<String> {
    let load = args.load.as_ref().map(ToString::to_string);
    let stated = [
        ("--profile", args.need.profile.clone()),
        ("--time", Some(length(args.time))),
        ("--period", args.period.map(length)),
        ("--budget", args.budget.map(length)),
        ("--priority", args.priority.map(|priority| priority.to_string())),
        ("--load", load),
    ];
    let typed = Command::new(typed).without("--config");
    let given = stated.into_iter().filter_map(|(option, value)| Some((option, value?)));
    given.fold(typed, |command, (option, value)| command.with(option, &value)).into_words()
}

/// Replaces the value of `--load-dir` by its absolute path, for both ways to type the option.
fn name_whole(words: &mut [String], whole: &str) {
    let mut is_next = false;
    for word in words {
        if is_next {
            whole.clone_into(word);
        } else if word.starts_with(&format!("{LOAD_DIR}=")) {
            *word = format!("{LOAD_DIR}={whole}");
        }
        is_next = word == LOAD_DIR;
    }
}

/// The campaign's folder. With `--boots` root resumes the campaign, so no other user may be able to write to the
/// folder.
pub fn folder(args: &OptimizeArgs) -> Result<PathBuf> {
    let home = if args.boots { "/var/lib/" } else { "" };
    let stem = || PathBuf::from(format!("{home}punctual-optimize-{}", render::units::file_stamp()));
    let path = args.out.clone().unwrap_or_else(|| unused(&stem(), ""));
    if args.boots { folder_across_boots(&path) } else { Ok(path) }
}

/// The whole path of a folder for a campaign across boots. Root resumes the campaign, so no other user may be able to
/// write to the folder around it.
pub fn folder_across_boots(path: &Path) -> Result<PathBuf> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent = parent.canonicalize().with_context(|| format!("open the folder {}", parent.display()))?;
    is_roots_alone(&parent).map_err(|why| anyhow!("{why}: a campaign across boots is taken up by root after each"))?;
    if let Err(why) = place() {
        render::say(&format!(
            "The campaign does not resume by itself after a boot: {why}. Resume it by hand after each."
        ));
    }
    Ok(parent.join(path.file_name().context("--out: name a folder")?))
}

/// Refuses a campaign while a new command line of `tune` waits to be tried.
pub fn no_line_waits() -> Result<()> {
    let contents = journal::read(&apply::Machine::here())?.unwrap_or_default();
    if adopt::new_cmdline(&contents, &Source::here().machine).is_some_and(|trial| !trial.is_adopted) {
        bail!(
            "a new command line of `punctual tune` is not the default yet: punctual status --confirm, or revert, first"
        );
    }
    Ok(())
}

/// Refuses programs that root could not find after a boot, or that other users could replace.
pub fn is_found_after_a_boot(args: &OptimizeArgs) -> Result<()> {
    let script = |word: &'_ str| match Tried::parse(word) {
        Tried::Script(path) => Some(Path::new(path).to_owned()),
        Tried::Knob(_) => None,
    };
    if let Some(script) = args.knobs.iter().filter_map(|word| script(word)).find(|path| !path.is_absolute()) {
        bail!("script:{}: name it with its whole path: with --boots it is run from elsewhere", script.display());
    }
    for name in args.phases().iter().flat_map(|phase| &phase.loads) {
        let LoadSpec::Program(words) = LoadSpec::parse(name)? else { continue };
        let program = Path::new(words.first().map_or("", String::as_str));
        if !program.is_absolute() {
            bail!(
                "load {name}: name the program with its whole path, because with --boots root runs it after each boot"
            );
        }
        let real = program.canonicalize().with_context(|| format!("load {name}: look at {}", program.display()))?;
        // The named path and the file it leads to are both checked.
        is_roots_alone(program)
            .and_then(|()| is_roots_alone(&real))
            .map_err(|why| anyhow!("load {name}: {why}: with --boots root runs it after each boot"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{explicit, is_found_after_a_boot, name_whole};
    use crate::cli::{Cli, Command, OptimizeArgs};
    use clap::Parser;

    fn asked(words: &[&str]) -> OptimizeArgs {
        let words = [&["punctual", "optimize", "--boots"][..], words].concat();
        let Command::Optimize(args) = Cli::try_parse_from(words).unwrap().command else { panic!("another command") };
        *args
    }

    #[test]
    fn a_campaign_keeps_in_words_what_a_project_file_stated() {
        let args = asked(&["--cpus", "1", "--config", "x.toml", "--budget", "50us", "--load", "cpu+net"]);
        let typed = ["optimize", "--config", "x.toml", "--budget=50us", "--load", "cpu+net"].map(str::to_owned);
        let kept = explicit(&args, typed.into_iter()).join(" ");
        assert_eq!(kept, "optimize --time 30m --budget 50us --load cpu+net:1");
    }

    #[test]
    fn what_root_runs_after_each_boot_is_roots_alone_and_is_found_from_anywhere() {
        let dir = tempfile::tempdir().unwrap();
        // Any user may write to the folder for temporary files.
        let mine = dir.path().join("mine");
        std::fs::write(&mine, "").unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/bin/true", &link).unwrap();
        for (option, value, why) in [
            ("--load", "cmd:stress --cpu 1", "whole path"),
            ("--load", "cmd:./mine", "whole path"),
            ("--load", &format!("cmd:{}", mine.display()), "users other than root"),
            ("--load", &format!("idle,cmd:{} --now", mine.display()), "users other than root"),
            ("--load", &format!("cmd:{}", link.display()), "users other than root"),
            ("--load", "cmd:/there/is/no/such", "look at"),
            ("--knobs", "script:mine", "whole path"),
        ] {
            let told = format!("{:#}", is_found_after_a_boot(&asked(&[option, value])).unwrap_err());
            assert!(told.contains(why), "{value}: {told}");
        }
        for words in [["--load", "cmd:/bin/true"], ["--load", "cpu+memory"], ["--knobs", "script:/bin/true"]] {
            is_found_after_a_boot(&asked(&words)).unwrap();
        }
    }

    #[test]
    fn the_folder_of_the_loads_is_kept_with_its_whole_path() {
        let kept = |typed: &[&str]| {
            let mut words: Vec<String> = typed.iter().map(|&word| word.to_owned()).collect();
            name_whole(&mut words, "/srv/loads");
            words.join(" ")
        };
        assert_eq!(kept(&["optimize", "--load-dir", "loads", "-y"]), "optimize --load-dir /srv/loads -y");
        assert_eq!(kept(&["optimize", "--load-dir=loads", "-y"]), "optimize --load-dir=/srv/loads -y");
        assert_eq!(kept(&["optimize", "--load", "cpu"]), "optimize --load cpu");
    }
}
