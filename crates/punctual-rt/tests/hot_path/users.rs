//! Tests that the promises hold for every user who runs the loop.

use crate::{allocation, faults, sys, system_calls};
use punctual_rt::setup::SetupStep;
use punctual_rt::{Control, Ended, Error, Memory, Nanos, Phase, Policy, Require, SetupError, Task, TaskConfig};

#[test]
fn the_promises_hold_for_a_user_without_privileges() {
    if sys::is_child() {
        sys::become_nobody();
        allocation::nothing_is_allocated_or_freed_between_two_waits();
        faults::no_page_faults_after_the_first_turns();
        system_calls::the_kernel_is_entered_only_to_wait();
    } else if sys::is_root() {
        sys::in_child("users::the_promises_hold_for_a_user_without_privileges").succeeded();
    } // Without root privileges, the other tests have already run as an ordinary user.
}

#[test]
fn whoever_has_no_rights_is_refused_or_told_what_is_missing() {
    if !sys::is_child() {
        return sys::in_child("users::whoever_has_no_rights_is_refused_or_told_what_is_missing").succeeded();
    }
    if sys::is_root() {
        sys::become_nobody();
    }
    sys::give_up_limits();
    let config = TaskConfig::periodic(Nanos::from_ms(1)).phase(Phase::Offset(Nanos::ZERO)).policy(Policy::Fifo(50));
    let config = config.memory(Memory::Lock { stack_bytes: 64 << 10, heap_bytes: 0 });
    let strict = Task::spawn(&config.clone().require(Require::Strict), |_| Control::Stop);
    assert!(matches!(strict.map(drop), Err(Error::Setup(SetupError::MemoryLock(_) | SetupError::Policy(_)))));
    let mut runs = 0;
    let task = Task::spawn(&config.require(Require::BestEffort), move |_| {
        runs += 1;
        if runs == 100 { Control::Stop } else { Control::Continue }
    })
    .unwrap();
    assert_eq!(task.grants().thread.policy, Some(Policy::Other), "what was granted, not what was asked for");
    let refused: Vec<SetupStep> = task.refusals().iter().map(|refusal| refusal.what).collect();
    assert!(refused.contains(&SetupStep::MemoryLock) && refused.contains(&SetupStep::Policy), "{refused:?}");
    let stats = task.stats().clone();
    assert_eq!(task.join(), Ended::Stopped);
    assert_eq!(stats.snapshot().counters.activations, 100);
}
