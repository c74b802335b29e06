//! What ends a command of `punctual lab` early: signals, a full disk, no network. The same command then goes on.

use super::Bench;
use crate::run::{Said, until};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

const COMPARE: [&str; 8] = ["compare", "--kernel", "good.img,bad.img", "--seeds", "3", "--no-explain", "--out", "out"];

/// The names of files in the folder of results that end so.
fn kept(bench: &Bench, ending: &str) -> Vec<String> {
    let names = fs::read_dir(bench.0.path("out")).into_iter().flatten();
    let mut names: Vec<String> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(ending));
    names.sort();
    names
}

/// Asserts that nothing but results and logs is in the folder of results.
#[track_caller]
fn assert_no_leftovers(bench: &Bench) {
    let known = [".punctual", ".preempt", ".gz", ".log"];
    let others: Vec<String> =
        kept(bench, "").into_iter().filter(|name| !known.iter().any(|end| name.ends_with(end))).collect();
    assert_eq!(others, [""; 0]);
}

/// What the comparison says where nothing ends it early.
fn undisturbed() -> Said {
    Bench::new().lab(&COMPARE)
}

/// Ends a comparison while its second guest runs, and returns what it said. `whom` is the process, or its group with a
/// minus before it, as a terminal has it.
fn ended_by(bench: &Bench, signal: &str, whom: &str) -> Said {
    fs::write(bench.0.path("hold"), "").unwrap();
    let mut command = bench.command(&COMPARE, "1");
    let child = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the second guest runs", || bench.0.path("held").is_file());
    let whom = format!("{whom}{}", child.id());
    assert!(Command::new("kill").args([signal, "--", &whom]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let guest = fs::read_to_string(bench.0.path("held")).unwrap();
    until("the guest is gone", || !is_running(guest.trim()));
    fs::remove_file(bench.0.path("hold")).unwrap();
    assert_eq!(output.status.signal().is_some(), signal == "-KILL", "{output:?}");
    Said::of(output)
}

/// Whether the process exists and is not a zombie, which waits only for its parent to look at it.
fn is_running(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.contains("State:") && !status.contains("State:\tZ")
}

#[test]
fn an_interrupted_comparison_goes_on_where_it_was() {
    let whole = undisturbed();
    assert!(whole.code == 0 && whole.out.contains("bad.img is worse under io-write"), "{whole:?}");
    for (signal, whom) in [("-INT", "-"), ("-TERM", ""), ("-HUP", "")] {
        let bench = Bench::new();
        let said = ended_by(&bench, signal, whom);
        assert_eq!((said.code, said.out.as_str()), (3, ""), "{signal}: {said:?}");
        let parts = ["Interrupted; to continue, type the same command again", "is in out"];
        assert!(parts.iter().all(|part| said.err.contains(part)), "{signal}: {said:?}");
        assert!(!said.err.contains("not measured"), "no kernel is blamed: {said:?}");
        assert_eq!(kept(&bench, ".punctual").len(), 1, "{signal}");
        assert_no_leftovers(&bench);
        assert_eq!(bench.lab(&COMPARE).out, whole.out, "{signal}");
        assert_eq!(bench.booted(), 6, "{signal}: what was measured is not measured again");
    }
}

/// A command that is killed can remove nothing, but its guest ends with it, and the next command takes nothing of it for a
/// result.
#[test]
fn a_comparison_that_is_killed_goes_on_where_it_was() {
    let bench = Bench::new();
    ended_by(&bench, "-KILL", "");
    assert_eq!(kept(&bench, ".punctual").len(), 1);
    assert_eq!(bench.lab(&COMPARE).out, undisturbed().out);
    assert_eq!(bench.booted(), 6);
    assert_no_leftovers(&bench);
}

/// A command of the lab that another program starts, with the command as its last arguments.
fn within(bench: &Bench, words: &[&str], program: &[&str]) -> Command {
    let plain = bench.command(words, "1");
    let (name, options) = program.split_first().unwrap();
    let mut command = Command::new(name);
    command.args(options).arg(plain.get_program()).args(plain.get_args()).current_dir(bench.0.dir.path());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

/// Runs the comparison under a limit on the size of files, which acts as a full disk where the guest's files are written.
fn limited(bench: &Bench, kib: u32, more: &[&str]) -> Said {
    // A shell counts blocks of 512 bytes. The signal that would end the program is ignored.
    let script = format!("trap '' XFSZ; ulimit -S -f {}; exec \"$0\" \"$@\"", 2 * kib);
    Said::of(within(bench, &[&COMPARE[..], more].concat(), &["sh", "-c", &script]).output().unwrap())
}

#[test]
fn a_limit_on_files_is_told_and_no_half_file_is_taken_for_a_whole_one() {
    let raise = "Raise the limit on file sizes (ulimit -f), then type the same command again";
    let bench = Bench::new();
    // The archive for the guest.
    limited(&bench, 1, &[]).refused(&["write out/good-img-", ".cpio", "File too large", raise]);
    assert_eq!((bench.booted(), kept(&bench, ".punctual").len()), (0, 0));
    assert_no_leftovers(&bench);
    // The guest's lines. QEMU itself says nothing, and the kernel must not be blamed.
    fs::write(bench.0.path("before"), "yes 'a line of the console' | head -c 200000 >\"$line\" 2>/dev/null; exit\n")
        .unwrap();
    limited(&bench, 100, &[]).refused(&["write out/good-img-", ".log", "File too large", raise]);
    assert_eq!(kept(&bench, ".punctual").len(), 0);
    assert_no_leftovers(&bench);
    fs::remove_file(bench.0.path("before")).unwrap();
    // The page, when all is measured.
    limited(&bench, 16, &["--html", "page.html"]).refused(&["write page.html", "File too large", raise]);
    assert!(!bench.0.path("page.html").exists());
    assert_eq!((bench.booted(), kept(&bench, ".punctual").len()), (6, 6));
    assert_eq!(bench.lab(&COMPARE).out, undisturbed().out);
    assert_eq!(bench.booted(), 6);
}

/// Runs a script of the shell in a mount namespace of its own, where `out` is a disk of 1 MiB. The script calls the
/// command as `"$0" "$@"`. `None` if this system lets nobody mount one.
fn on_a_small_disk(bench: &Bench, words: &[&str], script: &str) -> Option<Said> {
    let apart = |flags: &[&str], script: &str| -> Output {
        let script = format!("mount -t tmpfs -o size=1m none out && {{ {script}; }}");
        within(bench, words, &[&["unshare"], flags, &["sh", "-c", &script]].concat()).output().unwrap()
    };
    fs::create_dir_all(bench.0.path("out")).unwrap();
    let flags = [&["-m"][..], &["-rm"][..]].into_iter().find(|flags| apart(flags, "true").status.success());
    if flags.is_none() {
        println!("NOT RUN: this system lets nobody mount a small file system (unshare -rm)");
    }
    Some(Said::of(apart(flags?, script)))
}

/// Fills the disk. The file has a name that no check of leftovers knows.
const FILL: &str = "dd if=/dev/zero of=out/fill bs=1k 2>/dev/null\n";
/// Runs the command twice: on a disk that gets full, and with room again.
const TWICE: &str = "\"$0\" \"$@\"; echo first $?; rm out/fill before after; ls out/*.part out/*.tmp out/*.cpio out/*.qemu; \
                     \"$0\" \"$@\" >second; echo second $?";

/// The disk gets full while the guest prints its answers, and when it has printed all of them.
#[test]
fn a_full_disk_is_told_and_with_room_the_same_command_goes_on() {
    let whole = undisturbed();
    for (moment, file) in [("before", ".log: No space left on device"), ("after", ".punctual: No space left on device")]
    {
        let bench = Bench::new();
        for name in ["before", "after"] {
            fs::write(bench.0.path(name), if name == moment { FILL } else { "" }).unwrap();
        }
        let Some(said) = on_a_small_disk(&bench, &COMPARE, TWICE) else { return };
        assert_eq!(said.out, "first 1\nsecond 0\n", "{moment}: {said:?}");
        for part in ["write out/good-img-", file, "Make room on that disk, then type the same command again"] {
            assert!(said.err.contains(part), "{moment}: no '{part}' in {said:?}");
        }
        assert_eq!(fs::read_to_string(bench.0.path("second")).unwrap(), whole.out, "{moment}");
    }
}

/// The search would go around a configuration in between that cannot be built, and leave its answer open.
#[test]
fn a_build_that_fails_on_a_full_disk_ends_a_bisection() {
    let bench = Bench::new();
    fs::write(bench.0.path("good.config"), "CONFIG_HZ=1000\n").unwrap();
    fs::write(bench.0.path("bad.config"), "CONFIG_HZ=100\nCONFIG_PROVE_LOCKING=y\n").unwrap();
    let build = "hz=$(grep -c HZ=1000 $PUNCTUAL_CONFIG); proves=$(grep -c PROVE_LOCKING $PUNCTUAL_CONFIG); \
                 if [ -e full ] && [ $hz = $proves ]; then yes >out/fill; fi; \
                 if [ $proves = 1 ]; then i=bad; else i=good; fi; cat $i.img >$PUNCTUAL_IMAGE";
    let words =
        ["bisect", "--good-config", "good.config", "--bad-config", "bad.config", "--out", "out", "--build", build];
    fs::write(bench.0.path("full"), "").unwrap();
    let script = "\"$0\" \"$@\"; echo first $?; rm full out/fill; \"$0\" \"$@\"";
    let Some(said) = on_a_small_disk(&bench, &words, script) else { return };
    assert!(said.code == 0 && said.out.starts_with("first 1\n"), "{said:?}");
    assert!(said.out.contains("FOUND: CONFIG_PROVE_LOCKING=y\n"), "{said:?}");
    assert!(said.err.contains(".log: No space left on device") && said.err.contains("Make room"), "{said:?}");
}

/// Fails as apt does where no archive answers.
const APT_GET: &str = "#!/bin/sh
echo 'E: Failed to fetch http://127.0.0.1:1/debian/dists/bookworm/InRelease  Could not connect to 127.0.0.1:1 \
(127.0.0.1). - connect (111: Connection refused)' >&2
echo 'E: Some index files failed to download. They have been ignored, or old ones used instead.' >&2
exit 100
";

/// Loses the network while it downloads, when half of the package is there.
const APT_GET_CUT: &str = "#!/bin/sh
case \"$*\" in *download*) ;; *) exit 0 ;; esac
echo half >linux-image_1_amd64.deb
echo 'E: Failed to fetch http://127.0.0.1:1/debian/linux-image.deb  Connection failed [IP: 127.0.0.1 1]' >&2
exit 100
";
const APT_CACHE: &str = "#!/bin/sh
printf 'Package: linux-image-amd64\\nVersion: 1\\nDepends: linux-image (= 1)\\n'
";

/// The release of the kernel in the cache, which no archive has.
const CACHED: &str = "6.1.0-99-test";

/// Puts a kernel into the cache of packages, as a command of ten days ago left it.
fn put_into_cache(bench: &Bench) {
    let cache = bench.0.path("punctual-lab");
    let tree = cache.join("trees/linux-image");
    let modules = tree.join("lib/modules").join(CACHED);
    fs::create_dir_all(tree.join("boot")).unwrap();
    fs::create_dir_all(&modules).unwrap();
    fs::write(modules.join("modules.dep"), "").unwrap();
    fs::copy(bench.0.path("same.img"), tree.join("boot").join(format!("vmlinuz-{CACHED}"))).unwrap();
    note(bench, "linux-image");
}

/// Notes which tree in the cache is the kernel of Debian 12.
fn note(bench: &Bench, tree: &str) {
    let note = bench.0.path("punctual-lab/bookworm-amd64-linux-image-amd64.current");
    fs::write(&note, tree).unwrap();
    let ten_days_ago = SystemTime::now() - Duration::from_secs(10 * 24 * 3600);
    fs::File::options().write(true).open(&note).unwrap().set_modified(ten_days_ago).unwrap();
}

fn stand_in(bench: &Bench, name: &str, script: &str) {
    let program = bench.0.path("bin").join(name);
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Whether kernels of Debian cannot even be asked for here, which is said.
fn lacks_apt() -> bool {
    let lacks = !Path::new("/etc/apt").is_dir();
    if lacks {
        println!("NOT RUN: this system has no sources of apt, and kernels of Debian are got by apt");
    }
    lacks
}

#[test]
fn without_a_network_a_kernel_comes_from_the_cache_or_is_told_with_its_reason() {
    if lacks_apt() {
        return;
    }
    let bench = Bench::new();
    stand_in(&bench, "apt-get", APT_GET);
    let why = [
        "`apt-get update -qq --error-on=any` ended with exit status: 100: E: Failed to fetch http://127.0.0.1:1/",
        "Without a network, name an image of your own, or deb:FILE for a package",
    ];
    let alone = ["compare", "--kernel", "debian:12-amd64", "--seeds", "1", "--no-explain"];
    bench.lab(&alone).refused(&[&["no kernel was measured: debian:12-amd64"][..], &why].concat());
    // The others are measured.
    let beside = ["compare", "--kernel", "debian:12-amd64,good.img", "--seeds", "1", "--no-explain", "--json"];
    let said = bench.lab(&beside);
    let document: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((said.code, document["kernels"][0]["name"].as_str()), (3, Some("good.img")), "{said:?}");
    let told = document["not_measured"][0]["why"].as_str().unwrap();
    assert!(why.iter().all(|part| told.contains(part)), "{told}");
    // A note that a full disk left empty names no kernel.
    put_into_cache(&bench);
    note(&bench, "");
    let said = bench.lab(&alone);
    said.refused(&why);
    assert!(!said.err.contains("taken from the cache"), "{said:?}");
    note(&bench, "linux-image");
    let said = bench.lab(&beside);
    let document: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((said.code, document["kernels"][0]["name"].as_str()), (0, Some("debian:12-amd64")), "{said:?}");
    assert!(said.err.contains("taken from the cache") && said.err.contains("Connection refused"), "{said:?}");
}

#[test]
fn half_of_a_package_is_removed_and_never_taken_for_a_kernel() {
    if lacks_apt() {
        return;
    }
    let bench = Bench::new();
    stand_in(&bench, "apt-get", APT_GET_CUT);
    stand_in(&bench, "apt-cache", APT_CACHE);
    let words = ["compare", "--kernel", "debian:12-amd64", "--seeds", "1", "--no-explain"];
    for _ in 0..2 {
        bench.lab(&words).refused(&["downloading linux-image=1", "`apt-get download -qq linux-image=1` ended with"]);
        let files = |name: &str| fs::read_dir(bench.0.path("punctual-lab").join(name)).map_or(0, Iterator::count);
        assert_eq!((files("parts"), files("trees")), (0, 0));
    }
}

/// A terminal sends Ctrl-C to apt too, which then fails.
#[test]
fn ctrl_c_while_apt_runs_ends_the_command_and_asks_apt_for_no_other_kernel() {
    if lacks_apt() {
        return;
    }
    let bench = Bench::new();
    stand_in(&bench, "apt-get", "#!/bin/sh\necho asked >>\"$DIR/asked\"\nkill -INT $PPID\nexit 130\n");
    let said = bench.lab(&["compare", "--kernel", "debian:12-amd64,debian:13-amd64,good.img", "--out", "out"]);
    assert_eq!((said.code, bench.booted()), (3, 0), "{said:?}");
    assert!(said.err.contains("Interrupted; to continue, type the same command again"), "{said:?}");
    assert_eq!(fs::read_to_string(bench.0.path("asked")).unwrap(), "asked\n");
}
