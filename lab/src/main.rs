//! The lab tests the product on kernels of Debian in emulated machines.
//!
//! Each scenario compares its claims with what a real kernel reports. A claim is held, failed or skipped, and an
//! unexpected skip is a failure. The lab is started by `cargo xtask lab`, and uses the product as users do, as a
//! program.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what automation is for")]

mod disk;
mod guest;
mod host;
mod initramfs;
mod kernel;
mod product;
mod readme;
mod scenario;
mod tutorial;
mod twice;
mod waits;
mod written;

use anyhow::{Context, Result, bail, ensure};
use punctual_lab::packages::{self, Shelf};
use punctual_lab::{cpio, program, wire};
use scenario::{Lab, Outcome};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "\
usage: cargo xtask lab [OPTION...] [SCENARIO...] [CLAIM...] [KERNEL...] [STORY...]

Boots kernels in QEMU and tries the product in them; without names, everything that is quick. `waits` alone measures the
ways to wait in virtual time, and writes their table into the book. `tutorial` alone writes the measured session of the
book's tutorial, and its recordings.

  --full         the stories of a disk too, with a boot loader and systemd (takes long, as root); with names of stories,
                 those alone
  --bless        write the verdicts into lab/README.md
  --fresh        ask the archives for newer packages now, not once a week
  --cache DIR    keep packages there [default: $PUNCTUAL_LAB_CACHE, or punctual-lab below the user's cache]
  --list         say what there is
  --install      install what this machine lacks (as root, by apt)

Ends with 0 when all claims hold, 1 when one does not, 3 when this machine lacks what it takes.";

/// Exit code if this machine lacks something that the tests need. The product uses the same code.
const LACKS: u8 = 3;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&words) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("lab: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The arguments of the command line.
#[derive(Debug, Default)]
struct Wish {
    full: bool,
    bless: bool,
    fresh: bool,
    cache: Option<PathBuf>,
    /// Names of scenarios, claims, kernels and stories.
    names: Vec<String>,
}

fn dispatch(words: &[String]) -> Result<ExitCode> {
    let mut wish = Wish::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--full" => wish.full = true,
            "--bless" => wish.bless = true,
            "--fresh" => wish.fresh = true,
            "--cache" => wish.cache = Some(words.next().context("--cache needs a folder")?.into()),
            "--list" => {
                print!("{}", readme::list());
                return Ok(ExitCode::SUCCESS);
            }
            "--install" => return host::install().map(|()| ExitCode::SUCCESS),
            "help" | "-h" | "--help" => {
                println!("{USAGE}");
                return Ok(ExitCode::SUCCESS);
            }
            option if option.starts_with('-') => bail!("unknown option {option}\n{USAGE}"),
            name => wish.names.push(name.to_owned()),
        }
    }
    run(&wish)
}

fn run(wish: &Wish) -> Result<ExitCode> {
    let (stories, names): (Vec<&str>, Vec<&str>) =
        wish.names.iter().map(String::as_str).partition(|name| disk::is_story(name));
    ensure!(wish.full || stories.is_empty(), "stories of the disk are told with --full");
    for name in &names {
        ensure!(
            ["waits", "tutorial"].contains(name) || readme::is_known(name),
            "no scenario, claim or kernel `{name}`; there are:\n{}",
            readme::list()
        );
    }
    let missing = host::missing()?;
    if !missing.is_empty() {
        eprintln!("lab: this machine lacks {}; `cargo xtask lab --install` installs it", missing.join(", "));
        return Ok(ExitCode::from(LACKS));
    }
    let root = root();
    let shelf = || Shelf::open(&packages::cache(wish.cache.as_deref())?, wish.fresh, say);
    if names == ["waits"] {
        let ahead = waits::tell(&root, shelf)?;
        return Ok(if ahead { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if names == ["tutorial"] {
        return tutorial::tell(&root, shelf).map(|()| ExitCode::SUCCESS);
    }
    let told = if wish.full { tell(&root, wish, &stories)? } else { true };
    if !stories.is_empty() {
        return Ok(if told { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let lab = Lab::open(&root, shelf()?, &wish.names)?;
    let start = Instant::now();
    if let Err(error) = scenario::fetch(&lab) {
        eprintln!("lab: this machine has no kernels and cannot get them: {error:#}");
        return Ok(ExitCode::from(LACKS));
    }
    let outcomes = scenario::run_all(&lab);
    println!("\n{}", scenario::table(&outcomes));
    if wish.bless {
        readme::write(&root, &outcomes)?;
    }
    println!("lab: {} in {:.0} s", scenario::count(&outcomes), start.elapsed().as_secs_f64());
    let good = told && !outcomes.is_empty() && outcomes.iter().all(Outcome::is_good);
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the stories of the disk. Returns whether every claim held.
fn tell(root: &Path, wish: &Wish, stories: &[&str]) -> Result<bool> {
    let product = product::build(root, kernel::Arch::Amd64)?.context("the program cannot be built for a guest")?;
    ensure!(
        product.libraries.is_empty(),
        "the disk takes a static program: `rustup target add x86_64-unknown-linux-musl`"
    );
    let verdicts = disk::run(&product.program, stories, &packages::cache(wish.cache.as_deref())?)?;
    if wish.bless {
        readme::write_disk(root, &verdicts)?;
    }
    Ok(verdicts.iter().all(|(_, held)| *held))
}

thread_local! {
    /// What this thread is working on, which begins each line it prints. Empty if only one thread works.
    static WORK: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Sets the text with which this thread begins each line from now on.
fn say_as(work: String) {
    WORK.set(work);
}

/// Prints a message about the progress, which is not a result.
fn say(text: &str) {
    WORK.with_borrow(|work| {
        let between = if work.is_empty() { "" } else { ": " };
        eprintln!("  {work}{between}{text}");
    });
}

/// The repository's folder, in which this crate's folder lies.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}
