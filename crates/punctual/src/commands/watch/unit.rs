//! The systemd unit of a watch: written and removed as one transaction of the journal, as `tune` does with its own unit.

use crate::cli::WatchArgs;
use crate::commands::here::typed;
use crate::commands::preconditions::{allowed_to_change, no_campaign_but};
use crate::commands::source::Source;
use crate::exit::Exit;
use crate::render;
use crate::render::words::command::Command;
use anyhow::{Context, Result, anyhow, bail};
use punctual_hist::Nanos;
use punctual_linux::apply::guard::revert_patiently;
use punctual_linux::apply::{Extent, Fate, Machine, Request, Transaction};
use punctual_linux::journal::{self, Purpose, TuningRequest};
use punctual_linux::watch::{Place, What};
use punctual_numbers::scenario::Policy;
use punctual_tuning::knobs::Blast;
use punctual_tuning::plan;
use std::path::Path;

/// Words that say what to do with the unit, and are no options of the watch that it starts.
const OF_THE_UNIT: [&str; 4] = ["watch", "--install", "--dry-run", "--wait"];

/// Writes and starts the unit. A unit that was installed before is replaced.
pub fn install(what: &What, store: &Path, args: &WatchArgs) -> Result<Exit> {
    let store = absolute(store)?;
    let words = options(Command::new(typed()), what, &store, args.metrics.as_ref())?;
    let exe = std::env::current_exe().context("where this program stands cannot be told")?;
    let exe = exe.to_str().context("the path of this program is not text")?;
    let change = plan::watch(&Source::here().machine, exe, &store, &words)?;
    if args.dry_run {
        render::print(&render::watch::unit(&change, true))?;
        return Ok(Exit::Fine);
    }
    allowed_to_change()?;
    let hand = Machine::here();
    no_campaign_but(&hand, None)?;
    remove(&hand)?;
    let asked = TuningRequest { arguments: typed().collect(), ..TuningRequest::default() };
    let request = Request { kind: Purpose::Watch { store: store.clone() }, asked, confirm_within: None };
    let transaction = Transaction::begin(&hand, &request)?;
    let applied = transaction.apply(std::slice::from_ref(&change), Blast::Harmless)?;
    let failed = applied.changes.iter().find_map(|tried| match &tried.fate {
        Fate::TakenBack { why } | Fate::Stuck { why, .. } | Fate::Partly { why, .. } => Some(why.clone()),
        _ => None,
    });
    if let Some(why) = failed {
        if applied.stands {
            revert_patiently(&hand, Extent::Only(applied.transaction))?;
        }
        bail!("the unit of the watch could not be made: {why}");
    }
    render::print(&render::watch::unit(&change, false))?;
    render::say_wrapped(&render::watch::installed(&store));
    Ok(Exit::Fine)
}

/// Ends the watch and removes its unit. The store stays.
pub fn uninstall(dry_run: bool) -> Result<Exit> {
    let hand = Machine::here();
    let stores: Vec<String> = standing(&hand)?.into_iter().map(|(_, store)| store).collect();
    if stores.is_empty() {
        bail!("no watch is installed: punctual watch --install installs one");
    }
    if !dry_run {
        allowed_to_change()?;
        remove(&hand)?;
    }
    render::say_wrapped(&render::watch::uninstalled(&stores.join(", "), dry_run));
    Ok(Exit::Fine)
}

/// The options of the watch that the unit starts. What the project file and the machine decide is written out, because the
/// unit runs in another folder, and must go on to measure the same.
fn options(typed: Command, what: &What, store: &str, metrics: Option<&Place>) -> Result<Vec<String>> {
    let mut command = typed.without("--config").without("--profile");
    let exact = |time: Nanos| format!("{}ns", time.as_ns());
    let budget = match what {
        What::Own(scenario) => {
            let first = scenario.threads.first().context("no CPU is watched")?;
            command = command.with("--cpus", &scenario.cpus().to_string()).with("--period", &exact(first.period));
            if let Policy::Fifo(priority) = scenario.policy {
                command = command.with("--priority", &priority.to_string());
            }
            scenario.budget
        }
        What::Program(subject) => subject.budget,
    };
    if let Some(budget) = budget {
        command = command.with("--budget", &exact(budget));
    }
    let place = match metrics {
        Some(Place::Unix(path)) => Some(format!("unix:{}", absolute(path)?)),
        Some(Place::File(path)) => Some(format!("file:{}", absolute(path)?)),
        Some(Place::Tcp(_)) | None => None,
    };
    if let Some(place) = place {
        command = command.with("--metrics", &place);
    }
    let words = command.with("--store", store).into_words();
    let wait = matches!(what, What::Program(_)).then(|| "--wait".to_owned());
    let kept = words.into_iter().filter(|word| !OF_THE_UNIT.contains(&word.as_str()));
    Ok(kept.chain(wait).collect())
}

fn absolute(path: &Path) -> Result<String> {
    let absolute = std::path::absolute(path).with_context(|| format!("{}: find out where it is", path.display()))?;
    absolute
        .into_os_string()
        .into_string()
        .map_err(|name| anyhow!("{}: the name is not text", Path::new(&name).display()))
}

/// The transactions of installed watches, with their stores.
fn standing(hand: &Machine) -> Result<Vec<(u32, String)>> {
    let contents = journal::read(hand)?.unwrap_or_default();
    let of_watch = |session: &journal::Session| match &session.begun.as_ref()?.kind {
        Purpose::Watch { store } => Some((session.transaction, store.clone())),
        _ => None,
    };
    Ok(contents.standing().filter_map(of_watch).collect())
}

fn remove(hand: &Machine) -> Result<()> {
    for (number, _) in standing(hand)? {
        let reverted = revert_patiently(hand, Extent::Only(number))?;
        if let Some(trouble) = reverted.trouble.first() {
            bail!("not put back: {}; see `punctual status`, then `punctual revert`", trouble.why);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_linux::inspect::Target;
    use punctual_linux::watch::Subject;
    use punctual_numbers::scenario::{Amount, Scenario};

    #[test]
    fn what_the_folder_and_the_machine_decide_is_written_out() {
        let own = What::Own(Scenario {
            budget: Some(Nanos::from_us(100)),
            ..Scenario::plain([2, 3], Nanos::from_ms(1), Policy::Fifo(90), Amount::Time(Nanos::from_secs(1)))
        });
        let words = |typed: &str, metrics: Option<Place>| {
            options(Command::new(typed.split(' ')), &own, "/srv/a b", metrics.as_ref()).unwrap().join(" ")
        };
        let all = "--cpus 2-3 --period 1000000ns --priority 90 --budget 100000ns";
        assert_eq!(words("watch --install --store x", None), format!("{all} --store /srv/a b"));
        assert_eq!(
            words(
                "--lang zh watch --profile p --config=../x.toml --budget 1us --on-late stop --dry-run --install",
                None
            ),
            format!("--lang zh --on-late stop {all} --store /srv/a b")
        );
        let place = Some(Place::File("/run/x.prom".into()));
        assert_eq!(
            words("watch --metrics file:x.prom --install", place),
            format!("{all} --metrics file:/run/x.prom --store /srv/a b")
        );
        let target = Target::Named("arm".to_owned());
        let arm = What::Program(Subject { target, thread: None, waits: true, budget: Some(Nanos::from_us(100)) });
        let typed = Command::new("watch arm --install --budget 100us".split(' '));
        let words = options(typed, &arm, "/srv/a", None).unwrap().join(" ");
        assert_eq!(words, "arm --budget 100000ns --store /srv/a --wait");
    }
}
