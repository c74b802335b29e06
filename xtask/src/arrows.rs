//! Checks which crates depend on which: compares the arrows of ARCHITECTURE.md with the dependencies that Cargo
//! resolves. Also checks that no two modules of a folder use each other (see [`circles`]).
//!
//! Dependencies are read from `cargo tree` for every target, without development dependencies. (`cargo tree -i` would
//! be shorter, but its answer is the same for a misspelt name and for a crate that is not used.)

use crate::{circles, run};
use anyhow::{Result, bail};
use std::collections::BTreeSet;
use std::path::Path;

/// The crates that the crate `from` may depend on, directly or through others.
struct Arrow {
    from: &'static str,
    /// Allowed crates of this repository.
    ours: &'static [&'static str],
    foreign: Foreign,
}

enum Foreign {
    /// Exactly these crates are allowed.
    Only(&'static [&'static str]),
    AnyBut(&'static [&'static str]),
}

/// Crates that make system calls. Crates that only decide must not depend on them.
const KERNEL: &[&str] = &["errno", "getrandom", "libc", "linux-raw-sys", "nix", "rustix", "signal-hook", "tempfile"];
/// Crates for the user's terminal. Only the binary may depend on them.
const TERMINAL: &[&str] = &["anstream", "anyhow", "clap", "indicatif", "minijinja"];
/// Dependencies of the product that automation must not have. The product's other dependencies are allowed, because
/// cbindgen, which makes the C header, needs some of them.
const PRODUCT: &[&str] = &["clap", "indicatif", "minijinja", "nix", "rtrb", "signal-hook"];

const ARROWS: &[Arrow] = &[
    Arrow { from: "punctual-hist", ours: &[], foreign: Foreign::Only(&[]) },
    Arrow { from: "punctual-rt", ours: &["punctual-hist"], foreign: Foreign::Only(&["libc", "rtrb"]) },
    Arrow { from: "punctual-facts", ours: &["punctual-hist"], foreign: Foreign::AnyBut(KERNEL) },
    Arrow { from: "punctual-tuning", ours: &["punctual-facts", "punctual-hist"], foreign: Foreign::AnyBut(KERNEL) },
    Arrow { from: "punctual-numbers", ours: &["punctual-facts", "punctual-hist"], foreign: Foreign::AnyBut(KERNEL) },
    Arrow {
        from: "punctual-optimize",
        ours: &["punctual-facts", "punctual-hist", "punctual-numbers", "punctual-tuning"],
        foreign: Foreign::AnyBut(KERNEL),
    },
    Arrow {
        from: "punctual-linux",
        ours: &["punctual-facts", "punctual-hist", "punctual-numbers", "punctual-rt", "punctual-tuning"],
        foreign: Foreign::AnyBut(TERMINAL),
    },
    Arrow {
        from: "punctual-lab",
        ours: &[],
        foreign: Foreign::AnyBut(&["anstream", "clap", "indicatif", "minijinja"]),
    },
    Arrow { from: "punctual-capi", ours: &["punctual-hist", "punctual-rt"], foreign: Foreign::Only(&["libc", "rtrb"]) },
    Arrow { from: "xtask", ours: &[], foreign: Foreign::AnyBut(PRODUCT) },
];

/// Fails with a line for every dependency that is not allowed.
pub fn check(root: &Path) -> Result<()> {
    let mut wrong = Vec::new();
    for arrow in ARROWS {
        let tree = run::read(&mut run::cargo(
            root,
            &["tree", "-p", arrow.from, "-e", "no-dev", "--target", "all", "--prefix", "none", "--format", "{p}"],
        ))?;
        let reached = names(&tree);
        if !reached.contains(arrow.from) {
            bail!("`cargo tree -p {}` does not list the crate itself: its output is not understood", arrow.from);
        }
        let forbidden = arrow.forbidden(&reached);
        match forbidden.as_slice() {
            [] => println!("{} reaches {} crates, none forbidden", arrow.from, reached.len() - 1),
            _ => wrong.push(format!("{} must not reach {}", arrow.from, forbidden.join(", "))),
        }
    }
    if !wrong.is_empty() {
        bail!("{}; `cargo tree -p CRATE -i OTHER` shows the way", wrong.join("; "));
    }
    circles::check(root)
}

impl Arrow {
    fn forbidden<'a>(&self, reached: &BTreeSet<&'a str>) -> Vec<&'a str> {
        let refused = |name: &str| {
            if name == self.from {
                return false;
            }
            if is_ours(name) {
                return !self.ours.contains(&name);
            }
            match self.foreign {
                Foreign::Only(allowed) => !allowed.contains(&name),
                Foreign::AnyBut(forbidden) => forbidden.contains(&name),
            }
        };
        reached.iter().copied().filter(|name| refused(name)).collect()
    }
}

fn is_ours(name: &str) -> bool {
    name == "xtask" || name == "punctual" || name.starts_with("punctual-")
}

/// The first word of each line.
fn names(tree: &str) -> BTreeSet<&str> {
    tree.lines().filter_map(|line| line.split_whitespace().next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RT: &str =
        "punctual-rt v0.1.0 (/x/crates/punctual-rt)\nlibc v0.2.1\npunctual-hist v0.1.0 (/x)\n\nlibc v0.2.1 (*)\n";

    fn forbidden(from: &str, tree: &'static str) -> Vec<&'static str> {
        let arrow = ARROWS.iter().find(|arrow| arrow.from == from).unwrap();
        arrow.forbidden(&names(tree))
    }

    #[test]
    fn what_is_allowed_passes() {
        assert_eq!(forbidden("punctual-rt", RT), Vec::<&str>::new());
        assert_eq!(forbidden("punctual-facts", "punctual-facts v1\nserde v1\npunctual-hist v1\n"), Vec::<&str>::new());
    }

    #[test]
    fn what_is_not_allowed_is_named() {
        assert_eq!(forbidden("punctual-rt", "punctual-rt v1\nlibc v1\nserde v1\n"), ["serde"]);
        assert_eq!(forbidden("punctual-hist", "punctual-hist v1\nlibc v1\n"), ["libc"]);
        assert_eq!(forbidden("punctual-numbers", "punctual-numbers v1\npunctual-tuning v1\n"), ["punctual-tuning"]);
        assert_eq!(
            forbidden("punctual-facts", "punctual-facts v1\nlibc v1\nrustix v1\npunctual-linux v1\npunctual-rt v1\n"),
            ["libc", "punctual-linux", "punctual-rt", "rustix"]
        );
        assert_eq!(forbidden("punctual-linux", "punctual-linux v1\nclap v1\npunctual v1\n"), ["clap", "punctual"]);
        assert_eq!(
            forbidden("punctual-capi", "punctual-capi v1\nrtrb v1\nserde v1\npunctual-facts v1\n"),
            ["punctual-facts", "serde"]
        );
        assert_eq!(forbidden("xtask", "xtask v1\nanyhow v1\nclap v1\npunctual-facts v1\n"), ["clap", "punctual-facts"]);
    }
}
