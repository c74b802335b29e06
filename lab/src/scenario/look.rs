//! Reads the state of a guest and keeps it in files: answers of the product, and files read without the product.

use super::facts::{self, Kernels};
use super::{Lab, line, state};
use crate::guest::Guest;
use crate::initramfs;
use crate::kernel::Kernel;
use crate::program;
use anyhow::{Context, Result, bail, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Part of the product's message about a file that took too long to read.
const HURRIED: &str = "did not answer within";
/// How often the product is asked again if files took too long to read.
const TRIES: u32 = 4;

/// A guest whose answers are kept in files.
pub struct Look<'a> {
    /// The lab that has the product and the folder for logs.
    pub lab: &'a Lab,
    pub kernel: &'a Kernel,
    pub name: &'static str,
    pub guest: Guest,
}

/// Whether a line reports a file that took too long to read. Modules do not count: an emulated debug build needs
/// seconds to unpack a large one on any host, and no claim depends on it.
fn is_hurried(line: &str) -> bool {
    line.contains(HURRIED) && !line.starts_with("punctual:/modinfo/")
}

impl Look<'_> {
    /// The standard output of a command, which must succeed without any message on standard error.
    pub fn answer(&mut self, what: &str, command: &str) -> Result<String> {
        let output = self.guest.command(command)?;
        self.lab.keep(self.name, self.kernel, what, &output.out)?;
        let (code, complaint) = (output.code, output.err.trim());
        ensure!(code == 0, "`{command}` ended with {code}: {complaint}");
        Ok(output.out)
    }

    /// As [`Self::answer`], for a command that reads many files. The product waits only a moment for each file, and in
    /// a guest on a busy host some files take longer. Then the command is repeated, and a message reports it.
    pub fn unhurried(&mut self, what: &str, command: &str) -> Result<String> {
        for _ in 0..TRIES {
            let said = self.answer(what, command)?;
            if !said.lines().any(is_hurried) {
                return Ok(said);
            }
            crate::say(&format!(
                "the host has no time for its guest: files did not answer to `{command}`; asked again"
            ));
        }
        bail!(
            "in {TRIES} tries the guest was too slow for `{command}`: {HURRIED}; the host is busy with something else"
        )
    }

    /// The first line of each file, by its path. Files that cannot be read are left out.
    pub fn files<'p>(&mut self, paths: impl IntoIterator<Item = &'p str>) -> Result<BTreeMap<String, String>> {
        let mut text = String::new();
        // The commands are shorter than the 4000 bytes that a line of the terminal takes.
        for some in in_lines(paths, 3000) {
            let read = "do [ -r $f ] && printf '%s\\t%s\\n' $f \"$(head -n 1 $f)\"; done 2>/dev/null; true";
            text.push_str(&self.answer("files-part", &format!("for f in {some}; {read}"))?);
        }
        self.lab.keep(self.name, self.kernel, "files", &text)?;
        Ok(facts::files(&text))
    }

    /// Everything that the kernel reports about the words of its command line.
    pub fn kernel_on(&mut self, names: &[String]) -> Result<Kernels> {
        let mut said = facts::log(&self.answer("dmesg", "dmesg")?);
        let dotted: Vec<(&str, &str)> = names.iter().filter_map(|name| name.split_once('.')).collect();
        let paths: Vec<String> = dotted.iter().map(|(m, p)| format!("/sys/module/{m}/parameters/{p}")).collect();
        let there =
            self.answer("parameters", &format!("for f in {}; do [ -e $f ] && echo $f; done; true", paths.join(" ")))?;
        let in_modules = in_modules(self.kernel, dotted.iter().map(|(module, _)| *module))?;
        for ((module, parameter), path) in dotted.iter().zip(&paths) {
            let name = format!("{module}.{parameter}");
            if there.lines().any(|line| line == path) || in_modules.contains(&name) {
                said.dotted.insert(name);
            }
        }
        Ok(said)
    }
}

/// Parameters of built-in code, and of the modules in `names`, from the files of the kernel's package.
fn in_modules<'n>(kernel: &Kernel, names: impl Iterator<Item = &'n str>) -> Result<BTreeSet<String>> {
    let path = kernel.modules.join("modules.builtin.modinfo");
    let text = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
    let mut found = facts::builtin(&String::from_utf8_lossy(&text));
    for name in names.collect::<BTreeSet<_>>() {
        for file in initramfs::module_files(kernel, &[name.to_owned()])? {
            let listed = program::read(program::find("modinfo")?.arg("-p").arg(&file))?;
            let parameters = listed.lines().filter_map(|line| line.split(':').next());
            found.extend(parameters.map(|parameter| format!("{name}.{parameter}")));
        }
    }
    Ok(found)
}

/// Paths of the files for the checks of effects and of the machine's state, including those that findings name.
pub fn paths(findings: &state::Findings) -> BTreeSet<String> {
    state::named(findings).into_iter().chain(line::EFFECTS.map(|(_, path, _)| path.to_owned())).collect()
}

/// Joins words to lines of at most `longest` bytes.
fn in_lines<'w>(words: impl IntoIterator<Item = &'w str>, longest: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut().filter(|line| line.len() + word.len() < longest) {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_fill_lines() {
        assert_eq!(in_lines(["aa", "bb", "cc"], 6), ["aa bb", "cc"]);
        assert_eq!(in_lines([], 6), Vec::<String>::new());
    }
}
