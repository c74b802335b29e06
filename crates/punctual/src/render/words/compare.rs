//! A comparison in words: the differences between recordings, the change of each number, and the conclusions.

use super::command::{Command, length};
use super::{kernel, mechanism, phase_name, policy, state, timer_phase};
use crate::render::lang::tr;
use crate::render::units::{self, THIN};
use punctual_hist::Nanos;
use punctual_numbers::claims::Refusal;
use punctual_numbers::compare::{
    Against, Basis, CauseChange, Change, Compared, ComparedNumber, Comparison, Design, Difference, Gain, Group,
    GroupResult, Lack, Lacking, LeftOut, Limits, Matters, Origin, Refused, RowResult, SecondKernel, Subject, TOGETHER,
    TOLD_LEAST, TOLD_MARGINS, Undecided, Value, Withheld,
};
use punctual_numbers::foreign::Quantity;
use punctual_numbers::scenario::{Amount, Policy};

pub fn verdict(verdict: Compared) -> &'static str {
    match verdict {
        Compared::Better => tr!("better"),
        Compared::Worse => tr!("worse"),
        Compared::Mixed => tr!("better in some, worse in others"),
        Compared::NoDifferenceShown => tr!("no difference shown"),
        Compared::NotEnoughData => tr!("not enough data"),
    }
}

/// The verdict on a recording. If the machine changes too slowly for runs of this length, the text names the remedy.
pub fn verdict_on(against: &Against) -> String {
    match against.undecided {
        Some(Undecided::Moods(_)) => tr!("not enough: interleave").to_owned(),
        Some(Undecided::FewRuns { .. }) => tr!("not enough runs").to_owned(),
        None => based_verdict(against.basis, against.verdict, against.if_independent),
    }
}

/// The verdict on a recording or a group. The text says so if the verdict assumes independent values.
pub fn based_verdict(basis: Basis, verdict_now: Compared, if_independent: Option<Compared>) -> String {
    match (if_independent, basis) {
        (Some(Compared::NotEnoughData), _) | (_, Basis::Times | Basis::Order) => verdict(verdict_now).to_owned(),
        (Some(if_independent), _) => {
            tr!("not decided, {if_independent} if independent", if_independent = verdict(if_independent))
        }
        (None, Basis::Independent) if verdict_now == Compared::NotEnoughData => verdict(verdict_now).to_owned(),
        (None, Basis::Independent) => tr!("{verdict_now}, as if independent", verdict_now = verdict(verdict_now)),
    }
}

/// The verdict on one number, short enough for a column.
pub fn row_verdict(row: &RowResult) -> &'static str {
    match (row.withheld, row.verdict) {
        (Some(Withheld::Unfit), _) => tr!("refused"),
        (Some(Withheld::Stolen), _) => tr!("stolen time"),
        (Some(Withheld::Moods), _) => tr!("too few moods"),
        (None, Compared::Better) => tr!("better"),
        (None, Compared::Worse) => tr!("worse"),
        (None, Compared::Mixed) => tr!("both"),
        (None, Compared::NoDifferenceShown) => tr!("none shown"),
        (None, Compared::NotEnoughData) => tr!("too little"),
    }
}

/// A percentile by its parts per million: `p99.9`.
pub fn percentile(ppm: u32) -> String {
    let digits = format!("{}.{:04}", ppm / 10_000, ppm % 10_000);
    format!("p{}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// The label of a row: the name of its number.
pub fn what(what: &ComparedNumber) -> String {
    match what {
        ComparedNumber::Percentile { ppm } => percentile(*ppm),
        ComparedNumber::Misses { .. } => tr!("misses/million").to_owned(),
        ComparedNumber::Rare { threshold, .. } => tr!("over {threshold}", threshold = units::latency(*threshold)),
        ComparedNumber::RareSizes { .. } => tr!("their size").to_owned(),
    }
}

/// A number of a row: a latency in microseconds, misses per million, or a count of rare events.
pub fn number(row: &RowResult, second: bool) -> String {
    let value = if second { row.second } else { row.first };
    let Some(value) = value.filter(|value| value.is_finite()) else { return units::ABSENT.to_owned() };
    match row.what {
        ComparedNumber::Percentile { .. } | ComparedNumber::RareSizes { .. } => units::column_us_of(value),
        ComparedNumber::Misses { .. } if value >= 100.0 => format!("{value:.0}"),
        ComparedNumber::Misses { .. } => format!("{value:.1}"),
        ComparedNumber::Rare { first, second: of_second, .. } => units::count(if second { of_second } else { first }),
    }
}

pub fn change(row: &RowResult) -> String {
    changed(row.change)
}

pub fn changed(change: Option<Change>) -> String {
    match change {
        Some(Change::Difference(Limits { seen: Some(seen), .. })) => units::signed_us(seen),
        Some(Change::Ratio(Limits { seen: Some(seen), .. })) => format!("x{seen:.2}"),
        Some(Change::Difference(_) | Change::Ratio(_)) | None => units::ABSENT.to_owned(),
    }
}

pub fn interval(row: &RowResult) -> String {
    interval_of(row.change)
}

pub fn interval_of(change: Option<Change>) -> String {
    let end = |limit: f64, text: String| if limit.is_finite() { text } else { "?".to_owned() };
    match change {
        Some(Change::Difference(l)) if l.low.is_finite() || l.high.is_finite() => {
            tr!(
                "{low} to {high}",
                low = end(l.low, units::signed_us(l.low)),
                high = end(l.high, units::signed_us(l.high))
            )
        }
        Some(Change::Ratio(l)) => {
            tr!("x{low} to {high}", low = format!("{:.2}", l.low), high = end(l.high, format!("x{:.2}", l.high)))
        }
        Some(Change::Difference(_)) | None => units::ABSENT.to_owned(),
    }
}

/// Odds of chance as a number: `0.03`, `2e-6`.
pub fn odds(odds: Option<f64>) -> String {
    match odds {
        None => units::ABSENT.to_owned(),
        Some(p) if p < 1e-9 => "<1e-9".to_owned(),
        Some(p) if p < 0.001 => format!("{p:.0e}"),
        Some(p) if p < 0.1 => format!("{p:.3}"),
        Some(p) => format!("{p:.2}"),
    }
}

/// The name of a group, which is a CPU under a load: `CPU 1, load cpu`, `CPU 1, idle`. For other programs, the name in
/// the file: `thread 0`.
pub fn group(group: &Group) -> String {
    let cpu = group.cpu.map(|cpu| tr!("CPU {cpu}", cpu));
    // In many files the series is named just like the CPU.
    let series = group.series.clone().filter(|series| cpu.as_deref() != Some(series.as_str()));
    let place = match (series, cpu) {
        (Some(series), Some(cpu)) if !series.starts_with(&format!("{cpu} ")) => format!("{series} ({cpu})"),
        (Some(series), _) => series,
        (None, cpu) => cpu.unwrap_or_else(|| tr!("the only series").to_owned()),
    };
    let load = match group.load.as_deref().map(phase_name) {
        None => String::new(),
        Some(idle @ "idle") => format!(", {idle}"),
        Some(load) => tr!(", load {load}", load),
    };
    let traced = if group.traced { tr!(", traced") } else { "" };
    format!("{place}{load}{traced}")
}

/// The name of a result's group, and of the group that it is compared with if the names differ.
pub fn result_group(result: &GroupResult) -> String {
    let against =
        result.against.as_ref().map_or_else(String::new, |other| tr!(" against {other}", other = group(other)));
    format!("{}{against}", group(&result.group))
}

/// The numbers of values that a group's numbers come from: `30 000 and 30 000 releases due`, or `values` for files of
/// other programs.
pub fn due(result: &GroupResult) -> String {
    let imported = result.group.series.is_some() || result.against.as_ref().is_some_and(|of| of.series.is_some());
    let (what, due) = if imported { ("value", "") } else { ("release", tr!(" due")) };
    tr!(
        "{first} and {second}{due}",
        first = units::count(result.due.0),
        second = units::counted(result.due.1, what),
        due
    )
}

/// Why the histogram of either file does not represent all measured values, and what would help.
pub fn unfit(result: &GroupResult) -> Vec<String> {
    let (first, second) = &result.unfit;
    unfit_sides([(tr!("of the first"), first.as_ref()), (tr!("of the second"), second.as_ref())])
}

fn unfit_sides(sides: [(&str, Option<&Refusal>); 2]) -> Vec<String> {
    let reason = |(of, refusal): (&str, Option<&Refusal>)| {
        refusal.map(|refusal| format!("{of}: {}", super::claims::reason(refusal)))
    };
    sides.into_iter().filter_map(reason).collect()
}

/// When the measurement of a recording began; `None` if the file does not say it.
pub fn started(origin: &Origin) -> Option<String> {
    match origin {
        Origin::Punctual { started_unix_ns, .. } => Some(units::date(*started_unix_ns)),
        Origin::Imported { started, .. } => started.clone(),
    }
}

/// The program that measured: `punctual 0.1.0`, `cyclictest`.
pub fn program(origin: &Origin) -> String {
    match origin {
        Origin::Punctual { version, .. } => format!("punctual {version}"),
        Origin::Imported { format, program, .. } => program.clone().unwrap_or_else(|| (*format).to_owned()),
    }
}

/// Notes on what was repaired, doubted or lost when a file of another program was read.
pub fn notes(origin: &Origin) -> &[String] {
    match origin {
        Origin::Punctual { .. } => &[],
        Origin::Imported { notes, .. } => notes,
    }
}

/// A sentence about data that a file lacks, and what follows from that for the comparison.
pub fn lacking(of: &Lacking) -> String {
    let who = match (of.first, of.second) {
        (true, true) => tr!("neither says"),
        (true, false) => tr!("the first does not say"),
        _ => tr!("the second does not say"),
    };
    match of.lack {
        Lack::Time => tr!(
            "{who} when each value was measured: tails cannot be compared, and every {TOGETHER} activations are \
            counted as one, so that a burst of this many late activations is not taken for a difference; changes from \
            minute to minute are not taken into account",
            who,
            TOGETHER
        ),
        Lack::Instants => tr!(
            "{who} when each value was measured, only in which order: tails cannot be compared, and the limits are \
            widened by how much parts of the list differ from each other",
            who
        ),
        Lack::Skips => tr!("{who} how many releases were skipped; skipped releases do not count as misses there", who),
        Lack::Beyond { from } => {
            tr!("{who} by how much latencies above {from} were above it", who, from = units::latency(from))
        }
        Lack::Counts => tr!("{who} how often each value occurred: without these counts there are no odds", who),
        Lack::Settings => {
            tr!("{who} what load, scheduling, clock and settings were used: whether they differ is not known", who)
        }
    }
}

/// A better or worse row as a sentence: `p99 of CPU 1, idle: 32.1 us, was 45.0 us`.
fn decided_row(result: &GroupResult, row: &RowResult) -> String {
    let unit = match row.what {
        ComparedNumber::Percentile { .. } | ComparedNumber::RareSizes { .. } => tr!("{THIN}us", THIN),
        ComparedNumber::Misses { .. } | ComparedNumber::Rare { .. } => String::new(),
    };
    let (first, second) = (number(row, false), number(row, true));
    let place = result_group(result);
    match row.what {
        ComparedNumber::Rare { threshold, .. } => tr!(
            "{place}: {second} latencies over {threshold}, was {first}, p = {odds}",
            place,
            second,
            threshold = units::latency(threshold),
            first,
            odds = odds(row.odds_of_all)
        ),
        ComparedNumber::RareSizes { threshold, .. } => {
            let over = units::latency(threshold);
            tr!(
                "{place}: median size of latencies over {over}: {second}{unit}, was {first}{unit}",
                place,
                over,
                second,
                unit,
                first
            )
        }
        ComparedNumber::Percentile { .. } | ComparedNumber::Misses { .. } => {
            tr!("{place}: {what} {second}{unit}, was {first}{unit}", place, what = what(&row.what), second, unit, first)
        }
    }
}

/// All better or worse rows, each as a sentence: `CPU 1, idle: p99 32.1 us, was 45.0 us (better)`.
pub fn all_decided(against: &Against) -> Vec<String> {
    let rows = against.groups.iter().flat_map(|group| group.rows.iter().map(move |row| (group, row)));
    let decided = rows.filter(|(_, row)| matches!(row.verdict, Compared::Better | Compared::Worse));
    decided.map(|(group, row)| format!("{} ({})", decided_row(group, row), verdict(row.verdict))).collect()
}

/// The verdict in sentences, with its assumption if it makes one.
pub fn sentence(against: &Against, comparison: &Comparison) -> String {
    let told = against.if_independent.unwrap_or(against.verdict);
    let said = sentence_of(told, against, comparison);
    if against.basis != Basis::Independent || told == Compared::NotEnoughData {
        return said;
    }
    tr!(
        "{said} All of this assumes that values are independent: a histogram does not say in which order they came, \
        and two histograms of the same machine also differ if its latency changes from minute to minute.",
        said
    )
}

fn sentence_of(verdict: Compared, against: &Against, comparison: &Comparison) -> String {
    let margin = units::portion(comparison.options.margin);
    let told = against.told_to_ppm.map(percentile);
    match verdict {
        Compared::Better | Compared::Worse | Compared::Mixed => {
            tr!(
                "The change is larger than {margin}, and chance does not explain it: if nothing had changed, at most \
                {error_rate} of such comparisons would show a change.",
                margin,
                error_rate = units::portion(comparison.error_rate)
            )
        }
        Compared::NoDifferenceShown => tr!(
            "Up to {percentile}, the limits exclude a change of more than {max}. There \
            may be smaller changes, and changes beyond this percentile.",
            percentile = told.unwrap_or_else(|| "p99".to_owned()),
            max = if against.basis == Basis::Times {
                margin
            } else {
                units::portion((TOLD_MARGINS * comparison.options.margin).max(TOLD_LEAST))
            }
        ),
        Compared::NotEnoughData if against.undecided.is_some() => {
            against.undecided.as_ref().map(undecided).unwrap_or_default()
        }
        Compared::NotEnoughData => match against.wants.map(rounded_up) {
            Some(length) => tr!(
                "A change that matters could have been missed. To find it, each recording would have \
                to be about {length} long.",
                length = units::duration(length)
            ),
            None if beyond_the_margin(against, comparison.options.margin).is_some() => {
                let row = beyond_the_margin(against, comparison.options.margin);
                tr!(
                    "The whole interval for {what} lies beyond the margin of {margin}, but as {numbers} were compared, \
                    chance alone makes one of them differ this much with a probability of {odds}: only below 0.05 is \
                    decisive.",
                    what = row.map(|row| what(&row.what)).unwrap_or_default(),
                    margin,
                    numbers = units::counted(comparison.looked_at as u64, "number"),
                    odds = odds(row.and_then(|row| row.odds_of_all))
                )
            }
            None if against.groups.iter().flat_map(|group| &group.rows).any(has_few_moods) => {
                tr!("A change that matters could have been missed: latency changes so slowly that the compared lists \
                 of values may hold only a few of the machine's moods (stretches of time with another latency). \
                 Measure much longer, or in turn, A B A B.")
                .to_owned()
            }
            None if against.groups.iter().flat_map(|group| &group.rows).any(is_unfit) => {
                tr!("A change that matters could have been missed: the series that are refused below were not \
                    compared.")
                .to_owned()
            }
            None => {
                tr!("A change that matters could have been missed; too little was measured to say how much more is \
                    needed.")
                .to_owned()
            }
        },
    }
}

fn undecided(why: &Undecided) -> String {
    match why {
        Undecided::Moods(mood) => tr!(
            "The latency of this machine changes between moods (stretches of time with another latency) about every \
            {length}, and a run of {run} has met {seen}. Two runs may have met different moods: measure both in turn \
            (interleave).",
            length = units::duration(mood.length),
            run = units::duration(mood.run),
            seen = if mood.seen() < 1.5 {
                tr!("one of them").to_owned()
            } else {
                tr!("{seen} of them", seen = format!("{:.0}", mood.seen()))
            }
        ),
        Undecided::FewRuns { least } if least.is_finite() => tr!(
            "Runs of the same side differ from each other, and with this number of runs, a change by less than a factor of \
            {least} could have been missed. Measure more runs of both sides.",
            least = format!("{:.2}", least)
        ),
        Undecided::FewRuns { .. } => {
            tr!("There are too few runs to tell how much runs of the same side differ from each other: at least one \
                side needs two runs, and four of each side are better.")
            .to_owned()
        }
    }
}

/// Number of rounds, and length of each run, of the interleaved measurement that is proposed when single runs do not
/// decide.
const ROUNDS: u64 = 8;
const EACH: Nanos = Nanos::from_secs(30);

/// The command of an interleaved measurement, which decides even if the machine changes slowly, and the time that it
/// takes.
pub fn interleave() -> (String, Nanos) {
    let command = format!("punctual compare --interleave 'COMMAND A' 'COMMAND B' --rounds {ROUNDS}");
    (command, EACH.times(2 * ROUNDS))
}

/// What it changes on this machine that another kernel wakes the threads. Of several CPUs and loads, the sentence names the
/// one that gains least.
pub fn second_kernel(of: &SecondKernel) -> String {
    let (first, second) = (kernel(of.first), kernel(of.second));
    let in_band = match of.in_band_switches {
        0 => tr!("No thread was switched in-band.").to_owned(),
        n => tr!(
            "Threads were switched in-band {times}, which may be part of the latency.",
            times = units::counted(n, "time")
        ),
    };
    let Some(gain) = of.least() else {
        return tr!(
            "Too little was measured to tell what changes with {second} instead of {first} on this machine. {in_band}",
            second,
            first,
            in_band
        );
    };
    let others = match of.gains.len() {
        0 | 1 => String::new(),
        n => tr!("; this is the smallest gain of all {n} combinations of CPU and load", n),
    };
    tr!(
        "On this machine, {second} instead of {first} gives {gain}{others}. {in_band}",
        second,
        first,
        gain = gained(gain),
        others,
        in_band
    )
}

/// The change of a percentile with its interval: `p99 of CPU 1, idle, from 45.0 us to 12.5 us (x0.28, ...): better`.
pub fn gained(gain: &Gain) -> String {
    tr!(
        "{ppm} of {group} from {first}{THIN}us to {second}{THIN}us ({change}, 95 % interval {interval}): {verdict}",
        ppm = percentile(gain.ppm),
        group = group(&gain.group),
        first = units::column_us_of(gain.first),
        THIN,
        second = units::column_us_of(gain.second),
        change = changed(Some(gain.change)),
        interval = interval_of(Some(gain.change)),
        verdict = verdict(gain.verdict)
    )
}

/// Number of rounds that `measure` makes with two kernels. With eight, the exact test cannot decide about two CPUs.
const KERNEL_ROUNDS: u64 = 12;

/// The command that measures both kernels in turn, more than was measured, and the time that it takes.
pub fn kernels_in_turn(of: &SecondKernel, design: Design) -> Option<(String, Nanos)> {
    let Amount::Time(measured) = of.scenario.length else { return None };
    let (rounds, stretch) = match design {
        Design::Rounds { rounds } => (2 * rounds as u64, measured),
        Design::Pair | Design::Runs { .. } => (KERNEL_ROUNDS, EACH),
    };
    let whole = stretch.times(2 * rounds);
    let periods = || of.scenario.threads.iter().map(|thread| thread.period);
    let period = match (periods().min(), periods().max()) {
        (Some(shortest), Some(longest)) if shortest == longest => length(shortest),
        _ => {
            let by_cpu = of.scenario.threads.iter().map(|thread| format!("{}={}", thread.cpu, length(thread.period)));
            by_cpu.collect::<Vec<_>>().join(",")
        }
    };
    let kernels = format!("{},{}", kernel(of.first), kernel(of.second)).to_lowercase();
    let mut command = Command::new(["measure"])
        .with("--kernel", &kernels)
        .with("--cpus", &of.scenario.cpus().to_string())
        .with("--period", &period)
        .with("--rounds", &rounds.to_string())
        .with("--duration", &length(whole));
    if let Policy::Fifo(priority) = of.scenario.policy {
        command = command.with("--priority", &priority.to_string());
    }
    let is_idle = of.scenario.load_phases.iter().all(|phase| phase.loads.is_empty());
    if !is_idle {
        let phases = of.scenario.load_phases.iter().map(|phase| format!("{}:{}", phase.name(), phase.parts));
        command = command.with("--load", &phases.collect::<Vec<_>>().join(","));
    }
    Some((command.to_string(), whole))
}

fn has_few_moods(row: &RowResult) -> bool {
    row.withheld == Some(Withheld::Moods)
}

/// The first undecided row whose confidence limits lie beyond the margin as a whole.
fn beyond_the_margin(against: &Against, margin: f64) -> Option<&RowResult> {
    let lies_beyond = |row: &&RowResult| match (row.change, row.first) {
        (Some(Change::Difference(limits)), Some(first)) if row.verdict == Compared::NotEnoughData => {
            limits.low > margin * first || limits.high < -margin * first
        }
        (Some(Change::Difference(_) | Change::Ratio(_)) | None, _) => false,
    };
    against.groups.iter().flat_map(|group| &group.rows).find(lies_beyond)
}

fn is_unfit(row: &RowResult) -> bool {
    row.withheld == Some(Withheld::Unfit)
}

/// A length of time rounded up to two digits, because it is an estimate.
pub fn rounded_up(length: Nanos) -> Nanos {
    let seconds = length.as_ns().div_ceil(1_000_000_000).max(1);
    let mut unit = 1;
    while seconds / unit >= 100 {
        unit *= 10;
    }
    Nanos::from_secs(seconds.div_ceil(unit).saturating_mul(unit).min(10_000_000_000))
}

fn design(comparison: &Comparison) -> String {
    match comparison.others.first().map(|other| other.design) {
        Some(Design::Runs { first, second }) => tr!(
            "The error is estimated from how much runs of the same side differ from each other ({first} and {second} \
            runs; Student's t test on logarithms).",
            first,
            second
        ),
        Some(Design::Rounds { rounds }) => tr!(
            "The error is determined by how much the differences of {rounds} vary (with 8 to 20 rounds the exact test \
            of signs, otherwise Student's t test).",
            rounds = units::counted(rounds as u64, "round")
        ),
        Some(Design::Pair) | None => {
            tr!("The error is estimated from how much parts of a run differ from each other, each longer than a mood \
                of the machine (a stretch of time with another latency).")
            .to_owned()
        }
    }
}

pub fn cautions(comparison: &Comparison) -> Vec<String> {
    let mut cautions = vec![tr!(
        "Intervals are of 95{THIN}% each. The odds are the probability that chance alone makes such a change between \
        equal systems, corrected for all {rows} that were compared: below {error_rate}, a change beyond the margin of \
        {margin} is decisive. {design}",
        THIN,
        rows = units::counted(comparison.looked_at as u64, "row"),
        error_rate = comparison.error_rate,
        margin = units::portion(comparison.options.margin),
        design = design(comparison)
    )];
    let rows = || comparison.others.iter().flat_map(|other| &other.groups).flat_map(|group| &group.rows);
    if rows().any(|row| interval(row).contains('?')) {
        cautions.push(tr!("A ? is a limit that a run of this length cannot give.").to_owned());
    }
    if rows().any(|row| matches!(row.what, ComparedNumber::Rare { .. })) {
        cautions.push(
            tr!(
                "Rows \"over\" count latencies beyond a threshold that is chosen from both recordings together: at the \
                widest gap of the tail, or such that 16 or 64 latencies lie beyond it. \"Their size\" compares the \
                largest latency of each slice of time that has a latency beyond the threshold."
            )
            .to_owned(),
        );
    }
    if rows().any(|row| row.withheld == Some(Withheld::Moods)) {
        cautions.push(
            tr!("\"Too few moods\": the runs saw too few moods of the machine (stretches of time with another \
                latency), and each run may have met other ones; these rows decide nothing.")
            .to_owned(),
        );
    }
    if rows().any(|row| row.withheld == Some(Withheld::Stolen)) {
        cautions.push(
            tr!("Stolen time: the time that the hypervisor took could alone explain such a difference, so the row \
                decides nothing.")
            .to_owned(),
        );
    }
    let decided = |against: &Against| {
        against.design == Design::Pair
            && matches!(against.verdict, Compared::Better | Compared::Worse | Compared::Mixed)
    };
    if comparison.others.iter().any(decided) {
        cautions.push(
            tr!(
                "Two recordings cannot distinguish your change from changes that happen by themselves between runs and \
                boots: measure in turn, A B A B, before you believe it."
            )
            .to_owned(),
        );
    }
    if comparison.others.iter().any(|other| other.refused) {
        cautions.push(
            tr!("Compared only because of --anyway: the differences that are marked as not comparable give these \
                numbers different meanings.")
            .to_owned(),
        );
    }
    cautions
}

pub fn subject(subject: &Subject) -> String {
    match subject {
        Subject::Mechanism => tr!("way to wait").to_owned(),
        Subject::Period(Some(cpu)) => tr!("period of CPU {cpu}", cpu),
        Subject::Period(None) => tr!("period").to_owned(),
        Subject::Quantity => tr!("what the values are").to_owned(),
        Subject::Context => tr!("where an activation ends").to_owned(),
        Subject::Program => tr!("program").to_owned(),
        Subject::Command => tr!("command").to_owned(),
        Subject::Load => tr!("load").to_owned(),
        Subject::Cpu => "CPU".to_owned(),
        Subject::ClockSource => tr!("clock source").to_owned(),
        Subject::Machine(name) | Subject::Setting(name) => name.clone(),
        Subject::Policy(cpu) => tr!("scheduling of CPU {cpu}", cpu),
        Subject::TimerPhase => tr!("phase of the releases").to_owned(),
        Subject::Budget => tr!("budget").to_owned(),
        Subject::DmaLatency => tr!("value requested of /dev/cpu_dma_latency").to_owned(),
        Subject::LoadCpus => tr!("CPUs of the loads").to_owned(),
        Subject::Housekeeping => tr!("CPUs of punctual's helpers").to_owned(),
        Subject::Knob(id) => tr!("knob {id}", id),
        Subject::ToolVersion => tr!("version of punctual").to_owned(),
    }
}

pub fn value(value: &Value) -> String {
    match value {
        Value::Absent => tr!("not stated").to_owned(),
        Value::Text(text) if text.is_empty() => tr!("none").to_owned(),
        Value::Text(text) => text.clone(),
        Value::Time(time) => units::latency(*time),
        Value::Mechanism(of) => mechanism(*of).to_owned(),
        Value::Policy(of) => policy(*of),
        Value::Phase(of) => timer_phase(*of).to_owned(),
        Value::State(of) => state(of).to_owned(),
        Value::Quantity(Quantity::Latency) => tr!("latency").to_owned(),
        Value::Quantity(Quantity::Noise) => tr!("time taken away").to_owned(),
    }
}

/// How much a difference between the machines or runs matters for the comparison.
pub fn matters(matters: Matters) -> &'static str {
    match matters {
        Matters::Refuses => tr!("not comparable"),
        Matters::Much => tr!("can explain any difference"),
        Matters::Some => tr!("may explain a difference"),
        Matters::Little => tr!("worth knowing"),
    }
}

pub fn difference(difference: &Difference) -> String {
    format!("{}: {} -> {}", subject(&difference.subject), value(&difference.first), value(&difference.second))
}

/// Why two recordings should not be compared, which the user did on demand.
pub fn not_comparable(other: &Against) -> String {
    let differs = other.differences.iter().filter(|of| of.refuses()).map(difference);
    let unfit = other.groups.iter().flat_map(unfit);
    let reasons: Vec<String> = differs.chain(unfit).collect();
    if reasons.is_empty() { tr!("their CPUs and loads are not the same").to_owned() } else { reasons.join("; ") }
}

/// A sentence about the groups that only one of the two recordings has; `None` if there are none.
pub fn left_out(left: &[LeftOut]) -> Option<String> {
    let of = |first: bool| {
        let names: Vec<String> = left.iter().filter(|l| l.in_first == first).map(|l| group(&l.group)).collect();
        (!names.is_empty()).then(|| names.join("; "))
    };
    let first = of(true).map(|names| tr!("only in the first: {names}", names));
    let second = of(false).map(|names| tr!("only in the second: {names}", names));
    let parts: Vec<String> = [first, second].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(". "))
}

pub fn cause(change: &CauseChange) -> String {
    let name = super::causes::cause(&change.cause);
    let weight = |weight: punctual_numbers::compare::CauseWeight| {
        tr!(
            "{lost}{THIN}us of latency per second, {share} of the traced latency",
            lost = format!("{:.1}", weight.ns_per_second / 1e3),
            THIN,
            share = units::portion(weight.share)
        )
    };
    match (change.first, change.second) {
        (None, Some(now)) => tr!("new: {name} ({now})", name, now = weight(now)),
        (Some(then), None) => tr!("gone: {name} (was {then})", name, then = weight(then)),
        (Some(then), Some(now)) => {
            let word = if now.ns_per_second > then.ns_per_second { tr!("grew") } else { tr!("shrank") };
            tr!("{word}: {name} ({now}; was {then})", word, name, now = weight(now), then = weight(then))
        }
        (None, None) => name,
    }
}

/// The size of the effect in words, from Cliff's delta.
pub fn effect(delta: f64) -> String {
    let size = match delta.abs() {
        d if d < 0.147 => tr!("negligible"),
        d if d < 0.33 => tr!("small"),
        d if d < 0.474 => tr!("medium"),
        _ => tr!("large"),
    };
    let share = units::portion(f64::midpoint(1.0, delta));
    tr!(
        "in {share} of all pairs of activations, that of the second recording is later than that of the first; the \
        effect is {size}",
        share,
        size
    )
}

pub fn refused(refused: &Refused) -> String {
    match refused {
        Refused::Alone => tr!("one recording is not compared to anything: name another, or --baseline FILE").to_owned(),
        Refused::NoTimes(name) => tr!(
            "{name} is a file of another program: rounds, and several files for each side, need recordings of \
            punctual; compare one file with one file",
            name
        ),
        Refused::Unpaired(first, second) => {
            tr!(
                "rounds need the same number of recordings for both sides, and there are {first} and {second}",
                first,
                second
            )
        }
        Refused::Margin(margin) => {
            tr!("{margin} is not a valid margin: write a percentage from 0 to below 1000", margin)
        }
        Refused::Incomparable(name, differences) => {
            let all: Vec<String> = differences.iter().map(difference).collect();
            tr!(
                "{name} cannot be compared with the first recording, because its numbers have another meaning \
                ({reasons}); measure both in the same way, or compare with --anyway, which marks the result",
                name,
                reasons = all.join("; ")
            )
        }
        Refused::Unfit(name, first, second) => tr!(
            "{name} cannot be compared with the first file. {why} Or compare with --anyway, which marks the result and \
            shows the notes",
            name,
            why = unfit_sides([(tr!("Of the first"), first.as_ref()), (&tr!("Of {name}", name), second.as_ref())])
                .join(" ")
        ),
        Refused::NothingInCommon(name, left) => {
            let what = left_out(left).unwrap_or_else(|| tr!("nothing was measured in either").to_owned());
            tr!(
                "{name} and the first recording have no CPU in common that was measured under the same load, both with a trace or \
                 both without ({what}); measure both in the same way, or compare with --anyway, which marks the result",
                name,
                what
            )
        }
    }
}

/// A sentence that says how a skipped release counts in the percentiles of these two files.
pub fn skipped(first: &Origin, second: &Origin) -> String {
    let mut said = tr!("A skipped release counts with the time from the release until its thread ran next").to_owned();
    if [first, second].iter().any(|origin| matches!(origin, Origin::Imported { .. })) {
        said.push_str(tr!("; in the file of another program, which does not contain this time, as one period late"));
    }
    said + "."
}

pub fn budget(what: &ComparedNumber) -> Option<String> {
    match what {
        ComparedNumber::Misses { budget: Some(budget) } => {
            Some(tr!("Misses: later than {budget}, or skipped.", budget = units::latency(*budget)))
        }
        ComparedNumber::Misses { budget: None } => Some(
            tr!(
                "Misses: only skipped releases count, because the recordings have no common budget (--budget sets one)."
            )
            .to_owned(),
        ),
        ComparedNumber::Percentile { .. } | ComparedNumber::Rare { .. } | ComparedNumber::RareSizes { .. } => None,
    }
}
