//! The promises hold whoever runs the loop.

use crate::{allocation, faults, sys, system_calls};

#[test]
fn the_promises_hold_for_a_user_without_privileges() {
    if sys::is_child() {
        sys::become_nobody();
        allocation::nothing_is_allocated_or_freed_between_two_waits();
        faults::no_page_faults_after_the_first_turns();
        system_calls::the_kernel_is_entered_only_to_wait();
    } else if sys::is_root() {
        sys::in_child("users::the_promises_hold_for_a_user_without_privileges").succeeded();
    } // Whoever is not root has run them as such.
}
