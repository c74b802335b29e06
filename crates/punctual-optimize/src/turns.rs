//! Measures two set-ups of a machine in turn, so that slow changes of the machine (moods) affect both alike.
//!
//! A round measures each side once. The order of every second round is the mirror image of the round before (A B, B A),
//! so that steady drift cancels too. For every two rounds, the side that begins is random. The next measurement follows
//! from the design and the number of measurements alone, so an interruption does not affect the order. After a pause
//! within a round, the round is begun anew, because its two measurements might fall into different moods.

use super::design::shuffle;
use super::format::Unusable;
use super::pause::Moment;
use punctual_hist::Nanos;
use punctual_hist::SplitMix;
use serde::{Deserialize, Serialize};

const SCHEMA: &str = "punctual/turns/1";
/// Largest number of rounds. A document with more is damaged.
pub const ROUNDS_MAX: u32 = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Turn {
    A,
    B,
}

/// The design of the rounds, and the number of complete measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turns {
    /// Arguments of the command that began the rounds.
    pub arguments: Vec<String>,
    /// Commands that set up each side.
    pub commands: [String; 2],
    pub seed: u64,
    pub rounds: u32,
    /// Number of measurements that are complete.
    pub measured: u32,
    /// When the last measurement ended.
    #[serde(default)]
    pub last: Option<Moment>,
}

/// The measurement that comes next, by its round and its side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextTurn {
    /// Number of the round, from 0.
    pub round: u32,
    pub turn: Turn,
    /// Whether this is the second measurement of its round.
    pub is_second: bool,
}

impl Turns {
    /// The next measurement; `None` if all rounds are complete.
    pub fn next(&self) -> Option<NextTurn> {
        let (round, is_second) = (self.measured / 2, self.measured % 2 == 1);
        let [first, second] = self.order(round);
        let turn = if is_second { second } else { first };
        (round < self.rounds).then_some(NextTurn { round, turn, is_second })
    }

    fn order(&self, round: u32) -> [Turn; 2] {
        let mut random = SplitMix::new(self.seed ^ (u64::from(round / 2) << 32));
        let mut order = [Turn::A, Turn::B];
        shuffle(&mut order, &mut random);
        if round % 2 == 1 {
            order.reverse();
        }
        order
    }

    /// Begins the round anew if the machine may have come into another mood since the round's first measurement.
    pub fn after(&mut self, now: &Moment, each: Nanos) {
        let is_amid = self.next().is_some_and(|next| next.is_second);
        if is_amid && self.last.as_ref().is_none_or(|last| last.is_long_before(now, each, false)) {
            self.measured -= 1;
        }
    }

    /// Notes that the next measurement is complete.
    pub fn take(&mut self, ended: Moment) {
        if self.next().is_some() {
            (self.measured, self.last) = (self.measured + 1, Some(ended));
        }
    }
}

/// # Errors
/// If the document cannot be made, which only a defect of this program explains.
pub fn write(turns: &Turns) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'a str,
        #[serde(flatten)]
        turns: &'a Turns,
    }
    serde_json::to_string_pretty(&Document { schema: SCHEMA, turns })
}

/// # Errors
/// If the text is another document, or its numbers contradict each other.
pub fn read(text: &str) -> Result<Turns, Unusable> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let Head { schema } = serde_json::from_str(text).map_err(Unusable::Malformed)?;
    if schema != SCHEMA {
        return Err(Unusable::OtherThan { found: schema, wanted: SCHEMA });
    }
    let turns: Turns = serde_json::from_str(text).map_err(Unusable::Malformed)?;
    if !(1..=ROUNDS_MAX).contains(&turns.rounds) {
        return Err(Unusable::Senseless("its rounds are none, or too many"));
    }
    if turns.measured > 2 * turns.rounds {
        return Err(Unusable::Senseless("more was measured than was asked for"));
    }
    Ok(turns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(seed: u64, rounds: u32) -> Turns {
        let commands = ["a".to_owned(), "b".to_owned()];
        Turns { arguments: Vec::new(), commands, seed, rounds, measured: 0, last: None }
    }

    fn at(up_s: u64) -> Moment {
        Moment { boot: "b".to_owned(), up: Nanos::from_secs(up_s), unix_s: 0 }
    }

    fn order(mut turns: Turns) -> Vec<Turn> {
        let mut all = Vec::new();
        while let Some(next) = turns.next() {
            assert_eq!((next.round as usize, next.is_second), (all.len() / 2, all.len() % 2 == 1));
            all.push(next.turn);
            turns.take(at(1));
        }
        all
    }

    #[test]
    fn every_round_has_each_side_once_and_every_second_round_mirrors_the_one_before() {
        let mut began = [0, 0];
        for seed in 0..40 {
            let all = order(turns(seed, 6));
            assert_eq!(all.len(), 12);
            for four in all.chunks(4) {
                let mut mirrored = four.to_vec();
                mirrored.reverse();
                assert_eq!(four, mirrored, "ABBA or BAAB");
                assert_ne!(four[0], four[1]);
                began[usize::from(four[0] == Turn::B)] += 1;
            }
            assert_eq!(all, order(turns(seed, 6)), "the same seed, the same order");
        }
        assert!(began.iter().all(|n| *n > 30), "{began:?}");
    }

    #[test]
    fn a_round_is_begun_anew_after_a_pause_within_it() {
        let each = Nanos::from_secs(30);
        let mut turns = turns(1, 4);
        turns.take(at(100));
        turns.after(&at(120), each);
        assert_eq!(turns.measured, 1);
        turns.after(&at(200), each);
        assert_eq!(turns.measured, 0, "80 s are longer than a run");
        turns.take(at(230));
        turns.take(at(260));
        turns.after(&at(9_999), each);
        assert_eq!(turns.measured, 2, "between two rounds it may take any time");
    }

    #[test]
    fn it_is_read_back_and_nonsense_is_refused() {
        let mut turns = turns(7, 4);
        turns.take(at(5));
        let text = write(&turns).unwrap();
        assert_eq!(read(&text).unwrap(), turns);
        for (from, to) in
            [("turns/1", "turns/2"), ("\"rounds\": 4", "\"rounds\": 0"), ("\"measured\": 1", "\"measured\": 9")]
        {
            assert!(text.contains(from));
            assert!(read(&text.replace(from, to)).is_err(), "{to}");
        }
        assert!(read("{}").is_err() && read("").is_err());
    }
}
