//! Locks and semaphores of a real-time core, for the threads that belong to it.

use super::core_word::{self, POSTS_MAX};
use super::evl::FoundEvl;
use super::{Backend, Found, find_any, find_only};
use crate::sys::{
    self, CallForm, Caller, CobaltMutex, CobaltSemaphore, CoreMemory, CountCalls, EvlMonitor, EvlSystem, LockCalls,
    Monitor,
};
use crate::{CoreRefusal, Error, LockError};
use punctual_hist::MonoTime;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;

/// The memory that each core shares with this process. It is mapped at the first lock or semaphore.
static EVL_MEMORY: OnceLock<CoreMemory> = OnceLock::new();
static COBALT_MEMORY: OnceLock<CoreMemory> = OnceLock::new();

/// A word that a core shares with its threads, and the calls that belong to it.
struct Shared<C> {
    word: &'static AtomicU32,
    memory: CoreMemory,
    calls: C,
}

impl<C> Shared<C> {
    /// Both kinds of words begin a few bytes into their state, `within`.
    fn new(memory: CoreMemory, (calls, offset): (C, u32), within: u32) -> Result<Self, i32> {
        let word = offset.checked_add(within).and_then(|offset| memory.word(offset)).ok_or(libc::EFAULT)?;
        Ok(Self { word, memory, calls })
    }
}

impl<C: LockCalls> Shared<C> {
    #[inline]
    fn caller(&self) -> Result<Caller, LockError> {
        self.memory.caller().ok_or(LockError::NotOfCore)
    }

    #[inline]
    fn lock(&self, deadline: Option<MonoTime>) -> Result<(), LockError> {
        core_word::lock(self.word, self.caller()?, &self.calls, deadline)
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.caller().is_ok_and(|caller| core_word::try_lock(self.word, caller, &self.calls))
    }

    #[inline]
    fn unlock(&self) {
        // A thread that has left the core has lost its locks.
        if let Ok(caller) = self.caller() {
            core_word::unlock(self.word, caller, &self.calls);
        }
    }
}

impl<C: CountCalls> Shared<C> {
    #[inline]
    fn take(&self, deadline: Option<MonoTime>) -> Result<bool, LockError> {
        if core_word::try_take(self.word) {
            return Ok(true);
        }
        self.memory.caller().ok_or(LockError::NotOfCore)?;
        core_word::take_in_core(self.word, &self.calls, deadline)
    }
}

/// A lock of a core with priority inheritance.
pub(crate) struct CoreLock(Lock);

enum Lock {
    Evl(Shared<EvlMonitor>),
    Cobalt(Shared<CobaltMutex>),
}

/// A semaphore of a core.
pub(crate) struct CoreCount(Count);

enum Count {
    Evl(Shared<EvlMonitor>),
    Cobalt(Shared<CobaltSemaphore>),
}

/// Does the same with a lock or semaphore of either core.
macro_rules! either {
    ($kind:ident, $value:expr, $shared:ident => $done:expr) => {
        match $value {
            $kind::Evl($shared) => $done,
            $kind::Cobalt($shared) => $done,
        }
    };
}

impl CoreLock {
    /// Makes a lock on this core, or without one on the core that the kernel has; `None` if Linux is to serve.
    pub(crate) fn new(backend: Option<Backend>) -> Result<Option<Self>, Error> {
        let Some(found) = core(backend)? else { return Ok(None) };
        let backend = found.backend();
        let lock = match found {
            Found::Evl(found) => evl(&found, Monitor::Lock).map(Lock::Evl),
            Found::Cobalt(_) => cobalt_memory()
                .and_then(|memory| Shared::new(memory, CobaltMutex::new().map_err(refused)?, 0).map_err(refused))
                .map(Lock::Cobalt),
        };
        lock.map(|lock| Some(Self(lock))).map_err(|refusal| backend.refused(refusal))
    }

    pub(crate) const fn backend(&self) -> Backend {
        match self.0 {
            Lock::Evl(_) => Backend::Evl,
            Lock::Cobalt(_) => Backend::Cobalt,
        }
    }

    #[inline]
    pub(crate) fn lock(&self, deadline: Option<MonoTime>) -> Result<(), LockError> {
        either!(Lock, &self.0, shared => shared.lock(deadline))
    }

    #[inline]
    pub(crate) fn try_lock(&self) -> bool {
        either!(Lock, &self.0, shared => shared.try_lock())
    }

    #[inline]
    pub(crate) fn unlock(&self) {
        either!(Lock, &self.0, shared => shared.unlock());
    }
}

impl CoreCount {
    /// Makes a semaphore with this number of posts on this core, or without one on the core that the kernel has; `None` if
    /// Linux is to serve.
    pub(crate) fn new(backend: Option<Backend>, posts: u32) -> Result<Option<Self>, Error> {
        let posts = posts.min(POSTS_MAX);
        let Some(found) = core(backend)? else { return Ok(None) };
        let backend = found.backend();
        let count = match found {
            Found::Evl(found) => evl(&found, Monitor::Count(posts)).map(Count::Evl),
            Found::Cobalt(_) => cobalt_memory()
                .and_then(|memory| {
                    Shared::new(memory, CobaltSemaphore::new(posts).map_err(refused)?, 0).map_err(refused)
                })
                .map(Count::Cobalt),
        };
        count.map(|count| Some(Self(count))).map_err(|refusal| backend.refused(refusal))
    }

    pub(crate) const fn backend(&self) -> Backend {
        match self.0 {
            Count::Evl(_) => Backend::Evl,
            Count::Cobalt(_) => Backend::Cobalt,
        }
    }

    #[inline]
    pub(crate) fn take(&self, deadline: Option<MonoTime>) -> Result<bool, LockError> {
        either!(Count, &self.0, shared => shared.take(deadline))
    }

    #[inline]
    pub(crate) fn try_take(&self) -> bool {
        either!(Count, &self.0, shared => core_word::try_take(shared.word))
    }

    #[inline]
    pub(crate) fn post(&self) -> Result<(), LockError> {
        either!(Count, &self.0, shared => core_word::post(shared.word, &shared.calls))
    }
}

fn core(backend: Option<Backend>) -> Result<Option<Found>, Error> {
    backend.map_or_else(find_any, find_only)
}

/// The meaning of an `errno` with which a core refused a lock or semaphore.
fn refused(errno: i32) -> CoreRefusal {
    match errno {
        libc::ENXIO => CoreRefusal::Stopped,
        libc::EPERM | libc::EACCES => CoreRefusal::NotAllowed(errno),
        libc::ENOMEM | libc::ENOSPC | libc::EAGAIN | libc::EMFILE | libc::ENFILE => CoreRefusal::Full(errno),
        libc::ENODEV | libc::ENOENT => CoreRefusal::Device(errno),
        _ => CoreRefusal::Call(errno),
    }
}

/// EVL keeps flags before the word.
fn evl(found: &FoundEvl<EvlSystem>, monitor: Monitor) -> Result<Shared<EvlMonitor>, CoreRefusal> {
    // The monitors of earlier generations were not tried.
    if found.form() != CallForm::OobSyscall {
        let (oldest, newest) = found.abis();
        return Err(CoreRefusal::Abi { oldest, newest });
    }
    let memory = mapped(&EVL_MEMORY, || found.map())?;
    let made = EvlMonitor::new(found.form(), memory, monitor).map_err(refused)?;
    Shared::new(memory, made, 4).map_err(refused)
}

fn cobalt_memory() -> Result<CoreMemory, CoreRefusal> {
    mapped(&COBALT_MEMORY, sys::map_heap)
}

/// The memory of a core. If two threads map it at once, one mapping is left unused.
fn mapped(
    known: &OnceLock<CoreMemory>,
    map: impl FnOnce() -> Result<CoreMemory, i32>,
) -> Result<CoreMemory, CoreRefusal> {
    if let Some(memory) = known.get() {
        return Ok(*memory);
    }
    let memory = map().map_err(refused)?;
    Ok(*known.get_or_init(|| memory))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{Member, set_member};
    use std::cell::RefCell;
    use std::sync::atomic::Ordering::Relaxed;

    const ME: u32 = 5;
    const OTHER: u32 = 6;
    /// The core's mark that threads wait.
    const CLAIMED: u32 = 0x8000_0000;
    /// Where the stub keeps the state of the calling thread, and its word.
    const WINDOW: u32 = 64;
    const WORD: u32 = 4;
    const IN_BAND: u32 = 0x80;
    /// The state of which `CoreMemory::of_test` says that the core wants to know of every lock.
    const WEAK: u32 = 0x100;

    /// A core that answers as a test says, and notes its calls.
    #[derive(Default)]
    struct Stub {
        answers: RefCell<Vec<i32>>,
        did: RefCell<Vec<&'static str>>,
    }

    impl Stub {
        fn note(&self, call: &'static str) -> Result<(), i32> {
            self.did.borrow_mut().push(call);
            self.answers.borrow_mut().pop().filter(|errno| *errno != 0).map_or(Ok(()), Err)
        }
    }

    impl LockCalls for Stub {
        const OWNER: u32 = 0x3FFF_FFFF;

        fn enter(&self, _: Option<MonoTime>) -> Result<(), i32> {
            self.note("enter")
        }

        fn try_enter(&self) -> Result<(), i32> {
            self.note("try")
        }

        fn exit(&self) -> Result<(), i32> {
            self.note("exit")
        }
    }

    impl CountCalls for Stub {
        fn wait(&self, _: Option<MonoTime>) -> Result<(), i32> {
            self.note("wait")
        }

        fn post(&self) -> Result<(), i32> {
            self.note("post")
        }
    }

    /// A lock or semaphore on a core that gives these answers, the last one first, for a thread in this state.
    fn shared(word: u32, state: u32, answers: &[i32]) -> Shared<Stub> {
        let memory = CoreMemory::of_test(32);
        let stub = Stub { answers: RefCell::new(answers.to_vec()), ..Stub::default() };
        let shared = Shared::new(memory, (stub, 0), WORD).expect("the word lies in the memory");
        shared.word.store(word, Relaxed);
        memory.word(WINDOW).expect("the window lies in the memory").store(state, Relaxed);
        set_member(Some(Member { handle: ME, window_offset: WINDOW }));
        shared
    }

    fn did(shared: &Shared<Stub>) -> Vec<&'static str> {
        shared.calls.did.take()
    }

    #[test]
    fn a_free_lock_takes_no_call_of_the_core_and_a_claimed_one_is_released_by_it() {
        let lock = shared(0, 0, &[]);
        assert_eq!((lock.lock(None), lock.word.load(Relaxed)), (Ok(()), ME));
        assert_eq!((lock.try_lock(), lock.lock(None)), (false, Err(LockError::WouldDeadlock)));
        lock.unlock();
        assert_eq!((lock.word.load(Relaxed), did(&lock)), (0, vec![]));
        assert!(lock.try_lock());
        lock.word.store(ME | CLAIMED, Relaxed);
        assert_eq!(lock.lock(None), Err(LockError::WouldDeadlock), "the mark is not part of the owner");
        lock.unlock();
        assert_eq!(did(&lock), ["exit"]);
    }

    #[test]
    fn a_thread_that_is_in_band_or_without_priority_asks_the_core() {
        for state in [IN_BAND, WEAK, IN_BAND | WEAK] {
            let lock = shared(0, state, &[]);
            assert_eq!((lock.lock(None), lock.try_lock()), (Ok(()), true));
            assert_eq!(did(&lock), ["enter", "try"], "{state:#x}");
        }
        let lock = shared(ME, WEAK, &[]);
        lock.unlock();
        assert_eq!(did(&lock), ["exit"]);
        assert!(!shared(ME, IN_BAND, &[]).try_lock(), "its own lock");
    }

    #[test]
    fn what_a_core_answers_at_a_lock_that_is_held_is_told_apart() {
        let answer = |errno| shared(OTHER, 0, &[errno]).lock(Some(MonoTime::from_ns(1))).err();
        assert_eq!(answer(libc::EDEADLK), Some(LockError::WouldDeadlock));
        assert_eq!(answer(libc::ETIMEDOUT), Some(LockError::TimedOut));
        assert_eq!(answer(libc::EOWNERDEAD), Some(LockError::OwnerDied));
        assert_eq!(answer(libc::EPERM), Some(LockError::NotOfCore));
        assert_eq!(answer(libc::ENODEV), Some(LockError::Refused(libc::ENODEV)));
        let lock = shared(OTHER, 0, &[0, libc::EINTR, libc::EINTR]);
        assert_eq!((lock.lock(None), did(&lock)), (Ok(()), vec!["enter"; 3]), "a signal does not end the wait");
        assert!(!shared(OTHER, 0, &[]).try_lock());
    }

    #[test]
    fn a_thread_that_does_not_belong_to_the_core_is_told_so() {
        let lock = shared(0, 0, &[]);
        for member in
            [None, Some(Member { handle: 0, window_offset: WINDOW }), Some(Member { handle: ME, window_offset: 4096 })]
        {
            set_member(member);
            assert_eq!((lock.lock(None), lock.try_lock()), (Err(LockError::NotOfCore), false), "{member:?}");
            assert_eq!(lock.take(None), Err(LockError::NotOfCore), "{member:?}");
        }
        assert_eq!(core_word::post(lock.word, &lock.calls), Ok(()), "every thread may post");
        assert_eq!(lock.take(None), Ok(true), "and take what was posted");
        assert_eq!(did(&lock), Vec::<&str>::new());
    }

    #[test]
    fn a_post_is_counted_without_the_core_unless_a_thread_waits() {
        let count = shared(0, 0, &[]);
        let post = || core_word::post(count.word, &count.calls);
        assert_eq!((post(), count.word.load(Relaxed), count.take(None)), (Ok(()), 1, Ok(true)));
        assert_eq!(did(&count), Vec::<&str>::new());
        count.word.store(u32::MAX, Relaxed);
        assert!(!core_word::try_take(count.word), "a number below zero is that of waiters");
        assert_eq!((post(), did(&count)), (Ok(()), vec!["post"]));
        count.word.store(POSTS_MAX, Relaxed);
        assert_eq!(post(), Err(LockError::Refused(libc::EOVERFLOW)));
    }

    #[test]
    fn what_a_core_answers_at_a_semaphore_without_posts_is_told_apart() {
        let answer = |errno| shared(0, 0, &[errno]).take(Some(MonoTime::from_ns(1)));
        assert_eq!(answer(0), Ok(true));
        assert_eq!(answer(libc::ETIMEDOUT), Ok(false));
        assert_eq!(answer(libc::EPERM), Err(LockError::NotOfCore));
        assert_eq!(answer(libc::ENXIO), Err(LockError::Refused(libc::ENXIO)));
        let count = shared(0, 0, &[0, libc::EINTR]);
        assert_eq!((count.take(None), did(&count)), (Ok(true), vec!["wait"; 2]));
        let count = shared(u32::MAX, 0, &[libc::EPERM]);
        let posted = core_word::post(count.word, &count.calls);
        assert_eq!(posted, Err(LockError::Refused(libc::EPERM)), "Cobalt wants the right to set priorities");
    }

    #[test]
    fn what_a_core_refuses_when_something_is_made_is_told_apart() {
        use CoreRefusal::{Call, Device, Full, NotAllowed, Stopped};
        let refusals = [libc::ENXIO, libc::EPERM, libc::ENOMEM, libc::EMFILE, libc::ENODEV, libc::EINVAL].map(refused);
        let known = [
            Stopped,
            NotAllowed(libc::EPERM),
            Full(libc::ENOMEM),
            Full(libc::EMFILE),
            Device(libc::ENODEV),
            Call(libc::EINVAL),
        ];
        assert_eq!(refusals, known);
        let outside = Shared::new(CoreMemory::of_test(1), (Stub::default(), 0), WORD).err();
        assert_eq!(outside, Some(libc::EFAULT), "a place that is not in the memory is no word");
    }

    #[test]
    fn without_a_core_nothing_of_it_is_to_be_had() {
        for backend in [Backend::Evl, Backend::Cobalt] {
            if let Err(error) = backend.look() {
                assert_eq!(CoreLock::new(Some(backend)).err(), Some(error));
                assert_eq!(CoreCount::new(Some(backend), 0).err(), Some(error));
            }
        }
        assert!(matches!(CoreLock::new(Some(Backend::Linux)), Ok(None)));
    }
}
