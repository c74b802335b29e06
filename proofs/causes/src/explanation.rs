//! The output of `punctual explain FILE --json`, as far as the judge uses it.
//!
//! This module must not know what was planted.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::path::Path;

/// The schema of the JSON that this module can read.
const SCHEMA: &str = "punctual/explain/2";

/// The explanation of a recording.
#[derive(Clone, Debug, Deserialize)]
pub struct Explanation {
    schema: String,
    pub tracing: Option<Tracing>,
    /// The numbers of records in the trace, one entry for each CPU.
    #[serde(default)]
    pub traces: Vec<Trace>,
    /// The numbers of late activations in the whole recording.
    #[serde(rename = "all_late")]
    pub late: Late,
    pub spikes: Vec<Spike>,
}

/// The numbers of trace records of one CPU.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Trace {
    /// Number of records that were read.
    pub records: u64,
    /// Number of records that were overwritten before they were read.
    pub lost: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Late {
    pub late: u64,
    /// Number of late activations for which no window could be cut.
    pub passed_over: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Tracing {
    /// Name of the means by which causes were looked for.
    pub rung: String,
    /// What the trace cannot show: each entry is a word, or an object with a word and its details.
    pub blind: Vec<serde_json::Value>,
}

impl Tracing {
    /// Whether the trace lacks records that the kernel did not count as lost. The product reports this itself, and
    /// marks the affected windows.
    pub fn has_holes(&self) -> bool {
        self.blind.iter().any(|blind| blind.get("holes").is_some())
    }
}

#[derive(Clone, Debug, Deserialize)]
pub struct Spike {
    pub cpu: u32,
    /// The time at which the activation was due.
    pub release_ns: u64,
    /// The time at which the thread ran.
    pub woke_ns: u64,
    /// Why the window is incomplete, as a word; `None` if it is complete.
    pub incomplete: Option<String>,
    /// The causes of the latency, the largest first.
    pub causes: Vec<Cause>,
    /// The parts of the latency, in the order of time.
    pub parts: Vec<Part>,
}

impl Spike {
    pub fn latency_ns(&self) -> u64 {
        self.woke_ns.saturating_sub(self.release_ns)
    }
}

/// A part of a latency that has one cause.
#[derive(Clone, Debug, Deserialize)]
pub struct Part {
    /// The class of the cause.
    pub class: String,
    pub name: String,
    /// The start on `CLOCK_MONOTONIC`, in nanoseconds.
    pub from_ns: u64,
    pub length_ns: u64,
}

/// A cause of a latency.
#[derive(Clone, Debug, Deserialize)]
pub struct Cause {
    pub class: String,
    pub name: String,
    /// The time for which the cause is responsible, in nanoseconds.
    pub time_ns: u64,
}

pub fn parse(text: &str) -> Result<Explanation> {
    let explanation: Explanation = serde_json::from_str(text).context("understand the explanation")?;
    ensure!(explanation.schema == SCHEMA, "this is `{}`, not `{SCHEMA}`", explanation.schema);
    Ok(explanation)
}

/// Reads an explanation from a file.
pub fn read(path: &Path) -> Result<Explanation> {
    let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    parse(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_format_that_is_known_is_read() {
        let text = r#"{"schema":"punctual/explain/2","tracing":{"rung":"tracefs","blind":["firmware",{"holes":1}],"x":1},"all_late":{"late":1,"passed_over":0},"causes":[],
            "spikes":[{"cpu":1,"release_ns":10,"woke_ns":30,"incomplete":null,
            "causes":[{"class":"softirq","name":"NET_RX","time_ns":15}],"parts":[]}]}"#;
        let explanation = parse(text).unwrap();
        assert_eq!(explanation.spikes[0].causes[0].name, "NET_RX");
        assert!(explanation.tracing.unwrap().has_holes());
        assert!(parse(&text.replace("explain/2", "explain/3")).is_err());
    }
}
