//! Checks that the findings of the run-time library and the knobs of the audit use the same ids.

use punctual_tuning::knobs;

#[test]
fn findings_of_the_library_are_knobs_of_the_audit_or_of_the_task_itself() {
    let (mut of_the_task, mut knobs) = (0, 0);
    for code in punctual_rt::check::codes() {
        if code.starts_with("task.") {
            assert!(knobs::find(code).is_none(), "{code} is a knob, too");
            of_the_task += 1;
        } else {
            assert!(knobs::find(code).is_some(), "{code} is no knob of the audit");
            knobs += 1;
        }
    }
    assert!(of_the_task > 0 && knobs > 0);
}
