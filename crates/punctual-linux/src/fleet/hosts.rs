//! The list of hosts: one destination on each line, as the OpenSSH client takes it.
//!
//! The client may pass a host name to a shell (`ProxyCommand %h`), and takes a word that begins with `-` for an option.
//! So a destination may consist only of characters that neither a shell nor the client gives a meaning.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use thiserror::Error;

/// Characters besides ASCII letters and digits: those of `user@host`, of addresses, and of `ssh://user@host:port`.
const MARKS: &str = "._-@:%+/[]";
/// The longest name that a host can have in the domain name system, with room for a user name.
const LONGEST: usize = 300;

/// A destination of the OpenSSH client: a name of `ssh_config`, a host, `user@host` or `ssh://user@host:port`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline, description = ""))]
#[serde(try_from = "String")]
pub struct Host(String);

#[derive(Debug, PartialEq, Eq, Error)]
pub enum HostError {
    #[error("it begins with `-`, which ssh takes for an option")]
    Option,
    #[error("the character {0:?} is in no host name; write a name here, and its address and options in ~/.ssh/config")]
    Character(char),
    #[error("it is longer than {LONGEST} characters")]
    Long,
}

#[derive(Debug, PartialEq, Eq, Error)]
pub enum HostsError {
    #[error("line {line}, `{}`: {reason}", text.escape_debug())]
    Line { line: usize, text: String, reason: HostError },
    #[error("line {line}: {host} is in line {first} already; one host is used once")]
    Twice { line: usize, first: usize, host: Host },
    #[error("it names no host; write one on each line, as ssh takes it: line-1, admin@10.0.0.7, ssh://box:2222")]
    Empty,
}

impl Host {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Name of the folder for this host's results. No two hosts share one.
    pub fn folder(&self) -> String {
        let mut name = String::new();
        for (at, byte) in self.0.bytes().enumerate() {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'@') || (byte == b'.' && at > 0) {
                name.push(char::from(byte));
            } else {
                // Writing to a String cannot fail.
                let _ = write!(name, "%{byte:02x}");
            }
        }
        name
    }
}

impl TryFrom<String> for Host {
    type Error = HostError;

    fn try_from(text: String) -> Result<Self, HostError> {
        if text.starts_with('-') {
            return Err(HostError::Option);
        }
        if text.len() > LONGEST {
            return Err(HostError::Long);
        }
        match text.chars().find(|c| !c.is_ascii_alphanumeric() && !MARKS.contains(*c)) {
            Some(strange) => Err(HostError::Character(strange)),
            None => Ok(Self(text)),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads a list of hosts. Empty lines and what follows a `#` are left out.
pub fn hosts(text: &str) -> Result<Vec<Host>, HostsError> {
    let mut hosts = Vec::new();
    let mut lines = BTreeMap::new();
    for (line, text) in text.lines().enumerate().map(|(at, text)| (at + 1, text)) {
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            continue;
        }
        let host = Host::try_from(text.to_owned());
        let host = host.map_err(|reason| HostsError::Line { line, text: text.to_owned(), reason })?;
        if let Some(first) = lines.insert(host.clone(), line) {
            return Err(HostsError::Twice { line, first, host });
        }
        hosts.push(host);
    }
    if hosts.is_empty() { Err(HostsError::Empty) } else { Ok(hosts) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_list_has_one_destination_a_line() {
        let read =
            hosts("# the line controllers\nline-1\n\n  admin@10.0.0.7  # old\nssh://root@[fe80::1%eth0]:2222\r\n");
        let read: Vec<String> = read.unwrap().iter().map(Host::to_string).collect();
        assert_eq!(read, ["line-1", "admin@10.0.0.7", "ssh://root@[fe80::1%eth0]:2222"]);
        assert_eq!(hosts("\n# none\n"), Err(HostsError::Empty));
    }

    #[test]
    fn what_a_shell_or_ssh_would_act_on_is_no_host() {
        let reason = |text: &str| match hosts(&format!("good\n{text}\n")) {
            Err(HostsError::Line { line: 2, reason, .. }) => reason,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(reason("-oProxyCommand=reboot"), HostError::Option);
        for text in
            ["a;reboot", "$(reboot)", "`reboot`", "a b", "a'b", "a\"b", "a\\b", "a|b", "a&b", "a\u{1b}b", "主机"]
        {
            assert!(matches!(reason(text), HostError::Character(_)), "{text}");
        }
        assert_eq!(reason(&"a".repeat(301)), HostError::Long);
        let twice = hosts("a\nb\na").unwrap_err();
        assert_eq!(twice.to_string(), "line 3: a is in line 1 already; one host is used once");
    }

    #[test]
    fn a_host_has_a_folder_inside_the_folder_of_results() {
        let folder = |text: &str| Host::try_from(text.to_owned()).unwrap().folder();
        assert_eq!(folder("admin@line-1.example"), "admin@line-1.example");
        assert_eq!(folder(".."), "%2e.");
        assert_eq!(folder("ssh://a/../b"), "ssh%3a%2f%2fa%2f..%2fb");
    }

    proptest! {
        #[test]
        fn two_hosts_never_share_a_folder(one in "[a-z%/.:]{1,6}", other in "[a-z%/.:]{1,6}") {
            let of = |text: &String| Host::try_from(text.clone()).unwrap().folder();
            prop_assert_eq!(of(&one) == of(&other), one == other);
            prop_assert!(!of(&one).contains('/') && !of(&one).starts_with('.'));
        }
    }
}
