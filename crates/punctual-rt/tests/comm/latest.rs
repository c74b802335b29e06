//! Tests of the latest-value cell: readers get the newest value, complete, and know whether it is new.

use proptest::prelude::*;
use punctual_rt::{Reading, latest};

proptest! {
    #[test]
    fn the_reader_has_the_newest_and_knows_whether_it_is_new(writes in prop::collection::vec(any::<bool>(), 0..60)) {
        let (mut writer, mut reader) = latest(-1);
        let (mut newest, mut unseen) = (-1, false);
        for (n, write) in (0..).zip(writes) {
            if write {
                prop_assert_eq!(writer.write(n), !unseen);
                (newest, unseen) = (n, true);
            } else {
                prop_assert_eq!(reader.read(), Reading { value: newest, is_new: unseen });
                unseen = false;
            }
        }
    }
}

#[test]
fn a_value_is_never_torn_and_never_older_than_the_last() {
    let count = if cfg!(miri) { 300 } else { 300_000u64 };
    let (mut writer, mut reader) = latest([0u64; 16]);
    let thread = std::thread::spawn(move || (1..=count).filter(|n| writer.write([*n; 16])).count());
    let (mut last, mut taken) = (0, 0);
    while last < count {
        let Reading { value, is_new } = reader.read();
        assert!(value.iter().all(|v| *v == value[0]), "{value:?}");
        assert!(if is_new { value[0] > last } else { value[0] == last });
        (last, taken) = (value[0], taken + usize::from(is_new));
    }
    let seen_by_writer = thread.join().unwrap();
    assert!(taken == seen_by_writer || taken == seen_by_writer + 1, "{taken} {seen_by_writer}");
}

/// Padding bytes must not matter, because values are copied but not compared.
#[test]
fn values_with_padding_pass() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Padded(u8, u64);
    let (mut writer, mut reader) = latest(Padded(1, 2));
    writer.write(Padded(3, 4));
    assert_eq!(reader.read().value, Padded(3, 4));
}
