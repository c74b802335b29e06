//! `punctual lint`: judges what the kernel makes of each word of its command line.
//!
//! Line and target -> words -> text, JSON or SARIF. Reads only. With `--kernel` and either `--cmdline` or `--file`,
//! nothing is read from this machine.

use super::files::read_at_most;
use super::source::{Source, given_or_told};
use crate::cli::{LintArgs, LintLevel};
use crate::exit::Exit;
use crate::render;
use crate::render::lint::{LintDocument, LintedFile};
use anyhow::{Context, Result, anyhow, bail};
use punctual_facts::fact::Fact;
use punctual_facts::lint::{Image, Placed, Target, Testimony, Word, WordVerdict, lint, lint_file};
use punctual_facts::machine::{CMDLINE, Machine};
use punctual_facts::tree::Tree;
use punctual_linux::live::image;
use std::io::{self, Read};
use std::path::Path;

/// Largest file with a command line, in bytes. No kernel takes a longer line, so the user named a larger file by
/// mistake.
const MOST_BYTES: u64 = 65536;

pub fn run(args: &LintArgs) -> Result<Exit> {
    let source = Source::open(&args.which)?;
    let kernel = args.image.as_deref().map(kernel_in).transpose()?;
    let target = target(args, &source.machine, kernel.as_ref().map(|kernel| &kernel.target))?;
    let evidence = match kernel {
        Some(kernel) => Testimony::image(kernel.image),
        None => evidence(args, &source, &target),
    };
    let placed = args.file.as_deref().map(|path| words_of(path, &target, &evidence)).transpose()?;
    let file = args.file.as_deref().zip(placed.as_deref()).map(|(path, words)| LintedFile { path, words });
    let words = match &placed {
        Some(placed) => placed.iter().map(|placed| placed.word.clone()).collect(),
        None => lint(&line(args, source.tree())?, &target, &evidence),
    };

    let text = if args.json {
        render::document(&LintDocument { target: &target, words: &words })?
    } else if args.sarif {
        render::lint::sarif(&target, &words, file.as_ref())
    } else if args.form.brief {
        render::brief::lint(&words)
    } else {
        render::for_people(|| render::lint::text(&target, &words))
    };
    render::print(&text)?;
    Ok(Exit::exceeded_if(args.fail_on.is_some_and(|level| words.iter().any(|word| fails(word, level)))))
}

/// Evidence of this machine about the words. All of it applies to the machine's own command line under its own kernel.
/// For another command line under that kernel, only the words apply that the kernel was built with.
fn evidence<'a>(args: &LintArgs, source: &'a Source, target: &Target) -> Testimony<'a> {
    let is_its_kernel = args.kernel.is_none() && args.flavour.is_none() && args.arch.is_none();
    if !is_another_line(args) && Target::of(&source.machine).as_ref() == Some(target) {
        Testimony::live(source.tree(), &source.machine)
    } else if is_its_kernel {
        Testimony::kernel_of(source.tree())
    } else {
        Testimony::none()
    }
}

struct ImageKernel {
    target: Target,
    image: Image,
}

fn kernel_in(path: &Path) -> Result<ImageKernel> {
    let name = path.display();
    let bytes = read_at_most(path, image::MOST_BYTES, "boot image")?;
    let untold =
        || format!("{name} does not tell which words its kernel takes; without --image they are judged by its version");
    let words = image::words(&bytes).with_context(untold)?;
    let image = Image::parse(&words.to_string()).map_err(anyhow::Error::msg).with_context(untold)?;
    let target = Target::of_image(&words.banner, words.arch, &image)
        .ok_or_else(|| anyhow!("{name} holds a kernel of no version known here: '{}'", words.banner))?;
    Ok(ImageKernel { target, image })
}

fn is_another_line(args: &LintArgs) -> bool {
    args.cmdline.is_some() || args.file.is_some()
}

fn words_of(path: &Path, target: &Target, evidence: &Testimony<'_>) -> Result<Vec<Placed>> {
    let name = path.display();
    let bytes = read_at_most(path, MOST_BYTES, "file with a command line")?;
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
        WordVerdict::Inert | WordVerdict::Clamped | WordVerdict::Undecided => level == LintLevel::Warn,
        _ => word.is_trap && level == LintLevel::Warn,
    }
}

fn target(args: &LintArgs, machine: &Machine, image: Option<&Target>) -> Result<Target> {
    let kernel = &machine.kernel;
    let possible = match args.cpus {
        Some(count) => Some((0..count).collect()),
        None if is_another_line(args) => None,
        None => machine.topology.possible.known().cloned(),
    };
    Ok(Target {
        version: given_or_told(
            args.kernel.or(image.map(|image| image.version)),
            &kernel.version,
            "which kernel it runs",
            "--kernel",
        )?,
        flavour: given_or_told(
            args.flavour.or(image.map(|image| image.flavour)),
            &kernel.flavour,
            "what kind of kernel it runs",
            "--flavour",
        )?,
        arch: given_or_told(args.arch.or(image.map(|image| image.arch)), &kernel.arch, "its architecture", "--arch")?,
        possible,
    })
}

fn line(args: &LintArgs, tree: &dyn Tree) -> Result<Vec<u8>> {
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
