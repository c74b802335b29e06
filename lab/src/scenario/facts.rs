//! Parses what a kernel reports about its command line and its state, and what the product reports.
//!
//! The kernel's reports are parsed here by separate rules and never by the product, so that a mistake of the product
//! cannot be on both sides of a comparison.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A word of a command line, and the product's verdict on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word as it stands on the command line.
    pub word: String,
    /// The product's name of the verdict.
    pub verdict: String,
}

impl Word {
    pub fn name(&self) -> &str {
        self.word.split('=').next().unwrap_or(&self.word)
    }
}

/// Parses the words of `punctual lint --json`, in their order.
pub fn words(json: &str) -> Result<Vec<Word>> {
    let value: Value = serde_json::from_str(json).context("read the linter's JSON")?;
    let words = value.get("words").and_then(Value::as_array).context("find `words` in the linter's JSON")?;
    let word = |value: &Value| {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Word { word: text("word")?, verdict: text("verdict")? })
    };
    words.iter().map(word).collect::<Option<_>>().context("find `word` and `verdict` of each word")
}

/// A finding of the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The state's name, such as good, bad or unknown.
    pub state: String,
    /// Paths of files, each with the content that the finding shows.
    pub evidence: Vec<(String, String)>,
}

/// Parses the findings of `punctual audit --json`, by id.
pub fn findings(json: &str) -> Result<BTreeMap<String, Finding>> {
    let value: Value = serde_json::from_str(json).context("read the audit's JSON")?;
    let findings = value.get("findings").and_then(Value::as_array).context("find `findings` in the audit's JSON")?;
    let finding = |value: &Value| {
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let evidence = value.get("evidence")?.as_array()?.iter();
        let evidence = evidence.map(|one| Some((text(one, "source")?, text(one, "value")?))).collect::<Option<_>>()?;
        Some((text(value, "id")?, Finding { state: text(value, "state")?, evidence }))
    };
    findings.iter().map(finding).collect::<Option<_>>().context("find `id`, `state` and `evidence` of each finding")
}

/// Parses lines that consist of a path, a tab and the first line of the file.
pub fn files(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.split_once('\t'));
    pairs.map(|(path, value)| (path.to_owned(), value.trim().to_owned())).collect()
}

/// What a kernel reports about the words of its command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernels {
    /// Words that no part of the kernel accepted, from its log.
    pub left_over: BTreeSet<String>,
    /// Names of early parameters whose values the kernel refused, from its log.
    pub malformed: BTreeSet<String>,
    /// Parameters with a dot that the kernel or one of its modules has, from sysfs and from the modules' own
    /// descriptions.
    pub dotted: BTreeSet<String>,
}

/// Parses what the kernel's log says about the words of its command line.
pub fn log(dmesg: &str) -> Kernels {
    let after = |line: &str, mark: &str| line.split_once(mark).map(|(_, rest)| rest.to_owned());
    let left_over = dmesg.lines().filter_map(|line| after(line, "Unknown kernel command line parameters \""));
    let left_over = left_over.filter_map(|rest| Some(rest.rsplit_once('"')?.0.to_owned()));
    let malformed = dmesg.lines().filter_map(|line| after(line, "Malformed early option '"));
    Kernels {
        left_over: left_over.flat_map(|words| words.split(' ').map(str::to_owned).collect::<Vec<_>>()).collect(),
        malformed: malformed.filter_map(|rest| Some(rest.split_once('\'')?.0.to_owned())).collect(),
        dotted: BTreeSet::new(),
    }
}

/// Parameters with a dot that `modules.builtin.modinfo` lists.
pub fn builtin(modinfo: &str) -> BTreeSet<String> {
    let entries = modinfo.split('\0').filter_map(|entry| {
        let (key, value) = entry.split_once('=')?;
        let module = key.strip_suffix(".parmtype").or_else(|| key.strip_suffix(".parm"))?;
        Some(format!("{module}.{}", value.split(':').next()?))
    });
    entries.collect()
}

/// The kernels of the truth table, in the order of its columns.
const TABLE_SERIES: [&str; 8] = ["4.19", "5.4", "5.10", "5.15", "6.1", "6.6", "6.12", "7.3"];

/// The letters in the truth table for one kernel, which is chosen by its series, architecture and flavour.
pub fn letters(table: &str, series: &str, is_arm: bool, is_rt: bool) -> Result<Vec<(String, char)>> {
    let Some(group) = TABLE_SERIES.iter().position(|column| *column == series) else {
        bail!("the truth table has no column for {series}");
    };
    let column = usize::from(is_arm) * 2 + usize::from(is_rt);
    // The first paragraph after the heading contains the published command line.
    let rows = table.split("# A published line").nth(1).and_then(|rest| rest.split("\n\n").next());
    let rows = rows.context("find the published line in the truth table")?.lines().skip(1);
    let row = |row: &str| {
        let mut words = row.split_whitespace();
        let word = words.next()?.to_owned();
        Some((word, words.nth(group)?.chars().nth(column)?))
    };
    rows.map(row).collect::<Option<_>>().context("read the rows of the truth table")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_names_what_nobody_took() {
        let text = "[ 0.1] x: Unknown kernel command line parameters \"noht a=\"b c\" d=1\", will be passed to user space.\n\
            [ 0.1] Malformed early option 'idle'\n";
        let said = log(text);
        assert!(said.left_over.contains("noht") && said.left_over.contains("d=1"), "{said:?}");
        assert_eq!(said.malformed, BTreeSet::from(["idle".to_owned()]));
        assert_eq!(log("Kernel command line: noht"), Kernels::default());
    }

    #[test]
    fn builtin_parameters_are_found_by_type_or_description() {
        let text = "processor.parmtype=max_cstate:uint\0a.parm=b:what it is\0a.license=GPL\0";
        assert_eq!(builtin(text), BTreeSet::from(["processor.max_cstate".to_owned(), "a.b".to_owned()]));
    }

    #[test]
    fn a_letter_is_found_by_series_architecture_and_flavour() {
        let table = "# x\n\n# A published line, as one line:\naudit=0  .... .... .... .... aTCR .... ?IHM UaaE  why\nnoht  .... .... .... .... ???a .... aaaa aaaa  why\n\n# others\nx a b c\n";
        let of = |series, arm, rt| letters(table, series, arm, rt).unwrap()[0].1;
        assert_eq!((of("6.1", false, false), of("6.1", true, true), of("6.12", false, true)), ('a', 'R', 'I'));
        assert_eq!(of("7.3", true, true), 'E');
        assert_eq!(letters(table, "6.1", false, false).unwrap().len(), 2);
        assert!(letters(table, "5.11", false, false).is_err());
        assert!(letters("", "6.1", false, false).is_err());
    }

    #[test]
    fn what_is_not_as_expected_is_an_error() {
        assert!(words("{}").is_err());
        assert!(words("{\"words\":[{\"word\":\"a\"}]}").is_err());
        assert!(findings("{\"findings\":[{\"id\":\"a\"}]}").is_err());
        assert!(findings("").is_err());
    }
}
