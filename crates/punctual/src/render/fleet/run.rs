//! What became of a command on many hosts: a line for each host, and the answer last.

use crate::render::clean::{clean, shortened};
use crate::render::document::Published;
use crate::render::lang::{for_people, tr};
use crate::render::sheet::{Sheet, Style, Tone};
use crate::render::units;
use crate::render::words::answer;
use crate::render::words::command::Command;
use punctual_linux::fleet::{Host, HostResult, Outcome};
use punctual_numbers::report::{Answer, Report};
use serde::Serialize;
use std::path::PathBuf;

/// Largest width of the column of hosts.
const HOST: usize = 24;
/// Columns of what a host said.
const SAID: usize = 200;

/// The document of `punctual fleet run --json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FleetRun {
    /// The words after `punctual`.
    pub words: Vec<String>,
    /// The folder that has a folder for each host.
    pub folder: PathBuf,
    /// What became of the command on each host, in the order of the list.
    pub hosts: Vec<HostRow>,
}

impl Published for FleetRun {
    const SCHEMA: &'static str = "punctual/fleet-run/1";
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HostRow {
    #[serde(flatten)]
    pub result: HostResult,
    /// Whether the need was held, by the first recording that came back.
    pub answer: Option<Answer>,
    /// The last line that the command printed, or the last message of one that failed.
    pub said: Option<String>,
    #[serde(skip)]
    report: Option<Report>,
}

impl HostRow {
    pub fn new(result: HostResult, report: Option<Report>, said: Option<String>) -> Self {
        let answer = report.as_ref().filter(|report| report.need.budget.is_some()).map(|report| report.verdict.answer);
        Self { result, answer, said: said.map(|line| shortened(&line, SAID)), report }
    }
}

/// How far a run is.
pub struct Listing {
    hosts: usize,
    done: usize,
    failed: usize,
    running: Vec<Host>,
}

impl Listing {
    pub fn new(hosts: usize) -> Self {
        Self { hosts, done: 0, failed: 0, running: Vec::new() }
    }

    pub fn started(&mut self, host: &Host) {
        self.running.push(host.clone());
    }

    /// Notes that a host has ended, and returns the line of a log about it.
    pub fn ended(&mut self, result: &HostResult) -> String {
        self.running.retain(|host| *host != result.host);
        self.done += 1;
        self.failed += usize::from(!result.is_success());
        let host = &result.host;
        let (done, hosts) = (self.done, self.hosts);
        for_people(|| {
            let what = clean(&outcome(result, None).1);
            tr!("punctual: {host}: {what} ({done} of {hosts})", host, what, done, hosts)
        })
    }

    /// The line that a terminal shows: `3 of 40 done, 1 failed, running: line-4, line-7`
    pub fn line(&self) -> String {
        let running: Vec<&str> = self.running.iter().map(Host::as_str).collect();
        for_people(|| {
            let failed = if self.failed == 0 { String::new() } else { tr!(", {n} failed", n = self.failed) };
            tr!(
                "{done} of {hosts} done{failed}, running: {running}",
                done = self.done,
                hosts = self.hosts,
                failed,
                running = running.join(tr!(", "))
            )
        })
    }
}

/// The line of a fleet: `FLEET hosts=4 fine=1 exceeded=1 doubtful=0 error=1 missing=1 folder=results`
pub fn brief(made: &FleetRun) -> String {
    let Counts { fine, exceeded, doubtful, error, missing } = counts(made);
    format!(
        "FLEET hosts={} fine={fine} exceeded={exceeded} doubtful={doubtful} error={error} missing={missing} folder={}",
        made.hosts.len(),
        made.folder.display()
    )
}

/// `again` is the command that tries the hosts without a result.
pub fn text(made: &FleetRun, again: &Command, style: Style) -> String {
    for_people(|| {
        let mut sheet = Sheet::new(style);
        let command = Command::new(&made.words).to_string();
        sheet.heading(&tr!("{command} on {hosts}", command, hosts = units::counted(made.hosts.len() as u64, "host")));
        let names = made.hosts.iter().map(|row| row.result.host.as_str().len());
        let width = names.max().unwrap_or(0).min(HOST);
        for row in &made.hosts {
            let (tone, told) = outcome(&row.result, Some(row));
            sheet.toned_entry(2, width, tone, row.result.host.as_str(), &told);
        }
        conclusion(&mut sheet, made, again);
        sheet.finish()
    })
}

fn conclusion(sheet: &mut Sheet, made: &FleetRun, again: &Command) {
    let Counts { fine, exceeded, doubtful, error, missing } = counts(made);
    let all = made.hosts.len();
    let tone = match (exceeded + error, doubtful + missing) {
        (0, 0) => Tone::Good,
        (0, _) => Tone::Doubt,
        _ => Tone::Bad,
    };
    let ended = all - missing;
    let word = if missing == 0 {
        tr!("ALL {all} HOSTS ANSWERED:", all)
    } else {
        tr!("{ended} OF {all} HOSTS ANSWERED:", ended, all)
    };
    let parts = [
        (fine, tr!("{n} fine", n = fine)),
        (exceeded, tr!("{n} beyond a limit", n = exceeded)),
        (doubtful, tr!("{n} inconclusive", n = doubtful)),
        (error, tr!("{n} failed", n = error)),
        (missing, tr!("{n} without a result", n = missing)),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|(number, _)| *number > 0).map(|(_, part)| part).collect();
    sheet.gap();
    sheet.hanging_paragraph(0, 2, tone, &word, &tr!("{what}.", what = parts.join(tr!(", "))));
    sheet.answer(tr!("Results"), &tr!("{folder}, a folder for each host", folder = made.folder.display()));
    if error + missing > 0 {
        sheet.answer_next(tr!("To try the hosts again that failed or have no result:"), &again.to_string(), None);
    }
}

#[derive(Default)]
struct Counts {
    fine: usize,
    exceeded: usize,
    doubtful: usize,
    error: usize,
    missing: usize,
}

fn counts(made: &FleetRun) -> Counts {
    made.hosts.iter().fold(Counts::default(), |mut counts, row| {
        let place = match row.result.outcome {
            Outcome::Ended { code: 0 } => &mut counts.fine,
            Outcome::Ended { code: 2 } => &mut counts.exceeded,
            Outcome::Ended { code: 1 } => &mut counts.error,
            Outcome::Ended { .. } => &mut counts.doubtful,
            _ => &mut counts.missing,
        };
        *place += 1;
        counts
    })
}

/// What became of the command on a host. `row` adds what it answered.
fn outcome(result: &HostResult, row: Option<&HostRow>) -> (Tone, String) {
    let machine = result.machine.as_deref().unwrap_or_default();
    match &result.outcome {
        Outcome::Ended { code } => ended(*code, row),
        Outcome::Unreachable { why } => (Tone::Doubt, tr!("not reached: {why}", why)),
        Outcome::NoProgram { why } => (Tone::Doubt, tr!("punctual does not start there: {why}", why)),
        Outcome::OtherMachine => (Tone::Doubt, tr!("none of the programs of --bring runs on {machine}", machine)),
        Outcome::TooLong => {
            (Tone::Doubt, tr!("ended after {time}, which is the time limit", time = units::duration(result.took)))
        }
        Outcome::Lost { why } => (Tone::Doubt, tr!("its result is lost: {why}", why)),
        Outcome::Interrupted => (Tone::Doubt, tr!("interrupted").to_owned()),
        Outcome::NotStarted => (Tone::Doubt, tr!("not started").to_owned()),
    }
}

fn ended(code: u8, row: Option<&HostRow>) -> (Tone, String) {
    let (tone, word) = match code {
        0 => (Tone::Good, tr!("fine").to_owned()),
        1 => (Tone::Bad, tr!("failed").to_owned()),
        2 => (Tone::Bad, tr!("beyond a limit").to_owned()),
        3 => (Tone::Doubt, tr!("inconclusive").to_owned()),
        code => (Tone::Doubt, tr!("exit code {code}", code)),
    };
    if let Some(report) = row.and_then(|row| row.report.as_ref()).filter(|_| code != 1) {
        let (answer, much) = (answer::word(&report.verdict), answer::by_how_much(report));
        return (tone, tr!("{answer}: {much}", answer, much));
    }
    match row.and_then(|row| row.said.as_deref()) {
        Some(said) => (tone, tr!("{word}: {said}", word, said)),
        None => (tone, word),
    }
}
