//! The table, as text.

use super::Found;
use super::held::{Foretold, Held};
use super::options::Options;
use super::pairs::{Decided, Difference};
use std::fmt::Write as _;

pub fn heading(options: &Options) -> String {
    let mut text = format!(
        "{} runs and {} pairs of each family. Limits: % of runs that got them, % of these that hold the truth, median width\n\
         in parts of the truth. Odds: said, was. Pairs: % decided (of those that differ, in the right direction).\n\n",
        options.runs, options.pairs
    );
    let _ = writeln!(
        text,
        "{:<24} {:^16} {:^16} {:^16} {:^16} {:^16} {:^9}  {:>5} {:>5} {:>5} {:>5} {:>5} {:>5}",
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
        "tail"
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
    for difference in super::DIFFERENCES {
        text.push_str(&decided(found.pairs.iter().find(|pairs| pairs.difference == difference)));
    }
    if !found.broken.is_empty() {
        let _ = write!(text, "  BROKEN: {}", found.broken.join(", "));
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

fn decided(pairs: Option<&Decided>) -> String {
    let Some(pairs) = pairs else { return format!(" {:>5}", "") };
    let wrong = pairs.difference != Difference::None && pairs.product.claimed > pairs.product.right;
    format!(" {:>5.1}{}", 100.0 * pairs.share(), if wrong { "!" } else { "" })
}

/// What is broken, counted.
pub fn end(all: &[Found]) -> String {
    let broken = all.iter().filter(|found| !found.broken.is_empty()).count();
    match (all.len(), broken) {
        (0, _) => "no family of that name\n".to_owned(),
        (n, 0) => format!("\n{n} families, no limit broken\n"),
        (n, broken) => format!("\n{n} families, limits are broken in {broken}\n"),
    }
}
