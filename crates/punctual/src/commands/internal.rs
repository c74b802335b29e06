//! Hidden commands, which the program starts itself or only the build uses.

#[cfg(test)]
mod page;

use crate::cli::{Cli, LoadArgs, Quiet};
use crate::exit::Exit;
use crate::render;
use anyhow::{Context, Result};
use clap::{Arg, Command, CommandFactory, ValueEnum};
use clap_complete::{Generator, Shell};
use punctual_hist::Nanos;
use punctual_tuning::knobs;
use std::fs;
use std::path::{Path, PathBuf};

pub fn load(args: &LoadArgs) -> Result<Exit> {
    punctual_linux::load::worker_main(&args.name, &args.on, &args.dir, Nanos::from_secs(args.seconds))?;
    Ok(Exit::Fine)
}

pub const READ: &str = "__read";

/// Reads files on behalf of another process of this program.
pub fn read() -> Result<Exit> {
    punctual_linux::live::answer().context("standard input is not a stream of questions from this program")?;
    Ok(Exit::Fine)
}

/// Waits for the process that applied settings, and restores them if that process ends without doing so.
pub fn guard(words: &[String]) -> Result<Exit> {
    punctual_linux::apply::guard::run(&punctual_linux::apply::Machine::here(), words)?;
    Ok(Exit::Fine)
}

/// Limits how deeply the CPUs may sleep until this process ends.
pub fn hold_latency(us: u32) -> Result<Exit> {
    let _held = punctual_linux::apply::LatencyRequest::global(Nanos::from_us(us.into()))
        .map_err(|error| anyhow::anyhow!("the sleep of the CPUs is not limited: {error}; run this as root"))?;
    loop {
        std::thread::park();
    }
}

fn public() -> Command {
    let all = Cli::command();
    let shown = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let for_all = all.get_arguments().filter(|argument| argument.is_global_set()).cloned();
    let mut public = Command::new("punctual").version(env!("CARGO_PKG_VERSION")).args(for_all).subcommands(shown);
    if let Some(about) = all.get_about() {
        public = public.about(about.clone());
    }
    public.subcommand_required(true)
}

/// (exit code, meaning), the same for every verb.
const EXIT_CODES: [(u8, &str); 4] = [
    (0, "Fine: the need was held, or nothing was asked that could fail."),
    (1, "Something failed; usage errors too."),
    (2, "A limit was exceeded: the need was not held, or findings reached --fail-on."),
    (3, "Inconclusive, or results are missing."),
];

/// (command, examples): the example commands on the man page of each command.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "punctual",
        &["sudo punctual check", "sudo punctual tune --dry-run", "punctual compare before.punctual after.punctual"],
    ),
    (
        "punctual-fleet",
        &[
            "punctual fleet run --hosts hosts.txt -- check --budget 50us",
            "punctual fleet pack results/ --out fleet/",
            "punctual fleet ask fleet/ shared",
        ],
    ),
    (
        "punctual-fleet-run",
        &[
            "punctual fleet run --hosts hosts.txt -- check --budget 50us",
            "punctual fleet run --hosts hosts.txt --sudo -- audit --brief",
        ],
    ),
    ("punctual-man", &["punctual man --install", "man punctual-check"]),
    ("punctual-completions", &["punctual completions --install", "sudo punctual completions --install"]),
    (
        "punctual-check",
        &["sudo punctual check", "sudo punctual check --profile ethercat --cpus 2-3", "punctual check --brief"],
    ),
    (
        "punctual-audit",
        &["punctual audit --cpus 2-3", "punctual audit --explain irq.affinity", "punctual audit --fail-on fail"],
    ),
    ("punctual-tune", &["sudo punctual tune --cpus 2-3 --dry-run", "sudo punctual tune --for ./my_controller"]),
    ("punctual-measure", &["sudo punctual measure --cpus 3 --period 250us --duration 1h --explain"]),
    ("punctual-explain", &["punctual explain", "punctual explain run.punctual --spike 1"]),
    (
        "punctual-inspect",
        &["sudo punctual inspect my_controller", "sudo punctual inspect --fail-on alloc,late=50us -- ./my_loop"],
    ),
    ("punctual-watch", &["sudo punctual watch --cpus 2-3 --budget 100us", "punctual report /var/lib/punctual-watch"]),
    ("punctual-compare", &["punctual compare before.punctual after.punctual", "punctual compare --full"]),
    (
        "punctual-report",
        &["punctual report", "punctual report run.punctual --html run.html", "punctual report --plot run.svg"],
    ),
    ("punctual-optimize", &["sudo punctual optimize --cpus 3 --time 30m --budget 50us"]),
    (
        "punctual-campaign",
        &["sudo punctual campaign suite.toml --dry-run", "sudo punctual campaign suite.toml --html suite.html"],
    ),
    ("punctual-lint", &["punctual lint", "punctual lint --file /etc/default/grub"]),
    ("punctual-init", &["punctual init --profile ethercat --cpus 2-3"]),
    ("punctual-revert", &["sudo punctual revert"]),
    ("punctual-status", &["punctual status --confirm"]),
    ("punctual-export", &["punctual export run.punctual --format csv"]),
    ("punctual-merge", &["punctual merge a.punctual b.punctual --out ab.punctual"]),
    ("punctual-torture", &["sudo punctual torture switches --duration 60s", "punctual torture switches --plant"]),
    ("punctual-lab", &["punctual lab compare --kernel debian:12,debian:12-rt --html kernels.html"]),
    ("punctual-lab-compare", &["punctual lab compare --kernel debian:13+preempt=all,./bzImage"]),
    (
        "punctual-lab-gate",
        &[
            "punctual lab gate --baseline good.lab --kernel ./bzImage --junit lab.xml",
            "punctual lab gate --baseline good.lab --config lab.config --build ./build.sh",
        ],
    ),
    (
        "punctual-lab-bisect",
        &[
            "punctual lab bisect --kernel deb:6.1.deb,deb:6.6.deb,deb:6.12.deb",
            "punctual lab bisect --good-config good.config --bad-config bad.config --build ./build.sh",
        ],
    ),
    ("punctual-trend", &["punctual trend nightly/", "punctual trend nightly/ --html trend.html --fail-on shift"]),
    ("punctual-fleet-pack", &["punctual fleet pack results/ --out fleet/"]),
    ("punctual-fleet-ask", &["punctual fleet ask fleet/ worst", "punctual fleet ask fleet/ newest --json"]),
    ("punctual-share", &["punctual share run.punctual", "punctual share --check their.json"]),
    ("punctual-snapshot", &["punctual snapshot --out machine.txt"]),
];

/// The section of a man page that lists the exit codes.
fn exit_status() -> String {
    let rows = EXIT_CODES.iter().map(|(code, meaning)| format!(".TP\n{code}\n{}\n", meaning.replace('-', r"\-")));
    format!(".SH \"EXIT STATUS\"\n{}", rows.collect::<String>())
}

pub fn man(dir: &Path) -> Result<Exit> {
    clap_mangen::generate_to(public(), dir).with_context(|| format!("write man pages into {}", dir.display()))?;
    for (page, examples) in EXAMPLES {
        let path = dir.join(format!("{page}.1"));
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        let shown = examples.iter().map(|line| format!(".nf\n    {}\n.fi\n", line.replace('-', r"\-")));
        write(&path, &format!("{text}{}.SH EXAMPLES\n{}", exit_status(), shown.collect::<String>()))?;
    }
    Ok(Exit::Fine)
}

/// Puts the man pages where `man` finds them: for all users as root, for this user otherwise.
pub fn install_man(form: Quiet) -> Result<Exit> {
    let dir = place("/usr/local/share/man/man1", "man/man1")?;
    man(&dir)?;
    if !form.quiet {
        // `man` finds a user's own pages through the folders in PATH, which need not be set up for that.
        let share = dir.parent().unwrap_or(&dir).display();
        render::say(&format!("Man pages are in {}: man punctual-check", dir.display()));
        if !rustix::process::geteuid().is_root() {
            render::say(&format!("If man does not find them: man -M {share} punctual-check"));
        }
    }
    Ok(Exit::Fine)
}

pub fn knobs() -> Result<Exit> {
    render::print(&knobs::ALL.iter().map(|knob| knob.id).collect::<Vec<_>>().join("\n"))?;
    Ok(Exit::Fine)
}

/// (command, option) of all options that take ids of knobs.
const TAKES_KNOBS: [(&str, &str); 4] =
    [("audit", "explain"), ("tune", "only"), ("tune", "except"), ("optimize", "knobs")];

/// How the completion script of one shell completes ids of knobs. In a list `a,b` the last id is completed.
struct KnobWords {
    /// The text in clap's script that stands where the ids would be listed.
    listed: &'static str,
    /// The call of `function` that replaces `listed`.
    asked: &'static str,
    /// A shell function, put at the beginning of the script, that asks this program for the ids.
    function: &'static str,
}

fn knob_words(shell: Shell) -> Option<KnobWords> {
    match shell {
        Shell::Bash => Some(KnobWords {
            listed: r#"compgen -W "PUNCTUAL_KNOBS" -- "${cur}""#,
            asked: r#"_punctual_knobs "${cur}""#,
            function: r#"_punctual_knobs() {
    local head=""
    case "$1" in *,*) head="${1%,*}," ;; esac
    compgen -P "${head}" -W "$(punctual __knobs 2>/dev/null)" -- "${1##*,}"
}

"#,
        }),
        Shell::Zsh => Some(KnobWords {
            listed: "(PUNCTUAL_KNOBS)",
            asked: "_punctual_knobs",
            function: r#"#compdef punctual

_punctual_knobs() {
    local -a knobs
    knobs=(${(f)"$(punctual __knobs 2>/dev/null)"})
    compset -P '*,'
    compadd -a knobs
}
"#,
        }),
        Shell::Fish => Some(KnobWords {
            listed: r"PUNCTUAL_KNOBS\t''",
            asked: "(__fish_punctual_knobs)",
            function: r#"function __fish_punctual_knobs
	set -l head (commandline -ct | string replace -r '^--[^=]*=' '' | string match -r '^.*,')
	punctual __knobs 2>/dev/null | string replace -r '^' -- "$head"
end

"#,
        }),
        _ => None,
    }
}

fn script(shell: Shell) -> Result<String> {
    let mut bytes = Vec::new();
    let any_knob = |arg: Arg| arg.value_parser(["PUNCTUAL_KNOBS"]);
    let mut command = TAKES_KNOBS
        .into_iter()
        .fold(public(), |command, (verb, option)| command.mut_subcommand(verb, |verb| verb.mut_arg(option, any_knob)));
    clap_complete::generate(shell, &mut command, "punctual", &mut bytes);
    let script = String::from_utf8(bytes).context("the completions are not text")?;
    let Some(KnobWords { listed, asked, function }) = knob_words(shell) else { return Ok(script) };
    let script = script.replace(listed, asked);
    // The first line tells zsh which command the file completes, so it must stay first.
    Ok(format!("{function}{}", script.strip_prefix("#compdef punctual\n").unwrap_or(&script)))
}

/// Installs the completions of bash, zsh and fish where these shells look for them.
pub fn install_completions(form: Quiet) -> Result<Exit> {
    let share = "/usr/local/share/";
    for (shell, folder, for_this_user) in [
        (Shell::Bash, "bash-completion/completions", "bash-completion/completions"),
        (Shell::Zsh, "zsh/site-functions", "zsh/site-functions"),
        (Shell::Fish, "fish/vendor_completions.d", "fish/vendor_completions.d"),
    ] {
        let name = if shell == Shell::Bash { "punctual".to_owned() } else { shell.file_name("punctual") };
        let path = place(&format!("{share}{folder}"), for_this_user)?.join(name);
        write(&path, &script(shell)?)?;
        if form.quiet {
            continue;
        }
        render::say(&format!("{shell}: {}", path.display()));
        // Shells look into the folders of all users by themselves, but zsh into no folder of one user.
        let folder = path.parent().unwrap_or(&path).display();
        if shell == Shell::Zsh && !rustix::process::geteuid().is_root() {
            render::say(&format!("     zsh: add to ~/.zshrc, above compinit: fpath+=({folder})"));
        }
    }
    Ok(Exit::Fine)
}

/// The folder to install into: `all` for root, otherwise `own` below this user's data folder. It is created if missing.
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

pub fn completions(dir: &Path) -> Result<Exit> {
    for shell in Shell::value_variants() {
        write(&dir.join(shell.file_name("punctual")), &script(*shell)?)?;
    }
    Ok(Exit::Fine)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_ask_for_the_knobs_and_list_none() {
        for shell in Shell::value_variants() {
            let script = script(*shell).unwrap();
            assert!(!script.contains("PUNCTUAL_KNOBS") && !script.contains("sched.rt_runtime"), "{shell}");
            let asks = script.matches("punctual __knobs").count();
            assert_eq!(asks, usize::from(knob_words(*shell).is_some()), "{shell}");
            if let Some(KnobWords { asked, function, .. }) = knob_words(*shell) {
                let asking = script.strip_prefix(function).unwrap().matches(asked).count();
                assert_eq!(asking, TAKES_KNOBS.len(), "{shell}");
            }
        }
        assert!(script(Shell::Zsh).unwrap().starts_with("#compdef punctual\n"));
    }

    #[test]
    fn every_page_has_examples_and_exit_status() {
        let dir = tempfile::tempdir().unwrap();
        man(dir.path()).unwrap();
        let pages: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|page| page.unwrap().path()).collect();
        assert!(pages.len() > 16, "{pages:?}");
        for page in pages {
            let text = fs::read_to_string(&page).unwrap();
            for section in [".SH \"EXIT STATUS\"\n", ".SH EXAMPLES\n.nf\n    "] {
                assert_eq!(text.matches(section).count(), 1, "{}: {section}", page.display());
            }
        }
    }
}
