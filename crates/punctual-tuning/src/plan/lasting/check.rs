//! What may be written at all. Every value passes here before it becomes part of a file: a shell, GRUB, udev or systemd
//! will read it as root.

use super::{Obstacle, Wanted};
use crate::plan::{may_be_written, sysctl_file};

/// Longest value of a sysctl, of a kernel's file and of a rule.
const VALUE_BYTES: usize = 512;

/// Why a file of the kernel is none of ours to write.
const NEVER: &str =
    "it reaches further than a value does: it names programs, or puts the machine to sleep, or is firmware's";

fn unfit<T>(value: &str, why: &str) -> Result<T, Obstacle> {
    Err(Obstacle::Unfit { value: value.to_owned(), why: why.to_owned() })
}

pub(super) fn cmdline(wanted: &Wanted) -> Result<(), Obstacle> {
    wanted.words.iter().chain(&wanted.no_words).try_for_each(|w| word(w))
}

/// Characters that neither the kernel nor GRUB nor a shell within double quotes nor U-Boot reads as more than
/// themselves.
fn word(word: &str) -> Result<(), Obstacle> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_.,:=/+@%-".contains(&b);
    let starts_well = word.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
    if !starts_well || !word.bytes().all(is_plain) {
        return unfit(word, "a word for the kernel consists of letters, digits and _ . , : = / + @ % - only");
    }
    Ok(())
}

/// Printable, on one line, not empty.
fn line(value: &str) -> Result<(), Obstacle> {
    if value.trim().is_empty() || value.trim() != value {
        return unfit(value, "it is empty, or begins or ends with a blank");
    }
    if !value.bytes().all(|b| (b' '..=b'~').contains(&b)) {
        return unfit(value, "it holds characters that are not printable ASCII");
    }
    if value.len() > VALUE_BYTES {
        return unfit(value, "it is too long");
    }
    Ok(())
}

pub(super) fn sysctl(name: &str, value: &str) -> Result<(), Obstacle> {
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"._/-".contains(&b);
    if name.is_empty() || !name.bytes().all(is_name) || name.starts_with(['.', '/', '-']) || name.contains("..") {
        return unfit(name, "it is no name of a sysctl");
    }
    if !may_be_written(&sysctl_file(name)) {
        return unfit(name, NEVER);
    }
    unquoted(value)
}

/// What a shell within single quotes, sysctl and tmpfiles read as itself.
fn unquoted(value: &str) -> Result<(), Obstacle> {
    line(value)?;
    if value.contains(['\'', '"', '\\']) {
        return unfit(value, "a quote or a backslash would be read as more than itself");
    }
    Ok(())
}

/// A file of the kernel, and what is written to it at boot.
pub(super) fn write(path: &str, value: &str) -> Result<(), Obstacle> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_.,:/+@*?[]-".contains(&b);
    let is_kernels = path.starts_with("/sys/") || path.starts_with("/proc/");
    if !is_kernels || !path.bytes().all(is_plain) || path.split('/').any(|part| part == "..") {
        return unfit(path, "only plain paths below /sys and /proc are written at boot");
    }
    if !may_be_written(path) {
        return unfit(path, NEVER);
    }
    unquoted(value)
}

/// A rule of udev that sets attributes and runs nothing.
pub(super) fn rule(rule: &str) -> Result<(), Obstacle> {
    line(rule)?;
    let keys = rule.split(',').filter_map(|part| part.split(['=', '{', '+', '!', ':']).next());
    let runs = ["RUN", "PROGRAM", "IMPORT", "OPTIONS", "GOTO", "LABEL", "SYMLINK", "NAME", "MODE", "OWNER", "GROUP"];
    if keys.map(str::trim).any(|key| runs.contains(&key)) || rule.ends_with('\\') {
        return unfit(rule, "a rule of ours sets attributes and nothing else");
    }
    Ok(())
}

pub(super) fn module(name: &str) -> Result<(), Obstacle> {
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)) {
        return unfit(name, "it is no name of a module");
    }
    Ok(())
}

/// A module's name and its options.
pub(super) fn module_options(options: &str) -> Result<(), Obstacle> {
    line(options)?;
    let (name, rest) = options.split_once(' ').unwrap_or((options, ""));
    module(name)?;
    if rest.is_empty() {
        return unfit(options, "it names no option of the module");
    }
    rest.split_whitespace().try_for_each(word)
}

/// A limit of log-ins: who, which kind, what, how much.
pub(super) fn limit(limit: &str) -> Result<(), Obstacle> {
    line(limit)?;
    let fields: Vec<&str> = limit.split_whitespace().collect();
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_.@*%:-".contains(&b);
    let is_whole = matches!(fields.as_slice(), [_, "-" | "soft" | "hard", _, _]);
    if !is_whole || !limit.split_whitespace().all(|field| field.bytes().all(is_plain)) {
        return unfit(limit, "a limit has four fields: who, soft or hard or -, what, how much");
    }
    Ok(())
}

/// Where a program is, as a unit or a script names it.
pub(super) fn exe(path: &str) -> Result<(), Obstacle> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_.,/+-".contains(&b);
    if !path.starts_with('/') || path.ends_with('/') || !path.bytes().all(is_plain) || path.contains("/../") {
        return unfit(
            path,
            "a program that runs at boot needs a plain absolute path: install punctual in /usr/local/bin",
        );
    }
    Ok(())
}
