//! Checks every value before it becomes part of a file, because a shell, GRUB, udev or systemd will read the file as root.

use super::{Obstacle, Wanted};
use crate::plan::{may_be_written, sysctl_file};

/// The greatest length, in bytes, of a value of a sysctl, of a kernel file and of a udev rule.
const VALUE_BYTES: usize = 512;

/// The reason why this program does not write certain kernel files.
const NEVER: &str =
    "it reaches further than a value does: it names programs, or puts the machine to sleep, or is firmware's";

/// Fails with the reason `why`, unless `is_fit` is true.
fn ensure(is_fit: bool, value: &str, why: &str) -> Result<(), Obstacle> {
    let unfit = || Obstacle::Unfit { value: value.to_owned(), why: why.to_owned() };
    if is_fit { Ok(()) } else { Err(unfit()) }
}

pub(super) fn cmdline(wanted: &Wanted) -> Result<(), Obstacle> {
    wanted.words.iter().chain(&wanted.no_words).try_for_each(|w| word(w))
}

/// Allows only characters that have no special meaning to the kernel, GRUB, a shell within double quotes, and U-Boot.
fn word(word: &str) -> Result<(), Obstacle> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_.,:=/+@%-".contains(&b);
    let starts_well = word.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
    let why = "a word for the kernel consists of letters, digits and _ . , : = / + @ % - only";
    ensure(starts_well && word.bytes().all(is_plain), word, why)
}

/// A value must be printable, on one line, and not empty.
pub(super) fn line(value: &str) -> Result<(), Obstacle> {
    let is_trimmed = !value.trim().is_empty() && value.trim() == value;
    ensure(is_trimmed, value, "it is empty, or begins or ends with a blank")?;
    let is_printable = value.bytes().all(|b| (b' '..=b'~').contains(&b));
    ensure(is_printable, value, "it holds characters that are not printable ASCII")?;
    ensure(value.len() <= VALUE_BYTES, value, "it is too long")
}

pub(super) fn sysctl(name: &str, value: &str) -> Result<(), Obstacle> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"._/-".contains(&b);
    let is_name = !name.is_empty() && name.bytes().all(is_plain);
    let is_path = !name.starts_with(['.', '/', '-']) && !name.contains("..");
    ensure(is_name && is_path, name, "it is no name of a sysctl")?;
    ensure(may_be_written(&sysctl_file(name)), name, NEVER)?;
    unquoted(value)
}

/// Checks that a value has no special meaning to a shell within single quotes, to sysctl and to tmpfiles.
fn unquoted(value: &str) -> Result<(), Obstacle> {
    line(value)?;
    let is_plain = !value.contains(['\'', '"', '\\']);
    ensure(is_plain, value, "a quote or a backslash would be read as more than itself")
}

/// Checks the path of a kernel file, and the value that is written to it at boot.
pub(super) fn write(path: &str, value: &str) -> Result<(), Obstacle> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_.,:/+@*?[]-".contains(&b);
    let is_kernels = path.starts_with("/sys/") || path.starts_with("/proc/");
    let is_path = path.bytes().all(is_plain) && !path.split('/').any(|part| part == "..");
    ensure(is_kernels && is_path, path, "only plain paths below /sys and /proc are written at boot")?;
    ensure(may_be_written(path), path, NEVER)?;
    unquoted(value)
}

/// Checks a udev rule, which may set attributes and must not run anything.
pub(super) fn rule(rule: &str) -> Result<(), Obstacle> {
    line(rule)?;
    let mut keys = rule.split(',').filter_map(|part| part.split(['=', '{', '+', '!', ':']).next());
    let others = ["RUN", "PROGRAM", "IMPORT", "OPTIONS", "GOTO", "LABEL", "SYMLINK", "NAME", "MODE", "OWNER", "GROUP"];
    let only_sets = keys.all(|key| !others.contains(&key.trim())) && !rule.ends_with('\\');
    ensure(only_sets, rule, "a rule of ours sets attributes and nothing else")
}

pub(super) fn module(name: &str) -> Result<(), Obstacle> {
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    ensure(is_name, name, "it is no name of a module")
}

/// Checks a line that begins with a module's name and goes on with the module's options.
pub(super) fn module_options(options: &str) -> Result<(), Obstacle> {
    line(options)?;
    let (name, rest) = options.split_once(' ').unwrap_or((options, ""));
    module(name)?;
    ensure(!rest.is_empty(), options, "it names no option of the module")?;
    rest.split_whitespace().try_for_each(word)
}

/// Checks a limit for log-ins, which has four fields: user or group, type, item, value.
pub(super) fn limit(limit: &str) -> Result<(), Obstacle> {
    line(limit)?;
    let fields: Vec<&str> = limit.split_whitespace().collect();
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_.@*%:-".contains(&b);
    let is_whole = matches!(fields.as_slice(), [_, "-" | "soft" | "hard", _, _]);
    let is_fit = is_whole && fields.iter().all(|field| field.bytes().all(is_plain));
    ensure(is_fit, limit, "a limit has four fields: who, soft or hard or -, what, how much")
}

/// Checks the path of a program that a unit or a script will name.
pub(super) fn exe(path: &str) -> Result<(), Obstacle> {
    let is_plain = path.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.,/+-".contains(&b));
    let is_absolute = path.starts_with('/') && !path.ends_with('/') && !path.contains("/../");
    let why = "a program that runs at boot needs a plain absolute path: install punctual in /usr/local/bin";
    ensure(is_plain && is_absolute, path, why)
}
