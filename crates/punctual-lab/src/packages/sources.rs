//! The host's apt sources, rewritten for another release of Debian.
//!
//! Both formats are read: one line per source, and stanzas. Stanzas are written.

use crate::kernel::Release;
use anyhow::{Context, Result, ensure};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const LIST: &str = "/etc/apt/sources.list";
const FOLDER: &str = "/etc/apt/sources.list.d";

/// One entry of the apt sources: the addresses, suites and components of an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Source {
    uris: Vec<String>,
    suites: Vec<String>,
    components: Vec<String>,
    signed_by: Vec<String>,
}

/// The text of an apt sources file for a release, with the host's mirrors.
pub fn for_release(release: Release) -> Result<String> {
    let mut found = Vec::new();
    for path in files() {
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        found.extend(if path.extension().is_some_and(|end| end == "sources") { stanzas(&text) } else { lines(&text) });
    }
    let host = codename(&fs::read_to_string("/etc/os-release").context("read /etc/os-release")?);
    let text = rewritten(&found, &host, release.codename());
    ensure!(
        !text.is_empty(),
        "apt's sources name no archive of Debian {host} (looked in {LIST} and {FOLDER}): kernels of Debian are got on a Debian machine; elsewhere name an image or deb:FILE"
    );
    Ok(text)
}

fn files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(FOLDER).into_iter().flatten().filter_map(Result::ok).map(|e| e.path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "list" || end == "sources"));
    files.sort();
    if Path::new(LIST).is_file() {
        files.insert(0, PathBuf::from(LIST));
    }
    files
}

/// The value of `VERSION_CODENAME` in the text of `/etc/os-release`; empty if it is missing.
fn codename(os_release: &str) -> String {
    let found = os_release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    found.unwrap_or_default().trim_matches('"').to_owned()
}

/// Rewrites the sources of release `from` for release `to`: main archive, updates and security.
fn rewritten(sources: &[Source], from: &str, to: &str) -> String {
    let mut text = String::new();
    for source in sources.iter().filter(|source| !from.is_empty() && source.components.iter().any(|c| c == "main")) {
        let known = ["", "-updates", "-security"].map(|end| (format!("{from}{end}"), format!("{to}{end}")));
        let suites: Vec<&str> =
            known.iter().filter(|(old, _)| source.suites.contains(old)).map(|(_, new)| new.as_str()).collect();
        if suites.is_empty() {
            continue;
        }
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "Types: deb\nURIs: {}\nSuites: {}\nComponents: main\n",
            source.uris.join(" "),
            suites.join(" ")
        );
        if !source.signed_by.is_empty() {
            let _ = writeln!(text, "Signed-By: {}", source.signed_by.join(" "));
        }
        text.push('\n');
    }
    text
}

/// Parses sources in the format of stanzas. A key of several lines is left out, and apt uses its own keys instead.
fn stanzas(text: &str) -> Vec<Source> {
    let text: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let mut found = Vec::new();
    for stanza in text.split(|line| line.trim().is_empty()) {
        let field = |name: &str| -> Vec<String> {
            let value = stanza.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            value.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
        };
        let is_off = field("Enabled").first().is_some_and(|word| word == "no");
        if field("Types").iter().any(|word| word == "deb") && !is_off {
            let signed_by = field("Signed-By");
            found.push(Source {
                uris: field("URIs"),
                suites: field("Suites"),
                components: field("Components"),
                signed_by,
            });
        }
    }
    found
}

/// Parses sources of one line each: `deb [options] uri suite component...`.
fn lines(text: &str) -> Vec<Source> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<Source> {
    let rest = line.trim().strip_prefix("deb ")?.trim();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(inside) => inside.split_once(']')?,
        None => ("", rest),
    };
    let mut words = rest.split_whitespace().map(str::to_owned);
    let key = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
    Some(Source {
        uris: vec![words.next()?],
        suites: vec![words.next()?],
        components: words.collect(),
        signed_by: key.into_iter().flat_map(|keys| keys.split(',')).map(str::to_owned).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANZAS: &str = "Types: deb\n# a remark\nURIs: http://a.example/debian\nSuites: bookworm bookworm-updates\n\
        Components: main contrib\nSigned-By: /k.gpg\n\nTypes: deb-src\nURIs: x\nSuites: bookworm\nComponents: main\n";

    #[test]
    fn both_forms_are_read_and_rewritten_with_their_mirror_and_key() {
        let wanted = "Types: deb\nURIs: http://a.example/debian\nSuites: trixie trixie-updates\nComponents: main\n\
            Signed-By: /k.gpg\n\n";
        assert_eq!(rewritten(&stanzas(STANZAS), "bookworm", "trixie"), wanted);
        let one = lines(
            "# deb http://no.example x main\ndeb [arch=amd64 signed-by=/k.gpg] http://a.example/debian bookworm main\n",
        );
        assert_eq!(rewritten(&one, "bookworm", "trixie"), wanted.replace(" trixie-updates", ""));
    }

    #[test]
    fn archives_of_others_and_ones_switched_off_are_left_out() {
        let others =
            lines("deb https://b.example/node nodistro main\ndeb http://c.example/apt bookworm-backports main\n");
        assert_eq!(rewritten(&others, "bookworm", "trixie"), "");
        assert_eq!(stanzas(&format!("Enabled: no\n{STANZAS}")), []);
        assert_eq!(rewritten(&stanzas(STANZAS), "", "trixie"), "");
    }

    #[test]
    fn a_release_is_named_with_or_without_quotes() {
        assert_eq!(codename("ID=debian\nVERSION_CODENAME=bookworm\n"), "bookworm");
        assert_eq!(codename("VERSION_CODENAME=\"x\""), "x");
        assert_eq!(codename("ID=other"), "");
    }
}
