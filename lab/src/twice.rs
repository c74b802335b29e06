//! Jobs in virtual time, each done twice: an answer counts only if both runs gave it to the bit.

use crate::product::{cargo, target_folder};
use crate::program;
use anyhow::{Context, Result, bail, ensure};
use punctual_lab::choice::Choice;
use punctual_lab::inside::Job;
use punctual_lab::kernel::Arch;
use punctual_lab::packages::Shelf;
use punctual_lab::qemu::Clock;
use punctual_lab::run::{Order, run};
use punctual_lab::wire::Output;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Boots the kernel with the program of [`release`] and these jobs, twice. `luggage` holds further programs, each with its
/// path in the guest.
pub fn answers(
    root: &Path,
    kernel: &str,
    shelf: &impl Fn() -> Result<Shelf>,
    luggage: &[(String, PathBuf)],
    jobs: &[Job],
) -> Result<Vec<Output>> {
    let choice = Choice::parse(kernel)?.pop().context("a kernel")?;
    let subject = choice.subject(shelf)?;
    crate::say(&format!("{kernel}: twice"));
    let folder = target_folder(root)?.join("lab-out");
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let order = Order {
        program: &program_of(root, "punctual")?,
        luggage,
        jobs: jobs.to_vec(),
        clock: Clock::Virtual { seed: 1 },
        memory_mib: 1024,
        limit: Duration::from_secs(7200),
        log: &folder.join("twice.log"),
    };
    let once = || match run(&subject, &order, &AtomicBool::new(false))? {
        Ok(answers) => Ok(answers),
        Err(failure) => bail!("{kernel}: {failure:?}"),
    };
    let (first, second) = (once()?, once()?);
    ensure!(first == second, "{kernel}: two runs differ:\n{first:?}\n{second:?}");
    Ok(first)
}

/// Builds programs for guests as users build them. A debug build would be measured otherwise.
pub fn release(root: &Path, packages: &[&str]) -> Result<()> {
    let target = target();
    crate::say(&format!("building {} for {target}", packages.join(" and ")));
    let named = packages.iter().flat_map(|package| ["--package", package]);
    let words = ["build", "--quiet", "--release", "--target", &target];
    program::read(cargo(root).args(words).args(named)).map(|_| ())
}

pub fn program_of(root: &Path, name: &str) -> Result<PathBuf> {
    Ok(target_folder(root)?.join(target()).join("release").join(name))
}

fn target() -> String {
    format!("{}-unknown-linux-musl", Arch::Amd64.machine())
}
