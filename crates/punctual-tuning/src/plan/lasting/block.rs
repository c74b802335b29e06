//! Adds and removes lines of this program in files that belong to others. Two marks enclose the lines.

pub(super) const OPEN: &str = "# punctual { (undone by `punctual revert`)\n";
pub(super) const CLOSE: &str = "# } punctual\n";

/// The lines between two marks; `lines` must end with a line end.
pub(super) fn marked(lines: &str) -> String {
    format!("{OPEN}{lines}{CLOSE}")
}

/// The text with `lines`, enclosed by marks, at its end.
pub(super) fn appended(text: &str, lines: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{end}{}", marked(lines))
}

/// The text without our marked lines, if it has any.
pub(super) fn base(text: &str) -> String {
    without(text).unwrap_or_else(|| text.to_owned())
}

/// The text without our marked lines; `None` if it has none.
pub(super) fn without(text: &str) -> Option<String> {
    without_one(text, "")
}

/// The text without the marked lines that begin with `first`; `None` if it has none.
pub(super) fn without_one(text: &str, first: &str) -> Option<String> {
    let (before, rest) = text.split_once(&format!("{OPEN}{first}"))?;
    let (_, after) = rest.split_once(CLOSE)?;
    Some(format!("{before}{after}"))
}
