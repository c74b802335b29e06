//! Keeps the windows of a recording in packed form: ten thousand windows take some 30 MB packed and half a gigabyte
//! unpacked. Each is unpacked only while it is read.

use super::wire;
use crate::trace::{Kept, Window};
use punctual_hist::MonoTime;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    packed: BTreeMap<u32, Packed>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Packed {
    kept: Kept,
    cpu: u32,
    release: MonoTime,
    woke: MonoTime,
    bytes: Box<[u8]>,
}

impl Packed {
    fn unpack(&self) -> Option<Window> {
        wire::unpack(&self.bytes)
    }
}

impl Windows {
    /// Keeps a window. If its slot already holds a window, that window is replaced.
    pub fn keep(&mut self, window: &Window) {
        let Window { kept, cpu, release, woke, .. } = *window;
        self.packed.insert(window.slot, Packed { kept, cpu, release, woke, bytes: wire::pack(window).into() });
    }

    pub fn next_slot(&self) -> u32 {
        self.packed.keys().next_back().map_or(0, |last| last.saturating_add(1))
    }

    pub fn iter(&self) -> impl Iterator<Item = Window> {
        self.packed.values().filter_map(Packed::unpack)
    }

    /// All windows, CPU by CPU, in order of their releases.
    pub fn by_cpu_and_time(&self) -> impl Iterator<Item = Window> {
        let mut order: Vec<&Packed> = self.packed.values().collect();
        order.sort_by_key(|packed| (packed.cpu, packed.release));
        order.into_iter().filter_map(Packed::unpack)
    }

    pub fn ordinary(&self) -> impl Iterator<Item = Window> {
        self.packed.values().filter(|packed| packed.kept == Kept::Ordinary).filter_map(Packed::unpack)
    }

    pub fn late(&self) -> impl Iterator<Item = Window> {
        self.packed.values().filter(|packed| packed.kept != Kept::Ordinary).filter_map(Packed::unpack)
    }

    /// The window of the late activation whose thread woke at this instant.
    pub fn woken_at(&self, woke: MonoTime) -> Option<Window> {
        let late = self.packed.values().filter(|packed| packed.kept != Kept::Ordinary);
        late.filter(|packed| packed.woke == woke).find_map(Packed::unpack)
    }
}

impl FromIterator<Window> for Windows {
    fn from_iter<I: IntoIterator<Item = Window>>(windows: I) -> Self {
        let mut all = Self::default();
        windows.into_iter().for_each(|window| all.keep(&window));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::strategies::window;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn windows_come_back_as_they_were_kept(windows in proptest::collection::vec(window(), 0..8)) {
            let by_slot: BTreeMap<u32, Window> = windows.iter().map(|window| (window.slot, window.clone())).collect();
            let kept: Windows = windows.into_iter().collect();
            prop_assert!(kept.iter().eq(by_slot.values().cloned()));
            prop_assert!(kept.ordinary().all(|window| window.kept == Kept::Ordinary));
            prop_assert_eq!(kept.ordinary().count() + kept.late().count(), by_slot.len());
            prop_assert!(kept.by_cpu_and_time().is_sorted_by_key(|window| (window.cpu, window.release)));
            for window in kept.late() {
                prop_assert_eq!(kept.woken_at(window.woke).map(|found| found.woke), Some(window.woke));
            }
        }
    }
}
