//! Causes without a trace: counters that grew more than usual around an activation.
//!
//! A counter points to a cause if it grew by more than twice its growth in an equally long time elsewhere in the run.
//! If its usual growth is not known, any growth counts. Causes are ordered by the ratio to the usual growth; they have
//! no time.

use super::{Blame, Cause, CauseName, Class, Why, names};
use crate::stats::float::float;
use crate::trace::{Counter, Growth, Window};
use punctual_hist::Nanos;

/// Causes that the counters around a window point to, the strongest first.
pub(super) fn blames(window: &Window) -> Vec<Blame> {
    let Some(around) = &window.around else { return Vec::new() };
    let mut spoken: Vec<(f64, Blame)> = around.changes.iter().filter_map(spoken).collect();
    spoken.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cause.cmp(&b.1.cause)));
    spoken.into_iter().map(|(_, blame)| blame).collect()
}

fn spoken(change: &Growth) -> Option<(f64, Blame)> {
    let usually = change.usually.unwrap_or(0);
    let strength = if change.counter == Counter::FrequencyRatio {
        // The ratio of the frequency points to a cause by being low.
        let low = change.by.saturating_mul(5) < usually.saturating_mul(4);
        (low && change.by > 0).then(|| float(usually) / float(change.by))?
    } else {
        (change.by > usually.saturating_mul(2)).then(|| float(change.by) / float(usually.max(1)))?
    };
    let (cause, counter) = cause(&change.counter)?;
    let is_time = matches!(change.counter, Counter::Steal | Counter::OwnRunDelay);
    let why = vec![Why::Counter { name: counter, grew: change.by, is_time }];
    Some((strength, Blame { cause, time: Nanos::ZERO, excess: Nanos::ZERO, why }))
}

/// The cause that a counter points to, and the counter's name; `None` for counters that only show that something was
/// late.
fn cause(counter: &Counter) -> Option<(Cause, String)> {
    let (class, name, counter) = match counter {
        Counter::Interrupt(line, what) => return Some(interrupt(line, what)),
        Counter::Softirq(name) => (Class::Softirq, name.clone(), name.clone()),
        Counter::IdleState(name) => (Class::IdleExit, name.clone(), name.clone()),
        Counter::OwnRunDelay => (Class::HigherPriority, String::new(), "run delay".to_owned()),
        Counter::Steal => (Class::Hypervisor, String::new(), "steal".to_owned()),
        Counter::Smi => (Class::Firmware, String::new(), "SMI".to_owned()),
        Counter::Throttled => (Class::Frequency, "throttled for heat".to_owned(), "throttled for heat".to_owned()),
        Counter::FrequencyRatio => (Class::Frequency, String::new(), "frequency ratio".to_owned()),
        Counter::MinorFaults => (Class::PageFault, String::new(), "minor faults".to_owned()),
        Counter::MajorFaults => (Class::PageFault, "from disk".to_owned(), "major faults".to_owned()),
        Counter::InvoluntarySwitches => (Class::HigherPriority, String::new(), "involuntary switches".to_owned()),
        Counter::VoluntarySwitches | Counter::RunDelay => return None,
        Counter::Migrations => (Class::Migration, String::new(), "migrations".to_owned()),
        Counter::RtThrottled => (Class::Throttled, String::new(), "throttled".to_owned()),
    };
    Some((Cause { class, name: name.into() }, counter))
}

/// The cause and the name of the counter for a row of `/proc/interrupts`. A row named by a number is the line of a
/// device; a row named by a word is an interrupt of the CPU itself.
fn interrupt(line: &str, what: &str) -> (Cause, String) {
    let class = match line {
        _ if names::is_clock(what) => Class::TimerInterrupt,
        number if number.bytes().all(|byte| byte.is_ascii_digit()) && !number.is_empty() => {
            let name = if what.is_empty() { format!("irq {line}") } else { format!("{what} (irq {line})") };
            return (Cause { class: Class::HardIrq, name: name.clone().into() }, name);
        }
        "NMI" => Class::Nmi,
        "LOC" => Class::TimerInterrupt,
        "RES" | "CAL" | "TLB" | "IWI" => Class::Ipi,
        ipi if ipi.starts_with("IPI") => Class::Ipi,
        _ => Class::Vector,
    };
    let name = if what.is_empty() { line.to_owned() } else { what.to_owned() };
    let shown = if class == Class::TimerInterrupt { CauseName::NONE } else { name.clone().into() };
    (Cause { class, name: shown }, name)
}
