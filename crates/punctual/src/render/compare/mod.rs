//! The output formats of a comparison: text, an HTML page, JSON, `JUnit` XML.
//!
//! All formats show values of the finished comparison. Nothing here may judge.

mod html;
mod json;
mod junit;
mod short;
#[cfg(test)]
mod tests;
mod text;
pub mod turns;

pub use html::html;
#[cfg(test)]
pub(in crate::render) use json::Document as Published;
pub use json::json;
pub use junit::junit;
pub use short::short;
pub use text::text;

use punctual_numbers::compare::{Against, Compared, GroupResult};

/// Number of groups that get a table. If there are more, groups with a verdict of better, worse or mixed are preferred.
const GROUPS_TOLD: usize = 12;

/// The groups that get a table, in their order, and the number of groups without a table.
fn told(against: &Against) -> (Vec<&GroupResult>, usize) {
    let decides = |group: &&GroupResult| matches!(group.verdict, Compared::Better | Compared::Worse | Compared::Mixed);
    let mut told: Vec<&GroupResult> = against.groups.iter().filter(decides).take(GROUPS_TOLD).collect();
    let room = GROUPS_TOLD.saturating_sub(told.len());
    told.extend(against.groups.iter().filter(|group| !decides(group)).take(room));
    told.sort_by(|a, b| a.group.cmp(&b.group));
    let left = against.groups.len().saturating_sub(told.len());
    (told, left)
}
