//! What `punctual explain FILE --json` says, as far as it is judged here.
//!
//! It must not know what was planted.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::path::Path;

/// The document that is understood.
const SCHEMA: &str = "punctual/explain/2";

/// The explanation of a recording.
#[derive(Clone, Debug, Deserialize)]
pub struct Explanation {
    schema: String,
    pub tracing: Option<Tracing>,
    /// What the trace of each CPU came to.
    #[serde(default)]
    pub traces: Vec<Trace>,
    /// How many were late.
    #[serde(rename = "all_late")]
    pub late: Late,
    pub spikes: Vec<Spike>,
}

/// Records of a CPU.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Trace {
    /// Those that were read.
    pub records: u64,
    /// Those that were overwritten before.
    pub lost: u64,
}

/// Late activations in numbers.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Late {
    pub late: u64,
    /// Those of which no window could be cut.
    pub passed_over: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Tracing {
    /// The means, by name.
    pub rung: String,
    /// What it cannot see: a word, or a word with what it is about.
    pub blind: Vec<serde_json::Value>,
}

impl Tracing {
    /// Records are missing that nobody reports: the product says so itself, and marks what they are missing in.
    pub fn has_holes(&self) -> bool {
        self.blind.iter().any(|blind| blind.get("holes").is_some())
    }
}

#[derive(Clone, Debug, Deserialize)]
pub struct Spike {
    pub cpu: u32,
    /// When it was due.
    pub release_ns: u64,
    /// When its body ran.
    pub woke_ns: u64,
    /// Why the trace does not tell all of it, as a word.
    pub incomplete: Option<String>,
    /// What took the time, the largest first.
    pub causes: Vec<Cause>,
    /// The time in order.
    pub parts: Vec<Part>,
}

impl Spike {
    /// By how much it was late.
    pub fn latency_ns(&self) -> u64 {
        self.woke_ns.saturating_sub(self.release_ns)
    }
}

/// A stretch of the time.
#[derive(Clone, Debug, Deserialize)]
pub struct Part {
    /// The kind of what took it.
    pub class: String,
    pub name: String,
    /// From, on `CLOCK_MONOTONIC`.
    pub from_ns: u64,
    pub length_ns: u64,
}

/// Something that took time.
#[derive(Clone, Debug, Deserialize)]
pub struct Cause {
    pub class: String,
    pub name: String,
    /// How much it took.
    pub time_ns: u64,
}

pub fn parse(text: &str) -> Result<Explanation> {
    let explanation: Explanation = serde_json::from_str(text).context("understand the explanation")?;
    ensure!(explanation.schema == SCHEMA, "this is `{}`, not `{SCHEMA}`", explanation.schema);
    Ok(explanation)
}

/// Reads one from a file.
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
