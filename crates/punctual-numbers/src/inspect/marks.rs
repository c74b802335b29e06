//! Cycles and stages that a program marks itself: from marks in order of time to what its cycles came to. USDT probes of
//! other providers are read as well, if their names say that something begins and ends.

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
    /// What another provider's probes lie around begins, and ends.
    Begin(String),
    End(String),
}

/// Last words of names of probes where something begins, and where it ends. Two that lie around the same are named alike
/// before that.
const BEGINS: [&str; 4] = ["begin", "start", "entry", "enter"];
const ENDS: [&str; 6] = ["end", "stop", "done", "exit", "leave", "return"];

impl Mark {
    /// The mark of this name; `None` for a name that later versions may have added.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "cycle_begin" => Some(Self::CycleBegin),
            "cycle_end" => Some(Self::CycleEnd),
            _ => name.strip_prefix("stage_").map(|stage| Self::Stage(stage.to_owned())),
        }
    }

    /// The mark that a probe of another provider is, by its name: `callback_start` or `frame__done`; `None` if the name does
    /// not say that something begins or ends.
    pub fn of_other(provider: &str, name: &str) -> Option<Self> {
        let before = |last: &&str| {
            let before = name.strip_suffix(*last)?;
            let around = before.trim_end_matches(['_', '-']);
            let is_word = around.len() < before.len() || before.is_empty();
            is_word.then(|| if around.is_empty() { provider.to_owned() } else { format!("{provider}:{around}") })
        };
        let begin = BEGINS.iter().find_map(before).map(Self::Begin);
        begin.or_else(|| ENDS.iter().find_map(before).map(Self::End))
    }

    /// What a probe of another provider lies around.
    pub fn around(&self) -> Option<&str> {
        match self {
            Self::Begin(around) | Self::End(around) => Some(around),
            Self::CycleBegin | Self::CycleEnd | Self::Stage(_) => None,
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
    let mut add = |name: &str, length: Nanos| match stages.iter_mut().find(|(known, _)| known == name) {
        Some((_, all)) => all.push(length),
        None => stages.push((name.to_owned(), vec![length])),
    };
    // When each thing began that another provider's probes lie around. It may begin again within itself.
    let mut open: BTreeMap<&str, Vec<MonoTime>> = BTreeMap::new();
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
                if let Some(next) = marks.iter().skip(place + 1).find(|next| next.mark.around().is_none()) {
                    add(name, next.at.since(mark.at));
                }
            }
            Mark::Begin(around) => open.entry(around).or_default().push(mark.at),
            Mark::End(around) => match open.get_mut(around.as_str()).map(Vec::pop) {
                Some(Some(from)) => add(around, mark.at.since(from)),
                Some(None) => unpaired += 1,
                // It had begun before anybody looked.
                None => {}
            },
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
    fn probes_of_other_providers_tell_what_lies_between_them() {
        let mark = |us: u64, provider: &str, name: &str| {
            let mark = if provider == PROVIDER { Mark::named(name) } else { Mark::of_other(provider, name) };
            Marked { at: MonoTime::from_ns(us * 1000), tid: 7, mark: mark.unwrap() }
        };
        let all = [
            mark(50, "ros2", "callback_end"),
            mark(100, PROVIDER, "cycle_begin"),
            mark(110, PROVIDER, "stage_control"),
            mark(120, "ros2", "callback_start"),
            mark(125, "app", "begin"),
            mark(130, "ros2", "callback_start"),
            mark(140, "ros2", "callback_end"),
            mark(180, "ros2", "callback_end"),
            mark(190, PROVIDER, "cycle_end"),
            mark(200, "ros2", "callback_end"),
        ];
        let found = marked_threads(&all);
        let cycles = &found[0].cycles;
        let stages: Vec<_> = cycles
            .stages
            .iter()
            .map(|stage| (stage.name.as_str(), stage.times, stage.length.max.unwrap().as_ns() / 1000))
            .collect();
        assert_eq!(stages, [("control", 1, 80), ("ros2:callback", 2, 60)]);
        assert_eq!((cycles.cycles, cycles.unpaired), (1, 1));
    }

    #[test]
    fn only_names_that_say_so_begin_or_end_something() {
        let of = |name: &str| Mark::of_other("app", name);
        assert_eq!(of("frame__entry"), Some(Mark::Begin("app:frame".to_owned())));
        assert_eq!(of("frame-return"), Some(Mark::End("app:frame".to_owned())));
        assert_eq!((of("start"), of("stop")), (Some(Mark::Begin("app".into())), Some(Mark::End("app".into()))));
        for other in ["restart", "append", "frame", "send", "", "end_of_frame"] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn names_of_later_versions_are_left_out() {
        assert_eq!(Mark::named("cycle_paused"), None);
        assert_eq!(Mark::named("stage_x"), Some(Mark::Stage("x".to_owned())));
    }
}
