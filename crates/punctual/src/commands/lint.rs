//! `punctual lint`: what the kernel makes of each word of a command line.
//!
//! Line and target -> words -> text, JSON or SARIF. Reads only; with `--cmdline` or `--file` and a
//! kernel that is named it needs nothing of the machine it runs on.

use super::source::{Source, refuse_pipe};
use crate::cli::{ArchName, FlavourName, LintArgs, LintLevel};
use crate::exit::Exit;
use crate::render;
use anyhow::{Context, anyhow, bail};
use punctual_facts::fact::Fact;
use punctual_facts::lint::{Image, Placed, Target, Testimony, Word, WordVerdict, lint, lint_file};
use punctual_facts::machine::{Arch, CMDLINE, Flavour, Machine};
use punctual_facts::tree::Tree;
use punctual_linux::live::image;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// No kernel takes a line that long; more is another file, given by mistake.
const MOST_BYTES: u64 = 65536;

impl From<FlavourName> for Flavour {
    fn from(name: FlavourName) -> Self {
        match name {
            FlavourName::Stock => Self::Stock,
            FlavourName::Rt => Self::Rt,
            FlavourName::Cobalt => Self::Cobalt,
            FlavourName::Evl => Self::Evl,
        }
    }
}

impl From<ArchName> for Arch {
    fn from(name: ArchName) -> Self {
        match name {
            ArchName::X86 => Self::X86,
            ArchName::Arm64 => Self::Arm64,
        }
    }
}

/// Judges and prints; returns the exit code.
pub fn run(args: &LintArgs) -> anyhow::Result<Exit> {
    let source = Source::open(args.machine.as_deref())?;
    let machine = Machine::read(source.tree.as_ref());
    let kernel = args.image.as_deref().map(kernel_in).transpose()?;
    let target = target(args, &machine, kernel.as_ref().map(|kernel| &kernel.target))?;
    let evidence = match kernel {
        Some(kernel) => Testimony::image(kernel.image),
        None => evidence(args, source.tree.as_ref(), &machine, &target),
    };
    let placed = args.file.as_deref().map(|path| words_of(path, &target, &evidence)).transpose()?;
    let words = match &placed {
        Some(placed) => placed.iter().map(|placed| placed.word.clone()).collect(),
        None => lint(&line(args, source.tree.as_ref())?, &target, &evidence),
    };

    let text = if args.json {
        render::lint::json(&target, &words)?
    } else if args.sarif {
        render::lint::sarif(&target, &words, args.file.as_deref().zip(placed.as_deref()))?
    } else {
        render::lint::text(&target, &words)
    };
    render::print(&text).context("cannot write to standard output")?;
    Ok(Exit::exceeded_if(args.fail_on.is_some_and(|level| words.iter().any(|word| fails(word, level)))))
}

/// What the machine testifies: all of it is about its own line under its own kernel, and the words that its kernel was
/// built with are for any line.
fn evidence<'a>(args: &LintArgs, tree: &'a dyn Tree, machine: &'a Machine, target: &Target) -> Testimony<'a> {
    let is_its_kernel = args.kernel.is_none() && args.flavour.is_none() && args.arch.is_none();
    if !is_another_line(args) && Target::of(machine).as_ref() == Some(target) {
        Testimony::live(tree, machine)
    } else if is_its_kernel {
        Testimony::kernel_of(tree)
    } else {
        Testimony::none()
    }
}

/// A kernel in a file.
struct Kernel {
    target: Target,
    image: Image,
}

fn kernel_in(path: &Path) -> anyhow::Result<Kernel> {
    refuse_pipe(path)?;
    let name = path.display();
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(image::MOST_BYTES + 1).read_to_end(&mut bytes));
    read.with_context(|| format!("cannot read {name}; is the path right?"))?;
    let untold =
        || format!("{name} does not tell which words its kernel takes; without --image they are judged by its version");
    let words = image::words(&bytes).with_context(untold)?;
    let image = Image::parse(&words.to_string()).map_err(anyhow::Error::msg).with_context(untold)?;
    let target = Target::of_image(&words.banner, words.arch, &image)
        .ok_or_else(|| anyhow!("{name} holds a kernel of no version known here: '{}'", words.banner))?;
    Ok(Kernel { target, image })
}

/// Whether the line is not that of the machine that is asked.
fn is_another_line(args: &LintArgs) -> bool {
    args.cmdline.is_some() || args.file.is_some()
}

/// The words of a file with a command line in it, judged.
fn words_of(path: &Path, target: &Target, evidence: &Testimony<'_>) -> anyhow::Result<Vec<Placed>> {
    refuse_pipe(path)?;
    let name = path.display();
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    read.with_context(|| format!("cannot read {name}; is the path right?"))?;
    if bytes.len() as u64 > MOST_BYTES {
        bail!("{name} is larger than {MOST_BYTES} bytes, which no file with a command line is");
    }
    // A remark may hold bytes of any encoding.
    let contents = lint_file(&String::from_utf8_lossy(&bytes), target, evidence);
    if !contents.is_command_line() {
        bail!(
            "{name} holds no command line: no setting of a boot loader stands there, and none of its words is one that \
             kernels take; give the file that the boot loader reads"
        );
    }
    Ok(contents.words)
}

fn fails(word: &Word, level: LintLevel) -> bool {
    match word.verdict {
        WordVerdict::Harmful | WordVerdict::Unknown | WordVerdict::RejectedValue => true,
        WordVerdict::Inert | WordVerdict::Clamped => level == LintLevel::Warn,
        _ => word.is_trap && level == LintLevel::Warn,
    }
}

fn target(args: &LintArgs, machine: &Machine, image: Option<&Target>) -> anyhow::Result<Target> {
    let kernel = &machine.kernel;
    let unknown = |what: &str, option: &str| anyhow!("this machine does not say {what}; give it with {option}");
    let possible = match args.cpus {
        Some(count) => Some((0..count).collect()),
        None if is_another_line(args) => None,
        None => machine.topology.possible.known().cloned(),
    };
    Ok(Target {
        version: args
            .kernel
            .or(image.map(|image| image.version))
            .or_else(|| kernel.version.known().copied())
            .ok_or_else(|| unknown("which kernel it runs", "--kernel"))?,
        flavour: args
            .flavour
            .map(Flavour::from)
            .or(image.map(|image| image.flavour))
            .or_else(|| kernel.flavour.known().copied())
            .ok_or_else(|| unknown("what kind of kernel it runs", "--flavour"))?,
        arch: args
            .arch
            .map(Arch::from)
            .or(image.map(|image| image.arch))
            .or_else(|| kernel.arch.known().copied())
            .ok_or_else(|| unknown("its architecture", "--arch"))?,
        possible,
    })
}

fn line(args: &LintArgs, tree: &dyn Tree) -> anyhow::Result<Vec<u8>> {
    match &args.cmdline {
        Some(text) if text == "-" => {
            let mut line = Vec::new();
            io::stdin().lock().take(MOST_BYTES + 1).read_to_end(&mut line).context("cannot read standard input")?;
            if line.len() as u64 > MOST_BYTES {
                bail!("standard input holds more than {MOST_BYTES} bytes, which is no kernel command line");
            }
            Ok(line)
        }
        Some(text) => Ok(text.as_encoded_bytes().to_vec()),
        None => match tree.read(CMDLINE) {
            Fact::Known(line) => Ok(line),
            other => bail!("{CMDLINE}: {}; give the line with --cmdline", other.trouble().unwrap_or_default()),
        },
    }
}
