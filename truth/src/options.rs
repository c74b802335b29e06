//! The options of the command line.

use super::pairs::Difference;
use anyhow::{Context, Result, bail};

pub const USAGE: &str = "\
usage: cargo xtask truth [OPTIONS]
       cargo xtask truth trend [OPTIONS]      alarms and finds of a series of runs
       cargo xtask truth fleet FOLDER [...]   write the recordings of a simulated fleet

  --runs N        runs of each family, whose claims are judged (300)
  --pairs N       pairs of each family and difference (200)
  --family NAME   only families whose name contains this
  --only PART     claims, equal (equal pairs alone), pairs, or rounds (sides measured in turn, a fifth of --pairs)
  --real FILE     pieces of this recording instead of families; may be given more than once
  --short         the few families and runs that CI has time for
  --json          what was found, for programs

Status 1 where limits hold the truth in less than 93 % of the runs that were given them, where more than 5 %
of equal pairs are told apart, or where the odds of a new maximum are off by more than 5 points, in each case beyond
what chance explains (1 %); 2 where it could not be tried.";

/// The options of one invocation.
#[derive(Clone, Debug)]
pub struct Options {
    pub runs: u64,
    pub pairs: u64,
    pub family: Option<String>,
    parts: &'static [Part],
    /// Paths of recordings of real machines, which are cut into pieces.
    pub real: Vec<String>,
    pub short: bool,
    pub json: bool,
    pub help: bool,
}

/// One of the tests of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Claims,
    Equal,
    Differing,
    Rounds,
}

/// Families of the short form: one for each way in which limits were wrong in the past.
const SHORT: [&str; 8] = [
    "lognormal, 120 s",
    "steps of 1 us",
    "spikes 0.2/s",
    "AR(1) 0.1 s",
    "wanders 30 s, 120 s run",
    "bursts 0.3 s x1.5",
    "bursts 10 s x2",
    "nightly job",
];

/// Limits known to be broken, by family. They do not make the short form fail; the long form ignores this list. The
/// short form reports limits that hold again, so that their entries can be removed.
const OPEN: &[(&str, &[&str])] = &[];

impl Options {
    pub fn of(words: &[String]) -> Result<Self> {
        let mut options = Self {
            runs: 300,
            pairs: 200,
            family: None,
            parts: &[Part::Claims, Part::Equal, Part::Differing, Part::Rounds],
            real: Vec::new(),
            short: false,
            json: false,
            help: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} wants a value\n{USAGE}"));
            match word.as_str() {
                "--runs" => options.runs = number(value()?)?,
                "--pairs" => options.pairs = number(value()?)?,
                "--family" => options.family = Some(value()?.clone()),
                "--real" => options.real.push(value()?.clone()),
                "--only" => options.only(value()?)?,
                "--short" => options.shorten(),
                "--json" => options.json = true,
                "--help" | "-h" => options.help = true,
                other => bail!("unknown word `{other}`\n{USAGE}"),
            }
        }
        Ok(options)
    }

    fn only(&mut self, part: &str) -> Result<()> {
        self.parts = match part {
            "claims" => &[Part::Claims],
            "equal" => &[Part::Equal],
            "pairs" => &[Part::Equal, Part::Differing],
            "rounds" => &[Part::Rounds],
            other => bail!("--only takes claims, equal, pairs or rounds, not `{other}`"),
        };
        Ok(())
    }

    fn shorten(&mut self) {
        (self.runs, self.pairs, self.short) = (40, 40, true);
        self.parts = &[Part::Claims, Part::Equal];
    }

    pub fn asks_for(&self, family: &str) -> bool {
        let named = self.family.as_ref().is_none_or(|name| family.contains(name.as_str()));
        named && (!self.short || SHORT.contains(&family))
    }

    /// Names of the limits of a family that are known to be broken.
    pub fn open(&self, family: &str) -> &'static [&'static str] {
        OPEN.iter().find(|(name, _)| self.short && *name == family).map_or(&[], |(_, limits)| limits)
    }

    pub fn pairs_of(&self, difference: Difference) -> bool {
        self.parts.contains(if difference == Difference::None { &Part::Equal } else { &Part::Differing })
    }

    /// The number of campaigns in rounds, each of which takes as long as eight pairs; `None` if there are to be none.
    pub fn rounds(&self) -> Option<u64> {
        self.parts.contains(&Part::Rounds).then(|| self.pairs.div_ceil(5))
    }

    pub fn claims(&self) -> bool {
        self.parts.contains(&Part::Claims)
    }
}

fn number(word: &str) -> Result<u64> {
    let number = word.parse().with_context(|| format!("`{word}` is no number"))?;
    if number == 0 {
        bail!("0 runs tell nothing");
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &str) -> Result<Options> {
        Options::of(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_read_and_unknown_ones_refused() {
        let options = of("--runs 7 --family AR --only equal --json").unwrap();
        assert_eq!((options.runs, options.claims(), options.json), (7, false, true));
        assert!(options.asks_for("AR(1) 1 s") && !options.asks_for("lognormal"));
        assert!(options.pairs_of(Difference::None) && !options.pairs_of(Difference::Larger));
        for bad in ["--runs", "--runs x", "--runs 0", "--only none", "--what"] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_ci_judges_is_there() {
        let all = crate::family::all();
        assert!(OPEN.iter().all(|(name, limits)| SHORT.contains(name) && !limits.is_empty()));
        for name in SHORT {
            assert!(all.iter().any(|family| family.name == name), "{name}");
        }
        let options = of("--short").unwrap();
        assert_eq!(all.iter().filter(|family| options.asks_for(family.name)).count(), SHORT.len());
    }
}
