//! Compares the plans for every machine in `fixtures/boot` with expectations. `BLESS=1 cargo test` writes the
//! expectations anew.

use super::*;
use proptest::prelude::*;
use punctual_facts::tree::MemTree;
use std::fmt::Write as _;
use std::path::PathBuf;

fn wanted() -> Wanted {
    let pair = |place: &str, value: &str| KeptValue { place: place.to_owned(), value: value.to_owned() };
    let list = |all: &[&str]| all.iter().map(|word| (*word).to_owned()).collect();
    Wanted {
        words: list(&["isolcpus=managed_irq,domain,2-3", "nohz_full=2-3", "rcu_nocbs=2-3", "irqaffinity=0-1"]),
        no_words: list(&["nosmt"]),
        sysctls: vec![pair("vm.stat_interval", "10"), pair("kernel.timer_migration", "0")],
        writes: vec![
            pair("/sys/devices/virtual/workqueue/cpumask", "3"),
            pair("/sys/kernel/debug/sched/fair_server/cpu*/runtime", "0"),
        ],
        udev: list(&["SUBSYSTEM==\"usb\", ATTR{power/control}=\"on\""]),
        module_options: list(&["snd_hda_intel power_save=0"]),
        no_modules: list(&["iTCO_wdt"]),
        limits: list(&["@realtime - rtprio 95"]),
        manager_cpus: Some(CpuSet::parse_list("0-1").unwrap()),
        hold_latency_us: Some(0),
        boot_service: true,
        exe: "/usr/local/bin/punctual".to_owned(),
        panic_seconds: 10,
    }
}

fn bytes(text: &mut String, bytes: &[u8]) {
    let shown = String::from_utf8_lossy(bytes);
    // The length of the padding of an environment block does not matter.
    let padding = shown.len() - shown.trim_end_matches('#').len();
    let shown = if padding > 8 { format!("{}#...", shown.trim_end_matches('#')) } else { shown.into_owned() };
    for line in shown.lines() {
        writeln!(text, "      | {line}").unwrap();
    }
}

fn invocation(of: Option<&Invocation>) -> String {
    of.map_or("-".to_owned(), |run| format!("{} {}", run.program, run.arguments.join(" ")))
}

fn steps(text: &mut String, steps: &[Step]) {
    for step in steps {
        match step {
            Step::Own { path, content, mode } => {
                writeln!(text, "    own {path} {mode:o}").unwrap();
                bytes(text, content.as_bytes());
            }
            Step::Edit { path, seen, content, also_ours, in_place } => {
                let how = if *in_place { ", in place" } else { "" };
                writeln!(text, "    edit {path} ({} bytes seen, {} texts also ours{how})", seen.len(), also_ours.len())
                    .unwrap();
                bytes(text, content);
            }
            Step::Remove { path } => writeln!(text, "    remove {path}").unwrap(),
            Step::Run { doing, undoing } => {
                writeln!(text, "    run {}; undone by {}", invocation(doing.as_ref()), invocation(undoing.as_ref()))
                    .unwrap();
            }
            other => panic!("{other:?} is nothing that lasts"),
        }
    }
}

fn limits(text: &mut String, limits: &[String]) {
    for limit in limits {
        writeln!(text, "    limit: {limit}").unwrap();
    }
}

fn lasted(text: &mut String, result: Result<Lasted, Obstacle>) {
    match result {
        Ok(done) => {
            steps(text, &done.steps);
            limits(text, &done.limits);
        }
        Err(why) => writeln!(text, "    refused: {why}").unwrap(),
    }
}

/// Everything that is planned for a machine. The adoption is planned for the machine in the state in which the trial
/// left it.
fn planned(tree: &MemTree) -> String {
    let (machine, wanted) = (Machine::read(tree), wanted());
    let mut text = "trial\n".to_owned();
    let mut after = tree.clone();
    match trial(tree, &machine, &wanted) {
        Ok(trial) => {
            steps(&mut text, &trial.steps);
            limits(&mut text, &trial.limits);
            writeln!(text, "    starts: {:?}", trial.starts).unwrap();
            done(&mut after, &trial.steps);
        }
        Err(why) => writeln!(text, "    refused: {why}").unwrap(),
    }
    text.push_str("\nadopt\n");
    lasted(&mut text, adopt(&after, &machine, &wanted));
    text.push_str("\nfiles\n");
    lasted(&mut text, files(tree, &machine, &wanted));
    text
}

fn done(tree: &mut MemTree, steps: &[Step]) {
    for step in steps {
        match step {
            Step::Own { path, content, .. } => tree.file(path, Fact::Known(content.clone().into_bytes())),
            Step::Edit { path, seen, content, .. } => {
                assert_eq!(tree.read(path).known(), Some(seen), "{path}");
                tree.file(path, Fact::Known(content.clone()));
            }
            Step::Remove { path } => {
                assert!(tree.read(path).known().is_some(), "{path}");
                tree.file(path, Fact::Absent);
            }
            _ => {}
        }
    }
}

fn fixtures() -> Vec<(PathBuf, MemTree)> {
    let paths = fixtures::files("boot", "machine");
    assert!(paths.len() >= 23);
    let read = |path: PathBuf| {
        let tree = MemTree::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        (path, tree)
    };
    paths.into_iter().map(read).collect()
}

fn fixture(name: &str) -> (MemTree, Machine) {
    let found = fixtures().into_iter().find(|(path, _)| path.file_stem().unwrap() == name);
    let tree = found.unwrap().1;
    let machine = Machine::read(&tree);
    (tree, machine)
}

#[test]
fn each_loader_and_init_gets_its_steps() {
    for (path, tree) in fixtures() {
        let planned = planned(&tree);
        fixtures::check(&path.with_extension("steps"), &planned);
    }
}

#[test]
fn what_was_done_is_not_done_again() {
    for (path, mut tree) in fixtures() {
        let machine = Machine::read(&tree);
        let mut later = wanted();
        for result in [adopt(&tree, &machine, &wanted()), files(&tree, &machine, &wanted())] {
            done(&mut tree, &result.map(|lasted| lasted.steps).unwrap_or_default());
        }
        for result in [adopt(&tree, &machine, &wanted()), files(&tree, &machine, &wanted())] {
            assert_eq!(result.map(|lasted| lasted.steps).unwrap_or_default(), [], "{}", path.display());
        }
        // A later plan that wants something else keeps the lines of the earlier plan.
        later.words = vec!["skew_tick=1".to_owned()];
        later.sysctls = vec![KeptValue { place: "kernel.watchdog".to_owned(), value: "0".to_owned() }];
        later.hold_latency_us = None;
        for result in [adopt(&tree, &machine, &later), files(&tree, &machine, &later)] {
            for step in result.map(|lasted| lasted.steps).unwrap_or_default() {
                let text = match step {
                    Step::Own { path, content, .. } if path.contains("u-boot-menu") || path.contains("grub") => content,
                    Step::Edit { path, content, .. } if !path.contains("rc.local") => {
                        String::from_utf8(content).unwrap()
                    }
                    _ => continue,
                };
                assert!(text.contains("isolcpus=managed_irq,domain,2-3") && text.contains("skew_tick=1"), "{text}");
            }
        }
    }
}

#[test]
fn an_earlier_fragment_is_read_as_a_shell_would_read_it() {
    let (mut tree, machine) = fixture("debian-12-grub-menu");
    let adopted = adopt(&tree, &machine, &wanted()).unwrap();
    done(&mut tree, &adopted.steps);
    let places = punctual_facts::machine::configured(&tree, &machine.boot, None);
    let line = " isolcpus=managed_irq,domain,2-3 nohz_full=2-3 rcu_nocbs=2-3 irqaffinity=0-1 quiet";
    assert_eq!(places[0].line, Fact::Known(line.to_owned()));
}

#[test]
fn what_counts_more_than_ours_is_a_conflict_or_costs_that_one_value() {
    let (mut tree, machine) = fixture("debian-12-grub-menu");
    tree.file("/etc/default/grub.d/zzz.cfg", Fact::Known(b"GRUB_CMDLINE_LINUX=quiet\n".to_vec()));
    assert!(matches!(adopt(&tree, &machine, &wanted()), Err(Obstacle::Conflict { .. })));
    tree.file(
        "/usr/lib/tmpfiles.d/00-a.conf",
        Fact::Known(b"w /sys/devices/virtual/workqueue/cpumask - - - - f\n".to_vec()),
    );
    let lost = |tree: &MemTree| {
        let lasted = files(tree, &machine, &wanted()).unwrap();
        assert_eq!(lasted.limits.iter().filter(|limit| limit.contains("is not kept")).count(), lasted.lost.len());
        let text = format!("{:?}", lasted.steps);
        let written =
            |lost: &Lost| text.contains(&format!("w {} ", lost.what)) || text.contains(&format!("{} = ", lost.what));
        assert!(!lasted.lost.iter().any(written) && text.contains("kernel.timer_migration"), "{text}");
        lasted.lost.into_iter().map(|lost| lost.what).collect::<Vec<_>>()
    };
    assert_eq!(lost(&tree), ["/sys/devices/virtual/workqueue/cpumask"]);
    tree.file("/usr/lib/tmpfiles.d/00-a.conf", Fact::Absent);
    assert!(lost(&tree).is_empty());
    tree.file("/etc/sysctl.d/99-zzz.conf", Fact::Known(b"vm/stat_interval=1\nkernel.timer_migration=0\n".to_vec()));
    assert_eq!(lost(&tree), ["vm.stat_interval"]);
    tree.file("/etc/sysctl.d/99-zzz.conf", Fact::Absent);
    // A line that names the file takes effect before a pattern, whichever is read first.
    let named = "w /sys/kernel/debug/sched/fair_server/cpu2/runtime - - - - 50000000\n";
    tree.file("/usr/lib/tmpfiles.d/x.conf", Fact::Known(named.as_bytes().to_vec()));
    assert_eq!(lost(&tree), ["/sys/kernel/debug/sched/fair_server/cpu*/runtime"]);
    let other = "# GRUB Environment Block\nnext_entry=2\n##################################################";
    tree.file("/boot/grub/grubenv", Fact::Known(other.as_bytes().to_vec()));
    assert!(matches!(trial(&tree, &machine, &wanted()), Err(Obstacle::Conflict { .. })));
}

#[test]
fn nothing_that_means_more_than_itself_is_written() {
    let (tree, machine) = fixture("debian-12-grub-menu");
    for evil in
        ["a=$(reboot)", "a=`reboot`", "a=\"b", "a='b", "a=b c", "a=b;c", "a\\", "a=*", "", "=a", "--", "a\nb", "a={b}"]
    {
        let word = Wanted { words: vec![evil.to_owned()], ..Wanted::default() };
        let no_word = Wanted { no_words: vec![evil.to_owned()], ..Wanted::default() };
        for bad in [word, no_word] {
            assert!(matches!(trial(&tree, &machine, &bad), Err(Obstacle::Unfit { .. })), "{evil}");
            assert!(matches!(adopt(&tree, &machine, &bad), Err(Obstacle::Unfit { .. })), "{evil}");
            assert!(matches!(merge("quiet", &bad), Err(Obstacle::Unfit { .. })), "{evil}");
        }
    }
    let one = |place: &str, value: &str| vec![KeptValue { place: place.to_owned(), value: value.to_owned() }];
    let bad = [
        Wanted { sysctls: one("../x", "1"), ..Wanted::default() },
        Wanted { sysctls: one("a.b", "1\nkernel.modules_disabled = 1"), ..Wanted::default() },
        Wanted { sysctls: one("kernel.core_pattern", "|/bin/x"), ..Wanted::default() },
        Wanted { sysctls: one("kernel/modprobe", "/bin/x"), ..Wanted::default() },
        Wanted { sysctls: one("a.b", "1'; reboot; '"), ..Wanted::default() },
        Wanted { writes: one("/sys/power/state", "mem"), ..Wanted::default() },
        Wanted { writes: one("/sys/kernel/uevent_h*", "/bin/x"), ..Wanted::default() },
        Wanted { writes: one("/etc/passwd", "1"), ..Wanted::default() },
        Wanted { writes: one("/sys/../etc/passwd", "1"), ..Wanted::default() },
        Wanted { writes: one("/sys/a", "1'; reboot; '"), ..Wanted::default() },
        Wanted { udev: vec!["ACTION==\"add\", RUN+=\"/bin/x\"".to_owned()], ..Wanted::default() },
        Wanted { no_modules: vec!["a\ninstall b c".to_owned()], ..Wanted::default() },
        Wanted { limits: vec!["@a - rtprio".to_owned()], ..Wanted::default() },
        Wanted { boot_service: true, exe: "punctual".to_owned(), ..Wanted::default() },
        Wanted { manager_cpus: Some(CpuSet::new()), ..Wanted::default() },
    ];
    for bad in bad {
        assert!(matches!(files(&tree, &machine, &bad), Err(Obstacle::Unfit { .. })), "{bad:?}");
    }
}

#[test]
fn a_unit_of_a_watch_quotes_its_words() {
    let words = ["--on-late", "logger \"50%\" of $BUDGET \\"].map(str::to_owned);
    let (_, machine) = fixture("debian-12-grub-menu");
    let made = watch(&machine, "/usr/bin/punctual", "/srv/$a b", &words).unwrap();
    let mut text = String::new();
    steps(&mut text, &made);
    assert_eq!(
        text.replace("| \n", "|\n"),
        r#"    run -; undone by systemctl daemon-reload
    own /etc/systemd/system/punctual-watch.service 644
      | # Made by punctual; undone by `punctual revert`.
      | [Unit]
      | Description=Watch the latency of this machine
      | RequiresMountsFor=/usr/bin/punctual "/srv/$a b"
      | After=multi-user.target
      | StartLimitIntervalSec=0
      |
      | [Service]
      | ExecStart=/usr/bin/punctual watch "--on-late" "logger \"50%%\" of $$BUDGET \\"
      | Restart=on-failure
      | RestartPreventExitStatus=2
      | RestartSec=10
      | TimeoutStopSec=30
    own /etc/systemd/system/multi-user.target.d/punctual-watch.conf 644
      | # Made by punctual; undone by `punctual revert`.
      | [Unit]
      | Wants=punctual-watch.service
    run systemctl daemon-reload; undone by -
    run systemctl restart punctual-watch.service; undone by systemctl stop punctual-watch.service
"#
    );
    for bad in ["a\nb", "", "caf\u{e9}", " x"] {
        let refused = watch(&machine, "/usr/bin/punctual", "/srv", &[bad.to_owned()]);
        assert!(matches!(refused, Err(Obstacle::Unfit { .. })), "{bad:?}");
        assert!(matches!(watch(&machine, "/usr/bin/punctual", bad, &[]), Err(Obstacle::Unfit { .. })), "{bad:?}");
    }
    let (_, container) = fixture("container");
    assert!(matches!(watch(&container, "/usr/bin/punctual", "/srv", &[]), Err(Obstacle::Container(_))));
    let (_, other) = fixture("alpine-openrc");
    assert!(matches!(watch(&other, "/usr/bin/punctual", "/srv", &[]), Err(Obstacle::ByHand(_))));
}

fn merged(line: &str, words: &[&str], no_words: &[&str]) -> Result<String, Obstacle> {
    let list = |all: &[&str]| all.iter().map(|word| (*word).to_owned()).collect();
    merge(line, &Wanted { words: list(words), no_words: list(no_words), ..Wanted::default() })
}

#[test]
fn words_are_merged_as_the_kernel_reads_them() {
    let good = |line: &str, words: &[&str], no: &[&str], new: &str| assert_eq!(merged(line, words, no).unwrap(), new);
    good("ro  quiet", &["a=1"], &[], "ro quiet a=1");
    good("ro  quiet", &[], &["a"], "ro  quiet");
    good("ro nohz-full=1 quiet", &["nohz_full=2-3"], &[], "ro quiet nohz_full=2-3");
    good("ro nohz_full=2-3  quiet", &["nohz_full=2-3"], &[], "ro nohz_full=2-3  quiet");
    good("a=1 b a=2 a=1", &["a=1"], &[], "b a=1");
    good("ro -- a=1", &["a=2"], &["b"], "ro a=2 -- a=1");
    good("console=tty0 x", &["console=ttyS0"], &[], "console=tty0 x console=ttyS0");
    good("console=tty0 console=ttyS0", &[], &["console=tty0"], "console=ttyS0");
    good(
        "hugepagesz=2M hugepages=4",
        &["hugepagesz=1G", "hugepages=4"],
        &[],
        "hugepagesz=2M hugepages=4 hugepagesz=1G hugepages=4",
    );
    good("dyndbg=\"file a +p\" a=\"b c\"", &["a=2"], &[], "dyndbg=\"file a +p\" a=2");
    good("isolcpus=nohz,domain,1", &["isolcpus=managed_irq,domain,2-3"], &[], "isolcpus=managed_irq,domain,nohz,2-3");
    good("isolcpus=1", &["isolcpus=managed_irq,2-3"], &[], "isolcpus=managed_irq,domain,2-3");
    good("isolcpus=managed_irq,1", &["isolcpus=2-3"], &[], "isolcpus=domain,managed_irq,2-3");
    good("isolcpus=domain,1", &["isolcpus=2-3"], &[], "isolcpus=2-3");
    good(
        "isolcpus=nohz,domain,managed_irq,2,3",
        &["isolcpus=managed_irq,domain,2-3"],
        &[],
        "isolcpus=nohz,domain,managed_irq,2,3",
    );
    assert!(matches!(merged("a=\"b", &["c"], &[]), Err(Obstacle::Unfit { .. })));
    assert!(matches!(merged("caf\u{e9}", &["c"], &[]), Err(Obstacle::Unfit { .. })));
    assert_eq!(merged(&"x".repeat(2045), &["c"], &[]).unwrap().len(), 2047);
    assert!(matches!(merged(&"x".repeat(2046), &["c"], &[]), Err(Obstacle::TooLong { bytes: 2049, kept: 2048 })));
}

#[test]
fn a_trial_of_a_kernel_that_panics_comes_back() {
    let wanted = Wanted { words: vec!["a=1".to_owned()], panic_seconds: 10, ..Wanted::default() };
    for (line, new) in [("ro", "ro a=1 panic=10"), ("panic=5", "panic=5 a=1"), ("panic=0 ro", "ro a=1 panic=10")] {
        assert_eq!(tried(line, &wanted).unwrap(), new);
    }
}

#[test]
fn every_artefact_is_printed() {
    use Artefact::{Cmdline, Extlinux, Grub, Sysctl, Systemd, SystemdBoot, Tmpfiles, Uboot};
    let (_, machine) = fixture("debian-12-grub-menu");
    let mut text = String::new();
    for kind in [Cmdline, Grub, Extlinux, Uboot, SystemdBoot, Sysctl, Tmpfiles, Systemd] {
        writeln!(text, "--- {kind:?}").unwrap();
        text.push_str(&print(kind, &wanted(), &machine).unwrap());
    }
    fixtures::check(&fixtures::repository("fixtures/boot/debian-12-grub-menu.artefacts"), &text);
}

fn word() -> impl Strategy<Value = String> {
    let names = "nohz_full nohz-full quiet isolcpus console ro hugepages x.y-z";
    let name = prop::sample::select(names.split(' ').collect::<Vec<_>>());
    let value = prop::sample::select(vec!["", "=1", "=2-3", "=managed_irq,domain,1", "=tty0,115200"]);
    (name, value).prop_map(|(name, value)| format!("{name}{value}"))
}

fn words_of(line: &str) -> Vec<punctual_facts::cmdline::Token> {
    punctual_facts::cmdline::words(line.as_bytes())
}

proptest! {
    #[test]
    fn a_merged_line_holds_what_is_wanted(
        line in prop::collection::vec(prop_oneof![word(), Just("dyndbg=\"file a +p\"".to_owned()), Just("--".to_owned())], 0..8),
        words in prop::collection::vec(word(), 0..5),
        no_words in prop::collection::vec(word(), 0..3),
    ) {
        let line = line.join(" ");
        let wanted = Wanted { words, no_words, ..Wanted::default() };
        let new = merge(&line, &wanted).unwrap();
        prop_assert_eq!(&merge(&new, &wanted).unwrap(), &new);
        let kernels = |line: &str| words_of(line).into_iter().take_while(|t| t.raw != "--").collect::<Vec<_>>();
        let (before, after) = (kernels(&line), kernels(&new));
        // Of several words with the same name the last one takes effect, and the flags of isolcpus are merged.
        for (at, word) in wanted.words.iter().enumerate() {
            let token = &words_of(word)[0];
            let is_last = !wanted.words[at + 1..].iter().any(|later| words_of(later)[0].name == token.name);
            let found: Vec<_> = after.iter().filter(|t| t.name == token.name).collect();
            let adds_up = ["console", "hugepages"].contains(&token.name.as_str());
            prop_assert!(!found.is_empty());
            if token.name == "isolcpus" {
                prop_assert_eq!(found.len(), 1);
            } else if adds_up {
                prop_assert!(found.iter().any(|t| t.value == token.value));
            } else if is_last {
                prop_assert!(found.len() == 1 && found[0].value == token.value);
            }
        }
        let is_named = |token: &punctual_facts::cmdline::Token| {
            wanted.words.iter().chain(&wanted.no_words).any(|word| words_of(word)[0].name == token.name)
        };
        let others = |tokens: &[punctual_facts::cmdline::Token]| {
            tokens.iter().filter(|t| !is_named(t)).map(|t| t.raw.clone()).collect::<Vec<_>>()
        };
        prop_assert_eq!(others(&before), others(&after));
        let inits = |line: &str| words_of(line).into_iter().skip_while(|t| t.raw != "--").map(|t| t.raw).collect::<Vec<_>>();
        prop_assert_eq!(inits(&line), inits(&new));
    }

    #[test]
    fn no_line_of_any_kind_is_trouble(line in "\\PC{0,60}") {
        let _ = merge(&line, &wanted());
    }
}
