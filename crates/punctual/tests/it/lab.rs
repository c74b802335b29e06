//! `punctual lab` with a stand-in for QEMU, which answers with recordings made here. That real kernels answer is tried by
//! `cargo xtask lab`.

use crate::made_up;
use crate::run::{Run, Said, assert_fits};
use punctual_hist::{Counts, MonoTime, Nanos};
use punctual_lab::wire::{DONE, Output, READY, encode as answer};
use punctual_numbers::recording::{
    CpuInterval, End, EndReason, Frame, Header, Interval, RecTime, encode, encode_preamble,
};
use punctual_numbers::scenario::{LoadPhase, Scenario};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

mod bad_days;

/// Seeds for which there are answers.
const SEEDS: u64 = 8;

/// Acts as QEMU: the last line of the image says what the kernel is, a line `options:` holds its packed configuration, and
/// `bad=1` on its command line makes it bad. While there is a file `hold`, a guest with seed 2 runs for ever. Files
/// `before` and `after` are commands that are carried out before and after the guest prints its answers.
const QEMU: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in
    -serial) line=${2#file:}; shift ;;
    -kernel) image=$2; shift ;;
    -initrd) archive=$2; shift ;;
    -append) words=" $2 "; shift ;;
    -seed) seed=$2; shift ;;
  esac
  shift
done
kind=$(tail -n 1 "$image")
case "$words" in *" bad=1 "*) kind=bad ;; esac
if [ "$seed" = 2 ] && [ -e "$DIR/hold" ]; then
  cat "$DIR/ready" >"$line"
  echo $$ >"$DIR/held.part"
  mv "$DIR/held.part" "$DIR/held"
  exec sleep 1000000
fi
if [ -e "$DIR/before" ]; then . "$DIR/before"; fi
{
  if [ "$kind" = dead ]; then
    echo "Linux version 6.99"
    echo "Kernel panic - not syncing: VFS: Unable to mount root fs"
  else
    cat "$DIR/ready"
    options=$(sed -n 's/^options://p' "$image")
    if [ -n "$options" ]; then
      sed '$d' "$DIR/$kind-$seed"
      echo lab:file
      echo "$options" | base64 -d | gzip -c | base64
      echo lab:end
    else
      cat "$DIR/$kind-$seed"
    fi
    if grep -aq traced.punctual "$archive"; then cat "$DIR/$kind-$seed"; fi
    cat "$DIR/done"
  fi
} >"$line"
if [ -e "$DIR/after" ]; then . "$DIR/after"; fi
echo "$kind $seed" >>"$DIR/booted"
"#;

/// A recording of two loads; under the second, a bad kernel has latencies of 300 us.
fn recording(seed: u64, spike_us: u64) -> Vec<u8> {
    let phase = |loads: &[&str]| LoadPhase { loads: loads.iter().map(|load| (*load).to_owned()).collect(), parts: 1 };
    let plain = made_up::header(1, Nanos::from_secs(6));
    let scenario = Scenario { load_phases: vec![phase(&[]), phase(&["io-write"])], ..plain.scenario };
    let mut bytes = Vec::new();
    encode_preamble(&mut bytes);
    let mut put = |frame: Frame| encode(&frame, &mut bytes).unwrap();
    let machine = vec![("kernel", "6.99.1").into()];
    put(Frame::Header(Box::new(Header { epoch: MonoTime::from_ns(0), scenario, machine, ..plain })));
    for second in 0..6_u64 {
        let mut ran = Counts::new();
        for number in 0..1000_u64 {
            let ordinary = 20_000 + (seed * 7919 + second * 104_729 + number * 31) % 5_000;
            let is_spike = second >= 3 && number % 100 == 7;
            ran.record(Nanos::from_ns(if is_spike { spike_us * 1_000 + ordinary } else { ordinary }));
        }
        let cpus = vec![CpuInterval::of(0, &ran, &Counts::new())];
        let (start, length) = (RecTime::from_secs(second), Nanos::from_secs(1));
        put(Frame::Interval(Interval { start, length, phase: u16::from(second >= 3), cpus }));
    }
    put(Frame::End(End { at: RecTime::from_secs(6), reason: EndReason::Completed, write_error: None }));
    bytes
}

/// A folder with images, a program for guests, and the stand-in.
struct Bench(Run);

impl Bench {
    fn new() -> Self {
        let run = Run::new();
        for image in ["good", "same", "bad", "dead"] {
            let mut bytes = vec![0_u8; 0x202];
            bytes.extend(b"HdrS\n");
            bytes.extend(image.replace("same", "good").bytes());
            bytes.extend(b"\n");
            fs::write(run.path(&format!("{image}.img")), bytes).unwrap();
        }
        let mut riscv = vec![0_u8; 0x100];
        riscv[0x30..0x35].copy_from_slice(b"RISCV");
        fs::write(run.path("riscv.img"), riscv).unwrap();
        // The head of a static program: 64 bits, x86-64, one part that is loaded.
        let mut program = vec![0_u8; 200];
        program[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (program[18], program[32], program[56], program[64]) = (62, 64, 1, 1);
        fs::write(run.path("static"), program).unwrap();
        for (kind, spike) in [("good", 40), ("bad", 300)] {
            for seed in 1..=SEEDS {
                let modes = Some(b"none voluntary (full)\n".to_vec());
                let output = Output { files: vec![Some(recording(seed, spike)), modes], ..Output::default() };
                fs::write(run.path(&format!("{kind}-{seed}")), answer(&output).unwrap()).unwrap();
            }
        }
        fs::write(run.path("ready"), format!("{READY}\n")).unwrap();
        fs::write(run.path("done"), format!("{DONE}\n")).unwrap();
        fs::create_dir(run.path("bin")).unwrap();
        let qemu = run.path("bin/qemu-system-x86_64");
        fs::write(&qemu, QEMU).unwrap();
        fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).unwrap();
        Self(run)
    }

    fn lab(&self, words: &[&str]) -> Said {
        Said::of(self.command(words, "2").output().unwrap())
    }

    /// A command with this number of guests at once.
    fn command(&self, words: &[&str], jobs: &str) -> Command {
        let mut command = self.0.command(&["lab"]);
        let path = format!("{}:/usr/bin:/bin", self.0.path("bin").display());
        command.args(words).env("PATH", path).env("DIR", self.0.dir.path()).env("XDG_CACHE_HOME", self.0.dir.path());
        command.args(["--binary", "static", "--jobs", jobs]);
        command
    }

    /// What was booted so far, one line for each guest.
    fn booted(&self) -> usize {
        fs::read_to_string(self.0.path("booted")).unwrap_or_default().lines().count()
    }
}

#[test]
fn kernels_stand_side_by_side_and_one_that_does_not_boot_is_told() {
    let bench = Bench::new();
    let words = ["compare", "--kernel", "good.img,same.img,bad.img,dead.img", "--seeds", "3", "--no-explain"];
    let said = bench.lab(&words);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.out.contains("dead.img") && said.out.contains("Unable to mount root fs"), "{said:?}");
    assert!(said.out.contains("bad.img is worse under io-write; the same under idle"), "{said:?}");
    assert_eq!(bench.booted(), 12);
    // What was measured is not measured again; what failed is tried again.
    let again = bench.lab(&words);
    assert_eq!((again.out.as_str(), bench.booted()), (said.out.as_str(), 15));
    let page = bench.lab(&[&words[..], &["--json", "--html", "kernels.html"]].concat());
    let document: Value = serde_json::from_str(&page.out).unwrap();
    assert_fits("lab-compare-1", &document, "kernels");
    assert_eq!(document["kernels"][2]["cells"][1]["against_first"]["verdict"], "worse");
    assert_eq!(document["not_measured"][0]["name"], "dead.img");
    assert!(fs::read_to_string(bench.0.path("kernels.html")).unwrap().contains("io-write"));
    let modes = bench.lab(&["compare", "--kernel", "good.img+preempt=full,good.img+preempt=lazy", "--seeds", "1"]);
    let told = modes.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(modes.code == 3 && told.contains("does not support preempt=lazy"), "{modes:?}");
    assert!(!told.contains("does not support preempt=full"), "{modes:?}");
    let full = bench.lab(&[&words[..], &["--full"]].concat());
    assert!(full.out.contains("Releases per million"), "{full:?}");
    let brief = bench.lab(&[&words[..], &["--brief"]].concat());
    assert!(brief.out.contains("bad.img 325 us (worse)") && brief.out.contains("dead.img not measured"), "{brief:?}");
}

#[test]
fn what_is_missing_or_wrong_is_told_by_name() {
    let bench = Bench::new();
    bench.lab(&["compare", "--kernel", "good.img,good.img"]).refused(&["named twice"]);
    bench.lab(&["compare", "--kernel", "debian:11"]).refused(&["debian:12 or debian:13"]);
    bench.lab(&["compare", "--kernel", "good.img", "--load", "cpu,"]).refused(&["load phase is empty"]);
    let said = bench.lab(&["compare", "--kernel", "good.img,riscv.img,none.img,static", "--seeds", "1"]);
    assert_eq!(said.code, 3, "{said:?}");
    for part in ["RISC-V", "open none.img", "an ELF file"] {
        assert!(said.out.contains(part), "{part}: {said:?}");
    }
    bench.lab(&["compare", "--kernel", "good.img+none.ko", "--seeds", "1"]).refused(&["none.ko"]);
    // Without QEMU.
    fs::remove_file(bench.0.path("bin/qemu-system-x86_64")).unwrap();
    let path = bench.0.path("bin").display().to_string();
    let mut command =
        bench.0.command(&["lab", "compare", "--kernel", "good.img", "--out", "other", "--binary", "static"]);
    Said::of(command.env("PATH", path).output().unwrap()).refused(&["apt install qemu-system-x86"]);
    // Without a static program; the one that is tested needs shared libraries.
    let said =
        bench.0.punctual(&["lab", "compare", "--kernel", "good.img", "--binary", env!("CARGO_BIN_EXE_punctual")]);
    said.refused(&["shared libraries"]);
}

#[test]
fn a_gate_lets_equal_kernels_pass_and_stops_a_worse_one() {
    let bench = Bench::new();
    let saved =
        bench.lab(&["gate", "--kernel", "good.img", "--seeds", "3", "--save", "good.lab", "--load", "idle,io-write"]);
    assert!(saved.code == 0 && saved.out.contains("lab gate --baseline good.lab"), "{saved:?}");
    let gate = |kernel: &str, more: &[&str]| {
        bench.lab(&[&["gate", "--baseline", "good.lab", "--kernel", kernel, "--seeds", "3"], more].concat())
    };
    let same = gate("same.img", &[]);
    assert!(same.code == 0 && same.out.contains("PASSED"), "{same:?}");
    let worse = gate("bad.img", &["--junit", "lab.xml"]);
    assert!(worse.code == 2 && worse.out.contains("WORSE") && worse.out.contains("io-write"), "{worse:?}");
    let junit = fs::read_to_string(bench.0.path("lab.xml")).unwrap();
    assert!(junit.contains(r#"tests="2" failures="1""#) && junit.contains("<failure message=\"io-write: "), "{junit}");
    let document: Value = serde_json::from_str(&gate("bad.img", &["--json"]).out).unwrap();
    assert_fits("lab-compare-1", &document, "gate");
    gate("dead.img", &[]).refused(&["Unable to mount root fs"]);
    fs::write(bench.0.path("other.lab"), "{}\n").unwrap();
    bench.lab(&["gate", "--baseline", "other.lab", "--kernel", "same.img"]).refused(&["not a baseline", "--save"]);
    bench.lab(&["gate", "--kernel", "same.img"]).refused(&["--baseline"]);
}

#[test]
fn a_bisection_finds_the_kernel_the_word_and_the_option() {
    let bench = Bench::new();
    let same_twice = |words: &[&str]| {
        let [first, second] = [bench.lab(words), bench.lab(words)];
        assert_eq!((first.code, &first.out), (0, &second.out), "{first:?}");
        first.out
    };
    for name in ["a", "b", "c", "d", "e"] {
        let from = if name < "d" { "good.img" } else { "bad.img" };
        fs::copy(bench.0.path(from), bench.0.path(name)).unwrap();
    }
    let out = same_twice(&["bisect", "--kernel", "a,b,c,d,e"]);
    assert!(out.contains("FOUND: d is the first bad one; c is good"), "{out}");
    let words = ["--good-words", "x=1 y=2", "--bad-words", "x=1 y=3 a=1 bad=1 b=2 c=3"];
    let out = same_twice(&[&["bisect", "--kernel", "good.img"][..], &words].concat());
    assert!(out.contains("FOUND: bad=1\n"), "{out}");
    let good = "CONFIG_HZ=1000\n# CONFIG_PROVE_LOCKING is not set\nCONFIG_A=y\nCONFIG_B=m\n";
    fs::write(bench.0.path("good.config"), good).unwrap();
    fs::write(bench.0.path("bad.config"), "CONFIG_HZ=100\nCONFIG_PROVE_LOCKING=y\nCONFIG_B=y\nCONFIG_C=y\n").unwrap();
    let build =
        "if grep -q ^CONFIG_PROVE_LOCKING=y $PUNCTUAL_CONFIG; then i=bad; else i=good; fi; cp $i.img $PUNCTUAL_IMAGE";
    let configs = ["--good-config", "good.config", "--bad-config", "bad.config", "--build"];
    let out = same_twice(&[&["bisect"], &configs[..], &[build]].concat());
    assert!(out.contains("FOUND: CONFIG_PROVE_LOCKING=y\n"), "{out}");
    let json = bench.lab(&[&["bisect", "--json"], &configs[..], &[build]].concat()).out;
    assert_fits("lab-bisect-1", &serde_json::from_str(&json).unwrap(), "bisect");
    let fails = "echo 'cc1: no such option' >&2; exit 7";
    bench.lab(&[&["bisect"], &configs[..], &[fails]].concat()).refused(&["exit status: 7", "cc1: no such option"]);
    bench.lab(&[&["bisect"], &configs[..], &["true"]].concat()).refused(&["left no image"]);
    let notes = "echo nothing to do; echo no image >$PUNCTUAL_IMAGE";
    bench.lab(&[&["bisect"], &configs[..], &[notes]].concat()).refused(&["no image"]);
    let same = bench.lab(&["bisect", "--kernel", "good.img,same.img"]);
    assert!(same.code == 3 && same.out.contains("INCONCLUSIVE"), "{same:?}");
    bench.lab(&["bisect", "--kernel", "good.img"]).refused(&["two kernels or more"]);
}

/// Builds as Kconfig would: `PROVE_LOCKING` needs `DEBUG_KERNEL`, and `LOCKDEP` follows from it. The kernel tells its
/// options, and is bad if it proves locking. With `BROKEN` it is not built, and with `DEAD` it does not boot, unless
/// there is `REPAIR`.
const KCONFIG: &str = r#"#!/bin/sh -e
grep ^CONFIG "$PUNCTUAL_CONFIG" | grep -v LOCKDEP | sort >built
has() { grep -q "^CONFIG_$1=y" built; }
if ! has DEBUG_KERNEL; then sed -i /PROVE_LOCKING/d built; fi
if has BROKEN && ! has REPAIR; then
  echo "drivers/broken.c: error: expected ';'" >&2
  exit 2
fi
kind=good
if has PROVE_LOCKING; then
  kind=bad
  echo CONFIG_LOCKDEP=y >>built
fi
{
  head -n 1 good.img
  if ! has SILENT; then echo "options:$(gzip -nc built | base64 -w 0)"; fi
  if has DEAD && ! has REPAIR; then echo dead; else echo $kind; fi
} >"$PUNCTUAL_IMAGE"
"#;

/// Bisects between configurations, each a list of options, and returns what was said.
fn between(bench: &Bench, good: &[&str], bad: &[&str], more: &[&str]) -> Said {
    let text = |options: &[&str]| options.iter().flat_map(|option| ["CONFIG_", option, "\n"]).collect::<String>();
    fs::write(bench.0.path("build.sh"), KCONFIG).unwrap();
    fs::write(bench.0.path("good.config"), text(good)).unwrap();
    fs::write(bench.0.path("bad.config"), text(bad)).unwrap();
    let words = ["bisect", "--good-config", "good.config", "--bad-config", "bad.config", "--build", "sh build.sh"];
    bench.lab(&[&words[..], more].concat())
}

/// What was said, without the ends of lines.
fn flat(said: &Said) -> String {
    said.out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn options_that_need_others_are_told_from_the_one_to_blame() {
    let bench = Bench::new();
    let good = ["HZ=1000", "A=y"];
    let bad = ["A=y", "B=y", "C=y", "D=y", "DEBUG_KERNEL=y", "E=y", "F=y", "HZ=100", "PROVE_LOCKING=y"];
    let said = between(&bench, &good, &bad, &[]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("FOUND: CONFIG_DEBUG_KERNEL=y, CONFIG_PROVE_LOCKING=y\n"), "{said:?}");
    for part in [
        "CONFIG_DEBUG_KERNEL=y is needed: without it, Kconfig drops",
        "Requested, but not in the kernel that was built",
        "Kconfig also changed: CONFIG_LOCKDEP=y.",
    ] {
        assert!(flat(&said).contains(part), "{part}: {said:?}");
    }
    assert_eq!(between(&bench, &good, &bad, &[]).out, said.out);
    let json: Value = serde_json::from_str(&between(&bench, &good, &bad, &["--json"]).out).unwrap();
    assert_fits("lab-bisect-1", &json, "bisect");
    assert_eq!(json["culprit"]["needs"][0]["of"][0], "CONFIG_PROVE_LOCKING=y");
    assert_eq!(json["open"].as_array().unwrap().len(), 0);
    // Where the good one has what is needed, the one to blame stands alone.
    let said = between(&bench, &["DEBUG_KERNEL=y"], &bad, &[]);
    assert!(said.out.contains("FOUND: CONFIG_PROVE_LOCKING=y\n"), "{said:?}");
    // Kernels that do not tell their options.
    let said = between(&bench, &["SILENT=y"], &[&bad[..], &["SILENT=y"]].concat(), &[]);
    assert!(said.out.contains("FOUND: CONFIG_DEBUG_KERNEL=y, CONFIG_PROVE_LOCKING=y\n"), "{said:?}");
    assert!(flat(&said).contains("Build them with CONFIG_IKCONFIG_PROC=y"), "{said:?}");
}

#[test]
fn kernels_in_between_that_fail_do_not_end_a_bisection() {
    let bench = Bench::new();
    for (option, why) in [("BROKEN=y", "error: expected ';'"), ("DEAD=y", "Unable to mount root fs")] {
        let good = ["DEBUG_KERNEL=y"];
        // The option that fails needs another one, far from it.
        let bad = ["A=y", option, "DEBUG_KERNEL=y", "PROVE_LOCKING=y", "REPAIR=y", "X=y", "Y=y", "Z=y"];
        let said = between(&bench, &good, &bad, &[]);
        assert_eq!(said.code, 0, "{said:?}");
        assert!(said.out.contains("FOUND: CONFIG_PROVE_LOCKING=y\n"), "{said:?}");
        assert!(said.out.contains("not measured") && said.out.contains(why), "{said:?}");
    }
    // An end that fails ends it.
    between(&bench, &["BROKEN=y"], &["PROVE_LOCKING=y"], &[]).refused(&["exit status: 2", "error: expected ';'"]);
    // Of a list, what lies between good and bad and does not boot leaves the answer open.
    let said = bench.lab(&["bisect", "--kernel", "good.img,same.img,dead.img,bad.img"]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.out.contains("FOUND IN PART: bad.img is the first bad one; same.img is good"), "{said:?}");
    assert!(flat(&said).contains("could not be measured: dead.img."), "{said:?}");
    let said = bench.lab(&["bisect", "--kernel", "good.img,dead.img,same.img,bad.img", "--brief"]);
    assert_eq!(
        (said.code, said.out.as_str()),
        (0, "FOUND: bad.img is the first bad one; same.img is good\n"),
        "{said:?}"
    );
}

/// The answer is right for every option that may be to blame, among others that do nothing, and the same each time.
#[test]
fn a_bisection_finds_each_planted_option() {
    let bench = Bench::new();
    for place in 0..12 {
        let mut bad: Vec<String> = (0..12).map(|number| format!("OPTION_{number:02}=y")).collect();
        bad[place] = "PROVE_LOCKING=y".to_owned();
        bad.push("DEBUG_KERNEL=y".to_owned());
        let bad: Vec<&str> = bad.iter().map(String::as_str).collect();
        let run = || between(&bench, &["DEBUG_KERNEL=y"], &bad, &["--brief", "--seeds", "1"]);
        let [first, second] = [run(), run()];
        assert_eq!((first.code, first.out.as_str()), (0, "FOUND: CONFIG_PROVE_LOCKING=y\n"), "{place}: {first:?}");
        assert_eq!(second.out, first.out, "{place}");
    }
}

#[test]
fn a_gate_builds_and_refuses_a_kernel_that_is_not_as_asked() {
    let bench = Bench::new();
    fs::write(bench.0.path("build.sh"), KCONFIG).unwrap();
    let gate = |config: &str, words: &[&str]| {
        fs::write(bench.0.path("options"), config).unwrap();
        bench.lab(&[&["gate", "--config", "options", "--seeds", "3"], words].concat())
    };
    let build = ["--build", "sh build.sh"];
    let against = ["--baseline", "good.lab"];
    let saved = gate("CONFIG_A=y\n", &[&build[..], &["--save", "good.lab", "--load", "idle,io-write"]].concat());
    assert_eq!(saved.code, 0, "{saved:?}");
    let same = gate("CONFIG_A=y\n# CONFIG_B is not set\n", &[&build[..], &against].concat());
    assert!(same.code == 0 && same.out.contains("PASSED"), "{same:?}");
    let worse = gate("CONFIG_DEBUG_KERNEL=y\nCONFIG_PROVE_LOCKING=y\n", &[&build[..], &against].concat());
    assert!(worse.code == 2 && worse.out.contains("WORSE"), "{worse:?}");
    // Kconfig drops what needs another option.
    let asked = "CONFIG_A=y\nCONFIG_PROVE_LOCKING=y\n";
    gate(asked, &[&build[..], &against].concat()).refused(&["does not have CONFIG_PROVE_LOCKING=y"]);
    // Other sources give another image, although command and options are the same.
    fs::write(bench.0.path("build.sh"), KCONFIG.replace("kind=good", "kind=bad")).unwrap();
    let other = gate("CONFIG_A=y\n", &[&build[..], &against].concat());
    assert_eq!(other.code, 2, "{other:?}");
    gate("CONFIG_BROKEN=y\n", &[&build[..], &against].concat()).refused(&["exit status: 2", "expected ';'"]);
    // An image that is there is held against the options too.
    gate("CONFIG_A=y\n", &[&against[..], &["--kernel", "good.img"]].concat()).refused(&["CONFIG_IKCONFIG_PROC=y"]);
    gate("CONFIG_A=y\n", &[&against[..], &["--kernel", "good.img"], &build].concat()).refused(&["--build", "--kernel"]);
}
