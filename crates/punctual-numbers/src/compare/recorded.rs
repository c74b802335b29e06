//! Compares two recordings of punctual.

use super::arm::{self, Arm, Place};
use super::{
    Against, Basis, Compared, Design, GroupResult, Mood, Options, Origin, Refused, Side, causes, comparable, rare, rows,
};
use crate::foreign::Series;
use crate::recording::Recording;
use crate::report::Report;

impl Against {
    pub(super) fn of(
        (first, first_report): (&Recording, &Report),
        (name, other): (&str, &Recording),
        options: &Options,
    ) -> Result<Self, Refused> {
        let differences = comparable::differences(first, other);
        let refusing = super::refusing(&differences, name, options)?;
        let (places, left_out) = arm::common(first, other, options.anyway);
        if places.is_empty() {
            return Err(Refused::NothingInCommon(name.to_owned(), left_out));
        }
        let refused = refusing || places.iter().any(|(a, b)| a.group != b.group);
        let groups = places.iter().map(|(a, b)| GroupResult::of((first, a), (other, b), options));
        let report = Report::of(other);
        Ok(Self {
            differences,
            refused,
            left_out,
            lacks: Vec::new(),
            groups: groups.collect(),
            causes: causes::changes((first, first_report), (other, &report)),
            kernels: None,
            side: Side::of(name, other, &report),
            basis: Basis::Times,
            if_independent: None,
            verdict: Compared::NotEnoughData,
            told_to_ppm: None,
            wants: None,
            design: Design::Pair,
            undecided: None,
        })
    }
}

impl GroupResult {
    fn of(first: (&Recording, &Place), second: (&Recording, &Place), options: &Options) -> Self {
        let (a, b) = (Arm::of(first.0, first.1), Arm::of(second.0, second.1));
        let body = rows::body(&a, &b, options);
        let rare = rare::rows(&a, &b, &body);
        let mut rows = body.rows;
        rows.extend(rare);
        let other = &second.1.group;
        Self {
            group: first.1.group.clone(),
            against: (first.1.group != *other).then(|| other.clone()),
            unfit: (None, None),
            due: (a.due.count(), b.due.count()),
            delta: rows::delta(&a.ran, &b.ran),
            rows,
            mood: body.tau.map(|seconds| Mood::of(seconds, a.length.min(b.length), body.too_long)),
            basis: Basis::Times,
            if_independent: None,
            verdict: Compared::NotEnoughData,
        }
    }
}

impl Side {
    pub(super) fn of(name: &str, recording: &Recording, report: &Report) -> Self {
        let latencies = arm::places(recording).into_iter().map(|place| {
            let [ran, _] = arm::latencies(recording, &place);
            (place.group, Series::of_counts(name.to_owned(), None, &ran))
        });
        Self {
            name: name.to_owned(),
            origin: Origin::Punctual { version: report.tool_version.clone(), started_unix_ns: report.started_unix_ns },
            measured: Some(report.measured),
            doubts: report.trust.reasons.clone(),
            runs: Vec::new(),
            latencies: latencies.collect(),
        }
    }
}
