//! What C holds instead of pointers, so that a handle that was closed, or never was one, is recognised.
//!
//! A handle is a number in a pointer's clothes: which slot of a table, which use of that slot, what kind of thing. It is
//! never followed. Slots are used again and never freed, so looking one up is safe whatever the number is; finding and
//! leaving are lock-free and allocate nothing.
//!
//! This module knows nothing of what the handles stand for.

use crate::error::{Code, Failure, PRT_E_HANDLE, PRT_E_THREAD};
use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr;
use std::sync::atomic::{
    AtomicPtr, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::sync::{Mutex, PoisonError};

/// A kind of thing that C has handles of.
pub(crate) trait Handled {
    /// Tells kinds apart; not 0.
    const KIND: u8;
    /// What a handle stands for.
    type Value;
}

/// A value with a part that one thread may use at a time, and a part that is anybody's: who only looks, looks there, and
/// is never in the way of who works.
pub(crate) struct Single<Mine, Open> {
    mine: UnsafeCell<Mine>,
    open: Open,
}

// SAFETY: `mine` is reached through `Alone` only, of which there is one at a time, so it moves between threads but is not
// shared by them; what gives `open` to several threads at once asks for it to be `Sync`.
unsafe impl<Mine: Send, Open: Sync> Sync for Single<Mine, Open> {}

impl<Mine, Open> Single<Mine, Open> {
    pub(crate) const fn new(mine: Mine, open: Open) -> Self {
        Self { mine: UnsafeCell::new(mine), open }
    }

    /// The part of its own, of a value that no handle stands for any more.
    pub(crate) fn into_mine(self) -> Mine {
        self.mine.into_inner()
    }

    /// What is anybody's.
    #[inline]
    pub(crate) const fn open(&self) -> &Open {
        &self.open
    }
}

/// Bits of a handle that number the slot, and of a slot's word that say who is inside.
const LOW: u32 = 24;
const LOW_MASK: u64 = (1 << LOW) - 1;
/// Somebody is inside alone; the bits below count all that are inside.
const ALONE: u64 = 1 << (LOW - 1);
const CHUNK: usize = 256;
const CHUNKS: usize = 1024;
/// How often closing is tried while another thread is inside, before it is refused.
const TRIES: u32 = 1000;

/// One place of the table.
struct Slot {
    /// Use of the slot (32 bits), kind (8 bits, 0 when free), who is inside (24 bits).
    word: AtomicU64,
    /// The only thread that may use it, 0 for any.
    owner: AtomicU64,
    value: AtomicPtr<()>,
}

struct Chunk([Slot; CHUNK]);

static TABLE: [AtomicPtr<Chunk>; CHUNKS] = [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS];
static FREE: Mutex<Free> = Mutex::new(Free { indices: Vec::new(), made: 0 });

/// Slots that are not in use.
struct Free {
    indices: Vec<usize>,
    made: usize,
}

/// A number for the calling thread that no other thread has had.
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

/// Makes a handle for `value`, to be used by any thread.
///
/// # Errors
/// `-EMFILE` when 262144 handles are in use.
pub(crate) fn open<K: Handled>(value: K::Value) -> Result<*mut K, Code> {
    enter_table(value, 0)
}

/// Makes a handle for `value`, to be used by the calling thread only.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_here<K: Handled>(value: K::Value) -> Result<*mut K, Code> {
    enter_table(value, this_thread())
}

/// Makes the calling thread the one that the handle belongs to.
pub(crate) fn adopt<K: Handled>(handle: *const K) {
    if let Ok((slot, _)) = find(handle) {
        slot.owner.store(this_thread(), Relaxed);
    }
}

fn enter_table<K: Handled>(value: K::Value, owner: u64) -> Result<*mut K, Code> {
    let index = vacant().ok_or(-libc::EMFILE)?;
    let slot = slot(index).ok_or(-libc::EMFILE)?;
    let uses = (slot.word.load(Relaxed) >> 32).wrapping_add(1) & u64::from(u32::MAX);
    let tag = uses << 8 | u64::from(K::KIND);
    slot.value.store(Box::into_raw(Box::new(value)).cast(), Relaxed);
    slot.owner.store(owner, Relaxed);
    slot.word.store(tag << LOW, Release);
    let number = tag << LOW | index as u64;
    Ok(ptr::without_provenance_mut(usize::try_from(number).unwrap_or(0)))
}

fn vacant() -> Option<usize> {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(index) = free.indices.pop() {
        return Some(index);
    }
    let index = free.made;
    let chunk = TABLE.get(index / CHUNK)?;
    if index % CHUNK == 0 {
        let slot = || Slot { word: AtomicU64::new(0), owner: AtomicU64::new(0), value: AtomicPtr::default() };
        chunk.store(Box::into_raw(Box::new(Chunk(std::array::from_fn(|_| slot())))), Release);
    }
    free.made = index.saturating_add(1);
    Some(index)
}

#[inline]
fn slot(index: usize) -> Option<&'static Slot> {
    let chunk = TABLE.get(index / CHUNK)?.load(Acquire);
    // SAFETY: null, or a chunk that was made by `vacant` and is never freed.
    let chunk = unsafe { chunk.as_ref() }?;
    chunk.0.get(index % CHUNK)
}

/// The slot of a handle that looks as if it were one of this kind, and its word with nobody inside.
#[inline]
fn find<K: Handled>(handle: *const K) -> Result<(&'static Slot, u64), Code> {
    if handle.is_null() {
        return Err(-libc::EFAULT);
    }
    let number = handle.addr() as u64;
    if number >> LOW & 0xFF != u64::from(K::KIND) {
        return Err(PRT_E_HANDLE);
    }
    let slot = slot((number & LOW_MASK) as usize).ok_or(PRT_E_HANDLE)?;
    Ok((slot, number & !LOW_MASK))
}

/// A call that is inside: the value stays until it leaves.
pub(crate) struct Inside<K: Handled> {
    slot: &'static Slot,
    value: *const K::Value,
    /// What it added to the slot's word.
    mark: u64,
    kind: PhantomData<K>,
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
        // SAFETY: made by `enter_table`, and freed by `close` only when no call is inside.
        unsafe { &*self.value }
    }
}

/// A call that has the part of its own.
pub(crate) struct Alone<K: Handled<Value = Single<Mine, Open>>, Mine, Open>(Inside<K>);

impl<K: Handled<Value = Single<Mine, Open>>, Mine, Open> Alone<K, Mine, Open> {
    /// Both parts.
    #[inline]
    pub(crate) fn parts(&mut self) -> (&mut Mine, &Open) {
        // SAFETY: `alone` lets nobody else have this part, and the result borrows `self`.
        (unsafe { &mut *self.0.mine.get() }, &self.0.open)
    }
}

/// Enters beside others, for a value that several threads may use at once.
///
/// # Errors
/// `-EFAULT` for null, [`PRT_E_HANDLE`] for what is no handle of this kind, or no more.
#[inline]
pub(crate) fn shared<K: Handled>(handle: *const K) -> Result<Inside<K>, Code>
where
    K::Value: Sync,
{
    enter(handle, 1)
}

/// Enters, for the part that one thread may use at a time. Others may be inside beside it, who only look.
///
/// # Errors
/// As [`shared`]; `-EBUSY` when another call has that part.
#[inline]
pub(crate) fn alone<K, Mine: Send, Open: Sync>(handle: *const K) -> Result<Alone<K, Mine, Open>, Code>
where
    K: Handled<Value = Single<Mine, Open>>,
{
    enter(handle, ALONE | 1).map(Alone)
}

/// Lock-free: tries again only when another call entered or left at this very moment.
#[inline]
fn enter<K: Handled>(handle: *const K, mark: u64) -> Result<Inside<K>, Code> {
    let (slot, word) = find(handle)?;
    let mut now = slot.word.load(Relaxed);
    loop {
        if now & !LOW_MASK != word {
            return Err(PRT_E_HANDLE);
        }
        if now & mark & ALONE != 0 {
            return Err(-libc::EBUSY);
        }
        match slot.word.compare_exchange_weak(now, now.wrapping_add(mark), Acquire, Relaxed) {
            Ok(_) => return Ok(inside(slot, mark)),
            Err(other) => now = other,
        }
    }
}

/// The value of a handle that belongs to the calling thread, for the time of one call. Nobody need be told, for nobody
/// else may close it.
///
/// # Errors
/// As [`shared`]; [`PRT_E_THREAD`] when it belongs to another thread.
#[inline]
pub(crate) fn own<'call, K: Handled>(handle: *const K) -> Result<&'call K::Value, Code> {
    let (slot, word) = find(handle)?;
    if slot.word.load(Acquire) & !LOW_MASK != word {
        return Err(PRT_E_HANDLE);
    }
    if slot.owner.load(Relaxed) != this_thread() {
        return Err(PRT_E_THREAD);
    }
    // SAFETY: made by `enter_table`; only this thread may free it, in another call.
    Ok(unsafe { &*slot.value.load(Relaxed).cast::<K::Value>() })
}

#[inline]
fn inside<K: Handled>(slot: &'static Slot, mark: u64) -> Inside<K> {
    Inside { slot, value: slot.value.load(Relaxed).cast::<K::Value>(), mark, kind: PhantomData }
}

/// Makes the handle one no more, and gives the value back.
///
/// # Errors
/// As [`shared`]; [`PRT_E_THREAD`] when it belongs to another thread, `-EBUSY` when a call stays inside.
pub(crate) fn close<K: Handled>(handle: *const K) -> Result<K::Value, Code> {
    let (slot, word) = find(handle)?;
    let owner = slot.owner.load(Relaxed);
    if slot.word.load(Acquire) & !LOW_MASK != word {
        return Err(PRT_E_HANDLE);
    }
    if owner != 0 && owner != this_thread() {
        return Err(PRT_E_THREAD);
    }
    for _ in 0..TRIES {
        match slot.word.compare_exchange(word, word >> 32 << 32, AcqRel, Relaxed) {
            Ok(_) => return Ok(vacate(slot, (handle.addr() as u64 & LOW_MASK) as usize)),
            Err(now) if now & !LOW_MASK != word => return Err(PRT_E_HANDLE),
            Err(_) => std::thread::yield_now(),
        }
    }
    Err(-libc::EBUSY)
}

/// Makes the handle one no more, and drops the value.
///
/// # Errors
/// As [`close`].
pub(crate) fn free<K: Handled>(handle: *const K) -> Result<(), Failure> {
    drop(close(handle)?);
    Ok(())
}

fn vacate<T>(slot: &Slot, index: usize) -> T {
    let value = slot.value.swap(ptr::null_mut(), Relaxed).cast::<T>();
    FREE.lock().unwrap_or_else(PoisonError::into_inner).indices.push(index);
    // SAFETY: made by `enter_table` from a box of this type, which the kind in the handle tells; nobody is inside, and
    // the word admits nobody any more.
    *unsafe { Box::from_raw(value) }
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
        let mut first = alone(handle).unwrap();
        *first.parts().0 += 1;
        assert_eq!(alone(handle).err(), Some(-libc::EBUSY));
        assert_eq!(close(handle).err(), Some(-libc::EBUSY));
        drop(first);
        assert_eq!(*alone(handle).unwrap().parts().0, 2);
        close(handle).unwrap();
        assert_eq!(alone(handle).err(), Some(PRT_E_HANDLE));
    }

    #[test]
    fn who_only_looks_is_never_in_the_way_of_who_works() {
        let handle = other(1);
        let (a, b) = (shared(handle).unwrap(), shared(handle).unwrap());
        let mut work = alone(handle).unwrap();
        let (_, open) = work.parts();
        open.store(7, Relaxed);
        assert_eq!(a.open().load(Relaxed), 7);
        drop(a);
        assert_eq!(alone(handle).err(), Some(-libc::EBUSY), "the worker is still there");
        drop(work);
        assert!(alone(handle).is_ok(), "while one looks");
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
                if let Ok(mut alone) = alone(handle()) {
                    let (mine, open) = alone.parts();
                    *mine = mine.wrapping_add(1);
                    open.store(open.load(Relaxed) + 1, Relaxed);
                    done += 1;
                }
            }
        };
        let look =
            move || (0..ROUNDS).for_each(|_| assert!(shared(handle()).unwrap().open().load(Relaxed) <= 2 * ROUNDS));
        let threads = [std::thread::spawn(work), std::thread::spawn(look), std::thread::spawn(work)];
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(shared(handle()).unwrap().open().load(Relaxed), 2 * ROUNDS);
        assert!(close(handle()).is_ok());
    }

    #[test]
    fn what_belongs_to_a_thread_is_refused_to_others() {
        let handle = open_here::<Number>(AtomicU64::new(3)).unwrap();
        assert_eq!(own(handle).unwrap().load(Relaxed), 3);
        let number = handle.addr();
        let elsewhere = move || {
            let handle = ptr::without_provenance_mut::<Number>(number);
            (own(handle).err(), close(handle).err(), shared(handle).map(|value| value.load(Relaxed)).ok())
        };
        let (used, closed, seen) = std::thread::spawn(elsewhere).join().unwrap();
        assert_eq!((used, closed, seen), (Some(PRT_E_THREAD), Some(PRT_E_THREAD), Some(3)));
        close(handle).unwrap();
        assert_eq!(own(handle).err(), Some(PRT_E_HANDLE));
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
            prop_assert!(close(handle).is_err() && own(handle).is_err() && alone(handle).is_err());
        }
    }
}
