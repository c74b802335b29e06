//! What is done with one host: it is asked what machine it is, the command runs, and what it wrote is fetched.

use super::client::{Client, Ending, Ends, Listed, Until};
use super::far::Far;
use super::folder::{ANSWERED, Folder, MESSAGES};
use super::program::Program;
use super::{FleetError, HostResult, Order, Outcome, fetched};
use punctual_hist::Nanos;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Length of a message of a host that is kept, in characters.
const LONGEST_WHY: usize = 300;

pub struct Session<'a> {
    order: &'a Order,
    client: Client,
    folder: &'a Folder,
    pub interrupted: &'a AtomicBool,
}

impl<'a> Session<'a> {
    pub fn new(order: &'a Order, folder: &'a Folder, interrupted: &'a AtomicBool) -> io::Result<Self> {
        Ok(Self { order, client: Client::new(order.config.as_deref(), order.connect)?, folder, interrupted })
    }

    /// Runs the command on one host and keeps its result. Errors are those of this machine, which would meet every host.
    pub fn host(&self, listed: Listed<'_>) -> Result<HostResult, FleetError> {
        let (start, host) = (Instant::now(), listed.1);
        let aside = self.folder.begin(host)?;
        let mut result = HostResult::not_started(host);
        let tried = self.ask_and_run(listed, &aside, &mut result);
        self.client.close(listed);
        result.outcome = tried.map_err(|reason| FleetError::Host { host: host.clone(), reason })?;
        result.took = start.elapsed().into();
        // What could not be read as a whole is no result.
        let _ = fs::remove_file(aside.join(ANSWERED));
        self.folder.finish(&result)?;
        Ok(result)
    }

    fn ask_and_run(&self, host: Listed<'_>, aside: &Path, result: &mut HostResult) -> io::Result<Outcome> {
        if let Some(outcome) = self.ask(host, aside, result)? {
            return Ok(outcome);
        }
        let bring = &self.order.bring;
        let brought = bring.iter().find(|program| result.machine.as_deref().is_some_and(|name| program.runs_on(name)));
        if brought.is_none() && !bring.is_empty() {
            return Ok(Outcome::OtherMachine);
        }
        self.command(host, aside, brought, result)
    }

    /// Asks the host what machine it is, for which it has as long again as for making the connection. Returns an outcome if
    /// the command cannot be run there.
    fn ask(&self, host: Listed<'_>, aside: &Path, result: &mut HostResult) -> io::Result<Option<Outcome>> {
        let (output, messages) = (aside.join(ANSWERED), aside.join(MESSAGES));
        let asked = self.far().ask(!self.order.bring.is_empty());
        let ends = Ends { input: None, output: &output, messages: &messages };
        let ending = self.client.run(host, &asked, &ends, self.until(Some(self.order.connect * 2)))?;
        let answer = fetched::answer(BufReader::new(File::open(&output)?));
        let is_from_client = |code: Option<i32>| code == Some(255);
        Ok(match (ending, answer) {
            (Ending::Interrupted, _) => Some(Outcome::Interrupted),
            (Ending::TooLong, _) => Some(Outcome::Unreachable { why: "it does not answer".to_owned() }),
            (Ending::Exited(status), Ok((machine, rest))) if !is_from_client(status.code()) => {
                result.machine = Some(machine).filter(|machine| !machine.is_empty());
                result.version = version(rest);
                (!status.success()).then(|| Outcome::NoProgram { why: last_line(&messages) })
            }
            _ => Some(Outcome::Unreachable { why: last_line(&messages) }),
        })
    }

    fn command(
        &self,
        host: Listed<'_>,
        aside: &Path,
        brought: Option<&Program>,
        result: &mut HostResult,
    ) -> io::Result<Outcome> {
        let (output, messages) = (aside.join(ANSWERED), aside.join(MESSAGES));
        let far = self.far().run(&self.order.words, brought.map(Program::bytes));
        let ends = Ends { input: brought.map(Program::path), output: &output, messages: &messages };
        let ending = self.client.run(host, &far, &ends, self.until(self.order.limit))?;
        Ok(match ending {
            Ending::Interrupted => Outcome::Interrupted,
            Ending::TooLong => Outcome::TooLong,
            Ending::TooLarge => Outcome::Lost { why: "it sent too much".to_owned() },
            Ending::Exited(status) if status.success() => match fetched::unpack(&output, aside) {
                Ok((code, files)) => {
                    result.files = files;
                    Outcome::Ended { code }
                }
                Err(error) => Outcome::Lost { why: error.to_string() },
            },
            Ending::Exited(_) => Outcome::Lost { why: last_line(&messages) },
        })
    }

    fn far(&self) -> Far {
        Far { program: self.order.program.clone(), sudo: self.order.sudo }
    }

    fn until(&self, limit: Option<Nanos>) -> Until<'_> {
        Until { limit, most_bytes: fetched::MOST_BYTES, interrupted: self.interrupted }
    }
}

/// The version in an answer such as `punctual 0.1.0`.
fn version(from: impl Read) -> Option<String> {
    let mut text = String::new();
    from.take(1_000).read_to_string(&mut text).ok()?;
    let version = text.lines().next()?.split_whitespace().next_back()?;
    Some(version.to_owned())
}

/// The last message of a host, or of the client.
fn last_line(messages: &Path) -> String {
    let text = fs::read(messages).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it said nothing");
    line.chars().take(LONGEST_WHY).collect()
}
