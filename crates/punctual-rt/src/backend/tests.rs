//! What a core answers, and what the library makes of it. A stub answers in place of the kernel.

use super::cobalt::{self, Cobalt};
use super::evl::{Evl, FoundEvl, form_of};
use super::out_of_band::{Core, OutOfBand};
use super::{Backend, Departure, InBand, Needs, SwitchCause};
use crate::sys::{BindRefused, CallForm, CobaltCalls, CobaltState, CoreInfo, EvlCalls, EvlDevice, Made};
use crate::{CoreRefusal, Error, SetupError, Stopper, now};
use punctual_hist::{MonoTime, Nanos};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ffi::CStr;
use std::os::fd::RawFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The calls of the stub, in the order in which they were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Did {
    Opened(EvlDevice),
    Closed(RawFd),
    Attached,
    SetFifo(u8),
    Counted,
    Slept,
    WarnedOf(bool),
    Detached,
}

/// A core that answers as a test says, and otherwise as a running EVL of ABI 36 does.
#[derive(Default)]
struct Stub {
    info: Option<Result<CoreInfo, i32>>,
    refuses_to_open: Option<(EvlDevice, i32)>,
    refuses_to_attach: Option<i32>,
    refuses_fifo: Option<i32>,
    out_of_band_cpus: Vec<u32>,
    /// The answers to the next sleeps; after the last one, sleeps succeed.
    sleeps: RefCell<VecDeque<i32>>,
    switches: Cell<u64>,
    refuses_state: Cell<Option<i32>>,
    /// What happens in the loop during each sleep.
    during_sleep: Option<fn(&Stub)>,
    did: RefCell<Vec<Did>>,
}

impl Stub {
    fn on_cpus(out_of_band_cpus: &[u32]) -> Self {
        Self { out_of_band_cpus: out_of_band_cpus.to_vec(), ..Self::default() }
    }

    fn note(&self, did: Did) {
        self.did.borrow_mut().push(did);
    }
}

fn refused(errno: Option<i32>) -> Result<(), i32> {
    errno.map_or(Ok(()), Err)
}

impl EvlCalls for Rc<Stub> {
    fn open(&self, device: EvlDevice) -> Result<RawFd, i32> {
        refused(self.refuses_to_open.filter(|(which, _)| *which == device).map(|(_, errno)| errno))?;
        self.note(Did::Opened(device));
        Ok(100 + device as i32)
    }

    fn close(&self, fd: RawFd) {
        self.note(Did::Closed(fd));
    }

    fn core_info(&self, _: RawFd) -> Result<CoreInfo, i32> {
        self.info.unwrap_or(Ok(CoreInfo::of_abi(36, 36)))
    }

    fn takes_cpu(&self, _: RawFd, cpu: u32) -> Result<bool, i32> {
        Ok(self.out_of_band_cpus.contains(&cpu))
    }

    fn attach(&self, _: RawFd, name: &CStr) -> Result<Made, i32> {
        assert_eq!(name, c"punctual:77");
        refused(self.refuses_to_attach)?;
        self.note(Did::Attached);
        Ok(Made { descriptor: 200, handle: 5, state_offset: 64 })
    }

    fn set_fifo(&self, _: CallForm, thread: RawFd, priority: u8) -> Result<(), i32> {
        assert_eq!(thread, 200);
        refused(self.refuses_fifo)?;
        self.note(Did::SetFifo(priority));
        Ok(())
    }

    fn switches(&self, _: CallForm, _: RawFd) -> Result<u64, i32> {
        self.note(Did::Counted);
        refused(self.refuses_state.get()).map(|()| self.switches.get())
    }

    fn warn(&self, _: CallForm, _: RawFd, on: bool) -> Result<(), i32> {
        self.note(Did::WarnedOf(on));
        Ok(())
    }

    fn sleep_until(&self, _: CallForm, _: RawFd, at: MonoTime) -> Result<(), i32> {
        let answer = self.sleeps.borrow_mut().pop_front();
        self.note(Did::Slept);
        if let Some(happens) = self.during_sleep {
            happens(self);
        }
        crate::kernel::sleep_until(at);
        refused(answer)
    }

    fn detach(&self, _: RawFd) -> Result<(), i32> {
        self.note(Did::Detached);
        Ok(())
    }
}

fn attach(stub: Stub) -> (Rc<Stub>, Result<Evl<Rc<Stub>>, CoreRefusal>) {
    let stub = Rc::new(stub);
    let evl = FoundEvl::find(Rc::clone(&stub)).and_then(|found| found.attach(77, 85, &[2, 3]));
    (stub, evl)
}

fn refusal(stub: Stub) -> CoreRefusal {
    attach(stub).1.err().expect("the stub refuses something")
}

#[test]
fn each_generation_of_evl_is_called_in_its_own_form() {
    let form = |base, current| form_of(&CoreInfo::of_abi(base, current));
    let untested = |oldest, newest| Err(CoreRefusal::Abi { oldest, newest });
    assert_eq!(form(36, 36), Ok(CallForm::OobSyscall));
    assert_eq!(form(23, 32), Ok(CallForm::Option), "a core of ABI 32 also accepts the calls of ABI 26");
    assert_eq!(form(23, 34), Ok(CallForm::Option));
    assert_eq!(form(23, 26), Ok(CallForm::Number));
    assert_eq!(form(30, 40), Ok(CallForm::OobSyscall), "the newest that was tested is taken");
    assert_eq!(
        [form(45, 45), form(27, 31), form(17, 19), form(0, 0)],
        [untested(45, 45), untested(27, 31), untested(17, 19), untested(0, 0)]
    );
    assert_eq!(form(40, 30), untested(40, 30), "nonsense of a core");
}

#[test]
fn what_evl_refuses_is_told_apart() {
    use EvlDevice::{Control, MonotonicClock, ThreadFactory};
    let cpus = || Stub::on_cpus(&[3]);
    let open = |device, errno| refusal(Stub { refuses_to_open: Some((device, errno)), ..cpus() });
    assert_eq!(open(Control, libc::ENOENT), CoreRefusal::Absent);
    assert_eq!(open(Control, libc::EACCES), CoreRefusal::NotAllowed(libc::EACCES));
    assert_eq!(open(Control, libc::ENODEV), CoreRefusal::Device(libc::ENODEV));
    assert_eq!(open(ThreadFactory, libc::ENOENT), CoreRefusal::Device(libc::ENOENT), "the core is there");
    assert_eq!(open(ThreadFactory, libc::EPERM), CoreRefusal::NotAllowed(libc::EPERM));
    assert_eq!(open(MonotonicClock, libc::ENXIO), CoreRefusal::Device(libc::ENXIO));

    let info = |info| refusal(Stub { info: Some(info), ..cpus() });
    assert_eq!(info(Err(libc::ENOTTY)), CoreRefusal::UnknownAbi);
    assert_eq!(info(Err(libc::EIO)), CoreRefusal::Call(libc::EIO));
    assert_eq!(info(Ok(CoreInfo::of_abi(45, 46))), CoreRefusal::Abi { oldest: 45, newest: 46 });

    let clone = |errno| refusal(Stub { refuses_to_attach: Some(errno), ..cpus() });
    assert_eq!(clone(libc::ENXIO), CoreRefusal::Stopped);
    assert_eq!(clone(libc::EBUSY), CoreRefusal::AlreadyAttached);
    assert_eq!(clone(libc::EPERM), CoreRefusal::NotAllowed(libc::EPERM));
    assert_eq!(clone(libc::ENODEV), CoreRefusal::Device(libc::ENODEV));
    assert_eq!(clone(libc::ENOMEM), CoreRefusal::Full(libc::ENOMEM));
    assert_eq!(clone(libc::EINVAL), CoreRefusal::Call(libc::EINVAL));

    assert_eq!(refusal(Stub { refuses_fifo: Some(libc::EPERM), ..cpus() }), CoreRefusal::NotAllowed(libc::EPERM));
    assert_eq!(refusal(Stub::on_cpus(&[0, 1])), CoreRefusal::Cpus);
}

#[test]
fn whatever_evl_refuses_everything_opened_is_closed() {
    let opened = |did: &[Did]| did.iter().filter(|did| matches!(did, Did::Opened(_) | Did::Attached)).count();
    let closed = |did: &[Did]| did.iter().filter(|did| matches!(did, Did::Closed(_))).count();
    let stubs = [
        Stub { refuses_to_open: Some((EvlDevice::ThreadFactory, libc::EPERM)), ..Stub::on_cpus(&[2]) },
        Stub { info: Some(Err(libc::ENOTTY)), ..Stub::default() },
        Stub { refuses_to_attach: Some(libc::ENXIO), ..Stub::on_cpus(&[2]) },
        Stub { refuses_fifo: Some(libc::EPERM), ..Stub::on_cpus(&[2]) },
        Stub::on_cpus(&[2]),
    ];
    for (stub, is_detached) in stubs.into_iter().zip([false, false, false, true, true]) {
        let (stub, evl) = attach(stub);
        drop(evl);
        let did = stub.did.borrow();
        assert!(opened(&did) > 0 && opened(&did) == closed(&did), "{did:?}");
        assert_eq!(did.contains(&Did::Detached), is_detached, "{did:?}");
    }
}

type Loop = OutOfBand<Evl<Rc<Stub>>>;

/// A loop on the stub, and the number of switches that readers of its statistics see.
fn paced(stub: Stub, in_band: InBand) -> (Rc<Stub>, Loop, Stopper, Arc<AtomicU64>) {
    let (stub, evl) = attach(stub);
    let (stop, shown) = (Stopper::default(), Arc::new(AtomicU64::new(u64::MAX)));
    let told = Arc::clone(&shown);
    let report = Box::new(move |switches| told.store(switches, Relaxed));
    let needs = Needs { priority: 85, in_band, by_timer: false, memory_is_locked: true, stop: stop.clone(), report };
    (stub, OutOfBand::new(evl.expect("the stub attaches"), needs), stop, shown)
}

fn soon() -> MonoTime {
    now() + Nanos::from_ms(2)
}

#[test]
fn switches_count_from_the_first_sleep_on_and_none_is_lost_at_the_end() {
    let (stub, mut core, stop, shown) = paced(Stub::on_cpus(&[2]), InBand::Count);
    stub.switches.set(7);
    core.sleep_until(soon());
    assert_eq!(shown.load(Relaxed), 0, "those of the start do not count");
    stub.switches.set(9);
    core.sleep_until(soon());
    assert_eq!(shown.load(Relaxed), 0, "too soon to read the number again");
    core.sleep_until(now() + Nanos::from_ms(101));
    assert_eq!(shown.load(Relaxed), 2);
    stub.switches.set(10);
    drop(core);
    assert_eq!((shown.load(Relaxed), stop.is_stopped()), (3, false));
    let did = stub.did.borrow();
    let calls: Vec<Did> = did.iter().filter(|did| matches!(did, Did::Counted | Did::Slept)).copied().collect();
    let expected = [Did::Counted, Did::Slept, Did::Slept, Did::Counted, Did::Slept, Did::Counted];
    assert_eq!(calls, expected, "the number is read before a sleep, never between a sleep and the body");
    assert!(!did.iter().any(|did| matches!(did, Did::WarnedOf(_))), "nobody asked to be warned");
}

#[test]
fn an_instant_that_is_past_takes_no_call() {
    let (stub, mut core, ..) = paced(Stub::on_cpus(&[2]), InBand::Count);
    core.sleep_until(now());
    assert!(!stub.did.borrow().contains(&Did::Slept));
}

#[test]
fn a_core_that_says_the_instant_has_passed_is_believed_and_one_that_was_interrupted_asked_again() {
    for late in [libc::EOVERFLOW, libc::ETIMEDOUT, libc::EINTR] {
        let stub = Stub { sleeps: RefCell::new([late].into()), ..Stub::on_cpus(&[2]) };
        let (_, mut core, stop, _) = paced(stub, InBand::Count);
        let at = soon();
        core.sleep_until(at);
        assert!(now() >= at);
        assert_eq!((core.departure(), stop.is_stopped()), (None, false), "{late}");
    }
}

#[test]
fn a_core_that_refuses_to_let_the_loop_sleep_ends_it() {
    for errno in [libc::ENXIO, libc::EPERM, libc::ENODEV, libc::ENOSYS] {
        let stub = Stub { sleeps: RefCell::new([errno].into()), ..Stub::on_cpus(&[2]) };
        let (stub, mut core, stop, _) = paced(stub, InBand::Count);
        core.sleep_until(soon());
        assert_eq!((core.departure(), stop.is_stopped()), (Some(Departure::Refused(errno)), true));
        core.sleep_until(soon());
        assert_eq!(stub.did.borrow().iter().filter(|did| **did == Did::Slept).count(), 1, "it is not asked again");
    }
}

#[test]
fn a_core_that_no_longer_counts_ends_the_loop() {
    let (stub, mut core, stop, _) = paced(Stub::on_cpus(&[2]), InBand::Count);
    stub.refuses_state.set(Some(libc::ESTALE));
    core.sleep_until(soon());
    assert_eq!((core.departure(), stop.is_stopped()), (Some(Departure::Refused(libc::ESTALE)), true));
}

/// A thread that waits for a lock of Linux would be taken in-band, and so would not notice what it costs.
#[test]
fn a_lock_that_is_held_is_an_error_out_of_band_and_a_free_one_is_taken() {
    let mutex = crate::sync::PiMutex::new(5);
    let (_, core, ..) = paced(Stub::on_cpus(&[2]), InBand::Count);
    assert_eq!(mutex.lock().map(|guard| *guard).ok(), Some(5));
    let (held, release) = (crate::sync::Signal::new(), crate::sync::Signal::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let guard = mutex.lock();
            held.post();
            release.wait();
            drop(guard);
        });
        held.wait();
        assert_eq!(mutex.lock().err(), Some(crate::LockError::OutOfBand));
        release.post();
    });
    drop(core);
    assert!(mutex.lock().is_ok());
}

/// Tells this thread what a core tells a thread that it took in-band.
fn tell(cause: usize) {
    const MARK: usize = 0xfccf_0000;
    crate::sys::send_debug_signal(MARK | cause);
}

#[test]
#[cfg_attr(miri, ignore = "sends signals")]
fn where_it_is_forbidden_a_switch_ends_the_loop_and_says_why() {
    let causes =
        [(1, SwitchCause::Signal), (2, SwitchCause::SystemCall), (3, SwitchCause::Fault), (9, SwitchCause::Other(9))];
    for (number, cause) in causes {
        crate::sys::hear_debug_signal().expect("a handler can be installed");
        let (stub, mut core, stop, _) = paced(Stub::on_cpus(&[2]), InBand::Strict);
        tell(2);
        core.sleep_until(soon());
        assert_eq!(core.departure(), None, "what happened before the first sleep belongs to the start");
        assert!(stub.did.borrow().contains(&Did::WarnedOf(true)));
        core.sleep_until(soon());
        assert_eq!(core.departure(), None);
        tell(number);
        core.sleep_until(soon());
        assert_eq!((core.departure(), stop.is_stopped()), (Some(Departure::InBand(cause)), true));
        drop(core);
        let did = stub.did.borrow();
        let place = |what| did.iter().position(|did| *did == what);
        assert!(place(Did::WarnedOf(false)).is_some() && place(Did::WarnedOf(false)) < place(Did::Detached), "{did:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "sends signals")]
fn where_it_is_allowed_a_switch_is_only_counted() {
    crate::sys::hear_debug_signal().expect("a handler can be installed");
    let stub = Stub { during_sleep: Some(|stub| stub.switches.set(stub.switches.get() + 1)), ..Stub::on_cpus(&[2]) };
    let (_, mut core, stop, shown) = paced(stub, InBand::Count);
    core.sleep_until(soon());
    tell(2);
    core.sleep_until(soon());
    drop(core);
    crate::sys::take_debug_cause();
    assert_eq!((stop.is_stopped(), shown.load(Relaxed)), (false, 2));
}

/// A Cobalt core that answers as a test says.
struct CobaltStub {
    bind: Result<(), BindRefused>,
    fifo: Result<(), i32>,
    state: Result<CobaltState, i32>,
    timer: Result<RawFd, i32>,
    priorities: Rc<RefCell<Vec<u8>>>,
    /// What was done with the timer file.
    did: Rc<RefCell<Vec<&'static str>>>,
}

impl CobaltStub {
    fn answering(errno: i32, abi: u32) -> Self {
        Self { bind: Err(BindRefused { errno, abi }), ..Self::on_cpu(2) }
    }

    fn on_cpu(cpu: u32) -> Self {
        Self {
            bind: Ok(()),
            fifo: Ok(()),
            state: Ok(CobaltState { switches: 4, cpu }),
            timer: Ok(7),
            priorities: Rc::default(),
            did: Rc::default(),
        }
    }
}

impl CobaltCalls for CobaltStub {
    fn bind(&self) -> Result<(), BindRefused> {
        self.bind
    }

    fn set_fifo(&self, priority: u8) -> Result<u32, i32> {
        self.priorities.borrow_mut().push(priority);
        self.fifo.map(|()| 64)
    }

    fn handle(&self) -> Result<u32, i32> {
        Ok(5)
    }

    fn state(&self) -> Result<CobaltState, i32> {
        self.state
    }

    fn warn(&self, _: bool) -> Result<(), i32> {
        Ok(())
    }

    fn sleep_until(&self, at: MonoTime) -> Result<(), i32> {
        crate::kernel::sleep_until(at);
        Ok(())
    }

    fn new_timer(&self) -> Result<RawFd, i32> {
        self.timer
    }

    fn wait_for_timer(&self, timer: RawFd, at: MonoTime) -> Result<(), i32> {
        assert_eq!(Ok(timer), self.timer);
        self.did.borrow_mut().push("waited");
        self.sleep_until(at)
    }

    fn close(&self, fd: RawFd) {
        assert_eq!(Ok(fd), self.timer);
        self.did.borrow_mut().push("closed");
    }

    fn go_in_band(&self) -> Result<(), i32> {
        Ok(())
    }
}

#[test]
fn what_cobalt_refuses_is_told_apart() {
    let find = |errno, abi| cobalt::find(&CobaltStub::answering(errno, abi));
    assert_eq!(find(libc::ENOSYS, 0), Err(CoreRefusal::Absent));
    assert_eq!(find(libc::EAGAIN, 0), Err(CoreRefusal::Stopped));
    assert_eq!(find(libc::ENOEXEC, 17), Err(CoreRefusal::Abi { oldest: 17, newest: 17 }));
    assert_eq!(find(libc::EPERM, 0), Err(CoreRefusal::NotAllowed(libc::EPERM)));
    assert_eq!(find(libc::ENODEV, 0), Err(CoreRefusal::Device(libc::ENODEV)));
    assert_eq!(find(libc::EINVAL, 19), Err(CoreRefusal::Call(libc::EINVAL)));
    assert_eq!(cobalt::find(&CobaltStub::on_cpu(2)), Ok(()));

    let attach = |stub| Cobalt::attach(stub, 85, &[2, 3]).map(drop);
    let fifo = |errno| attach(CobaltStub { fifo: Err(errno), ..CobaltStub::on_cpu(2) });
    assert_eq!(fifo(libc::EBUSY), Err(CoreRefusal::AlreadyAttached));
    assert_eq!(fifo(libc::EPERM), Err(CoreRefusal::NotAllowed(libc::EPERM)));
    assert_eq!(fifo(libc::ENOMEM), Err(CoreRefusal::Full(libc::ENOMEM)));
    assert_eq!(fifo(libc::EINVAL), Err(CoreRefusal::Call(libc::EINVAL)));
    assert_eq!(attach(CobaltStub::on_cpu(0)), Err(CoreRefusal::Cpus), "the core moved the thread");
    assert_eq!(
        attach(CobaltStub { state: Err(libc::EPERM), ..CobaltStub::on_cpu(2) }),
        Err(CoreRefusal::Call(libc::EPERM))
    );
}

#[test]
fn a_cobalt_thread_gives_up_its_priority_at_the_end() {
    let stub = CobaltStub::on_cpu(3);
    let priorities = Rc::clone(&stub.priorities);
    let core = Cobalt::attach(stub, 85, &[2, 3]).expect("the stub attaches");
    core.sleep_until(soon()).expect("the stub sleeps");
    assert_eq!(core.switches(), Ok(4));
    drop(core);
    assert_eq!(*priorities.borrow(), [85, 0]);
}

#[test]
fn a_cobalt_thread_waits_for_a_timer_file_if_asked() {
    let stub = CobaltStub::on_cpu(3);
    let did = Rc::clone(&stub.did);
    let core = Cobalt::attach(stub, 85, &[3]).and_then(Cobalt::with_timer).expect("the stub has timers");
    core.sleep_until(soon()).expect("the stub waits");
    drop(core);
    assert_eq!(*did.borrow(), ["waited", "closed"]);

    let none_left = CobaltStub { timer: Err(libc::ENOMEM), ..CobaltStub::on_cpu(3) };
    let refused = Cobalt::attach(none_left, 85, &[3]).and_then(Cobalt::with_timer).err();
    assert_eq!(refused, Some(CoreRefusal::Call(libc::ENOMEM)));
}

#[test]
fn the_error_names_the_core_and_its_remedy_the_command() {
    let evl = Backend::Evl.refused(CoreRefusal::Stopped);
    assert_eq!(evl, Error::Setup(SetupError::Evl(CoreRefusal::Stopped)));
    assert_eq!(evl.to_string(), "the EVL core cannot pace the task: it is stopped or disabled");
    assert!(evl.remedy().contains("`evl start`") && evl.remedy().contains("evl.state="), "{}", evl.remedy());
    let cobalt = Backend::Cobalt.refused(CoreRefusal::Abi { oldest: 17, newest: 17 });
    assert_eq!(cobalt.to_string(), "the Cobalt core cannot pace the task: its ABI is 17, which was not tested");
}

#[test]
fn back_ends_have_names_and_numbers() {
    for backend in [Backend::Linux, Backend::Evl, Backend::Cobalt] {
        assert_eq!(backend.to_string().to_lowercase().parse(), Ok(backend));
        assert_eq!(Backend::of_number(u64::from(backend as u8)), backend);
    }
    assert!("xenomai".parse::<Backend>().is_err());
    assert_eq!(Backend::of_number(200), Backend::Linux, "a number of a later version");
}
