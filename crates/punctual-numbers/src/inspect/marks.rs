//! Cycles and stages that a program marks itself: from marks in order of time to what its cycles came to. USDT probes of
//! other providers are read as well, if their names say that something begins and ends.

use super::digest::Values;
use super::values::{MarkedCycles, MarkedStage, MarkedThread};
use crate::trace::Tid;
use punctual_hist::{MonoTime, Nanos};
use std::collections::BTreeMap;

/// The provider of our marks, in the notes of a program.
pub const PROVIDER: &str = "punctual";

/// Largest number of times that the same may have begun within itself.
const NESTED_MAX: usize = 64;

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

/// What the marks that threads passed come to. It takes as much memory after days as after a minute.
#[derive(Clone, Debug, Default)]
pub struct MarkTally {
    threads: BTreeMap<Tid, OfThread>,
}

impl MarkTally {
    /// Takes the next mark that a thread passed, in order of time for each thread.
    pub fn take(&mut self, mark: Marked) {
        self.threads.entry(mark.tid).or_default().take(mark);
    }

    /// The cycles of each thread up to now.
    pub fn threads(&self) -> Vec<MarkedThread> {
        let thread =
            |(tid, of): (&Tid, &OfThread)| Some(MarkedThread { tid: u32::try_from(*tid).ok()?, cycles: of.cycles() });
        self.threads.iter().filter_map(thread).collect()
    }
}

#[derive(Clone, Debug, Default)]
struct OfThread {
    lengths: Values,
    apart: Values,
    unpaired: u64,
    begun: Option<MonoTime>,
    last_begun: Option<MonoTime>,
    /// By name, in the order in which they first began.
    stages: Vec<(String, Values)>,
    /// The stage that the thread is in, by its place, and since when.
    stage: Option<(usize, MonoTime)>,
    /// When each thing began that another provider's probes lie around. It may begin again within itself.
    open: BTreeMap<String, Vec<MonoTime>>,
}

impl OfThread {
    fn take(&mut self, Marked { at, mark, tid: _ }: Marked) {
        if mark.around().is_none() {
            self.end_stage(at);
        }
        match mark {
            Mark::CycleBegin => {
                self.unpaired += u64::from(self.begun.is_some());
                if let Some(before) = self.last_begun {
                    self.apart.add(at.since(before));
                }
                (self.begun, self.last_begun) = (Some(at), Some(at));
            }
            Mark::CycleEnd => match self.begun.take() {
                Some(from) => self.lengths.add(at.since(from)),
                // The first end may be that of a cycle which had begun before anybody looked.
                None => self.unpaired += u64::from(self.last_begun.is_some()),
            },
            Mark::Stage(name) => self.stage = Some((self.place(name), at)),
            Mark::Begin(around) => {
                let begun = self.open.entry(around).or_default();
                // What began and never ended must not take up memory for days.
                if begun.len() == NESTED_MAX {
                    begun.remove(0);
                    self.unpaired += 1;
                }
                begun.push(at);
            }
            Mark::End(around) => match self.open.get_mut(&around).map(Vec::pop) {
                Some(Some(from)) => {
                    let place = self.place(around);
                    self.record(place, at.since(from));
                }
                Some(None) => self.unpaired += 1,
                // It had begun before anybody looked.
                None => {}
            },
        }
    }

    fn end_stage(&mut self, at: MonoTime) {
        if let Some((place, from)) = self.stage.take() {
            self.record(place, at.since(from));
        }
    }

    fn place(&mut self, name: String) -> usize {
        self.stages.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.stages.push((name, Values::default()));
            self.stages.len() - 1
        })
    }

    fn record(&mut self, place: usize, length: Nanos) {
        if let Some((_, lengths)) = self.stages.get_mut(place) {
            lengths.add(length);
        }
    }

    fn cycles(&self) -> MarkedCycles {
        let stages = self.stages.iter().filter(|(_, lengths)| lengths.count() > 0);
        let stage = |(name, lengths): &(String, Values)| MarkedStage {
            name: name.clone(),
            times: lengths.count(),
            length: lengths.quantiles(),
        };
        MarkedCycles {
            cycles: self.lengths.count(),
            length: self.lengths.quantiles(),
            begun_apart: self.apart.count(),
            apart: self.apart.quantiles(),
            unpaired: self.unpaired,
            stages: stages.map(stage).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::Quantiles;

    fn marked_threads(marks: &[Marked]) -> Vec<MarkedThread> {
        let mut tally = MarkTally::default();
        marks.iter().cloned().for_each(|mark| tally.take(mark));
        tally.threads()
    }

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
    fn what_begins_and_never_ends_takes_no_more_memory_and_is_counted() {
        let begin =
            |us: u64| Marked { at: MonoTime::from_ns(us * 1000), tid: 7, mark: Mark::Begin("app:frame".into()) };
        let mut tally = MarkTally::default();
        (0..1_000).for_each(|us| tally.take(begin(us)));
        assert_eq!(tally.threads[&7].open["app:frame"].len(), NESTED_MAX);
        tally.take(Marked { at: MonoTime::from_ns(1_005_000), tid: 7, mark: Mark::End("app:frame".into()) });
        let cycles = tally.threads()[0].cycles.clone();
        assert_eq!(cycles.unpaired, 1_000 - NESTED_MAX as u64);
        assert_eq!((cycles.stages[0].times, cycles.stages[0].length.max), (1, Some(Nanos::from_us(6))));
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
