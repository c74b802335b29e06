//! Tests that need root. They are ignored by default. `cargo xtask ci` runs them as root; otherwise it reports that
//! they did not run.

use crate::run::{Run, Said, machine};
use std::process::Command;

/// Runs the program with these words under `wrapper`, which needs root.
fn under(run: &Run, wrapper: &[&str], words: &str) -> Said {
    let script = format!("{} {words}", env!("CARGO_BIN_EXE_punctual"));
    let (program, args) = wrapper.split_first().unwrap();
    let mut command = Command::new(program);
    command.args(args).arg(script).current_dir(run.dir.path()).env("NO_COLOR", "1");
    Said::of(command.output().unwrap())
}

#[test]
#[ignore = "needs root"]
fn an_ordinary_user_gets_an_answer_and_is_told_what_root_would_add() {
    let _machine = machine();
    let run = Run::new();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(run.dir.path(), open).unwrap();
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "sh", "-c"];
    let said = under(&run, &nobody, "check --duration 1s --load none --full --out c.punctual");
    assert!(said.code == 3 || said.code == 2, "{said:?}");
    for part in ["ordinary task", "SCHED_OTHER", "RLIMIT_RTPRIO", "root"] {
        assert!(said.out.contains(part), "no '{part}' in {said:?}");
    }
    let said = under(&run, &nobody, "measure --duration 1s --out m.punctual");
    assert!(said.code == 0 && said.out.contains("measured as an ordinary task"), "{said:?}");
}

/// Runs the program after `mounts`, which only it and its children see.
fn mounted(run: &Run, mounts: &str, words: &str) -> Said {
    let script = format!("{mounts} && exec {} {words}", env!("CARGO_BIN_EXE_punctual"));
    let output = Command::new("unshare").args(["--mount", "sh", "-c", &script]).current_dir(run.dir.path()).output();
    Said::of(output.unwrap())
}

#[test]
#[ignore = "needs root"]
fn a_machine_without_sys_or_proc_still_gets_an_answer() {
    let _machine = machine();
    let run = Run::new();
    for (n, folder) in ["/sys", "/proc"].into_iter().enumerate() {
        let mounts = format!("mount -t tmpfs none {folder}");
        let said = mounted(&run, &mounts, &format!("check --duration 1s --load none --out c{n}.punctual"));
        assert!(matches!(said.code, 0 | 2 | 3), "{folder}: {said:?}");
        assert!(said.out.contains("unknown"), "{folder}: {said:?}");
        let said = mounted(&run, &mounts, "audit");
        assert!(said.code == 0 && said.out.contains("UNKNOWN"), "{folder}: {said:?}");
    }
}

#[test]
#[ignore = "needs root"]
fn loads_run_although_nothing_may_be_executed_in_the_temporary_folder() {
    let _machine = machine();
    let run = Run::new();
    let mounts = "mkdir -p t && mount -t tmpfs -o noexec none t && cd t && export TMPDIR=$PWD";
    let said = mounted(&run, mounts, "check --duration 2s --load idle,io-write+cpu --full --out c.punctual");
    assert!(matches!(said.code, 0 | 2 | 3), "{said:?}");
    assert!(said.out.contains("io-write") && !said.out.contains("did not start"), "{said:?}");
}

#[test]
#[ignore = "needs root"]
fn a_read_only_root_is_audited_and_a_recording_is_asked_for_elsewhere() {
    let _machine = machine();
    let run = Run::new();
    let mounts = "mkdir -p none some && mount -t tmpfs -o ro none none && mount -t tmpfs some some && \
        mount -o remount,bind,ro / && cd none";
    let said = mounted(&run, mounts, "audit");
    assert!(said.code == 0 && said.out.contains("GOOD"), "{said:?}");
    let said = mounted(&run, mounts, "check --duration 1s --load none");
    assert!(said.code == 1 && said.err.contains("Read-only file system") && said.err.contains("--out"), "{said:?}");
    let said = mounted(&run, mounts, "check --duration 1s --load none --out ../some/c.punctual");
    assert!(matches!(said.code, 0 | 2 | 3), "{said:?}");
}

#[test]
#[ignore = "needs root"]
fn the_real_time_class_is_granted_and_verified() {
    let _machine = machine();
    let run = Run::new();
    for policy in ["fifo", "rr", "deadline"] {
        let words = ["measure", "--policy", policy, "--priority", "10", "--duration", "300ms", "--json", "--cpus", "0"];
        let report = run.json(&words);
        assert_eq!(report["cpus"][0]["due"], 300, "{policy}");
    }
}

/// Reads files of a file system in user space whose program never answers: every access hangs in the kernel.
#[test]
#[ignore = "needs root"]
fn a_file_system_that_hangs_costs_a_moment() {
    use punctual_facts::fact::Fact;
    use punctual_facts::tree::Tree;
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
    use std::os::fd::AsRawFd;
    use std::time::{Duration, Instant};

    let _machine = machine();
    let run = Run::new();
    let Ok(device) = std::fs::File::options().read(true).write(true).open("/dev/fuse") else {
        println!("not tried: there is no /dev/fuse");
        return;
    };
    let place = run.path("stuck");
    std::fs::create_dir(&place).unwrap();
    let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", device.as_raw_fd());
    let options = std::ffi::CString::new(options).unwrap();
    mount("punctual-test", &place, "fuse", MountFlags::NOSUID | MountFlags::NODEV, Some(options.as_c_str())).unwrap();

    let tree = punctual_linux::live::LiveTree::here();
    let start = Instant::now();
    let stuck = place.to_string_lossy().into_owned();
    let first = tree.read(&format!("{stuck}/cpu0/online"));
    assert_eq!(first, Fact::Garbled("did not answer within 500 ms".to_owned()));
    for cpu in 1..100 {
        assert!(matches!(tree.read(&format!("{stuck}/cpu{cpu}/online")), Fact::Garbled(_)), "{cpu}");
    }
    assert!(matches!(tree.list(&stuck), Fact::Garbled(_)));
    assert!(tree.read("/proc/self/status").known().is_some(), "the rest of the machine still answers");
    let took = start.elapsed();
    // When this test closes the device, the kernel releases every process that waits.
    drop(device);
    unmount(&place, UnmountFlags::DETACH).unwrap();
    assert!(took < Duration::from_secs(10), "a hundred files of half a second each: {took:?}");
}

/// Uses a file system in user space whose program takes every request and never answers. A process that waits for an
/// answer cannot be killed until that program ends. All the same, the rest of the result must be printed and the pipes
/// closed.
#[test]
#[ignore = "needs root"]
fn what_hangs_for_good_keeps_nobody_from_ending() {
    use std::io::{Read, Write};
    use std::os::fd::OwnedFd;
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    let _machine = machine();
    let run = Run::new();
    let Ok(device) = std::fs::File::options().read(true).write(true).open("/dev/fuse") else {
        println!("not tried: there is no /dev/fuse");
        return;
    };
    let script = format!(
        "mount -i -t fuse -o fd=0,rootmode=40000,user_id=0,group_id=0 none /sys/class/net && exec </dev/null\n\
         {} audit --json | cat",
        env!("CARGO_BIN_EXE_punctual")
    );
    let theirs = OwnedFd::from(device.try_clone().unwrap());
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script]).current_dir(run.dir.path());
    command.stdin(theirs).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let start = Instant::now();
    let child = command.spawn().unwrap();
    drop(command);
    let (done, is_done) = mpsc::channel::<()>();
    let asked = std::thread::spawn(move || {
        let (mut device, mut asked) = (device, 0);
        let mut request = vec![0; 1 << 17];
        let is_late = || start.elapsed() > Duration::from_secs(60);
        // Reading fails until the file system is mounted.
        while device.read(&mut request).is_err() && !is_late() {
            std::thread::sleep(Duration::from_millis(5));
        }
        // The first request negotiates the protocol: `fuse_in_header` is 40 bytes, of which 8 to 16 identify the
        // request.
        let mut reply = vec![0_u8; 80];
        (reply[0], reply[16], reply[20]) = (80, 7, 31);
        reply[8..16].copy_from_slice(&request[8..16]);
        reply[36..40].copy_from_slice(&4096_u32.to_le_bytes());
        device.write_all(&reply).unwrap();
        let flags = rustix::fs::fcntl_getfl(&device).unwrap();
        rustix::fs::fcntl_setfl(&device, flags | rustix::fs::OFlags::NONBLOCK).unwrap();
        while is_done.recv_timeout(Duration::from_millis(5)) == Err(mpsc::RecvTimeoutError::Timeout) && !is_late() {
            asked += usize::from(device.read(&mut request).is_ok());
        }
        // When the device is closed, the kernel releases every process that waits.
        asked
    });
    let output = child.wait_with_output().unwrap();
    let took = start.elapsed();
    drop(done);
    let said = Said::of(output);
    let asked = asked.join().unwrap();
    assert!(asked >= 1, "nothing was asked, so nothing hung: {said:?}");
    assert!(took < Duration::from_secs(50), "it ended before it was let go: {took:?}");
    let report: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert!(said.out.contains("did not answer within"), "no finding tells of it");
    assert!(report["findings"].as_array().is_some_and(|findings| findings.len() > 100));
}
