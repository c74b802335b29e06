//! The file that a gate holds kernels against: one line of JSON, then the recordings, byte after byte.

use super::bench::Measured;
use crate::cli::{GuestArgs, parse_loads};
use crate::commands::files::{read_at_most, write_new};
use anyhow::{Context, Result, anyhow, bail, ensure};
use punctual_hist::Nanos;
use punctual_numbers::recording::{Recording, read};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

const SCHEMA: &str = "punctual/lab-baseline/1";
/// Largest file: recordings of a thousand seeds.
const MOST_BYTES: u64 = 1 << 30;

/// The first line: how the recordings were measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Head {
    schema: String,
    /// The kernel as the user named it.
    kernel: String,
    load: String,
    period_ns: u64,
    duration_ns: u64,
    memory_mib: u32,
    seeds: Vec<u64>,
    /// Lengths in bytes of the recordings, and of those with a trace.
    runs: Vec<usize>,
    traced: Vec<usize>,
}

/// A baseline that was read.
pub struct Baseline {
    head: Head,
    pub measured: Measured,
}

pub fn save(path: &Path, measured: &Measured, guest: &GuestArgs, seeds: &[u64]) -> Result<()> {
    let one = |path: &PathBuf| fs::read(path).with_context(|| format!("read {}", path.display()));
    let all = |paths: &[PathBuf]| paths.iter().map(one).collect::<Result<Vec<_>>>();
    let [runs, traced] = [all(&measured.files[0])?, all(&measured.files[1])?];
    let head = Head {
        schema: SCHEMA.to_owned(),
        kernel: measured.name.clone(),
        load: guest.load.to_string(),
        period_ns: guest.period.as_ns(),
        duration_ns: guest.duration.as_ns(),
        memory_mib: guest.memory,
        seeds: seeds.to_vec(),
        runs: runs.iter().map(Vec::len).collect(),
        traced: traced.iter().map(Vec::len).collect(),
    };
    let mut bytes = serde_json::to_vec(&head).context("write the head of a baseline")?;
    bytes.push(b'\n');
    bytes.extend(runs.into_iter().chain(traced).flatten());
    write_new(path, bytes)
}

impl Baseline {
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = read_at_most(path, MOST_BYTES, "baseline")?;
        Self::of(&bytes).with_context(|| format!("{} (punctual lab gate --save writes one)", path.display()))
    }

    fn of(bytes: &[u8]) -> Result<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n').context("not a baseline")?;
        let (line, mut rest) = bytes.split_at(end + 1);
        let head: Head = serde_json::from_slice(line).map_err(|_| anyhow!("not a baseline"))?;
        if head.schema != SCHEMA {
            bail!("a baseline of another version: {}, not {SCHEMA}", head.schema);
        }
        let mut take = |length: &usize| -> Result<Recording> {
            let (one, more) = rest.split_at_checked(*length).context("the file is cut off")?;
            rest = more;
            read(one).map_err(|error| anyhow!("a recording in it: {error}"))
        };
        let runs = head.runs.iter().map(&mut take).collect::<Result<Vec<_>>>()?;
        let traced = head.traced.iter().map(&mut take).collect::<Result<Vec<_>>>()?;
        ensure!(!runs.is_empty(), "a baseline without a recording");
        let measured = Measured {
            name: format!("{} (baseline)", head.kernel),
            runs,
            traced,
            mode: None,
            config: None,
            files: Default::default(),
            failure: None,
        };
        Ok(Self { head, measured })
    }

    /// The options of a guest that measures as the baseline was measured.
    pub fn guest(&self, typed: &GuestArgs) -> Result<GuestArgs> {
        let load = parse_loads(&self.head.load).map_err(|why| anyhow!("the loads of the baseline: {why}"))?;
        let [period, duration] = [self.head.period_ns, self.head.duration_ns].map(Nanos::from_ns);
        Ok(GuestArgs { load, period, duration, memory: self.head.memory_mib, ..typed.clone() })
    }

    /// Seeds that the baseline was not measured with. Equal kernels differ by their seeds, and by how much is what a
    /// difference is held against.
    pub fn other_seeds(&self, count: u64) -> Vec<u64> {
        let last = self.head.seeds.iter().copied().max().unwrap_or(0);
        (1..=count).map(|number| last.saturating_add(number)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_baseline_says_so() {
        let why = |bytes: &[u8]| format!("{:#}", Baseline::of(bytes).err().unwrap());
        assert_eq!(why(b""), "not a baseline");
        assert_eq!(why(b"{}\n"), "not a baseline");
        let head = |schema: &str, runs: &[usize]| {
            let head = Head {
                schema: schema.to_owned(),
                kernel: "k".into(),
                load: "idle".into(),
                period_ns: 1,
                duration_ns: 1,
                memory_mib: 512,
                seeds: vec![1],
                runs: runs.to_vec(),
                traced: Vec::new(),
            };
            let mut bytes = serde_json::to_vec(&head).unwrap();
            bytes.push(b'\n');
            bytes
        };
        assert!(why(&head("punctual/lab-baseline/9", &[1])).contains("another version"));
        assert_eq!(why(&head(SCHEMA, &[100])), "the file is cut off");
        assert_eq!(why(&head(SCHEMA, &[])), "a baseline without a recording");
    }
}
