//! The gravity of a core: by how many nanoseconds its timers fire early, to make up for the way to the handler, the task or
//! the thread. The cores' drivers find it by trying values, which takes up to half a minute for each of the three.

use super::latmus::context;
use super::{Device, DriverError};
use crate::sys::core_driver::{CoreDevice, LatmusSetup, be_interruptible, interrupt};
use punctual_hist::Nanos;
use punctual_numbers::scenario::{Core, CoreContext};
use punctual_rt::{CoreThread, kernel, now, setup};
use std::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Acquire, Release},
};

/// The period at which gravity is found: that of the cores' own programs.
const PERIOD: Nanos = Nanos::from_ms(1);
const PRIORITY: u8 = 90;

/// What the driver found, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gravities {
    pub irq_ns: u32,
    pub kernel_ns: u32,
    pub user_ns: u32,
}

/// Lets the driver of a core find and set all three gravities on this CPU.
///
/// # Errors
/// What is missing, or what the driver refused.
pub fn tune(core: Core, cpu: u32) -> Result<Gravities, DriverError> {
    on_core(core, cpu, |device| {
        Ok(Gravities {
            irq_ns: one(core, device, cpu, CoreContext::Irq)?,
            kernel_ns: one(core, device, cpu, CoreContext::Kernel)?,
            user_ns: one(core, device, cpu, CoreContext::User)?,
        })
    })
}

/// Lets a core go back to the gravities that its kernel was built with.
///
/// # Errors
/// What is missing, or what the driver refused.
pub fn reset(core: Core, cpu: u32) -> Result<(), DriverError> {
    on_core(core, cpu, |device| match core {
        Core::Evl => device.latmus_reset(),
        Core::Cobalt => device.autotune_reset(),
    })
}

/// Opens the driver in a thread of its own, which belongs to the core and to this CPU, and lets it do something.
fn on_core<T: Send>(
    core: Core,
    cpu: u32,
    act: impl FnOnce(&CoreDevice) -> Result<T, i32> + Send,
) -> Result<T, DriverError> {
    let needed = Device::that_tunes(core);
    needed.look()?;
    let acts = || {
        let thread = attach(needed, cpu)?;
        let device = needed.open(&thread)?;
        act(&device).map_err(|errno| needed.refused(errno))
    };
    std::thread::scope(|scope| scope.spawn(acts).join()).unwrap_or_else(|_| Err(needed.refused(libc::EIO)))
}

fn attach(needed: Device, cpu: u32) -> Result<CoreThread, DriverError> {
    setup::pin_current(&[cpu])?;
    setup::set_policy(punctual_rt::Policy::Fifo(PRIORITY))?;
    Ok(CoreThread::attach(needed.core(), PRIORITY)?)
}

fn one(core: Core, device: &CoreDevice, cpu: u32, which: CoreContext) -> Result<u32, i32> {
    let period_ns = PERIOD.as_ns();
    match core {
        Core::Evl => {
            let (context, priority) = (context(which), i32::from(PRIORITY));
            let asked = LatmusSetup { context, period_ns, priority, cpu, pipe: 0, cells: 0 };
            // A thread that tells when it woke is refused before the driver knows whose gravity to find.
            device.latmus_tune(&asked)?;
            with_sleeper(core, device, cpu, which, || device.latmus_tune_run())
        }
        Core::Cobalt => {
            device.autotune_setup(context(which), u32::try_from(period_ns).map_err(|_| libc::EINVAL)?)?;
            with_sleeper(core, device, cpu, which, || device.autotune_run())
        }
    }
}

/// Runs the driver. For the gravity of threads of programs it needs one such thread, which tells it when it woke.
fn with_sleeper(
    core: Core,
    device: &CoreDevice,
    cpu: u32,
    which: CoreContext,
    run: impl FnOnce() -> Result<u32, i32>,
) -> Result<u32, i32> {
    if which != CoreContext::User {
        return run();
    }
    let (done, tid) = (AtomicBool::new(false), AtomicU32::new(0));
    let runs = kernel::thread_id();
    be_interruptible().map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))?;
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            let Ok(_thread) = attach(Device::that_tunes(core), cpu) else { return };
            if be_interruptible().is_err() {
                return;
            }
            tid.store(kernel::thread_id(), Release);
            sleep_until_done(core, device, &done);
            // Without such a thread the driver would wait for ever.
            while !done.load(Acquire) {
                interrupt(runs);
                kernel::sleep_for(Nanos::from_ms(50));
            }
        });
        // The driver waits for a thread that cannot be attached for ever.
        while tid.load(Acquire) == 0 && !sleeper.is_finished() {
            std::thread::yield_now();
        }
        if sleeper.is_finished() {
            return Err(libc::EPERM);
        }
        let gravity = run();
        done.store(true, Release);
        while !sleeper.is_finished() {
            interrupt(tid.load(Acquire));
            kernel::sleep_for(Nanos::from_ms(1));
        }
        gravity
    })
}

fn sleep_until_done(core: Core, device: &CoreDevice, done: &AtomicBool) {
    let mut woke_ns = 0;
    while !done.load(Acquire) {
        let pulse = match core {
            Core::Evl => device.latmus_pulse(woke_ns),
            Core::Cobalt => device.autotune_pulse(woke_ns),
        };
        woke_ns = match pulse {
            Ok(()) => now().as_ns(),
            // The driver has tried one value, and the next one begins.
            Err(libc::EPIPE) => 0,
            // The driver is not ready yet, or a signal came.
            Err(libc::EAGAIN | libc::EINTR) => {
                kernel::sleep_for(PERIOD);
                0
            }
            Err(_) => return,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_core_tuning_says_what_is_missing() {
        for core in [Core::Evl, Core::Cobalt] {
            if Device::that_tunes(core).look().is_ok() {
                return;
            }
            let (tuned, undone) = (tune(core, 0).unwrap_err(), reset(core, 0).unwrap_err());
            assert_eq!(tuned.to_string(), undone.to_string());
            assert!(!tuned.remedy().is_empty() && !tuned.to_string().contains('\n'), "{tuned}");
        }
    }
}
