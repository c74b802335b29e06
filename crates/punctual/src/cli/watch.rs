//! Options of `punctual watch`.

use super::value::{parse_cpus, parse_duration, parse_percent, parse_size};
use super::{NeedArgs, Quiet};
use clap::Args;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use punctual_linux::watch::{Action, BYTES_MIN, Place};
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub struct WatchArgs {
    /// Watch the threads of this running program instead of threads of punctual. Name it by its process id, its name,
    /// or its systemd service, as in loop.service; a program that is restarted is found again
    #[arg(value_name = "PROGRAM", conflicts_with_all = ["cpus", "period", "priority", "uninstall"])]
    pub program: Option<String>,
    /// Watch only this thread of PROGRAM, given by its id or its name
    #[arg(long, value_name = "THREAD", requires = "program")]
    pub thread: Option<String>,
    /// If PROGRAM does not run yet, wait for it; --install implies this
    #[arg(long, requires = "program")]
    pub wait: bool,
    #[command(flatten)]
    pub need: NeedArgs,
    /// CPUs to watch, for example 2-3 [default: the isolated ones, or all but the first core]
    #[arg(long, value_name = "LIST", value_parser = parse_cpus)]
    pub cpus: Option<CpuSet>,
    /// Time between releases; the watch makes it longer if it would cost too much [default: the profile's, or 1ms]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub period: Option<Nanos>,
    /// Largest latency you can live with: activations beyond it are counted, and cause the actions of --on-late
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Nanos>,
    /// SCHED_FIFO priority, 1 to 95: choose that of the work whose latency you want to know [default: the profile's, or 90]
    #[arg(long, value_name = "N")]
    pub priority: Option<u8>,
    /// Folder for the results [default: /var/lib/punctual-watch as root, else ~/.local/state/punctual/watch]
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Largest size of the folder for the results; when it is full, the oldest days lose detail
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = parse_store_size)]
    pub keep: u64,
    /// Largest share of one CPU, for each watched CPU or thread, that the watch may use; if it would use more, it
    /// measures less, and says what it gives up
    #[arg(long, value_name = "PERCENT", default_value = "0.1", value_parser = parse_percent)]
    pub cost: f64,
    /// What to do after an activation beyond the budget: a command, or snapshot, stop, or signal=NAME,PID; may be given
    /// several times, and is done at most once in ten seconds
    #[arg(long, value_name = "ACTION", value_parser = parse_action, requires = "budget")]
    pub on_late: Vec<Action>,
    /// Where Prometheus finds the metrics: a loopback address as in 127.0.0.1:9464, unix:PATH, or file:PATH
    #[arg(long, value_name = "PLACE", value_parser = parse_place)]
    pub metrics: Option<Place>,
    /// Do not record what the kernel does on the watched CPUs, so that late activations have no causes
    #[arg(long)]
    pub no_trace: bool,
    /// How long to watch [default: until it is ended]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub duration: Option<Nanos>,
    /// Write a systemd unit that watches with these options from now on, also after each boot, and start it
    #[arg(long, group = "unit", conflicts_with = "duration")]
    pub install: bool,
    /// End the watch that --install began, and remove its unit; the folder with the results is kept
    #[arg(long, group = "unit")]
    pub uninstall: bool,
    /// With --install or --uninstall, say what would be written and do nothing
    #[arg(long, requires = "unit")]
    pub dry_run: bool,
    #[command(flatten)]
    pub form: Quiet,
}

fn parse_store_size(text: &str) -> Result<u64, String> {
    let bytes = parse_size(text)?;
    let least = BYTES_MIN >> 20;
    if bytes >= BYTES_MIN { Ok(bytes) } else { Err(format!("'{text}' is too small: at least {least}M")) }
}

fn parse_action(text: &str) -> Result<Action, String> {
    let wrong = || format!("'{text}': write signal=NAME,PID, as in signal=USR1,4711");
    match text {
        "" => Err("it is empty: write a command, or snapshot, stop, or signal=NAME,PID".to_owned()),
        "snapshot" => Ok(Action::Snapshot),
        "stop" => Ok(Action::Stop),
        _ => match text.strip_prefix("signal=") {
            None => Ok(Action::Run(text.strip_prefix("run=").unwrap_or(text).to_owned())),
            Some(words) => {
                let (name, pid) = words.split_once(',').ok_or_else(wrong)?;
                let name = name.trim().to_ascii_uppercase();
                let name = name.strip_prefix("SIG").unwrap_or(&name).to_owned();
                let known = SIGNALS.iter().find(|(known, _)| *known == name);
                let (_, number) = known.ok_or_else(|| {
                    let names: Vec<&str> = SIGNALS.iter().map(|(name, _)| *name).collect();
                    format!("there is no signal '{name}' to choose from {}", names.join(", "))
                })?;
                let pid = pid.trim().parse().ok().filter(|pid| *pid > 1).ok_or_else(wrong)?;
                Ok(Action::Signal { name, number: *number, pid })
            }
        },
    }
}

/// Signals that one program sends another, with their numbers, which are the same on all architectures of ours.
const SIGNALS: [(&str, i32); 9] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ABRT", 6),
    ("KILL", 9),
    ("USR1", 10),
    ("USR2", 12),
    ("TERM", 15),
    ("CONT", 18),
];

fn parse_place(text: &str) -> Result<Place, String> {
    if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
        return Ok(Place::Unix(path.into()));
    }
    if let Some(path) = text.strip_prefix("file:").filter(|path| !path.is_empty()) {
        return Ok(Place::File(path.into()));
    }
    let address = text.strip_prefix("tcp:").unwrap_or(text).parse();
    address.map(Place::Tcp).map_err(|_| {
        format!("'{text}' is none of an address as in 127.0.0.1:9464 or [::1]:9464, unix:PATH and file:PATH")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_told_from_commands() {
        let run = |text: &str| Ok(Action::Run(text.to_owned()));
        assert_eq!(parse_action("stop"), Ok(Action::Stop));
        assert_eq!(parse_action("run=stop"), run("stop"));
        assert_eq!(parse_action("logger 'it''s late'"), run("logger 'it''s late'"));
        let signal = Action::Signal { name: "USR1".to_owned(), number: 10, pid: 4711 };
        assert_eq!(parse_action("signal=sigusr1,4711"), Ok(signal.clone()));
        assert_eq!(parse_action("signal=USR1, 4711"), Ok(signal));
        for wrong in
            ["", "signal=", "signal=USR1", "signal=USR1,x", "signal=USR1,0", "signal=USR1,-1", "signal=SEGV,4711"]
        {
            assert!(parse_action(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn places_are_loopback_sockets_or_files() {
        assert_eq!(parse_place("unix:/run/a b.sock"), Ok(Place::Unix("/run/a b.sock".into())));
        assert_eq!(parse_place("file:x.prom"), Ok(Place::File("x.prom".into())));
        assert_eq!(parse_place("127.0.0.1:9464"), parse_place("tcp:127.0.0.1:9464"));
        for wrong in ["", "unix:", "file:", "localhost:9464", "9464", "127.0.0.1", "127.0.0.1:99999"] {
            assert!(parse_place(wrong).is_err(), "{wrong}");
        }
        assert!(parse_store_size("4M").is_ok() && parse_store_size("3M").is_err());
    }
}
