//! `cargo xtask screenshots`: opens sample pages in a browser, takes pictures of them, and checks what a program can
//! check.
//!
//! A test of the product writes the pages. Each page is shown inside a frame, because a window of Chromium cannot be as
//! narrow as a phone.

use crate::run;
use crate::step::StepOutcome;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pages of which pictures are taken: one with skipped releases, one with causes, one of a program, one of a campaign, one
/// of kernels in emulated machines, one of a series of runs.
const SHOWN: [&str; 6] = ["skipped", "causes.report", "inspect-disturbed", "campaign", "lab", "trend"];
/// Pages that are checked without pictures.
const CHECKED: [&str; 7] = ["eight-cpus", "many.report", "causes", "imported", "compare", "kernels", "optimize"];
/// Largest number of sheets that a printed page may take.
const SHEETS_MAX: usize = 12;
/// An npm package that finds obstacles for readers with disabilities. It is used if npm is installed.
const AXE: &str = "axe-core@4.14.1";
const PROBE: &str = include_str!("screenshots/probe.js");
/// Folder for the browser's own files, below the folder of pictures.
const PROFILE: &str = "profile";
/// Largest height of a picture that Chromium can draw, in pixels.
const HIGH_MAX: u32 = 16_000;

/// A window in which pages are shown: width and colour scheme.
struct Look {
    name: &'static str,
    width: u32,
    is_dark: bool,
}

const LOOKS: [Look; 4] = [
    Look { name: "light", width: 1280, is_dark: false },
    Look { name: "dark", width: 1280, is_dark: true },
    Look { name: "phone", width: 390, is_dark: false },
    Look { name: "phone-dark", width: 390, is_dark: true },
];

/// Writes the pictures into the named folder, or into `target/screenshots`.
pub fn run(root: &Path, words: &[&str]) -> Result<()> {
    let folder = match words {
        [] => run::target_folder(root)?.join("screenshots"),
        [folder] => std::path::absolute(folder).context("find the folder")?,
        _ => bail!("screenshots takes one folder"),
    };
    made(root, &Chromium::found().context(MISSING)?, &folder)
}

/// Runs the checks as a step of `ci`.
pub fn step(root: &Path) -> StepOutcome {
    if Chromium::found().is_none() {
        return StepOutcome::NotRun(MISSING.to_owned());
    }
    StepOutcome::of(run(root, &[]))
}

const MISSING: &str = "no Chromium (apt install chromium, or name one in $CHROMIUM)";

fn made(root: &Path, chromium: &Chromium, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let mut test = run::whole(root, "test", &["--bin", "punctual", "--", "can_be_looked_at"]);
    run::show(test.env("PUNCTUAL_SAMPLE_DIR", folder))?;
    let axe = axe(&run::target_folder(root)?.join("axe"));
    match &axe {
        Ok(_) => println!("checked with {AXE}"),
        Err(why) => println!("NOT checked with {AXE}: {why:#}"),
    }
    let axe = axe.unwrap_or_default();
    let mut wrong = Vec::new();
    for name in SHOWN.iter().chain(&CHECKED) {
        let page = Page { name, folder, chromium };
        let bad = page.looked_at(&axe, SHOWN.contains(name)).with_context(|| format!("look at {name}"))?;
        wrong.extend(bad.into_iter().map(|what| format!("{name} {what}")));
    }
    fs::remove_dir_all(folder.join(PROFILE)).context("remove the browser's profile")?;
    ensure!(wrong.is_empty(), "{} complaints\n{}", wrong.len(), wrong.join("\n"));
    println!("pictures of {} are in {}", SHOWN.join(", "), folder.display());
    Ok(())
}

/// The script of axe, which is downloaded into `folder` once.
fn axe(folder: &Path) -> Result<String> {
    let script = folder.join("node_modules/axe-core/axe.min.js");
    let version = fs::read_to_string(folder.join("node_modules/axe-core/package.json")).unwrap_or_default();
    let (_, wanted) = AXE.split_once('@').unwrap_or_default();
    if !version.contains(&format!("\"version\": \"{wanted}\"")) {
        ensure!(run::has_program("npm"), "there is no npm");
        let words = ["install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"];
        run::read(Command::new("npm").args(words).arg(folder).arg(AXE))?;
    }
    fs::read_to_string(&script).with_context(|| format!("read {}", script.display()))
}

struct Chromium {
    program: PathBuf,
}

impl Chromium {
    fn found() -> Option<Self> {
        let named = std::env::var_os("CHROMIUM").map(PathBuf::from).into_iter();
        let usual = ["chromium", "chromium-browser", "google-chrome"].map(PathBuf::from);
        let answers = |program: &PathBuf| run::answers(Command::new(program).arg("--version"));
        named.chain(usual).find(answers).map(|program| Self { program })
    }

    /// A command that runs the browser with a profile of its own, so that the user's profile stays untouched.
    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["--headless", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run"]);
        command.arg(format!("--user-data-dir={}", folder.join(PROFILE).display()));
        if run::is_root() {
            command.arg("--no-sandbox");
        }
        command
    }
}

struct Page<'a> {
    name: &'a str,
    folder: &'a Path,
    chromium: &'a Chromium,
}

impl Page<'_> {
    fn file(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.name))
    }

    /// The defects of the page. With `shown`, pictures of it are taken as well.
    fn looked_at(&self, axe: &str, shown: bool) -> Result<Vec<String>> {
        let file = self.file("html");
        let page = fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
        let probe =
            format!("<script>{}</script><script>{PROBE}</script></body>", axe.replace("</script", "<\\/script"));
        fs::write(self.file("probe.html"), page.replace("</body>", &probe)).context("write the page with its probe")?;
        let mut wrong = Vec::new();
        for look in &LOOKS {
            let (high, bad) = self.probed(look)?;
            wrong.extend(bad.map(|what| format!("({}) {what}", look.name)));
            if shown {
                self.pictured(look, high)?;
            }
        }
        let sheets = self.printed()?;
        if sheets == 0 || sheets > SHEETS_MAX {
            wrong.push(format!("takes {sheets} sheets of paper, and {SHEETS_MAX} are allowed"));
        }
        for scrap in ["probe.html", "frame.html"] {
            fs::remove_file(self.file(scrap)).with_context(|| format!("remove the {scrap} of {}", self.name))?;
        }
        Ok(wrong)
    }

    /// A command that shows the page inside a frame of this size.
    fn framed(&self, look: &Look, ending: &str, high: u32) -> Result<Command> {
        let (width, scheme) = (look.width, if look.is_dark { "dark" } else { "light" });
        let source = format!("{}.{ending}", self.name);
        let frame = format!(
            "<!DOCTYPE html><meta charset=\"utf-8\"><meta name=\"color-scheme\" content=\"light dark\">\
             <style>body {{ margin: 0; }} iframe {{ display: block; border: 0; width: {width}px; height: {high}px; }}</style>\
             <script>addEventListener('message', ({{ data }}) => Object.assign(document.body.dataset, data))</script>\
             <body><iframe name=\"{width} {scheme}\" src=\"{source}\"></iframe>"
        );
        let file = self.file("frame.html");
        fs::write(&file, frame).with_context(|| format!("write {}", file.display()))?;
        let mut command = self.chromium.command(self.folder);
        // Chromium's number for a dark scheme is 0, for a light one 1.
        command.arg(format!("--blink-settings=preferredColorScheme={}", u8::from(!look.is_dark)));
        command.arg(format!("--window-size={width},{high}"));
        command.arg("--virtual-time-budget=30000").arg(&file);
        Ok(command)
    }

    /// The height of the page in pixels, and its defects; `None` without any.
    fn probed(&self, look: &Look) -> Result<(u32, Option<String>)> {
        let shown = run::read(self.framed(look, "probe.html", 900)?.arg("--dump-dom"))?;
        let told =
            |name: &str| attribute(&shown, name).with_context(|| format!("{} did not tell its {name}", look.name));
        let wrong = told("data-wrong")?;
        Ok((told("data-high")?.parse()?, (!wrong.is_empty()).then(|| wrong.to_owned())))
    }

    fn pictured(&self, look: &Look, high: u32) -> Result<()> {
        let picture = self.file(&format!("{}.png", look.name));
        let mut command = self.framed(look, "html", high.min(HIGH_MAX))?;
        run::read(command.arg(format!("--screenshot={}", picture.display())))?;
        let size = fs::metadata(&picture).with_context(|| format!("find {}", picture.display()))?.len();
        ensure!(size > 10_000, "{} has only {size} bytes", picture.display());
        Ok(())
    }

    /// Prints the page to a file and returns its number of sheets.
    fn printed(&self) -> Result<usize> {
        let paper = self.file("pdf");
        let mut command = self.chromium.command(self.folder);
        command.arg("--no-pdf-header-footer").arg(format!("--print-to-pdf={}", paper.display()));
        run::read(command.arg(self.file("html")))?;
        Ok(sheets(&fs::read(&paper).with_context(|| format!("read {}", paper.display()))?))
    }
}

/// The value of an attribute in the HTML that the browser has written out.
fn attribute<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    page.split_once(&format!("{name}=\""))?.1.split_once('"').map(|(value, _)| value)
}

/// The number of pages of a PDF. Each page is an object of type `Page`; objects of type `Pages` are the nodes above
/// them.
fn sheets(pdf: &[u8]) -> usize {
    const PAGE: &[u8] = b"/Type /Page";
    pdf.windows(PAGE.len() + 1).filter(|bytes| bytes.starts_with(PAGE) && !bytes.ends_with(b"s")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sheets_are_counted_and_not_the_nodes_above_them() {
        let pdf = b"1 0 obj\n<</Type /Pages\n/Count 2>>\n2 0 obj\n<</Type /Page\n>>\n3 0 obj\n<</Type /Page>>";
        assert_eq!(sheets(pdf), 2);
    }

    #[test]
    fn what_the_probe_told_is_read_back() {
        let page = "<body data-high=\"4711\" data-wrong=\"\"><iframe name=\"390 dark\">";
        assert_eq!(attribute(page, "data-high"), Some("4711"));
        assert_eq!(attribute(page, "data-wrong"), Some(""));
        assert_eq!(attribute(page, "data-else"), None);
    }
}
