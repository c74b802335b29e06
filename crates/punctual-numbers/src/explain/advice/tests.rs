//! The table of advice: every knob is in the catalogue, every class has an answer, and looking up a knob's causes is
//! the exact inverse of looking up a cause's knobs.

use super::*;
use punctual_tuning::knobs;
use std::collections::BTreeSet;

#[test]
fn every_knob_of_the_advice_is_in_the_catalogue() {
    for row in ROWS {
        for knob in row.knobs() {
            assert!(knobs::find(knob).is_some(), "{knob}, advised for {:?}, is no knob", row.of);
        }
        let distinct: BTreeSet<_> = row.knobs().collect();
        assert_eq!(distinct.len(), row.knobs().count(), "{:?} names a knob twice", row.of);
    }
}

#[test]
fn every_class_has_an_answer_but_what_is_done_on_purpose() {
    for &class in Class::ALL {
        let cause = Cause { class, name: "something nobody has heard of".into() };
        assert_eq!(knobs(&cause, &[]).is_empty(), class == Class::Stopped, "advice on {class:?}");
    }
}

#[test]
fn the_way_back_from_a_knob_is_the_way_to_it() {
    for row in ROWS {
        let cause = row.of.example();
        for knob in knobs(&cause, &[]) {
            let fits = |of: &Advised| of.class == cause.class && of.called.fits(&cause.name);
            assert!(causes(knob).iter().any(fits), "{knob} does not lead back to {cause:?}");
        }
        for knob in row.knobs() {
            assert!(causes(knob).contains(&row.of));
        }
    }
    assert_eq!(causes("no such knob"), []);
}

#[test]
fn the_exact_row_comes_before_that_of_the_class() {
    for (at, row) in ROWS.iter().enumerate() {
        let cause = row.of.example();
        let fits = |earlier: &&Advice| earlier.of.class == cause.class && earlier.of.called.fits(&cause.name);
        let hidden = ROWS.iter().take(at).find(fits);
        assert!(hidden.is_none(), "{:?} stands behind a row that fits it as well", row.of);
    }
}

#[test]
fn a_managed_line_is_not_to_be_moved_by_hand() {
    let cause = Cause { class: Class::HardIrq, name: "nvme0q3 (irq 131)".into() };
    assert_eq!(knobs(&cause, &[]).first(), Some(&"irq.affinity"));
    assert_eq!(knobs(&cause, &[WhyCount { why: Why::Managed, spikes: 3 }]).first(), Some(&"irq.managed"));
}
