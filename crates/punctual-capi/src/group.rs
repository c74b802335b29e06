//! Groups of tasks for C.

use crate::config::{config, prt_config};
use crate::error::{Failure, PRT_E_DONE, cold, done};
use crate::handle;
use crate::task::{Body, Running, lock, prt_body, prt_task};
use crate::text;
use punctual_rt::Group;
use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

/// Tasks that start at a common epoch and keep their phases to each other. Opaque.
pub struct prt_group([u8; 0]);

handled!(prt_group, 5: Mutex<Option<Gathered>>);

/// Tasks that are set up and wait for the start of their group.
pub struct Gathered {
    group: Group,
    runners: Vec<Arc<AtomicU64>>,
}

/// Makes a group without tasks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_group_open(group: *mut *mut prt_group) -> c_int {
    done(|| {
        let gathered = Gathered { group: Group::new(), runners: Vec::new() };
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        unsafe { text::put(group, || Ok(handle::open(Mutex::new(Some(gathered)))?)) }
    })
}

/// Starts a thread and sets it up. The thread waits for `prt_group_start`. Returns the number of the task in its group.
///
/// The first release of the first task is the epoch of the group. For the other tasks only `PRT_PHASE_OFFSET` has an
/// effect: their first releases lie `phase_offset_ns` after the epoch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_group_add(
    group: *mut prt_group,
    config: *const prt_config,
    body: prt_body,
    user: *mut c_void,
) -> c_int {
    cold(|| {
        let place = handle::shared(group)?;
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        let config = unsafe { self::config(config) }?;
        let mut body = Body::new(body, user)?;
        let runner = Arc::clone(&body.runner);
        let mut gathered = lock(&place);
        let gathered = gathered.as_mut().ok_or_else(started)?;
        gathered.group.add(&config, move |cycle| body.run(cycle))?;
        let number = c_int::try_from(gathered.runners.len()).unwrap_or(c_int::MAX);
        gathered.runners.push(runner);
        Ok(number)
    })
}

fn started() -> Failure {
    Failure::new(PRT_E_DONE, "the group was started already")
}

/// Starts all tasks of the group, and writes their handles to `tasks` in the order in which they were added. `count`
/// must be the number of tasks. Can be done once; close the group afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_group_start(group: *mut prt_group, tasks: *mut *mut prt_task, count: usize) -> c_int {
    done(|| {
        let place = handle::shared(group)?;
        let mut gathered = lock(&place);
        let number = gathered.as_ref().ok_or_else(started)?.runners.len();
        if number != count {
            return Err(Failure::new(-libc::EINVAL, format!("the group has {number} tasks, count is {count}")));
        }
        if tasks.is_null() && count > 0 {
            return Err((-libc::EFAULT).into());
        }
        let Gathered { group, runners } = gathered.take().ok_or_else(started)?;
        for (index, (task, runner)) in group.start().into_iter().zip(runners).enumerate() {
            let task = handle::open(Running::new(task, runner))?;
            // SAFETY: the C caller promises room for `count` handles.
            unsafe { tasks.wrapping_add(index).write_unaligned(task) };
        }
        Ok(())
    })
}

/// Frees a group. Tasks that were not started are ended, and this call waits for their ends. Started tasks go on.
#[unsafe(no_mangle)]
pub extern "C" fn prt_group_close(group: *mut prt_group) -> c_int {
    done(|| handle::free(group))
}
