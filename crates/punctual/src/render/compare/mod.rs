//! A comparison as people and programs read it: text, a page with overlaid pictures, JSON, `JUnit` XML.
//!
//! All of it is drawn from the finished comparison; must not judge, only tell.

mod html;
mod json;
mod junit;
mod short;
#[cfg(test)]
mod tests;
mod text;

pub use html::html;
#[cfg(test)]
pub(in crate::render) use json::Document as Published;
pub use json::json;
pub use junit::junit;
pub use short::short;
pub use text::text;

use punctual_numbers::compare::{Against, Compared, GroupResult};

/// How many groups get a table. If there are more, those that decide come first, then others in their order.
const GROUPS_TOLD: usize = 12;

/// The groups that get a table, in their order, and the number of those that do not.
fn told(against: &Against) -> (Vec<&GroupResult>, usize) {
    let decides = |group: &&GroupResult| matches!(group.verdict, Compared::Better | Compared::Worse | Compared::Mixed);
    let mut told: Vec<&GroupResult> = against.groups.iter().filter(decides).take(GROUPS_TOLD).collect();
    let room = GROUPS_TOLD.saturating_sub(told.len());
    told.extend(against.groups.iter().filter(|group| !decides(group)).take(room));
    told.sort_by(|a, b| a.group.cmp(&b.group));
    let left = against.groups.len().saturating_sub(told.len());
    (told, left)
}
