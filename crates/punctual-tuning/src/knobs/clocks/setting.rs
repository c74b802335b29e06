//! Knobs about programs that set the system's time, and about how precisely timers expire.

use crate::knobs::prelude::*;

const CHRONY: [&str; 2] = ["/etc/chrony/chrony.conf", "/etc/chrony.conf"];

const KNOB: Knob = Knob { confidence: Confidence::Low, ..Knob::of(Family::Clocks) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "clk.ntp",
        title: "The system time is slewed, never set",
        check: Check::Probe(ntp),
        why: "When a daemon sets the time instead of slewing it, timers on CLOCK_REALTIME expire early or late by the \
            whole step, and log lines from before and after the step cannot be compared. CLOCK_MONOTONIC is not \
            affected.",
        fix: Fix::prose(
            "Let chrony step the clock only at its start (makestep 1 3), and let the application wait on \
            CLOCK_MONOTONIC.",
        ),
        persist: &[Lasting::other("In chrony.conf: makestep 1 3, with a positive last number.")],
        undo: Fix::prose("Put back the line that was there."),
        cost: "A clock that is far off takes hours to be corrected.",
        sources: &[
            "chrony.conf(5): makestep",
            "unverified: when systemd-timesyncd and ntpd step (from 0.4 s and 0.128 s off)",
        ],
        ..KNOB
    },
    Knob {
        id: "clk.timer_slack",
        title: "Timers expire without added slack",
        confidence: Confidence::High,
        severity: Weight::of(Info, Info, Medium),
        applies: |case| case.not_for(Kind::Poll, "work that never sleeps waits for no timer"),
        check: Check::advice(
            "cannot be seen before the application runs: /proc/PID/timerslack_ns holds 50000 for an ordinary thread that \
                inherited nothing else, and 0 for one with a real-time policy",
        ),
        why: "A thread without a real-time policy lets the kernel delay its timers by 50 us, to expire several at \
            once; programs inherit this from their parent. Threads with a real-time policy have no slack.",
        fix: Fix::prose("Give the thread a real-time policy, or call prctl(PR_SET_TIMERSLACK, 1) in it."),
        persist: &[Lasting::unit("TimerSlackNSec=1"), Lasting::unit("CPUSchedulingPolicy=fifo")],
        undo: Fix::prose("prctl(PR_SET_TIMERSLACK, 0) restores what the thread started with."),
        cost: "More interrupts.",
        sources: &[
            "kernel 6.1 kernel/sched/core.c, 7.3 kernel/sched/syscalls.c: timer_slack_ns",
            "prctl(2): PR_SET_TIMERSLACK",
        ],
        ..KNOB
    },
    Knob {
        id: "clk.rtc_sync",
        title: "Battery clock not written every eleven minutes",
        severity: Weight::all(Info).at_least(Medium, is_firmwares),
        check: Check::Probe(rtc_sync),
        why: "While the time is synchronised, the kernel writes the battery clock every eleven minutes: over a slow bus \
            with interrupts off, or by a call into the firmware.",
        fix: Fix::prose(
            "Take rtcsync out of chrony.conf and restart chrony; let a shutdown script run hwclock --systohc.",
        ),
        persist: &[Lasting::other("chrony.conf without rtcsync."), Lasting::built_without("RTC_SYSTOHC")],
        cost: "After a power cut the machine starts with a time that is further off.",
        sources: &[
            "kernel 7.3 kernel/time/ntp.c: SYNC_PERIOD_NS",
            "chrony.conf(5): rtcsync",
            "unverified: how long the write takes, and which daemons beside chrony make the kernel do it",
        ],
        ..KNOB
    },
];

/// The lines of chrony's main configuration file, without comments. Files that it includes are not read.
fn chrony_lines(case: &Case<'_>) -> Result<Vec<String>, Doubt> {
    let file = |path: &str| case.peek(path).map(|text| (path.to_owned(), text));
    let found = file(CHRONY[0]).or_else(|| file(CHRONY[1]));
    let unshown = TellsNothing("chrony runs, and its configuration is in none of the usual places");
    let (path, text) = case.known(CHRONY[0], found, unshown)?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', '!', ';', '%']));
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    let mut telling = lines.iter().filter(|line| line.starts_with("makestep") || line.starts_with("rtcsync"));
    let shown: Vec<&str> = telling.by_ref().map(String::as_str).collect();
    case.cite(
        &path,
        &Fact::Known(if shown.is_empty() { "no makestep, no rtcsync".to_owned() } else { shown.join("; ") }),
    );
    Ok(lines)
}

fn ntp(case: &Case<'_>) -> Judged {
    let running = case.running("clk.ntp")?;
    let runs = |name: &str| running.iter().any(|daemon| daemon == name);
    if runs("chronyd") {
        for line in chrony_lines(case)? {
            let mut words = line.split_whitespace();
            if words.next() != Some("makestep") {
                continue;
            }
            // The second number of `makestep` limits how many updates may step the time. A negative number lets every
            // update step it.
            match words.nth(1).map(str::parse::<i64>) {
                Some(Ok(updates)) if updates < 0 => return Ok(false),
                Some(Ok(_)) => {}
                _ => {
                    return Doubt::unknown(format!(
                        "chrony's configuration says '{line}', which this program does not understand"
                    ));
                }
            }
        }
    }
    if let Some(other) = running.iter().find(|daemon| *daemon != "chronyd") {
        return Doubt::unknown(format!(
            "{other} runs; whether it may step the time depends on the options that it was started with"
        ));
    }
    Ok(true)
}

fn rtc_sync(case: &Case<'_>) -> Judged {
    case.not_a_guest()?;
    if case.config("RTC_SYSTOHC")? == "n" && case.config("GENERIC_CMOS_UPDATE")? == "n" {
        return Ok(true);
    }
    let running = case.running("clk.rtc_sync")?;
    let Some(first) = running.first() else {
        return Ok(true);
    };
    if !running.iter().any(|daemon| daemon == "chronyd") {
        return Doubt::unknown(format!("whether {first} makes the kernel write the battery clock is not known"));
    }
    Ok(!chrony_lines(case)?.iter().any(|line| line.split_whitespace().next() == Some("rtcsync")))
}

/// Whether the battery clock is written by a call of the firmware, which may run any code of the firmware meanwhile.
fn is_firmwares(case: &Case<'_>) -> bool {
    let driver = case.link("/sys/class/rtc/rtc0/device/driver");
    driver.known().is_some_and(|driver| driver.ends_with("rtc-efi"))
}
