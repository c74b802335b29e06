//! Whatever the records are, the parts of a window sum to its latency, in order and without gaps.

use crate::explain::account::account;
use crate::explain::cause;
use crate::explain::clues::Rules;
use crate::explain::ordinary::learn;
use crate::recording::strategies::window;
use crate::trace::Incomplete;
use proptest::prelude::*;
use punctual_hist::Nanos;

proptest! {
    #[test]
    fn the_parts_of_a_window_are_its_latency(window in window(), guest: bool, rt: bool) {
        let (rules, ordinary) = learn(&[], Rules { guest, rt, ..Rules::default() });
        let account = account(&window, &rules);
        prop_assert_eq!(account.parts.len(), account.whys.len());
        if account.incomplete == Some(Incomplete::NoTrace) {
            prop_assert!(account.parts.is_empty());
        } else {
            let mut at = window.release;
            for part in &account.parts {
                prop_assert_eq!(part.from, at);
                prop_assert!(part.length > Nanos::ZERO);
                at = at.plus(part.length);
            }
            prop_assert_eq!(at.max(window.release), window.woke.max(window.release));
        }
        let spike = cause::spike(&window, account, &ordinary);
        if !spike.parts.is_empty() {
            let sum = spike.causes.iter().fold(Nanos::ZERO, |sum, blame| sum.plus(blame.time));
            prop_assert_eq!(sum, spike.latency());
        }
    }
}
