//! Kernels that a command of the user builds.

use super::Interrupted;
use crate::render::{
    self,
    lab::{self, NotMeasured},
};
use anyhow::{Context, Result, bail};
use punctual_lab::choice::{Choice, Source};
use punctual_lab::key::Key;
use punctual_lab::run::has_room;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How kernels are built.
pub struct Builder<'a> {
    /// The user's command, for `sh`.
    pub command: &'a str,
    /// The folder for configurations, images and logs.
    pub folder: &'a Path,
    /// Whether an image that is there is taken. A gate builds anew, because the sources may have changed since.
    pub keeps: bool,
    pub interrupted: &'a AtomicBool,
}

impl Builder<'_> {
    /// The kernel with this configuration. The outer error is one of this machine, the inner one tells why there is no
    /// such kernel.
    pub fn build(&self, config: &str) -> Result<Result<Choice, NotMeasured>> {
        let name = self.name(config)?;
        let [file, image, log] = ["config", "image", "log"].map(|ending| self.folder.join(format!("{name}.{ending}")));
        if !(self.keeps && image.is_file()) {
            fs::write(&file, config).with_context(|| format!("write {}", file.display()))?;
            render::say(&lab::building(&name, &log));
            if let Err(why) = self.run(&file, &image, &log)? {
                return Ok(Err(lab::not_built(&name, why, last(&log))));
            }
        }
        Ok(Ok(Choice { name, source: Source::Image(image), words: Vec::new(), modules: Vec::new() }))
    }

    /// Runs the command once. The inner error tells why there is no image.
    fn run(&self, config: &Path, image: &Path, log: &Path) -> Result<Result<(), String>> {
        let part = image.with_extension("part");
        // An image of an earlier, interrupted build must not be taken for that of this one.
        let _ = fs::remove_file(&part);
        let output = File::create(log).with_context(|| format!("create {}", log.display()))?;
        let errors = output.try_clone().with_context(|| format!("write {} twice", log.display()))?;
        let status = Command::new("sh")
            .args(["-c", self.command])
            .env("PUNCTUAL_CONFIG", absolute(config)?)
            .env("PUNCTUAL_IMAGE", absolute(&part)?)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .status()
            .context("start sh")?;
        if self.interrupted.load(Relaxed) {
            bail!(Interrupted { results: self.folder.to_owned() });
        }
        if !status.success() {
            // A build that failed for want of room says nothing about its configuration.
            has_room(log)?;
            return Ok(Err(lab::build_ended(self.command, &status.to_string())));
        }
        if !part.is_file() {
            return Ok(Err(lab::no_image(self.command)));
        }
        fs::rename(&part, image).with_context(|| format!("rename {}", part.display()))?;
        Ok(Ok(()))
    }

    /// A name that is the same for the same command and configuration. If a word of the command is a file, such as a
    /// script, its contents count too.
    fn name(&self, config: &str) -> Result<String> {
        let mut key = Key::default();
        key.text(self.command);
        key.text(config);
        for word in self.command.split_whitespace().map(Path::new).filter(|word| word.is_file()) {
            key.file(word)?;
        }
        Ok(format!("build-{:08x}", key.value()))
    }
}

/// The last lines of a log that are not empty. A log that cannot be read has none.
fn last(log: &Path) -> Vec<String> {
    const LINES: usize = 12;
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.iter().skip(lines.len().saturating_sub(LINES)).map(|line| (*line).to_owned()).collect()
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("find {}", path.display()))
}
