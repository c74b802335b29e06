//! Prints the table of results as text.

use super::Found;
use super::held::{Foretold, Held};
use super::options::Options;
use super::pairs::{Decided, Difference};
use std::fmt::Write as _;

pub fn heading(options: &Options) -> String {
    let mut text = format!(
        "{} runs and {} pairs of each family. Limits: % of runs that got them, % of these that hold the truth, median width\n\
         in parts of the truth. Odds: said, was. Pairs: % decided, of those that differ in the right direction,\n\
         beside the best peer that decides at most 5 % of equal pairs ({}), and of\n\
         spikes an exact Poisson test that is told from which latency on a value is one. ! is a decision in the wrong \
         direction.\n\
         Rounds: % of equal sides decided / of sides x1.15 found, in 16 rounds of 30 s each.\n\n",
        options.runs,
        options.pairs,
        super::peers::NAMES.join(", ")
    );
    let _ = writeln!(
        text,
        "{:<24} {:^16} {:^16} {:^16} {:^16} {:^16} {:^9} {:>9} {:^9} {:^9} {:^9} {:^13} {:^9} {:^9}",
        "family",
        "p99",
        "p99.9",
        "p99.99",
        "misses",
        "once an hour",
        "odds",
        "equal",
        "x1.15",
        "x0.8",
        "p99",
        "spike",
        "tail",
        "rounds"
    );
    text
}

pub fn line(found: &Found) -> String {
    let mut text = format!("{:<24}", found.family);
    match &found.claims {
        Some(claims) => {
            for held in claims.percentiles.iter().chain([&claims.misses, &claims.level]) {
                text.push_str(&limits(held));
            }
            text.push_str(&odds(&claims.next));
        }
        None => text.push_str(&" ".repeat(5 * 17 + 10)),
    }
    let of = |difference: Difference| found.pairs.iter().find(|pairs| pairs.difference == difference);
    let sound =
        of(Difference::None).map_or([false; 3], |equal| equal.peers.each_ref().map(|held| !held.breaks_false()));
    for difference in super::DIFFERENCES {
        text.push_str(&decided(of(difference), sound));
    }
    if let Some(rounds) = &found.rounds {
        let percent = |n, held: &Held| 100.0 * super::held::share(n, held.runs);
        let (equal, larger) = (&rounds.equal, &rounds.larger);
        let _ = write!(text, " {:>3.0}/{:<5.0}", percent(equal.claimed, equal), percent(larger.right, larger));
    }
    let unforeseen: Vec<&str> = found.unforeseen().collect();
    let told = |broken: bool| found.open.iter().filter(move |(_, is)| *is == broken).map(|(limit, _)| *limit).collect();
    let (open, closed): (Vec<&str>, Vec<&str>) = (told(true), told(false));
    for (word, limits) in [("BROKEN", unforeseen), ("known to be broken", open), ("no longer broken", closed)] {
        if !limits.is_empty() {
            let _ = write!(text, "  {word}: {}", limits.join(", "));
        }
    }
    text.push('\n');
    text
}

fn limits(held: &Held) -> String {
    if held.claimed == 0 {
        return format!(" {:>16}", "withheld");
    }
    let (claimed, right) = (100.0 * held.share_claimed(), 100.0 * held.share_right());
    let width = held.median_width.map_or_else(String::new, |width| format!("{width:.2}"));
    format!(" {claimed:>4.0} {right:>5.1} {width:>5}")
}

fn odds(next: &Foretold) -> String {
    if next.told == 0 { format!(" {:>9}", "withheld") } else { format!(" {:.2} {:.2}", next.said(), next.was()) }
}

/// The share of pairs that the product decides, and the share of the best peer among those that seldom find a
/// difference in equal pairs.
fn decided(pairs: Option<&Decided>, sound: [bool; 3]) -> String {
    let Some(pairs) = pairs else { return format!(" {:>9}", "") };
    let (product, peers) = pairs.shares();
    let wrong = pairs.difference != Difference::None && pairs.product.claimed > pairs.product.right;
    let text = format!("{:.1}{}", 100.0 * product, if wrong { "!" } else { "" });
    if pairs.difference == Difference::None {
        return format!(" {text:>9}");
    }
    let best = peers.into_iter().zip(sound).filter(|(_, sound)| *sound).map(|(share, _)| share).reduce(f64::max);
    let best = best.map_or_else(|| "-".to_owned(), |best| format!("{:.0}", 100.0 * best));
    let told = pairs.share_of_told().map(|told| format!("/{:.0}", 100.0 * told)).unwrap_or_default();
    format!(
        " {text:>5}/{best}{told:<width$}",
        width = 3usize.saturating_sub(best.len()) + if told.is_empty() { 0 } else { 4 }
    )
}

/// The last line: the number of families, and the number of families with broken limits.
pub fn end(all: &[Found]) -> String {
    let broken = all.iter().filter(|found| found.unforeseen().next().is_some()).count();
    match (all.len(), broken) {
        (0, _) => "nothing was judged: no family has that name\n".to_owned(),
        (n, 0) => format!("\n{n} families, no limit broken that is not known to be\n"),
        (n, broken) => format!("\n{n} families, limits are broken in {broken}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_known_to_be_broken_is_told_apart() {
        let found = |broken: Vec<&'static str>| Found {
            family: "x".to_owned(),
            seconds: (1, 1),
            claims: None,
            pairs: Vec::new(),
            rounds: None,
            open: vec![("p99", broken.contains(&"p99")), ("misses", broken.contains(&"misses"))],
            broken,
            took_seconds: 0.0,
        };
        let known = found(vec!["p99"]);
        assert!(
            line(&known).trim_end().ends_with("known to be broken: p99  no longer broken: misses"),
            "{}",
            line(&known)
        );
        assert!(end(&[known]).contains("no limit broken"));
        let new = found(vec!["p99.9"]);
        assert!(line(&new).contains("  BROKEN: p99.9"));
        assert!(end(&[new]).contains("broken in 1"));
        assert!(end(&[]).contains("nothing was judged"));
    }
}
