//! The campaign file: a written-down experiment. Errors name line and column, and what to write instead.

use crate::cli::{mechanisms, parse_duration};
use crate::commands::project::{Entry, Refusal, Terms, no_key, read};
use anyhow::Result;
use punctual_hist::Nanos;
use punctual_numbers::scenario::Mechanism;
use punctual_optimize::experiment::{MOST, Order};
use std::collections::BTreeSet;
use std::path::Path;
use toml::de::{DeTable, DeValue};

pub const TOP: [&str; 9] = ["title", "about", "source", "order", "seed", "repetitions", "settle", "need", "cell"];
pub const COMPARE: &str = "compare";
pub const SETTINGS: [&str; 8] =
    ["period", "budget", "duration", "cpus", "load", "priority", "mechanism", "dma-latency-us"];
pub const CELL: [&str; 5] = ["name", "about", "boot", "knobs", "published"];
pub const PUBLISHED: [&str; 4] = ["of", "what", "value", "cpu"];
pub const PAIR: [&str; 3] = ["first", "second", "question"];

/// Time that the machine must have been up before a boot is measured, if the file does not say it.
const SETTLE: Nanos = Nanos::from_secs(60);

const ORDERS: [(&str, Order); 3] = [("abba", Order::Abba), ("random", Order::Random), ("written", Order::Written)];
/// The figures that a published table may state, as they are called there.
pub const FIGURES: [(&str, Figure); 6] = [
    ("min", Figure::Min),
    ("mean", Figure::Mean),
    ("p50", Figure::P50),
    ("p99", Figure::P99),
    ("p99.9", Figure::P99_9),
    ("max", Figure::Max),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    Min,
    Mean,
    P50,
    P99,
    P99_9,
    Max,
}

impl Figure {
    pub fn name(self) -> &'static str {
        FIGURES.iter().find(|(_, figure)| *figure == self).map_or("", |(name, _)| name)
    }
}

/// A campaign as its file states it.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub title: String,
    pub about: String,
    /// Where the published figures come from.
    pub source: String,
    pub order: Order,
    pub seed: u64,
    pub repetitions: u32,
    pub settle: Nanos,
    pub cells: Vec<CellPlan>,
    pub pairs: Vec<Pair>,
}

#[derive(Clone, Debug, Default)]
pub struct CellPlan {
    pub name: String,
    pub about: String,
    /// Words of the kernel command line, as the file has them.
    pub boot: Vec<String>,
    /// Ids of knobs that are set while the cell is measured.
    pub knobs: Vec<String>,
    pub settings: Settings,
    pub published: Vec<Published>,
}

#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub terms: Terms,
    pub mechanism: Option<Mechanism>,
    pub dma_latency_us: Option<u32>,
}

/// A figure that somebody published for a cell.
#[derive(Clone, Debug)]
pub struct Published {
    /// The machine that it was measured on.
    pub of: String,
    pub figure: Figure,
    pub value: Nanos,
    pub cpu: Option<u32>,
}

/// Two cells to be compared, by their places in the file.
#[derive(Clone, Debug)]
pub struct Pair {
    pub first: usize,
    pub second: usize,
    pub question: String,
}

impl Settings {
    /// Fills what is missing with the values of `other`.
    fn or(self, other: &Self) -> Self {
        Self {
            terms: self.terms.or(other.terms.clone()),
            mechanism: self.mechanism.or(other.mechanism),
            dma_latency_us: self.dma_latency_us.or(other.dma_latency_us),
        }
    }

    fn take(&mut self, entry: &Entry<'_>) -> Result<bool, Refusal> {
        match entry.key {
            "mechanism" => self.mechanism = Some(entry.text(|text| among(text, &mechanisms()), "absolute")?),
            "dma-latency-us" => self.dma_latency_us = Some(entry.number(0, 1_000_000)?),
            _ => return self.terms.take(entry),
        }
        Ok(true)
    }
}

/// Reads the text of a campaign file; `path` is its name in errors.
pub fn parse(text: &str, path: &Path) -> Result<Plan> {
    read(text, path, plan)
}

fn plan(table: &DeTable<'_>) -> Result<Plan, Refusal> {
    let mut plan = Plan { seed: 1, repetitions: 1, settle: SETTLE, ..Plan::default() };
    let mut need = Settings::default();
    let (mut has_cells, mut pairs) = (false, Vec::new());
    for (key, value) in table {
        let entry = Entry { key: key.get_ref().as_ref(), value };
        match entry.key {
            "title" => plan.title = entry.sentence()?,
            "about" => plan.about = entry.sentence()?,
            "source" => plan.source = entry.sentence()?,
            "order" => plan.order = entry.text(|text| among(text, &ORDERS), "abba")?,
            "seed" => plan.seed = entry.number(0, u32::MAX)?.into(),
            "repetitions" => plan.repetitions = entry.number(1, u32::try_from(MOST).unwrap_or(u32::MAX))?,
            "settle" => plan.settle = entry.time()?,
            "need" => {
                for (key, value) in entry.inner("[need]")? {
                    let own = Entry { key: key.get_ref().as_ref(), value };
                    if !need.take(&own)? {
                        return Err(no_key(key.span().start, own.key, &SETTINGS));
                    }
                }
            }
            "cell" => {
                has_cells = true;
                plan.cells = entry.tables()?.into_iter().map(cell).collect::<Result<_, _>>()?;
            }
            COMPARE => pairs = entry.tables()?,
            unknown => {
                return Err(no_key(key.span().start, unknown, &[&TOP[..], &[COMPARE]].concat()));
            }
        }
    }
    if !has_cells || plan.cells.is_empty() {
        return Err(Refusal { at: 0, why: "it has no cell: write [[cell]], and below it name = \"plain\"".to_owned() });
    }
    if plan.cells.len() > MOST {
        return Err(Refusal { at: 0, why: format!("it has more than {MOST} cells") });
    }
    for cell in &mut plan.cells {
        cell.settings = std::mem::take(&mut cell.settings).or(&need);
    }
    plan.pairs = pairs.into_iter().map(|of| pair(of, &plan.cells)).collect::<Result<_, _>>()?;
    different(&plan.cells, table)?;
    Ok(plan)
}

/// Refuses two cells of one name.
fn different(cells: &[CellPlan], table: &DeTable<'_>) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    let twice = cells.iter().position(|cell| !seen.insert(cell.name.as_str()));
    let Some(place) = twice else { return Ok(()) };
    let at = table.iter().find(|(key, _)| key.get_ref() == "cell").and_then(|(_, value)| match value.get_ref() {
        DeValue::Array(items) => items.get(place).map(|item| item.span().start),
        _ => None,
    });
    Err(Refusal { at: at.unwrap_or(0), why: format!("there are two cells with the name '{}'", cells[place].name) })
}

fn cell(table: Inner<'_>) -> Result<CellPlan, Refusal> {
    let mut cell = CellPlan::default();
    for (key, value) in table.inner {
        let entry = Entry { key: key.get_ref().as_ref(), value };
        if cell.settings.take(&entry)? {
            continue;
        }
        match entry.key {
            "name" => cell.name = entry.text(name, "plain")?,
            "about" => cell.about = entry.sentence()?,
            "boot" => cell.boot = entry.list(word, "isolcpus=<cpus>")?,
            "knobs" => cell.knobs = entry.list(knob, "pm.governor")?,
            "published" => cell.published = entry.tables()?.into_iter().map(published).collect::<Result<_, _>>()?,
            unknown => return Err(no_key(key.span().start, unknown, &[&CELL[..], &SETTINGS].concat())),
        }
    }
    if cell.name.is_empty() {
        return Err(Refusal { at: table.at, why: "this cell has no name: write name = \"plain\"".to_owned() });
    }
    Ok(cell)
}

fn published(table: Inner<'_>) -> Result<Published, Refusal> {
    let (mut of, mut figure, mut value_ns, mut cpu) = (String::new(), None, None, None);
    for (key, value) in table.inner {
        let entry = Entry { key: key.get_ref().as_ref(), value };
        match entry.key {
            "of" => of = entry.sentence()?,
            "what" => figure = Some(entry.text(|text| among(text, &FIGURES), "max")?),
            "value" => value_ns = Some(entry.text(parse_duration, "20us")?),
            "cpu" => cpu = Some(entry.number(0, u32::from(u16::MAX))?),
            unknown => return Err(no_key(key.span().start, unknown, &PUBLISHED)),
        }
    }
    match (figure, value_ns) {
        (Some(figure), Some(value)) => Ok(Published { of, figure, value, cpu }),
        _ => Err(Refusal {
            at: table.at,
            why: "a published figure needs what and value: write { what = \"max\", value = \"20us\" }".to_owned(),
        }),
    }
}

fn pair(table: Inner<'_>, cells: &[CellPlan]) -> Result<Pair, Refusal> {
    let (mut ends, mut question) = ([None, None], String::new());
    let names: Vec<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
    let find = |name: &str| {
        let place = names.iter().position(|of| *of == name);
        place.ok_or_else(|| format!("there is no cell '{name}'{}", crate::commands::project::among(name, &names)))
    };
    for (key, value) in table.inner {
        let entry = Entry { key: key.get_ref().as_ref(), value };
        match entry.key {
            "first" => ends[0] = Some(entry.text(find, "plain")?),
            "second" => ends[1] = Some(entry.text(find, "tuned")?),
            "question" => question = entry.sentence()?,
            unknown => return Err(no_key(key.span().start, unknown, &PAIR)),
        }
    }
    match ends {
        [Some(first), Some(second)] if first != second => Ok(Pair { first, second, question }),
        [Some(_), Some(_)] => Err(Refusal { at: table.at, why: "a cell is compared with itself".to_owned() }),
        _ => Err(Refusal {
            at: table.at,
            why: "a comparison needs two cells: write first = \"plain\" and second = \"tuned\"".to_owned(),
        }),
    }
}

fn among<T: Copy>(text: &str, known: &[(&str, T)]) -> Result<T, String> {
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let found = known.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
    found.ok_or_else(|| format!("'{text}' is none of these{}", crate::commands::project::among(text, &names)))
}

/// A name may stand in the name of a file.
fn name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=40).contains(&text.len()) && text.chars().all(is_plain) && !text.starts_with(['.', '-']) {
        Ok(text.to_owned())
    } else {
        Err(format!("'{text}' is no name: write up to 40 letters, digits, '-', '_' and '.', as in plain-idle"))
    }
}

fn word(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(char::is_whitespace) || text == "-" {
        return Err(format!("'{text}' is no word of a command line: write one word in each pair of quotation marks"));
    }
    Ok(text.to_owned())
}

/// A campaign file names knobs alone: whoever carries out somebody else's file must not run that person's programs.
fn knob(id: &str) -> Result<String, String> {
    match crate::commands::source::knob(id) {
        Ok(_) => Ok(id.to_owned()),
        Err(why) => Err(why.to_string()),
    }
}

/// A table within an array, and where it stands.
#[derive(Clone, Copy)]
struct Inner<'a> {
    inner: &'a DeTable<'a>,
    at: usize,
}

impl<'a> Entry<'a> {
    fn sentence(&self) -> Result<String, Refusal> {
        self.text(|text| Ok(text.split_whitespace().collect::<Vec<_>>().join(" ")), "a sentence")
    }

    fn number(&self, least: u32, most: u32) -> Result<u32, Refusal> {
        let number = match self.value.get_ref() {
            DeValue::Integer(number) => number.to_string().parse::<u32>().ok(),
            _ => None,
        };
        match number.filter(|number| (least..=most).contains(number)) {
            Some(number) => Ok(number),
            None => {
                self.refuse(format!("this must be a bare number from {least} to {most}. Write: {} = {least}", self.key))
            }
        }
    }

    fn list(&self, parse: impl Fn(&str) -> Result<String, String>, example: &str) -> Result<Vec<String>, Refusal> {
        let DeValue::Array(items) = self.value.get_ref() else {
            return self.refuse(format!("this is a list. Write: {} = [\"{example}\"]", self.key));
        };
        let one = |value| Entry { key: self.key, value }.text(&parse, example);
        items.iter().map(one).collect()
    }

    fn inner(&self, how: &str) -> Result<&'a DeTable<'a>, Refusal> {
        match self.value.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => self.refuse(format!("'{}' is a table: write {how} and its keys below", self.key)),
        }
    }

    fn tables(&self) -> Result<Vec<Inner<'a>>, Refusal> {
        let how =
            || format!("'{}' is a list of tables: write [[{}]] and its keys below, once for each", self.key, self.key);
        let DeValue::Array(items) = self.value.get_ref() else { return self.refuse(how()) };
        let one = |value: &'a toml::Spanned<DeValue<'a>>| match value.get_ref() {
            DeValue::Table(inner) => Ok(Inner { inner, at: value.span().start }),
            _ => Err(Refusal { at: value.span().start, why: how() }),
        };
        items.iter().map(one).collect()
    }
}

#[cfg(test)]
mod schema;

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "title = \"x\"\n[need]\nduration = \"2s\"\n[[cell]]\nname = \"a\"\n[[cell]]\nname = \"b\"\n";

    #[track_caller]
    fn refused(text: &str, place: &str, part: &str) {
        let why = format!("{:#}", parse(text, Path::new("dir/c.toml")).unwrap_err());
        assert!(why.starts_with(&format!("dir/c.toml, {place}: ")) && why.contains(part), "{text}\n{why}");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_what_to_write() {
        refused("", "line 1, column 1", "[[cell]]");
        refused("titel = \"x\"\n", "line 1, column 1", "did you mean 'title'?");
        refused("[need]\nperiode = \"1ms\"", "line 2, column 1", "did you mean 'period'?");
        refused("[need]\nperiod = 1", "line 2, column 10", "period = \"1ms\"");
        refused("need = 1", "line 1, column 8", "[need]");
        refused("cell = 1", "line 1, column 8", "[[cell]]");
        refused("[[cell]]\nabout = \"x\"", "line 1, column 1", "name = \"plain\"");
        refused("[[cell]]\nname = \"a b\"", "line 2, column 8", "letters, digits");
        refused("[[cell]]\nname = \"a\"\nknobs = [\"pm.governer\"]", "line 3, column 10", "pm.governor");
        refused("[[cell]]\nname = \"a\"\nknobs = \"pm.governor\"", "line 3, column 9", "[\"pm.governor\"]");
        refused("[[cell]]\nname = \"a\"\nboot = [\"a b\"]", "line 3, column 9", "one word");
        refused("[[cell]]\nname = \"a\"\nload = \"cmd:sh\"", "line 3, column 8", "--load");
        refused("[[cell]]\nname = \"a\"\nmechanism = \"spinn\"", "line 3, column 13", "did you mean 'spin'?");
        refused("[[cell]]\nname = \"a\"\npublished = [{ what = \"max\" }]", "line 3, column 14", "value");
        refused("order = \"abab\"", "line 1, column 9", "did you mean 'abba'?");
        refused("repetitions = 0", "line 1, column 15", "from 1 to 1000");
        refused("repetitions = \"4\"", "line 1, column 15", "bare number");
        refused(&format!("{WHOLE}[[compare]]\nfirst = \"a\"\nsecond = \"c\""), "line 10, column 10", "no cell 'c'");
        refused(&format!("{WHOLE}[[compare]]\nfirst = \"a\"\nsecond = \"a\""), "line 8, column 1", "itself");
        refused(&format!("{WHOLE}[[compare]]\nfirst = \"a\""), "line 8, column 1", "two cells");
        refused(&format!("{WHOLE}[[cell]]\nname = \"a\""), "line 8, column 1", "two cells with the name 'a'");
        refused("title = \"", "line 1, column 10", "");
    }

    #[test]
    fn a_cell_takes_what_it_does_not_state_from_the_need() {
        let text =
            format!("{WHOLE}duration = \"7s\"\nboot = [\"nohz_full=<cpus>\", \"-quiet\"]\nmechanism = \"hybrid\"\n");
        let plan = parse(&text, Path::new("x")).unwrap();
        let [a, b] = plan.cells.as_slice() else { panic!("{plan:?}") };
        let length = |cell: &CellPlan| cell.settings.terms.duration.unwrap();
        assert_eq!((length(a), length(b)), (Nanos::from_secs(2), Nanos::from_secs(7)));
        assert_eq!((a.settings.mechanism, b.settings.mechanism), (None, Some(Mechanism::Hybrid)));
        assert_eq!((plan.order, plan.repetitions, plan.seed, plan.settle), (Order::Abba, 1, 1, SETTLE));
    }
}
