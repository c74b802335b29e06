//! `JUnit` XML as text that fits the schema of Jenkins, the strictest of those who read it. Must not know what is tested.

use quick_junit::{Report, SerializeError};

/// The document. The schema counts what was skipped in each suite, and knows no sum of it at the root, which is the first
/// element to have it.
pub fn text(report: &Report) -> Result<String, SerializeError> {
    let counted = format!(r#" skipped="{}""#, report.skipped);
    Ok(report.to_string()?.replacen(&counted, "", 1))
}
