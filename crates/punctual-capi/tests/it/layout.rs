//! Tests that the C header and the Rust library agree about layouts and numbers, and that neither changes in a later
//! version.

use crate::{compiler, installed, output, run, scratch};
use punctual_capi as capi;
use std::fmt::Write;

/// A member of a structure: structure, name, offset and size in bytes.
type Member = (&'static str, &'static str, usize, usize);

macro_rules! members {
    ($all:ident, $of:ident: $($member:ident)+) => {
        let value = std::mem::MaybeUninit::<capi::$of>::uninit();
        let base = value.as_ptr();
        fn size<T>(_: *const T) -> usize {
            size_of::<T>()
        }
        let mut whole = 0;
        $({
            // SAFETY: the address of a member within the value; nothing is read.
            let at = unsafe { &raw const (*base).$member };
            let bytes = size(at);
            $all.push((stringify!($of), stringify!($member), at.addr() - base.addr(), bytes));
            whole += bytes;
        })+
        assert_eq!(whole, size_of::<capi::$of>(), "{}: a member is not listed, or there is padding", stringify!($of));
    };
}

fn members() -> Vec<Member> {
    let mut all = Vec::new();
    {
        members!(all, prt_config: size version name period_ns phase phase_clock phase_offset_ns phase_multiple_ns policy
            priority reserved_runtime_ns reserved_deadline_ns reserved_period_ns cpus cpu_count wait margin_ns spin_ppm
            external_fd external_patience_ns overrun catch_up_max tolerance_ns deadline_ns budget_ns execution_ns
            steer_max_ns memory require stack_bytes heap_bytes latency_qos latency_us flight_cycles
            confirm_interference external_signal backend in_band);
    }
    {
        members!(all, prt_finding: size version code task evidence remedy severity reserved);
    }
    {
        members!(all, prt_wake: size version index release_ns woke_ns error_ns interval_ns missed overshoot_ns polled_ns
            class_of reserved);
    }
    {
        members!(all, prt_servo_config: size version period_ns bandwidth_hz damping target_ns step_max_ns
            frequency_max_ppm lock_ns);
    }
    {
        members!(all, prt_servo_state: size version error_ns target_ns frequency_ppm rejected locked reserved);
    }
    {
        members!(all, prt_summary: count min_ns mean_ns p50_ns p90_ns p99_ns p999_ns p9999_ns max_ns);
    }
    {
        members!(all, prt_stats: size version pid cpu coherent reserved period_ns started_ns taken_ns suspended_ns
            first_woke_ns last_woke_ns activations missed outages lost_in_outages over_budget deadline_misses classes
            latency early overshoot polled period_error execution response period_autocorrelation);
    }
    {
        members!(all, prt_watchdog_config: size version interval_ns priority cpu_count cpus);
    }
    all
}

fn listed(members: &[Member]) -> String {
    let mut text = String::new();
    for (of, member, offset, bytes) in members {
        writeln!(text, "{of}.{member} {offset} {bytes}").unwrap();
    }
    text
}

#[test]
fn c_and_rust_agree_on_every_member() {
    let members = members();
    let mut source = String::from("#include <punctual_rt.h>\n#include <stdio.h>\nint main(void)\n{\n");
    for (of, member, ..) in &members {
        let place = format!("offsetof({of}, {member}), sizeof(((({of} *)0)->{member}))");
        writeln!(source, "    printf(\"{of}.{member} %zu %zu\\n\", {place});").unwrap();
    }
    source.push_str("    return 0;\n}\n");
    let (path, target) = (scratch().join("layout.c"), scratch().join("layout"));
    std::fs::write(&path, source).unwrap();
    output(compiler(&path).arg("-I").arg(installed().join("include")).arg("-o").arg(&target));
    assert_eq!(output(&mut run(&target)), listed(&members));
}

/// Compiled C programs rely on the layout. New members are added at the end; then `BLESS=1` rewrites `layout-1.txt`.
#[test]
fn no_member_ever_moves() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/layout-1.txt");
    let now = listed(&members());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &now).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap();
    for line in written.lines() {
        assert!(now.lines().any(|now| now == line), "{line} is no more");
    }
    assert_eq!(now.lines().count(), written.lines().count(), "new members are to be written down, too");
}

#[test]
fn the_numbers_of_refusals_never_change() {
    let numbers = [
        (capi::PRT_E_HANDLE, -5000),
        (capi::PRT_E_THREAD, -5001),
        (capi::PRT_E_PANIC, -5002),
        (capi::PRT_E_DONE, -5003),
        (capi::PRT_E_CHOICE, -5004),
        (capi::PRT_E_TEXT, -5005),
        (capi::PRT_E_PERIOD, -5010),
        (capi::PRT_E_PRIORITY, -5011),
        (capi::PRT_E_MARGIN, -5012),
        (capi::PRT_E_STEER, -5013),
        (capi::PRT_E_RESERVATION, -5014),
        (capi::PRT_E_SERVO, -5015),
        (capi::PRT_E_NO_TASK, -5016),
        (capi::PRT_E_FOREIGN, -5017),
        (capi::PRT_E_REFUSED, -5099),
    ];
    for (number, fixed) in numbers {
        assert_eq!(number, fixed);
        // SAFETY: never null, valid until the next call.
        let text = unsafe { std::ffi::CStr::from_ptr(capi::prt_error_text(number)) };
        assert!(!text.is_empty() && text != c"unknown", "{number} has no text");
    }
}

#[test]
fn classes_are_numbered_as_in_the_library() {
    use punctual_rt::Class;
    let classes = [
        (Class::OnTime, capi::PRT_CLASS_ON_TIME),
        (Class::PastOnArrival, capi::PRT_CLASS_PAST_ON_ARRIVAL),
        (Class::LateFromSleep, capi::PRT_CLASS_LATE_FROM_SLEEP),
        (Class::HitWhilePolling, capi::PRT_CLASS_HIT_WHILE_POLLING),
        (Class::Preempted, capi::PRT_CLASS_PREEMPTED),
        (Class::Interrupted, capi::PRT_CLASS_INTERRUPTED),
        (Class::Early, capi::PRT_CLASS_EARLY),
        (Class::TimedOut, capi::PRT_CLASS_TIMED_OUT),
    ];
    for (class, number) in classes {
        assert_eq!(class as u32, number, "{class:?}");
    }
}
