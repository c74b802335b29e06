//! Handles that C programs hold instead of pointers, so that a closed or invalid handle is recognised.
//!
//! A handle is an integer that is typed as a pointer and never dereferenced. It names a slot of a table, a use of that
//! slot, and the kind of value. Slots are reused and never freed, so looking up any integer is safe. Looking up a
//! handle and ending a call are lock-free and allocate nothing.
//!
//! A pointer to tagged memory would need less code. But the tag could be checked only by reading it, possibly from
//! memory that closing had freed or that was never mapped. With the table, both cases return an error code, also when
//! one thread closes what another one is using (test `every_misuse_from_c_is_a_number_and_no_crash`).

use crate::error::{Code, Failure, PRT_E_HANDLE, PRT_E_THREAD};
use std::cell::{Cell, RefCell, UnsafeCell};
use std::ops::Deref;
use std::ptr;
use std::sync::atomic::{
    AtomicPtr, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A type of the C header that handles stand for.
pub(crate) trait Handled {
    /// A number, not 0, that no other kind has.
    const KIND: u8;
    /// The value behind a handle of this kind.
    type Value;
}

/// A value with a part `mine` for a single thread at a time, and a part `open` that any thread may read. Readers never
/// delay the thread that uses `mine`, and it never delays them.
pub(crate) struct Single<Mine, Open> {
    mine: UnsafeCell<Mine>,
    pub(crate) open: Open,
}

// SAFETY: only `alone` reaches `mine`, for one thread at a time, so `mine` needs `Send` but not `Sync`. `open` is
// reached by several threads at once, so it has to be `Sync`.
unsafe impl<Mine: Send, Open: Sync> Sync for Single<Mine, Open> {}

impl<Mine, Open> Single<Mine, Open> {
    pub(crate) const fn new(mine: Mine, open: Open) -> Self {
        Self { mine: UnsafeCell::new(mine), open }
    }

    /// Takes `mine` out of a value whose handle was closed.
    pub(crate) fn into_mine(self) -> Mine {
        self.mine.into_inner()
    }
}

/// A part of a value that only the thread that owns the handle may use: see [`owned`].
pub(crate) struct Owned<T>(RefCell<T>);

// SAFETY: `owned` gives access only to the thread that owns the handle. A caller that drops the value in another thread
// must know that this is allowed.
unsafe impl<T> Sync for Owned<T> {}

impl<T> Owned<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(RefCell::new(value))
    }
}

/// Number of low bits of a slot's word that count the running calls.
const LOW: u32 = 24;
const LOW_MASK: u64 = (1 << LOW) - 1;
/// Number of low bits of a handle that hold the slot's index. The bits above hold the tag: the number of this use of the
/// slot, and 8 bits for the kind.
const INDEX: u32 = if usize::BITS >= 64 { 24 } else { 12 };
/// Number of bits for the number of this use. A handle of 32 bits is recognised as closed only until its slot was used
/// 4096 times more.
const USES: u32 = if usize::BITS >= 64 { 32 } else { 12 };
/// Bit of a slot's word that is set while a call of [`alone`] is running. The bits below count all running calls.
const ALONE: u64 = 1 << (LOW - 1);
const CHUNK: usize = 256;
const CHUNKS: usize = if usize::BITS >= 64 { 1024 } else { 16 };
/// How often closing is tried while another call uses the value, before closing is refused.
const TRIES: u32 = 1000;

/// One slot of the table of handles.
struct Slot {
    /// Number of this use of the slot (32 bits), kind (8 bits, 0 when free), running calls (24 bits, see [`ALONE`]).
    word: AtomicU64,
    /// The thread that alone may close the handle, as numbered by [`this_thread`]; 0 if any thread may.
    owner: AtomicU64,
    value: AtomicPtr<()>,
}

static TABLE: [OnceLock<Box<[Slot; CHUNK]>>; CHUNKS] = [const { OnceLock::new() }; CHUNKS];
/// Indices of the slots that are free again, and the number of slots that were ever used.
static FREE: Mutex<(Vec<usize>, usize)> = Mutex::new((Vec::new(), 0));

/// A number for the calling thread that no other thread ever has.
#[inline]
pub(crate) fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! { static NUMBER: Cell<u64> = const { Cell::new(0) } }
    let number = NUMBER.get();
    if number != 0 {
        return number;
    }
    let number = NEXT.fetch_add(1, Relaxed);
    NUMBER.set(number);
    number
}

/// Makes a handle for `value`, which any thread may close.
///
/// # Errors
/// `-EMFILE` when 262144 handles are in use, on a machine of 32 bits when 4096 are.
pub(crate) fn open<K: Handled>(value: K::Value) -> Result<*mut K, Code> {
    open_for(value, 0)
}

/// Makes a handle that belongs to the calling thread.
pub(crate) fn open_owned<K: Handled>(value: K::Value) -> Result<*mut K, Code> {
    open_for(value, this_thread())
}

fn open_for<K: Handled>(value: K::Value, owner: u64) -> Result<*mut K, Code> {
    let (index, slot) = vacant().ok_or(-libc::EMFILE)?;
    let uses = (slot.word.load(Relaxed) >> 32).wrapping_add(1) & ((1 << USES) - 1);
    let tag = uses << 8 | u64::from(K::KIND);
    slot.value.store(Box::into_raw(Box::new(value)).cast(), Relaxed);
    slot.owner.store(owner, Relaxed);
    slot.word.store(tag << LOW, Release);
    let number = tag << INDEX | index as u64;
    Ok(ptr::without_provenance_mut(usize::try_from(number).unwrap_or(0)))
}

fn vacant() -> Option<(usize, &'static Slot)> {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    let (unused, made) = &mut *free;
    let index = unused.pop().unwrap_or(*made);
    let empty = |_| Slot { word: AtomicU64::new(0), owner: AtomicU64::new(0), value: AtomicPtr::default() };
    let chunk = TABLE.get(index / CHUNK)?.get_or_init(|| Box::new(std::array::from_fn(empty)));
    *made = index.saturating_add(1).max(*made);
    Some((index, chunk.get(index % CHUNK)?))
}

/// The slot that a handle of this kind names, and the word that the slot contains when the handle is valid and no call
/// is running.
#[inline]
fn find<K: Handled>(handle: *const K) -> Result<(&'static Slot, u64), Code> {
    if handle.is_null() {
        return Err(-libc::EFAULT);
    }
    let number = handle.addr() as u64;
    let tag = number >> INDEX;
    if tag & 0xFF != u64::from(K::KIND) {
        return Err(PRT_E_HANDLE);
    }
    let index = index_of(handle);
    let chunk = TABLE.get(index / CHUNK).and_then(OnceLock::get).ok_or(PRT_E_HANDLE)?;
    Ok((chunk.get(index % CHUNK).ok_or(PRT_E_HANDLE)?, tag << LOW))
}

#[inline]
fn index_of<K>(handle: *const K) -> usize {
    handle.addr() & ((1 << INDEX) - 1)
}

/// A running call that uses the value of a handle. The value is not freed before this call is dropped.
pub(crate) struct Inside<K: Handled> {
    slot: &'static Slot,
    value: *const K::Value,
    /// The number that the call added to the slot's word, and subtracts when it ends.
    mark: u64,
}

impl<K: Handled> Drop for Inside<K> {
    #[inline]
    fn drop(&mut self) {
        self.slot.word.fetch_sub(self.mark, Release);
    }
}

impl<K: Handled> Deref for Inside<K> {
    type Target = K::Value;

    #[inline]
    fn deref(&self) -> &K::Value {
        // SAFETY: made by `open`, and freed by `close` only when no call is running.
        unsafe { &*self.value }
    }
}

/// Gives access to a value that other calls may be using too. Lock-free: repeats only if another call began or ended at
/// the same moment.
///
/// # Errors
/// `-EFAULT` for null; [`PRT_E_HANDLE`] if the handle is of another kind, or was closed.
#[inline]
pub(crate) fn shared<K: Handled>(handle: *const K) -> Result<Inside<K>, Code>
where
    K::Value: Sync,
{
    enter(handle, 1)
}

/// Adds `mark` to the slot's word. Refuses if both `mark` and the word contain [`ALONE`].
#[inline]
fn enter<K: Handled>(handle: *const K, mark: u64) -> Result<Inside<K>, Code> {
    let (slot, word) = find(handle)?;
    let mut now = slot.word.load(Relaxed);
    while now & !LOW_MASK == word {
        if now & mark & ALONE != 0 {
            return Err(-libc::EBUSY);
        }
        match slot.word.compare_exchange_weak(now, now.wrapping_add(mark), Acquire, Relaxed) {
            Ok(_) => return Ok(Inside { slot, value: slot.value.load(Relaxed).cast(), mark }),
            Err(other) => now = other,
        }
    }
    Err(PRT_E_HANDLE)
}

/// Makes the calling thread the owner of a handle that has none. Call it before another thread can know the handle.
///
/// # Errors
/// [`PRT_E_HANDLE`] if the handle is of another kind.
pub(crate) fn adopt<K: Handled>(handle: *const K) -> Result<(), Code> {
    find(handle).map(|(slot, _)| slot.owner.store(this_thread(), Relaxed))
}

/// Calls `act` with the part of the value that belongs to the owner of the handle. The call is not counted in the
/// slot's word: only this thread could close the handle meanwhile, so a few loads suffice.
///
/// [`PRT_E_THREAD`] if the handle belongs to another thread; `-EBUSY` if a call further up the stack is using the part;
/// otherwise as [`shared`].
#[inline]
pub(crate) fn owned<K: Handled, T, R>(
    handle: *const K,
    part: impl FnOnce(&K::Value) -> &Owned<T>,
    act: impl FnOnce(&mut T) -> R,
) -> Result<R, Code> {
    let (slot, word) = find(handle)?;
    let is_ours = slot.owner.load(Relaxed) == this_thread();
    if slot.word.load(Acquire) & !LOW_MASK != word {
        return Err(PRT_E_HANDLE);
    }
    if !is_ours {
        return Err(PRT_E_THREAD);
    }
    // SAFETY: made by `open_for` from a box of this type, as the kind in the handle shows. `close` frees it only in the
    // thread that owns it, which is this one, and not while the call below runs.
    let value = unsafe { &*slot.value.load(Relaxed).cast::<K::Value>() };
    let mut part = part(value).0.try_borrow_mut().map_err(|_| -libc::EBUSY)?;
    Ok(act(&mut part))
}

/// Calls `act` with the part `mine`, for one thread at a time, and the part `open`. Other threads may read `open`
/// meanwhile.
///
/// # Errors
/// As [`shared`]; `-EBUSY` while another call is using `mine`.
#[inline]
pub(crate) fn alone<K, Mine: Send, Open: Sync, R>(
    handle: *const K,
    act: impl FnOnce(&mut Mine, &Open) -> R,
) -> Result<R, Code>
where
    K: Handled<Value = Single<Mine, Open>>,
{
    let single = enter(handle, ALONE | 1)?;
    // SAFETY: while `ALONE` is set, no other call reaches this part.
    Ok(act(unsafe { &mut *single.mine.get() }, &single.open))
}

/// Invalidates the handle and returns its value. Must not be called from within a call of [`owned`].
///
/// # Errors
/// As [`shared`]; [`PRT_E_THREAD`] if the handle belongs to another thread, `-EBUSY` if other calls keep using the
/// value.
pub(crate) fn close<K: Handled>(handle: *const K) -> Result<K::Value, Code> {
    let (slot, word) = find(handle)?;
    if slot.word.load(Acquire) & !LOW_MASK == word && ![0, this_thread()].contains(&slot.owner.load(Relaxed)) {
        return Err(PRT_E_THREAD);
    }
    for _ in 0..TRIES {
        match slot.word.compare_exchange(word, word >> 32 << 32, AcqRel, Relaxed) {
            Ok(_) => {
                let value = slot.value.swap(ptr::null_mut(), Relaxed).cast::<K::Value>();
                FREE.lock().unwrap_or_else(PoisonError::into_inner).0.push(index_of(handle));
                // SAFETY: made by `open` from a box of this type, as the kind in the handle shows. No call is running,
                // and the word admits none any more.
                return Ok(*unsafe { Box::from_raw(value) });
            }
            Err(now) if now & !LOW_MASK != word => return Err(PRT_E_HANDLE),
            Err(_) => std::thread::yield_now(),
        }
    }
    Err(-libc::EBUSY)
}

/// Invalidates the handle and drops its value.
pub(crate) fn free<K: Handled>(handle: *const K) -> Result<(), Failure> {
    drop(close(handle)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Number;
    impl Handled for Number {
        const KIND: u8 = 200;
        type Value = AtomicU64;
    }

    struct Other;
    impl Handled for Other {
        const KIND: u8 = 201;
        type Value = Single<u8, AtomicU64>;
    }

    fn other(mine: u8) -> *mut Other {
        open(Single::new(mine, AtomicU64::new(0))).unwrap()
    }

    #[test]
    fn a_closed_handle_is_recognised_even_when_its_slot_is_used_again() {
        let old = open::<Number>(AtomicU64::new(7)).unwrap();
        assert_eq!(shared(old).unwrap().load(Relaxed), 7);
        assert_eq!(close(old).unwrap().into_inner(), 7);
        let news: Vec<_> = (0..600).map(|n| open::<Number>(AtomicU64::new(n)).unwrap()).collect();
        assert_eq!(shared(old).err(), Some(PRT_E_HANDLE));
        assert_eq!(close(old).err(), Some(PRT_E_HANDLE));
        for (n, new) in news.into_iter().enumerate() {
            assert_eq!(close(new).unwrap().into_inner(), n as u64);
        }
    }

    #[test]
    fn another_kind_is_refused() {
        let handle = open::<Number>(AtomicU64::new(0)).unwrap();
        assert_eq!(shared(handle.cast::<Other>()).err(), Some(PRT_E_HANDLE));
        assert_eq!(close(handle.cast::<Other>()).err(), Some(PRT_E_HANDLE));
        close(handle).unwrap();
    }

    #[test]
    fn whoever_works_alone_keeps_other_workers_out_and_nothing_is_freed_meanwhile() {
        let handle = other(1);
        let inside = alone(handle, |mine, _| {
            *mine += 1;
            (alone(handle, |_, _| ()), close(handle).err())
        });
        assert_eq!(inside, Ok((Err(-libc::EBUSY), Some(-libc::EBUSY))));
        assert_eq!(alone(handle, |mine, _| *mine), Ok(2));
        close(handle).unwrap();
        assert_eq!(alone(handle, |_, _| ()), Err(PRT_E_HANDLE));
    }

    #[test]
    fn who_only_looks_is_never_in_the_way_of_who_works() {
        let handle = other(1);
        let (a, b) = (shared(handle).unwrap(), shared(handle).unwrap());
        let worked = alone(handle, |_, open| {
            open.store(7, Relaxed);
            assert_eq!(a.open.load(Relaxed), 7);
            drop(a);
            alone(handle, |_, _| ())
        });
        assert_eq!(worked, Ok(Err(-libc::EBUSY)), "the worker is still there");
        assert!(alone(handle, |_, _| ()).is_ok(), "while one looks");
        assert_eq!(close(handle).err(), Some(-libc::EBUSY), "while one looks");
        drop(b);
        close(handle).unwrap();
    }

    #[test]
    fn workers_and_onlookers_of_several_threads_are_all_counted_out() {
        const ROUNDS: u64 = if cfg!(miri) { 50 } else { 20_000 };
        let number = other(0).addr();
        let handle = move || ptr::without_provenance_mut::<Other>(number);
        let work = move || {
            let mut done = 0;
            while done < ROUNDS {
                let worked = alone(handle(), |mine, open| {
                    *mine = mine.wrapping_add(1);
                    open.store(open.load(Relaxed) + 1, Relaxed);
                });
                done += u64::from(worked.is_ok());
            }
        };
        let look =
            move || (0..ROUNDS).for_each(|_| assert!(shared(handle()).unwrap().open.load(Relaxed) <= 2 * ROUNDS));
        let threads = [std::thread::spawn(work), std::thread::spawn(look), std::thread::spawn(work)];
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(shared(handle()).unwrap().open.load(Relaxed), 2 * ROUNDS);
        assert!(close(handle()).is_ok());
    }

    struct Mine;
    impl Handled for Mine {
        const KIND: u8 = 202;
        type Value = Owned<u8>;
    }

    fn value_of(number: usize) -> Result<u8, Code> {
        owned(ptr::without_provenance_mut::<Mine>(number), |whole| whole, |value| *value)
    }

    #[test]
    fn what_belongs_to_a_thread_is_refused_to_others() {
        let handle = open_owned::<Mine>(Owned::new(3)).unwrap();
        let number = handle.addr();
        let there =
            std::thread::spawn(move || (value_of(number), close(ptr::without_provenance_mut::<Mine>(number)).err()));
        assert_eq!(there.join().unwrap(), (Err(PRT_E_THREAD), Some(PRT_E_THREAD)));
        assert_eq!(owned(handle, |whole| whole, |_| value_of(number)), Ok(Err(-libc::EBUSY)), "one use at a time");
        assert_eq!(value_of(number), Ok(3));
        close(handle).unwrap();
        assert_eq!(value_of(number), Err(PRT_E_HANDLE));
    }

    #[test]
    fn what_belongs_to_no_thread_is_used_by_none_before_one_adopts_it() {
        let number = open::<Mine>(Owned::new(3)).unwrap().addr();
        assert_eq!(value_of(number), Err(PRT_E_THREAD));
        let adopted = std::thread::spawn(move || {
            let handle = ptr::without_provenance_mut::<Mine>(number);
            (adopt(handle), value_of(number), close(handle).is_ok())
        });
        assert_eq!(adopted.join().unwrap(), (Ok(()), Ok(3), true));
        assert_eq!(value_of(number), Err(PRT_E_HANDLE));
    }

    #[test]
    fn threads_that_open_use_and_close_at_once_see_their_own_values_only() {
        const ROUNDS: usize = if cfg!(miri) { 40 } else { 2000 };
        let worker = |seed: usize| {
            move || {
                let mut held = Vec::new();
                for n in 0..ROUNDS {
                    let value = (seed << 32 | n) as u64;
                    held.push((open::<Number>(AtomicU64::new(value)).unwrap(), value));
                    if n % 3 == 2 {
                        let (handle, value) = held.swap_remove((n * 7) % held.len());
                        assert_eq!(shared(handle).unwrap().load(Relaxed), value);
                        assert_eq!(close(handle).unwrap().into_inner(), value);
                        assert!(shared(handle).is_err());
                    }
                }
                for (handle, _) in held {
                    close(handle).unwrap();
                }
            }
        };
        let threads: Vec<_> = (1..4).map(|seed| std::thread::spawn(worker(seed))).collect();
        for thread in threads {
            thread.join().unwrap();
        }
    }

    proptest! {
        #[test]
        fn any_number_is_either_a_handle_or_refused(number in any::<usize>()) {
            let handle = ptr::without_provenance_mut::<Other>(number);
            let refused = shared(handle).err();
            prop_assert!(refused == Some(PRT_E_HANDLE) || (number == 0 && refused == Some(-libc::EFAULT)));
            prop_assert!(close(handle).is_err() && alone(handle, |_, _| ()).is_err());
        }
    }
}
