//! A remedy while its steps are collected, with the values before and after the steps in one line each.

use super::super::{Expected, Reading, Step};
use super::{Found, KnobRemedy, Notes};
use crate::knobs::{Case, Missing};
use punctual_facts::fact::{Fact, printable};
use std::collections::BTreeMap;

/// The largest number of subjects that are named for one value. Further subjects are only counted.
const MOST_NAMED: usize = 12;
const LINE_CHARS: usize = 400;

/// The collected steps, and their subjects grouped by the values before and after.
#[derive(Default)]
pub(super) struct Draft {
    steps: Vec<Step>,
    before: BTreeMap<String, Vec<String>>,
    after: BTreeMap<String, Vec<String>>,
}

impl Draft {
    pub(super) fn step(&mut self, subject: &str, before: &str, after: &str, step: Step) {
        let told = |values: &mut BTreeMap<String, Vec<String>>, value: &str| {
            let subjects = values.entry(value.to_owned()).or_default();
            if !subjects.iter().any(|known| known == subject) {
                subjects.push(subject.to_owned());
            }
        };
        told(&mut self.before, before);
        told(&mut self.after, after);
        self.steps.push(step);
    }

    /// Adds a step that the user is not shown, because it only prepares other steps.
    pub(super) fn silent(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Writes a value to a file that reads back as it was written. No step is added if the file does not exist or has
    /// the value already. If the file may not be read now, the step is added, because another user may carry out the
    /// plan. Returns whether the file exists.
    pub(super) fn write(&mut self, case: &Case<'_>, subject: &str, path: &str, value: &str) -> bool {
        self.write_as(case, subject, path, value, Expected::same(Reading::Plain))
    }

    /// Like [`write`](Self::write), for a file that shows the value in another form than the written one.
    pub(super) fn write_as(
        &mut self,
        case: &Case<'_>,
        subject: &str,
        path: &str,
        value: &str,
        expected: Expected,
    ) -> bool {
        let before = match case.peek(path) {
            // The content could not be restored, because it cannot be interpreted.
            Fact::Absent | Fact::Garbled(_) => return false,
            Fact::Known(text) => expected.reading.value(&text, value),
            Fact::Denied => "not known".to_owned(),
        };
        if expected.reading.same(&before, value) {
            return true;
        }
        let before = before.split_whitespace().collect::<Vec<_>>().join(" ");
        let step = Step::Write { path: path.to_owned(), value: value.to_owned(), expected };
        self.step(subject, &before, value, step);
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The complete remedy. `risk` and `proof` are shown to the user.
    pub(super) fn remedy(self, risk: &str, proof: &str) -> KnobRemedy {
        let notes = Notes {
            before: told(&self.before),
            after: told(&self.after),
            risk: risk.to_owned(),
            proof: proof.to_owned(),
            ..Notes::default()
        };
        KnobRemedy::Steps(self.steps, notes)
    }

    /// The complete remedy; each of its steps stands alone, so that some may fail.
    pub(super) fn apart(self, risk: &str, proof: &str) -> KnobRemedy {
        let mut remedy = self.remedy(risk, proof);
        if let KnobRemedy::Steps(_, notes) = &mut remedy {
            notes.apart = true;
        }
        remedy
    }
}

fn told(values: &BTreeMap<String, Vec<String>>) -> String {
    let one = |(value, subjects): (&String, &Vec<String>)| {
        let named = subjects.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = subjects.len().saturating_sub(MOST_NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let value = if value.is_empty() { "(empty)" } else { value };
        format!("{value} ({named}{more})")
    };
    printable(&values.iter().map(one).collect::<Vec<_>>().join("; "), LINE_CHARS)
}

impl super::Site<'_> {
    /// A remedy that writes to files of each device in a folder. Each of its steps stands alone, so that some may fail.
    pub(super) fn each(
        &self,
        folder: &str,
        none: &'static str,
        risk: &str,
        proof: &str,
        write: impl Fn(&mut Draft, &Case<'_>, &str),
    ) -> Found {
        let mut draft = Draft::default();
        for device in self.case.names(folder, Missing::CannotBe(none))? {
            write(&mut draft, self.case, &device);
        }
        Ok(draft.apart(risk, proof))
    }

    /// Writes a value to a file of each of these CPUs. `{cpu}` in the path stands for the number of the CPU.
    pub(super) fn per_cpu(
        &self,
        draft: &mut Draft,
        cpus: impl IntoIterator<Item = u32>,
        path: &str,
        value: &str,
    ) -> bool {
        let mut any = false;
        for cpu in cpus {
            any |= draft.write(self.case, &format!("CPU {cpu}"), &path.replace("{cpu}", &cpu.to_string()), value);
        }
        any
    }
}
