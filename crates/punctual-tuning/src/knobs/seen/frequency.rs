//! Who sets the clock of the real-time CPUs.

use crate::knobs::case::Missing::CannotBe;
use crate::knobs::case::{Case, Judged, Missing};

/// What it means when a CPU shows no frequency.
pub(crate) const NO_DRIVER: Missing = CannotBe("no cpufreq driver: the firmware or the host sets the frequency");

/// Whether Linux holds the clock of the real-time CPUs: by a governor that does not look at load, or by one frequency
/// for minimum and maximum. Fails where it has no driver.
pub(crate) fn governor(case: &Case<'_>) -> Judged {
    let read =
        |file: &str| case.per_cpu(&format!("/sys/devices/system/cpu/cpu{{cpu}}/cpufreq/{file}"), case.rt(), NO_DRIVER);
    let governors = read("scaling_governor")?;
    if governors.iter().all(|(_, governor)| governor == "performance" || governor == "userspace") {
        return Ok(true);
    }
    Ok(matches!((read("scaling_min_freq"), read("scaling_max_freq")), (Ok(lowest), Ok(highest)) if lowest == highest))
}
