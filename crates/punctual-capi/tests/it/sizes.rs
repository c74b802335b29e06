//! Tests that structures of any size, version and content are either accepted or refused, and that no byte behind them
//! is touched.

use proptest::prelude::*;
use punctual_capi::*;
use std::ptr;

/// Room for the largest structure and for bytes behind it that must stay untouched, aligned to 8 bytes.
const WORDS: usize = 1024;
const LARGEST: usize = 4096;
const UNTOUCHED: u8 = 0xA5;

fn bytes_of(words: &mut [u64; WORDS]) -> &mut [u8] {
    // SAFETY: the words are initialised memory of `WORDS * 8` bytes.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), WORDS * 8) }
}

/// A structure that states `size` bytes: header, `content`, then bytes that must stay untouched.
fn structure(size: u32, version: u32, content: &[u8]) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    let bytes = bytes_of(&mut words);
    bytes.fill(UNTOUCHED);
    bytes[8..8 + content.len()].copy_from_slice(content);
    bytes[..4].copy_from_slice(&size.to_ne_bytes());
    bytes[4..8].copy_from_slice(&version.to_ne_bytes());
    words
}

/// The error number for a size and a version that are refused whatever the content is; `None` if they are acceptable.
fn refusal(size: u32, version: u32) -> Option<i32> {
    match size {
        _ if version != 1 => Some(-libc::EINVAL),
        ..8 => Some(-libc::EINVAL),
        4097.. => Some(-libc::E2BIG),
        _ if size % 8 != 0 => Some(-libc::EINVAL),
        _ => None,
    }
}

fn sizes() -> impl Strategy<Value = u32> {
    prop_oneof![0u32..256, (0u32..520).prop_map(|n| n * 8), Just(4096), Just(4097), any::<u32>()]
}

fn versions() -> impl Strategy<Value = u32> {
    prop_oneof![8 => Just(1u32), 1 => any::<u32>()]
}

fn usual_servo() -> Vec<u8> {
    let mut words = [0u64; WORDS];
    let config = words.as_mut_ptr().cast::<prt_servo_config>();
    // SAFETY: the memory has room for the structure.
    assert_eq!(unsafe { prt_servo_config_init(config, size_of::<prt_servo_config>()) }, 0);
    // SAFETY: the structure was initialised above.
    unsafe { (*config).period_ns = 1_000_000 };
    bytes_of(&mut words)[8..size_of::<prt_servo_config>()].to_vec()
}

fn open_servo(config: &[u64; WORDS]) -> (i32, *mut prt_servo) {
    let mut servo = ptr::null_mut();
    // SAFETY: the memory holds as many bytes as the structure states, or the size is refused.
    (unsafe { prt_servo_open(config.as_ptr().cast(), &raw mut servo) }, servo)
}

proptest! {
    #[test]
    fn what_comes_in_is_understood_or_refused_for_the_right_reason(
        size in sizes(), version in versions(), surplus in prop_oneof![4 => Just(None), 1 => any::<usize>().prop_map(Some)],
    ) {
        let mut content = usual_servo();
        content.resize(LARGEST, 0);
        let beyond = size_of::<prt_servo_config>();
        let said = size as usize;
        let surplus = surplus.filter(|_| said > beyond).map(|at| beyond + at % (said.min(LARGEST) - beyond).max(1));
        if let Some(at) = surplus {
            content[(at - 8).min(LARGEST - 1)] = 1;
        }
        let (returned, servo) = open_servo(&structure(size, version, &content));
        let expected = refusal(size, version).or(surplus.map(|_| -libc::E2BIG));
        // If a structure ends before the member `period_ns`, the member has its default 0, which is refused.
        let expected = expected.unwrap_or(if said < 16 { PRT_E_SERVO } else { 0 });
        prop_assert_eq!(returned, expected);
        prop_assert_eq!(servo.is_null(), returned != 0);
        if returned == 0 {
            prop_assert_eq!(prt_servo_close(servo), 0);
        }
    }

    #[test]
    fn what_goes_out_fills_the_structure_and_nothing_beyond(size in sizes(), version in versions()) {
        let (_, servo) = open_servo(&structure(64, 1, &usual_servo()));
        let mut state = structure(size, version, &[]);
        // SAFETY: the memory has room for the largest structure.
        let returned = unsafe { prt_servo_get_state(servo, state.as_mut_ptr().cast()) };
        prop_assert_eq!(prt_servo_close(servo), 0);
        prop_assert_eq!(returned, refusal(size, version).unwrap_or(0));
        let (own, said) = (size_of::<prt_servo_state>(), size as usize);
        let before = structure(size, version, &[]);
        let filled = if returned == 0 { said } else { 8 };
        let mut before = before;
        prop_assert_eq!(&bytes_of(&mut state)[filled..], &bytes_of(&mut before)[filled..], "beyond");
        prop_assert_eq!(&bytes_of(&mut state)[..8], &bytes_of(&mut before)[..8], "the header");
        if returned == 0 && said > own {
            prop_assert!(bytes_of(&mut state)[own..said].iter().all(|byte| *byte == 0), "what is not known is zero");
        }
    }

    #[test]
    fn a_structure_of_any_size_is_prepared_or_refused(size in prop_oneof![0usize..600, Just(4096), Just(4104), any::<usize>()]) {
        let mut words = structure(0, 0, &[]);
        // SAFETY: the memory has room for the largest structure; larger sizes are refused before anything is written.
        let returned = unsafe { prt_config_init(words.as_mut_ptr().cast(), size) };
        let expected = u32::try_from(size).map_or(-libc::E2BIG, |size| refusal(size, 1).unwrap_or(0));
        prop_assert_eq!(returned, expected);
        let mut before = structure(0, 0, &[]);
        let touched = if returned == 0 { size } else { 0 };
        prop_assert_eq!(&bytes_of(&mut words)[touched..], &bytes_of(&mut before)[touched..]);
        if returned == 0 {
            let (said, version) = (u32::try_from(size).unwrap().to_ne_bytes(), 1u32.to_ne_bytes());
            prop_assert_eq!(&bytes_of(&mut words)[..8], [said, version].concat());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Checking a task gives an answer, whatever numbers its configuration contains.
    #[test]
    fn any_numbers_are_judged_or_refused(numbers in prop::collection::vec(any::<u64>(), 64), keep in any::<u64>()) {
        let mut usual = [0u64; WORDS];
        let config = usual.as_mut_ptr().cast::<prt_config>();
        // SAFETY: the memory has room for the structure.
        prop_assert_eq!(unsafe { prt_config_init(config, size_of::<prt_config>()) }, 0);
        // SAFETY: the structure was initialised above.
        unsafe { (*config).period_ns = 1_000_000 };
        for (place, number) in numbers.iter().enumerate().take(size_of::<prt_config>() / 8).skip(1) {
            // Pointers keep their values, because they must be valid; so do a few random other members.
            if ![1, 10, 26].contains(&place) && keep >> place & 1 == 0 {
                usual[place] = if place % 3 == 0 { *number } else { number & 3 };
            }
        }
        // SAFETY: the member lies within the memory. With a count of 0, the pointer to CPUs is not read.
        unsafe { (*config).cpu_count = 0 };
        let mut findings = ptr::null_mut();
        // SAFETY: a structure of the right size, whose pointer to CPUs is not used because `cpu_count` is 0.
        let returned = unsafe { prt_config_check(config, &raw mut findings) };
        prop_assert_eq!(returned >= 0, !findings.is_null());
        if returned >= 0 {
            prop_assert_eq!(prt_findings_close(findings), 0);
        }
    }
}

#[test]
fn pointers_are_where_the_test_above_leaves_them_alone() {
    assert_eq!(std::mem::offset_of!(prt_config, name), 8);
    assert_eq!(std::mem::offset_of!(prt_config, cpus), 80);
    assert_eq!(std::mem::offset_of!(prt_config, external_signal), 26 * 8);
}
