//! The words on the command line.

use super::pairs::Difference;
use anyhow::{Context, Result, bail};

pub const USAGE: &str = "\
usage: cargo xtask truth [OPTIONS]

  --runs N        runs of each family, whose claims are judged (300)
  --pairs N       pairs of each family and difference (200)
  --family NAME   only families whose name contains this
  --only PART     claims, equal (equal pairs alone) or pairs
  --short         the few families and runs that CI has time for
  --json          what was found, for programs

It ends with 1 where limits hold the truth in less than 93 % of the runs that were given them, where more than 5 %
of equal pairs are told apart, or where the odds of a new maximum are off by more than 5 points, in each case beyond
what chance explains (1 %).";

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Options {
    pub runs: u64,
    pub pairs: u64,
    pub family: Option<String>,
    pub claims: bool,
    equal: bool,
    differing: bool,
    pub short: bool,
    pub json: bool,
    pub help: bool,
}

/// Families that CI judges: one for each way in which limits were wrong.
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

impl Options {
    pub fn of(words: &[String]) -> Result<Self> {
        let mut options = Self {
            runs: 300,
            pairs: 200,
            family: None,
            claims: true,
            equal: true,
            differing: true,
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
        (self.claims, self.equal, self.differing) = match part {
            "claims" => (true, false, false),
            "equal" => (false, true, false),
            "pairs" => (false, true, true),
            other => bail!("--only takes claims, equal or pairs, not `{other}`"),
        };
        Ok(())
    }

    fn shorten(&mut self) {
        (self.runs, self.pairs, self.differing, self.short) = (40, 40, false, true);
    }

    pub fn asks_for(&self, family: &str) -> bool {
        let named = self.family.as_ref().is_none_or(|name| family.contains(name.as_str()));
        named && (!self.short || SHORT.contains(&family))
    }

    pub fn pairs_of(&self, difference: Difference) -> bool {
        if difference == Difference::None { self.equal } else { self.differing }
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
        assert_eq!((options.runs, options.claims, options.json), (7, false, true));
        assert!(options.asks_for("AR(1) 1 s") && !options.asks_for("lognormal"));
        assert!(options.pairs_of(Difference::None) && !options.pairs_of(Difference::Larger));
        for bad in ["--runs", "--runs x", "--runs 0", "--only none", "--what"] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_ci_judges_is_there() {
        let all = crate::family::all();
        for name in SHORT {
            assert!(all.iter().any(|family| family.name == name), "{name}");
        }
        let options = of("--short").unwrap();
        assert_eq!(all.iter().filter(|family| options.asks_for(family.name)).count(), SHORT.len());
    }
}
