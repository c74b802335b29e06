//! Cycles and stages that a program marks itself: from marks in order of time to what its cycles came to.

use super::summary::quantiles;
use super::values::{MarkedCycles, MarkedStage, MarkedThread};
use crate::trace::Tid;
use punctual_hist::{MonoTime, Nanos};
use std::collections::BTreeMap;

/// The provider of our marks, in the notes of a program.
pub const PROVIDER: &str = "punctual";

/// What one mark says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    CycleBegin,
    CycleEnd,
    Stage(String),
}

impl Mark {
    /// The mark of this name; `None` for a name that later versions may have added.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "cycle_begin" => Some(Self::CycleBegin),
            "cycle_end" => Some(Self::CycleEnd),
            _ => name.strip_prefix("stage_").map(|stage| Self::Stage(stage.to_owned())),
        }
    }
}

/// A mark that a thread passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    pub at: MonoTime,
    pub tid: Tid,
    pub mark: Mark,
}

/// The cycles of each thread that passed marks, which are in order of time for each thread.
pub fn marked_threads(marks: &[Marked]) -> Vec<MarkedThread> {
    let mut by_thread: BTreeMap<Tid, Vec<&Marked>> = BTreeMap::new();
    for mark in marks {
        by_thread.entry(mark.tid).or_default().push(mark);
    }
    let thread = |(tid, marks): (Tid, Vec<&Marked>)| {
        Some(MarkedThread { tid: u32::try_from(tid).ok()?, cycles: of_thread(&marks) })
    };
    by_thread.into_iter().filter_map(thread).collect()
}

fn of_thread(marks: &[&Marked]) -> MarkedCycles {
    let (mut lengths, mut apart, mut unpaired) = (Vec::new(), Vec::new(), 0);
    let mut begun: Option<MonoTime> = None;
    let mut last_begun: Option<MonoTime> = None;
    let mut stages: Vec<(String, Vec<Nanos>)> = Vec::new();
    for (place, mark) in marks.iter().enumerate() {
        match &mark.mark {
            Mark::CycleBegin => {
                unpaired += u64::from(begun.is_some());
                apart.extend(last_begun.map(|before| mark.at.since(before)));
                (begun, last_begun) = (Some(mark.at), Some(mark.at));
            }
            Mark::CycleEnd => match begun.take() {
                Some(from) => lengths.push(mark.at.since(from)),
                // The first end may be that of a cycle which had begun before anybody looked.
                None => unpaired += u64::from(last_begun.is_some()),
            },
            Mark::Stage(name) => {
                let Some(next) = marks.get(place + 1) else { continue };
                let length = next.at.since(mark.at);
                match stages.iter_mut().find(|(known, _)| known == name) {
                    Some((_, all)) => all.push(length),
                    None => stages.push((name.clone(), vec![length])),
                }
            }
        }
    }
    let stage =
        |(name, all): (String, Vec<Nanos>)| MarkedStage { name, times: all.len() as u64, length: quantiles(all) };
    MarkedCycles {
        cycles: lengths.len() as u64,
        length: quantiles(lengths),
        begun_apart: apart.len() as u64,
        apart: quantiles(apart),
        unpaired,
        stages: stages.into_iter().map(stage).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::Quantiles;

    fn marks(of: &[(u64, Tid, &str)]) -> Vec<Marked> {
        let mark = |(us, tid, name): &(u64, Tid, &str)| Marked {
            at: MonoTime::from_ns(us * 1000),
            tid: *tid,
            mark: Mark::named(name).unwrap(),
        };
        of.iter().map(mark).collect()
    }

    #[test]
    fn cycles_and_stages_of_two_threads_are_told_apart() {
        let all = marks(&[
            (50, 7, "cycle_end"),
            (100, 7, "cycle_begin"),
            (101, 9, "cycle_begin"),
            (110, 7, "stage_read"),
            (140, 7, "stage_control"),
            (180, 7, "cycle_end"),
            (1_100, 7, "cycle_begin"),
            (1_120, 7, "stage_read"),
            (1_150, 7, "cycle_end"),
            (2_101, 9, "cycle_begin"),
        ]);
        let found = marked_threads(&all);
        let [seven, nine] = [&found[0].cycles, &found[1].cycles];
        assert_eq!((seven.cycles, seven.unpaired, nine.cycles, nine.unpaired), (2, 0, 0, 1));
        let max = |quantiles: &Quantiles| quantiles.max.map(|max| max.as_ns() / 1000);
        assert_eq!((max(&seven.length), max(&seven.apart), max(&nine.apart)), (Some(80), Some(1_000), Some(2_000)));
        let stages: Vec<_> = seven.stages.iter().map(|s| (s.name.as_str(), s.times, max(&s.length))).collect();
        assert_eq!(stages, [("read", 2, Some(30)), ("control", 1, Some(40))]);
        assert_eq!(nine.length.max, None);
    }

    #[test]
    fn names_of_later_versions_are_left_out() {
        assert_eq!(Mark::named("cycle_paused"), None);
        assert_eq!(Mark::named("stage_x"), Some(Mark::Stage("x".to_owned())));
    }
}
