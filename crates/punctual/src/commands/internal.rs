//! Commands the program gives to itself, or that only the build uses.

use crate::cli::{Cli, LoadArgs};
use crate::exit::Exit;
use crate::render;
use anyhow::{Context, Result};
use clap::{Command, CommandFactory, ValueEnum};
use punctual_hist::Nanos;
use std::fs;
use std::path::{Path, PathBuf};

/// Runs one load until standard input closes.
pub fn load(args: &LoadArgs) -> Result<Exit> {
    punctual_linux::load::worker_main(&args.name, &args.on, &args.dir, Nanos::from_secs(args.seconds))?;
    Ok(Exit::Fine)
}

pub const READ: &str = "__read";

/// Reads files in the place of another process of this program.
pub fn read() -> Result<Exit> {
    punctual_linux::live::answer().context("standard input is not a stream of questions from this program")?;
    Ok(Exit::Fine)
}

/// Waits, and puts things back when nobody else is left to.
pub fn guard(words: &[String]) -> Result<Exit> {
    punctual_linux::apply::guard::run(&punctual_linux::apply::Machine::here(), words)?;
    Ok(Exit::Fine)
}

/// Asks for short sleeps of the CPUs until this process is ended.
pub fn hold_latency(us: u32) -> Result<Exit> {
    let _held = punctual_linux::apply::LatencyRequest::global(Nanos::from_us(us.into()))
        .map_err(|error| anyhow::anyhow!("the sleep of the CPUs is not limited: {error}; run this as root"))?;
    loop {
        std::thread::park();
    }
}

/// The commands a user is told of.
fn public() -> Command {
    let all = Cli::command();
    let shown = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let mut public = Command::new("punctual").version(env!("CARGO_PKG_VERSION")).subcommands(shown);
    if let Some(about) = all.get_about() {
        public = public.about(about.clone());
    }
    public.subcommand_required(true)
}

/// What every man page says after its options.
const EXIT_STATUS: &str = r#".SH "EXIT STATUS"
.TP
0
Fine: the need was held, or nothing was asked that could fail.
.TP
1
Something failed; usage errors too.
.TP
2
A limit was exceeded: the need was not held, or findings reached \-\-fail\-on.
.TP
3
Inconclusive, or results are missing.
"#;

/// Commands worth typing, by verb.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("check", &["sudo punctual check", "sudo punctual check --profile ethercat --cpus 2-3", "punctual check --brief"]),
    ("audit", &["punctual audit --cpus 2-3", "punctual audit --explain irq.affinity", "punctual audit --fail-on fail"]),
    ("tune", &["sudo punctual tune --cpus 2-3 --dry-run", "sudo punctual tune --for ./my_controller"]),
    ("measure", &["sudo punctual measure --cpus 3 --period 250us --duration 1h --explain"]),
    ("explain", &["punctual explain", "punctual explain run.punctual --spike 1"]),
    ("compare", &["punctual compare before.punctual after.punctual", "punctual compare --full"]),
    ("report", &["punctual report", "punctual report run.punctual --html run.html", "punctual report --plot run.svg"]),
    ("optimize", &["sudo punctual optimize --cpus 3 --time 30m --budget 50us"]),
    ("lint", &["punctual lint", "punctual lint --file /etc/default/grub"]),
    ("init", &["punctual init --profile ethercat --cpus 2-3"]),
    ("revert", &["sudo punctual revert"]),
    ("status", &["punctual status --confirm"]),
    ("export", &["punctual export run.punctual --format csv"]),
    ("merge", &["punctual merge a.punctual b.punctual --out ab.punctual"]),
    ("snapshot", &["punctual snapshot --out machine.txt"]),
];

pub fn man(dir: &Path) -> Result<Exit> {
    clap_mangen::generate_to(public(), dir).with_context(|| format!("write man pages into {}", dir.display()))?;
    for (verb, examples) in EXAMPLES {
        let path = dir.join(format!("punctual-{verb}.1"));
        let page = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        let shown = examples.iter().map(|line| format!(".nf\n    {}\n.fi", line.replace('-', r"\-")));
        let shown = shown.collect::<Vec<_>>().join("\n");
        fs::write(&path, format!("{page}{EXIT_STATUS}.SH EXAMPLES\n{shown}\n"))
            .with_context(|| format!("write {}", path.display()))?;
    }
    Ok(Exit::Fine)
}

/// Puts the man pages where `man` finds them: for all users as root, for this user otherwise.
pub fn install_man() -> Result<Exit> {
    let dir = place("/usr/local/share/man/man1", "man/man1")?;
    man(&dir)?;
    render::say(&format!("Man pages are in {}: man punctual-check", dir.display()));
    Ok(Exit::Fine)
}

/// Puts the completions of bash, zsh and fish where they are looked for.
pub fn install_completions() -> Result<Exit> {
    let places = [
        (
            clap_complete::Shell::Bash,
            "/usr/local/share/bash-completion/completions",
            "bash-completion/completions",
            "punctual",
        ),
        (clap_complete::Shell::Zsh, "/usr/local/share/zsh/site-functions", "zsh/site-functions", "_punctual"),
        (
            clap_complete::Shell::Fish,
            "/usr/local/share/fish/vendor_completions.d",
            "fish/vendor_completions.d",
            "punctual.fish",
        ),
    ];
    for (shell, all, own, name) in places {
        let path = place(all, own)?.join(name);
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut public(), "punctual", &mut script);
        fs::write(&path, script).with_context(|| format!("write {}", path.display()))?;
        render::say(&format!("{shell}: {}", path.display()));
    }
    Ok(Exit::Fine)
}

/// The folder for all users as root, or this user's own; it is made if it is not there.
fn place(all: &str, own: &str) -> Result<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/share"));
    let data = || std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).or_else(home);
    let dir = if rustix::process::geteuid().is_root() {
        PathBuf::from(all)
    } else {
        data().context("HOME is not set, so there is no folder of your own")?.join(own)
    };
    fs::create_dir_all(&dir).with_context(|| format!("make the folder {}", dir.display()))?;
    Ok(dir)
}

/// Writes completions for every shell clap knows.
pub fn completions(dir: &Path) -> Result<Exit> {
    for shell in clap_complete::Shell::value_variants() {
        clap_complete::generate_to(*shell, &mut public(), "punctual", dir)
            .with_context(|| format!("write completions into {}", dir.display()))?;
    }
    Ok(Exit::Fine)
}
