//! The commands that a host's shell gets. Each word is quoted, so that no shell on the way gives a meaning to a part of
//! it.

/// Begins the line after which the host's answer stands. What start-up files of the host's shell print comes before it.
pub const MARK: &str = "punctual-fleet/1 ";
const RUN: &str = include_str!("far.sh");
/// Prints the machine's name as the kernel has it, then the version of the program, if that is on the machine.
const ASK: &str = "printf '\\npunctual-fleet/1 %s\\n' \"$(uname -m)\"\n[ -z \"$1\" ] || \"$1\" --version";

/// How commands are run on hosts.
#[derive(Clone, Debug)]
pub struct Far {
    /// Name or path of `punctual` on the hosts.
    pub program: String,
    pub sudo: bool,
}

impl Far {
    /// Asks what machine it is and, unless a program is brought along, which version it has.
    pub fn ask(&self, brings: bool) -> String {
        self.command(ASK, [if brings { "" } else { self.program.as_str() }])
    }

    /// Runs the program with these words. `brought` is the size of the program that comes on standard input.
    pub fn run(&self, words: &[String], brought: Option<u64>) -> String {
        let size = brought.unwrap_or(0).to_string();
        self.command(RUN, [size.as_str(), &self.program].into_iter().chain(words.iter().map(String::as_str)))
    }

    fn command<'a>(&self, script: &'a str, words: impl IntoIterator<Item = &'a str>) -> String {
        let sudo: &[&str] = if self.sudo { &["sudo", "-n", "--"] } else { &[] };
        let start = sudo.iter().copied().chain(["sh", "-c"]).map(str::to_owned);
        let words = [script, "punctual-fleet"].into_iter().chain(words).map(quoted);
        start.chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// The word in single quotes, which sh, bash, zsh, dash and fish read alike. A backslash stands outside of them, because
/// fish reads it within them too.
fn quoted(word: &str) -> String {
    let mut text = String::from("'");
    for c in word.chars() {
        match c {
            '\'' | '\\' => text.extend(["'\\", &c.to_string(), "'"]),
            _ => text.push(c),
        }
    }
    text + "'"
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    fn said(script: &str) -> String {
        let output = Command::new("sh").args(["-c", script]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn a_machine_answers_with_its_name_and_version() {
        let far = Far { program: "echo".into(), sudo: false };
        let machine = said("uname -m");
        assert_eq!(said(&far.ask(false)), format!("\n{MARK}{machine}--version\n"));
        assert_eq!(said(&far.ask(true)), format!("\n{MARK}{machine}"));
    }

    #[test]
    fn sudo_is_never_asked_to_ask() {
        let far = Far { program: "punctual".into(), sudo: true };
        assert!(far.ask(false).starts_with("sudo -n -- sh -c 'printf "), "{}", far.ask(false));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_shell_reads_a_quoted_word_as_one_word_without_a_meaning(word in "[ -~\n\t'\\\\$`\u{4e3b}]{0,20}") {
            let text = format!("printf '%s|' {} {}", quoted(&word), quoted("end"));
            prop_assert_eq!(said(&text), format!("{word}|end|"));
        }
    }
}
