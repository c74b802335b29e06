//! The gate of an inspection as `JUnit` XML: one case for each thing that fails, in each thread with cycles.

use super::words;
use crate::render::clean::ascii;
use crate::render::junit::{Case, Document, Status, Suite};
use punctual_numbers::inspect::{FailOn, Gate, Inspection, Judged, judged};

/// What was not seen well enough is an error, which no reader takes for a pass.
pub fn junit(inspection: &Inspection, fail_on: &[FailOn]) -> std::io::Result<String> {
    let cases = judged(inspection, fail_on).iter().map(|judged| case(inspection, judged)).collect();
    let suite = Suite { name: inspection.program.name.clone(), properties: words::facts(inspection), cases };
    Document { name: "punctual inspect", suites: vec![suite] }.text()
}

fn case(inspection: &Inspection, Judged { kind, thread, gate }: &Judged<'_>) -> Case {
    let named = thread.map(|thread| format!(": {} ({})", thread.name, thread.tid)).unwrap_or_default();
    Case {
        name: format!("{}{named}", words::fail_on(*kind)),
        class: "punctual.inspect".to_owned(),
        status: match gate {
            Gate::Passed => Status::Passed,
            Gate::Failed => {
                Status::failed(ascii(&thread.map(|thread| words::failing(*kind, thread)).unwrap_or_default()))
            }
            Gate::Unknown => Status::broken(ascii(&words::unknown(inspection))),
        },
        output: None,
    }
}
