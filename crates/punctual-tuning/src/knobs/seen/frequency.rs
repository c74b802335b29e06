//! Whether the clock of the real-time CPUs is constant.

use crate::knobs::case::Missing::CannotBe;
use crate::knobs::case::{Case, Judged, Missing};

pub(crate) const NO_DRIVER: Missing = CannotBe("no cpufreq driver: the firmware or the host sets the frequency");

/// Whether Linux holds the clock of the real-time CPUs, either by a governor that ignores load or by equal minimum and
/// maximum. Not applicable without a cpufreq driver.
pub(crate) fn governor(case: &Case<'_>) -> Judged {
    let read = |file: &str| case.of_rt(&format!("cpufreq/{file}"), NO_DRIVER);
    let governors = read("scaling_governor")?;
    if governors.iter().all(|of| of.value == "performance" || of.value == "userspace") {
        return Ok(true);
    }
    Ok(matches!((read("scaling_min_freq"), read("scaling_max_freq")), (Ok(lowest), Ok(highest)) if lowest == highest))
}
