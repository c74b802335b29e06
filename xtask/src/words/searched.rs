//! Words that no macro registers: code looks for them in the line by itself, or a table translates them.

use super::source::{self, How, Looked};
use std::fs;
use std::path::Path;

/// A word that the code of one architecture looks for, and the files that do so in one version or another.
struct Searched {
    arch: &'static str,
    word: &'static str,
    files: &'static [&'static str],
}

#[rustfmt::skip]
const SEARCHED: [Searched; 4] = [
    Searched { arch: "arm64", word: "nokaslr", files: &[
        "arch/arm64/kernel/kaslr.c", "arch/arm64/kernel/idreg-override.c", "arch/arm64/kernel/pi/kaslr_early.c",
        "arch/arm64/kernel/pi/idreg-override.c",
    ] },
    Searched { arch: "riscv", word: "nokaslr", files: &["arch/riscv/kernel/pi/cmdline_early.c"] },
    Searched { arch: "riscv", word: "no4lvl", files: &["arch/riscv/kernel/pi/cmdline_early.c", "arch/riscv/mm/init.c"] },
    Searched { arch: "riscv", word: "no5lvl", files: &["arch/riscv/kernel/pi/cmdline_early.c", "arch/riscv/mm/init.c"] },
];

/// Folders with code that runs before the kernel proper and that no list of objects names.
const BOOT: [&str; 3] = ["boot", "boot/compressed", "boot/startup"];
/// Files that turn words of the command line into values of the CPU's identification.
const OVERRIDES: [&str; 2] = ["arch/arm64/kernel/idreg-override.c", "arch/arm64/kernel/pi/idreg-override.c"];
/// The file with other names for sysctls.
const ALIASES: &str = "fs/proc/proc_sysctl.c";
/// The code of dynamic debugging reads this word in a way of its own.
const DYNAMIC_DEBUG: &str = "lib/dynamic_debug.c";

/// The words that code of this architecture looks for, with the letter of their types.
pub fn words(root: &Path, arch: &str) -> Vec<(String, char)> {
    let text = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let mut found = Vec::new();
    for searched in SEARCHED.iter().filter(|searched| searched.arch == arch) {
        let quoted = [format!("\"{}\"", searched.word), format!("\"{} ", searched.word)];
        let has = |path: &&&str| quoted.iter().any(|quoted| text(path).contains(quoted));
        if searched.files.iter().any(|path| has(&path)) {
            found.push((searched.word.to_owned(), '-'));
        }
    }
    if arch == "arm64" {
        let names = OVERRIDES.iter().flat_map(|path| pairs(&text(path)));
        found.extend(names.filter(|name| name.starts_with("arm64.")).map(|name| (name, 'x')));
    }
    found.extend(pairs(&text(ALIASES)).into_iter().map(|name| (name.replace('-', "_"), 'x')));
    if text(DYNAMIC_DEBUG).contains("\"dyndbg\"") {
        found.push(("dyndbg=".to_owned(), '-'));
    }
    for folder in BOOT {
        let folder = format!("arch/{arch}/{folder}");
        let all = sources(&root.join(&folder))
            .into_iter()
            .flat_map(|name| source::read(root, &format!("{folder}/{name}"), &mut Looked::default()).all);
        found.extend(all.filter(|one| one.how == How::Early).map(|one| (one.name, one.kind)));
    }
    found
}

/// The first texts of the pairs `{"a", "b"}` in a file.
fn pairs(text: &str) -> Vec<String> {
    let pair = |part: &str| {
        let (name, rest) = part.trim_start().strip_prefix('"')?.split_once('"')?;
        let is_pair = rest.trim_start().strip_prefix(',')?.trim_start().starts_with('"');
        is_pair.then(|| name.to_owned())
    };
    text.split('{').filter_map(pair).collect()
}

/// Words of architectures that the tables do not look at.
pub fn elsewhere(root: &Path) -> Vec<(How, String)> {
    let mut found = Vec::new();
    let Ok(arches) = fs::read_dir(root.join("arch")) else { return found };
    for arch in arches.filter_map(Result::ok) {
        let name = arch.file_name().to_string_lossy().into_owned();
        if matches!(name.as_str(), "x86" | "arm64" | "arm" | "riscv" | "um") {
            continue;
        }
        let mut folders = vec![format!("arch/{name}")];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(root.join(&folder)) else { continue };
            for entry in entries.filter_map(Result::ok) {
                let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
                if entry.path().is_dir() {
                    folders.push(path);
                } else if is_source(&path) {
                    let all = source::read(root, &path, &mut Looked::default())
                        .all
                        .into_iter()
                        .filter(|one| one.how != How::Module);
                    found.extend(all.map(|one| (one.how, one.name)));
                }
            }
        }
    }
    found
}

fn is_source(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "c")
}

fn sources(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(Result::ok).map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| is_source(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pairs_of_texts_are_aliases() {
        let text = "static x[] = {\n\t{\"a_b\",\t\"kernel.a_b\" },\n\t{ \"c\", 3 },\n\t{ }\n};";
        assert_eq!(pairs(text), ["a_b"]);
    }
}
