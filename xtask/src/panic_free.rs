//! The step `panic-free`: code that runs between two waits of a loop cannot panic, allocate, or enter the kernel by a
//! function that is not listed here.
//!
//! The check reads the object code that users of packages get: profile `dist`, with overflow checks and link-time
//! optimisation. `proofs/hot_path/src/lib.rs` names the functions to check; for C, comments of the header do. Some
//! functions break the promise on purpose, and the check must find each of them.

mod reach;

use crate::{capi, header, run};
use anyhow::{Context, Result, bail, ensure};
use reach::{Library, Reached};
use std::path::Path;

/// Parts of mangled names. Every panic or allocation calls a function whose name has one of these parts.
const FORBIDDEN: [&str; 12] = [
    "4core9panicking",
    "3std9panicking",
    "core9option13expect_failed",
    "4core6result13unwrap_failed",
    "rust_begin_unwind",
    "rust_panic",
    "__rust_alloc",
    "__rust_dealloc",
    "__rust_realloc",
    "5alloc5alloc",
    "5alloc7raw_vec",
    "_Unwind_",
];

/// Functions whose calls are not followed, because they run before a loop or in its very first wait, or keep a panic
/// from unwinding.
const LEFT_OUT: [&str; 3] = [
    // This function chooses the first release of a task, when its owner calls `wait` for the first time.
    "6cyclic6Cyclic5begin",
    // This function runs when a thread takes a lock for the first time.
    "5futex17ask_for_thread_id",
    // This function keeps a panic from unwinding into C. The panic itself is found by the other names.
    "4core9panicking19panic_cannot_unwind",
];

/// Functions of the C library that a loop may call: the clock, ways to wait, counters, copying and comparing memory,
/// thread-local storage, and ways to find out whether a lock's owner is dead.
///
/// `__tls_get_addr` reads thread-local storage of a shared library. It allocates when a thread first touches the
/// storage of a library that was loaded late. The start of a Rust thread and `prt_cyclic_open` touch it before any
/// loop, which `tests/c/loaded.c` of the C library checks.
const OUTSIDE: [&str; 15] = [
    "__errno_location",
    "__tls_get_addr",
    "_GLOBAL_OFFSET_TABLE_",
    "clock_gettime",
    "clock_nanosleep",
    "getpid",
    "getrusage",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "ppoll",
    "read",
    "syscall",
    "timerfd_settime",
];

/// Functions of [`OUTSIDE`] that only the functions in [`DOORS`] may call. The library documents why each of those
/// enters the kernel: to sleep on a real-time core or use its locks, to wait for a thread or wake it, to lend priority to
/// a lock's owner or see that it is gone, or to ask which use of the CPU took the time.
const BEHIND_DOORS: [&str; 3] = ["getpid", "getrusage", "syscall"];
const DOORS: [&str; 11] = [
    "7backend11out_of_band",
    "7backend8Attached11sleep_until",
    "evl_monitor..EvlMonitor",
    "cobalt_sync..Cobalt",
    "5clock16futex_wait_until",
    "5futex10futex_wait",
    "5futex14futex_wake_one",
    "5futex7lock_pi",
    "5futex15futex_unlock_pi",
    "5futex14thread_is_gone",
    "6memory12thread_usage",
];

/// Functions that break the promise on purpose, each with a part of the name that the check must report for it.
const INJECTED: [(&str, &str); 8] = [
    ("injected_allocation", "alloc"),
    ("injected_division", "panicking"),
    ("injected_far_panic", "panicking"),
    ("injected_indexing", "panicking"),
    ("injected_overflow", "panicking"),
    ("injected_panic", "panicking"),
    ("injected_system_call", "gettid"),
    ("injected_wrong_door", "getpid"),
];

/// Checks the code for this machine, and for the other architecture if its standard library is installed.
pub fn check(root: &Path) -> Result<()> {
    look(root, None)?;
    look_at_capi(root, None)?;
    let other = if cfg!(target_arch = "x86_64") { "aarch64-unknown-linux-gnu" } else { "x86_64-unknown-linux-gnu" };
    if run::has_target(other, root)? {
        look(root, Some(other))?;
        look_at_capi(root, Some(other))?;
    } else {
        println!("not looked at: {other}, whose standard library is not installed (rustup target add {other})");
    }
    Ok(())
}

fn look(root: &Path, target: Option<&str>) -> Result<()> {
    let mut words = vec!["build", "--profile", "dist", "--package", "hot_path"];
    words.extend(target.iter().flat_map(|target| ["--target", target]));
    run::show(&mut run::cargo(root, &words))?;
    let built = run::target_folder(root)?.join(target.unwrap_or_default()).join("dist/libhot_path.a");
    let bytes = std::fs::read(&built).with_context(|| format!("read {}", built.display()))?;
    let library = Library::parse(&bytes)?;
    for (function, must_find) in INJECTED {
        let found = violations(&library, function)?;
        ensure!(
            found.iter().any(|reached| reached.name.contains(must_find)),
            "`{function}` breaks the promise on purpose, and was not found: the walk is blind"
        );
    }
    let hot = library.functions("hot_");
    ensure!(!hot.is_empty(), "no hot function in {}", built.display());
    none_breaks_it(&library, &hot, target)
}

/// Checks the C library in the same way. The header's comments say which functions a loop may call.
fn look_at_capi(root: &Path, target: Option<&str>) -> Result<()> {
    let header = header::generate(root)?;
    let hot = promised(&header);
    ensure!(hot.len() > 20, "the header calls {} functions `For the loop`: it is not understood", hot.len());
    let built = capi::build(root, target)?;
    let bytes = std::fs::read(&built).with_context(|| format!("read {}", built.display()))?;
    let library = Library::parse(&bytes)?;
    let cold = violations(&library, "prt_task_spawn")?;
    ensure!(!cold.is_empty(), "`prt_task_spawn` allocates, and that was not found: the walk is blind");
    none_breaks_it(&library, &hot, target)
}

/// The functions that a loop may call, according to the header's comments.
fn promised(header: &str) -> Vec<&str> {
    let (mut promised, mut functions) = (false, Vec::new());
    for line in header.lines() {
        if let Some(comment) = line.strip_prefix("///") {
            promised |= ["For the loop", "For a loop"].iter().any(|words| comment.trim_start().starts_with(words));
        } else {
            let name = line.split_once('(').and_then(|(before, _)| before.rsplit([' ', '*']).next());
            functions.extend(name.filter(|_| promised));
            promised = false;
        }
    }
    functions
}

fn none_breaks_it<'data>(library: &Library<'data>, hot: &[&'data str], target: Option<&str>) -> Result<()> {
    let mut broken = 0;
    for function in hot {
        for reached in violations(library, function)? {
            println!("{function} can reach {}:\n    {}", reached.name, reached.chain.join("\n    -> "));
            broken += 1;
        }
    }
    if broken > 0 {
        bail!("{broken} ways to a panic, an allocation or an unknown function, listed above");
    }
    println!("{} functions, {}: none can panic or allocate", hot.len(), target.unwrap_or("this machine"));
    Ok(())
}

fn violations<'data>(library: &Library<'data>, function: &'data str) -> Result<Vec<Reached<'data>>> {
    let mut reached = library.reached_from(function, |name| is_forbidden(name, false) || is_left_out(name))?;
    reached.retain(|reached| is_forbidden(reached.name, reached.is_outside) && !is_left_out(reached.name));
    // A second search finds calls that do not pass through one of the doors.
    let besides = library.reached_from(function, |name| is_left_out(name) || is_door(name))?;
    reached.extend(besides.into_iter().filter(|reached| reached.is_outside && BEHIND_DOORS.contains(&reached.name)));
    Ok(reached)
}

fn is_forbidden(name: &str, is_outside: bool) -> bool {
    FORBIDDEN.iter().any(|part| name.contains(part)) || (is_outside && !OUTSIDE.contains(&name))
}

fn is_door(name: &str) -> bool {
    DOORS.iter().any(|part| name.contains(part))
}

fn is_left_out(name: &str) -> bool {
    LEFT_OUT.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_header_promises_is_read_from_its_comments() {
        let header = [
            "/// Waits.\n///\n/// For the loop: one store.\nint prt_a(int x);\n",
            "/// Not for the loop.\nint prt_b(void);\n",
            "/// For the loop.\nint64_t *prt_c(int y,\n    int z);\n",
        ]
        .join("\n");
        assert_eq!(promised(&header), ["prt_a", "prt_c"]);
        assert!(is_left_out("_RNvNtCsgEmfK2I1SDS_4core9panicking19panic_cannot_unwind"));
        assert!(!is_left_out("_RNvNtCsgEmfK2I1SDS_4core9panicking18panic_bounds_check"));
    }

    #[test]
    fn panics_are_known_by_their_mangled_names() {
        assert!(is_forbidden("_RNvNtCs61DTMS1Ij0p_4core9panicking18panic_bounds_check", false));
        assert!(is_forbidden("_ZN4core9panicking5panic17h0123456789abcdefE", true));
        assert!(is_forbidden("_RNvCsdBezzDwma51_7___rustc12___rust_alloc", false));
        assert!(!is_forbidden("_RNvMNtCs_11punctual_rt5pacerNtB2_5Pacer4wait", false));
    }

    #[test]
    fn outside_there_is_only_what_is_listed() {
        assert!(!is_forbidden("clock_nanosleep", true));
        assert!(is_forbidden("malloc", true));
        assert!(is_forbidden("gettid", true));
        assert!(BEHIND_DOORS.iter().all(|name| !is_forbidden(name, true)), "each has a door");
        assert!(is_door("_RNvNtNtCsfoR7TlLYxEx_11punctual_rt3sys5futex10futex_wait"));
        assert!(is_door("_ZN11punctual_rt3sys5clock16futex_wait_until17habc58a3d16e62752E"));
        assert!(!is_door("_RNvNtNtCsfoR7TlLYxEx_11punctual_rt3sys5sched10set_policy"));
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        assert!(Library::parse(b"\x7fELF").is_err());
    }
}
