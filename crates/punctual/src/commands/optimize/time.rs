//! The time of a campaign: what counts against its budget, and which pauses between measurements are too long.

use crate::cli::OptimizeArgs;
use anyhow::{Context, Result};
use punctual_hist::Nanos;
use punctual_linux::apply::{Hand, now};
use punctual_optimize::across::Across;
use punctual_optimize::format::Kept;
use punctual_optimize::pause::Moment;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Time at the start of each run that is not counted, because the first activations after a change are not typical of
/// it.
pub const WARM_UP: Nanos = Nanos::from_ms(200);
/// Estimated time that each run takes besides measuring: for setting candidates, starting loads, and putting candidates
/// back.
const AROUND: Nanos = Nanos::from_ms(400);
/// Estimated time of a boot. If the machine boots unattended, the real time is used instead.
const BOOT: Nanos = Nanos::from_secs(60);

/// The seed if the user states none: the nanoseconds of the clock.
pub fn seed_of_the_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| u64::from(since.subsec_nanos()))
}

pub fn since(begun: Instant) -> Nanos {
    Nanos::from_ns(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// Estimated time of one run, including setting and putting back and, with `--boots`, the boot.
pub fn each(args: &OptimizeArgs) -> Nanos {
    let alone = args.run.plus(WARM_UP).plus(AROUND);
    if args.boots { alone.plus(args.settle).plus(BOOT) } else { alone }
}

pub fn present(hand: &dyn Hand) -> Result<Moment> {
    let present = now(hand).context("cannot tell the time since the machine was started")?;
    let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Ok(Moment { boot: present.boot, up: Nanos::from_ns(present.boottime_ns), unix_s })
}

/// Whether the last measurement is too old to be compared with the next one. Campaigns of older programs did not save
/// its time; for them the answer is yes.
pub fn is_after_a_pause(args: &OptimizeArgs, kept: &Kept, present: &Moment) -> bool {
    let block = each(args).times(kept.campaign.design.block_at_most());
    kept.last.as_ref().is_none_or(|last| last.is_long_before(present, block, kept.across.is_some()))
}

/// Time since the start of this boot if the campaign asked for the boot, otherwise zero. If the user had to resume the
/// campaign, at most [`BOOT`] counts.
pub fn of_boot(across: &Across, present: &Moment, is_at_boot: bool) -> Nanos {
    match &across.asked {
        Some(asked) if *asked != present.boot => {
            if is_at_boot {
                present.up
            } else {
                present.up.min(BOOT)
            }
        }
        _ => Nanos::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_counts_against_the_budget_and_waiting_for_somebody_does_not() {
        let present = |up| Moment { boot: "b".to_owned(), up: Nanos::from_secs(up), unix_s: 0 };
        let mut across = Across::begun("ro".to_owned(), "6.1".to_owned(), "a".to_owned());
        assert_eq!(of_boot(&across, &present(500), true), Nanos::ZERO, "nobody asked for it");
        across.asked = Some("a".to_owned());
        assert_eq!(of_boot(&across, &present(95), true), Nanos::from_secs(95));
        assert_eq!(of_boot(&across, &present(40), false), Nanos::from_secs(40));
        assert_eq!(of_boot(&across, &present(3 * 86_400), false), BOOT, "somebody came three days later");
        across.asked = Some("b".to_owned());
        assert_eq!(of_boot(&across, &present(95), true), Nanos::ZERO, "it was asked for in this boot, and is to come");
    }
}
