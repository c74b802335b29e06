//! How long intervals are: short while the run is young, longer later, so that a recording of weeks stays small.

use punctual_hist::Nanos;

/// Length of the interval that begins when so much has been measured. It is also what a crash can lose.
pub fn interval_length(measured: Nanos) -> Nanos {
    if measured < Nanos::from_secs(600) {
        Nanos::from_secs(1)
    } else if measured < Nanos::from_secs(7200) {
        Nanos::from_secs(10)
    } else {
        Nanos::from_secs(60)
    }
}
