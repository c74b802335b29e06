//! Conditions on configuration options, from Kconfig, makefiles and the C preprocessor, and what is possible under them.

use std::collections::BTreeSet;

/// A condition on options with names of type `N`. Anything that cannot be decided from the sources is `Either`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr<N = String> {
    Const(bool),
    Either,
    Option(N),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
}

/// The values that a condition can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Can {
    pub be_true: bool,
    pub be_false: bool,
}

impl Can {
    #[cfg(test)]
    pub const TRUE: Self = Self { be_true: true, be_false: false };
    pub const FALSE: Self = Self { be_true: false, be_false: true };
    pub const EITHER: Self = Self { be_true: true, be_false: true };
}

impl<N> Expr<N> {
    /// The values that the condition can have, if `option` tells which values each option can have. Options are taken
    /// to be independent of each other.
    pub fn can(&self, option: &impl Fn(&N) -> Can) -> Can {
        match self {
            Self::Const(value) => Can { be_true: *value, be_false: !*value },
            Self::Either => Can::EITHER,
            Self::Option(name) => option(name),
            Self::Not(inner) => {
                let inner = inner.can(option);
                Can { be_true: inner.be_false, be_false: inner.be_true }
            }
            Self::And(a, b) => {
                let (a, b) = (a.can(option), b.can(option));
                Can { be_true: a.be_true && b.be_true, be_false: a.be_false || b.be_false }
            }
            Self::Or(a, b) => {
                let (a, b) = (a.can(option), b.can(option));
                Can { be_true: a.be_true || b.be_true, be_false: a.be_false && b.be_false }
            }
        }
    }

    /// The same condition with other names.
    pub fn renamed<M>(&self, name: &mut impl FnMut(&N) -> M) -> Expr<M> {
        match self {
            Self::Const(value) => Expr::Const(*value),
            Self::Either => Expr::Either,
            Self::Option(option) => Expr::Option(name(option)),
            Self::Not(inner) => Expr::Not(Box::new(inner.renamed(name))),
            Self::And(a, b) => Expr::And(Box::new(a.renamed(name)), Box::new(b.renamed(name))),
            Self::Or(a, b) => Expr::Or(Box::new(a.renamed(name)), Box::new(b.renamed(name))),
        }
    }
}

impl Expr {
    pub const TRUE: Self = Self::Const(true);
    pub const FALSE: Self = Self::Const(false);

    pub fn option(name: &str) -> Self {
        Self::Option(name.to_owned())
    }

    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Const(true), other) | (other, Self::Const(true)) => other,
            (Self::Const(false), _) | (_, Self::Const(false)) => Self::FALSE,
            (one, other) if one == other => one,
            (one, other) => Self::And(Box::new(one), Box::new(other)),
        }
    }

    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Const(false), other) | (other, Self::Const(false)) => other,
            (Self::Const(true), _) | (_, Self::Const(true)) => Self::TRUE,
            (one, other) if one == other => one,
            (one, other) => Self::Or(Box::new(one), Box::new(other)),
        }
    }

    pub fn not(self) -> Self {
        match self {
            Self::Const(value) => Self::Const(!value),
            Self::Not(inner) => *inner,
            Self::Either => Self::Either,
            other => Self::Not(Box::new(other)),
        }
    }

    /// The options that the condition needs, as alternatives of options that are needed together. Options whose value
    /// is fixed are left out.
    pub fn needs(&self, option: &dyn Fn(&str) -> Can) -> Needs {
        self.terms(true, option)
    }

    fn terms(&self, wanted: bool, option: &dyn Fn(&str) -> Can) -> Needs {
        match self {
            Self::Const(value) if *value == wanted => Needs::nothing(),
            Self::Const(_) => Needs::default(),
            Self::Either => Needs::nothing(),
            Self::Option(name) => match (option(name), wanted) {
                (Can { be_true: false, .. }, true) | (Can { be_false: false, .. }, false) => Needs::default(),
                (Can { be_false: false, .. }, true) | (Can { be_true: false, .. }, false) => Needs::nothing(),
                (_, true) => Needs::one(name.clone()),
                (_, false) => Needs::one(format!("!{name}")),
            },
            Self::Not(inner) => inner.terms(!wanted, option),
            Self::And(a, b) | Self::Or(a, b) => {
                let (a, b) = (a.terms(wanted, option), b.terms(wanted, option));
                if matches!(self, Self::And(..)) == wanted { a.both(&b) } else { a.either(b) }
            }
        }
    }
}

/// Alternatives of options that are needed together. No alternative: it cannot be. An empty one: nothing is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs(BTreeSet<BTreeSet<String>>);

/// More alternatives than this help no reader, and the word is then taken to need nothing.
const MOST_ALTERNATIVES: usize = 4;

impl Needs {
    pub fn nothing() -> Self {
        Self([BTreeSet::new()].into())
    }

    fn one(option: String) -> Self {
        Self([[option].into()].into())
    }

    fn both(&self, other: &Self) -> Self {
        let pairs = self.0.iter().flat_map(|a| other.0.iter().map(move |b| a | b));
        Self(pairs.filter(|term| !contradicts(term)).collect()).reduced()
    }

    pub fn either(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self.reduced()
    }

    /// Without alternatives that ask for more than another one.
    fn reduced(self) -> Self {
        let is_more = |term: &BTreeSet<String>| self.0.iter().any(|less| less != term && less.is_subset(term));
        let kept: BTreeSet<BTreeSet<String>> = self.0.iter().filter(|term| !is_more(term)).cloned().collect();
        // Condition a, or condition b without a: the latter says no more than b.
        if kept.len() > MOST_ALTERNATIVES { Self::nothing() } else { Self(kept) }
    }

    /// Whether no alternative is left.
    pub fn is_impossible(&self) -> bool {
        self.0.is_empty()
    }

    /// In the notation of the tables.
    pub fn shown(&self) -> String {
        if self.0.is_empty() || self.0.contains(&BTreeSet::new()) {
            return "-".to_owned();
        }
        let term = |term: &BTreeSet<String>| term.iter().map(String::as_str).collect::<Vec<_>>().join("&");
        self.0.iter().map(term).collect::<Vec<_>>().join("|")
    }
}

fn contradicts(term: &BTreeSet<String>) -> bool {
    term.iter().any(|option| term.contains(&format!("!{option}")))
}

/// What stands between the operators of a condition.
pub trait Atoms {
    /// Reads one operand, and what belongs to it, from the beginning of the text.
    fn atom(&self, text: &mut &str) -> Expr;
}

/// Parses a condition with `&&`, `||`, `!` and parentheses. What is not understood is `Either`.
pub fn parse(text: &str, atoms: &dyn Atoms) -> Expr {
    let mut rest = text.trim();
    let expr = any_of(&mut rest, atoms);
    if rest.trim().is_empty() { expr } else { Expr::Either }
}

fn any_of(rest: &mut &str, atoms: &dyn Atoms) -> Expr {
    let mut expr = all_of(rest, atoms);
    while take(rest, "||") {
        expr = expr.or(all_of(rest, atoms));
    }
    expr
}

fn all_of(rest: &mut &str, atoms: &dyn Atoms) -> Expr {
    let mut expr = one(rest, atoms);
    while take(rest, "&&") {
        expr = expr.and(one(rest, atoms));
    }
    expr
}

fn one(rest: &mut &str, atoms: &dyn Atoms) -> Expr {
    if !rest.trim_start().starts_with("!=") && take(rest, "!") {
        return one(rest, atoms).not();
    }
    if take(rest, "(") {
        let inner = any_of(rest, atoms);
        return if take(rest, ")") { inner } else { Expr::Either };
    }
    *rest = rest.trim_start();
    let before = rest.len();
    let atom = atoms.atom(rest);
    if rest.len() == before {
        // Nothing was read: give the rest up, so that reading comes to an end.
        *rest = "";
        return Expr::Either;
    }
    atom
}

pub fn take(rest: &mut &str, token: &str) -> bool {
    match rest.trim_start().strip_prefix(token) {
        Some(after) => {
            *rest = after;
            true
        }
        None => false,
    }
}

/// Takes a word of letters, digits and `_` off the beginning of the text.
pub fn word<'a>(rest: &mut &'a str) -> &'a str {
    let text = rest.trim_start();
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
    *rest = &text[end..];
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Names;

    impl Atoms for Names {
        fn atom(&self, text: &mut &str) -> Expr {
            Expr::option(word(text))
        }
    }

    fn shown(text: &str) -> String {
        parse(text, &Names).needs(&|name| if name == "ON" { Can::TRUE } else { Can::EITHER }).shown()
    }

    #[test]
    fn conditions_become_alternatives() {
        for (text, expected) in [
            ("A", "A"),
            ("A && !B || C", "!B&A|C"),
            ("!(A || B)", "!A&!B"),
            ("A || A && B", "A"),
            ("ON && A", "A"),
            ("ON", "-"),
            ("A && !A || B", "B"),
            ("A && (B", "A"),
            ("A B", "-"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_is_told_from_what_must() {
        let can = |text: &str| {
            parse(text, &Names).can(&|name| match name.as_str() {
                "ON" => Can::TRUE,
                "OFF" => Can::FALSE,
                _ => Can::EITHER,
            })
        };
        assert_eq!(can("ON && A"), Can::EITHER);
        assert_eq!(can("OFF && A"), Can::FALSE);
        assert_eq!(can("ON || A"), Can::TRUE);
        assert_eq!(can("!ON || OFF"), Can::FALSE);
    }
}
