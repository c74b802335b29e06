//! Finds what made a kernel bad, by halving. This module knows neither kernels nor measurements: it asks a function
//! whether something is bad.
//!
//! Some questions have no answer, because a kernel in between cannot be built or does not boot. The function then
//! returns `None`, and the search goes on without that answer.

use anyhow::Result;

/// The change from good to bad in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The index of the last one that is known to be good.
    pub good: usize,
    /// The index of the first one after it that is known to be bad. If these two are not neighbours, nothing is known of
    /// those between them.
    pub bad: usize,
}

/// The change from good to bad in a list whose first is good and whose last is bad. If good and bad alternate, it is one
/// of several changes.
pub fn first_bad(count: usize, mut is_bad: impl FnMut(usize) -> Result<Option<bool>>) -> Result<Step> {
    let (mut good, mut bad) = (0, count.saturating_sub(1));
    let mut unknown = Vec::new();
    while let Some(place) = nearest_to_middle(good, bad, &unknown) {
        match is_bad(place)? {
            Some(true) => bad = place,
            Some(false) => good = place,
            None => unknown.push(place),
        }
    }
    Ok(Step { good, bad })
}

/// The place between two others that is nearest to their middle and is not known to be without an answer.
fn nearest_to_middle(good: usize, bad: usize, unknown: &[usize]) -> Option<usize> {
    let middle = usize::midpoint(good, bad);
    (good + 1..bad).filter(|place| !unknown.contains(place)).min_by_key(|place| place.abs_diff(middle))
}

/// Of `count` changes that are bad together, a smallest set that is bad: none of it can be left out. If one change is to
/// blame, that one is found by halving; if several are only bad together, all of them are (Zeller's ddmin). A set without
/// an answer counts as one that is not bad, so the set that is found is bad in any case, and may be larger than need be.
pub fn smallest_bad(count: usize, mut is_bad: impl FnMut(&[usize]) -> Result<Option<bool>>) -> Result<Vec<usize>> {
    let mut suspects: Vec<usize> = (0..count).collect();
    let mut parts = 2;
    while suspects.len() > 1 {
        let chunks: Vec<Vec<usize>> = suspects.chunks(suspects.len().div_ceil(parts)).map(<[usize]>::to_vec).collect();
        if let Some(chunk) = found(&chunks, &mut is_bad)? {
            (suspects, parts) = (chunk, 2);
            continue;
        }
        // With two parts, what is left without one is the other one.
        let without = |chunk: &Vec<usize>| suspects.iter().copied().filter(|one| !chunk.contains(one)).collect();
        let rests: Vec<Vec<usize>> = if chunks.len() > 2 { chunks.iter().map(without).collect() } else { Vec::new() };
        if let Some(rest) = found(&rests, &mut is_bad)? {
            (suspects, parts) = (rest, (parts - 1).max(2));
        } else if parts < suspects.len() {
            parts = (2 * parts).min(suspects.len());
        } else {
            break;
        }
    }
    Ok(suspects)
}

/// The first of several sets that is bad.
fn found(sets: &[Vec<usize>], is_bad: &mut impl FnMut(&[usize]) -> Result<Option<bool>>) -> Result<Option<Vec<usize>>> {
    for set in sets {
        if is_bad(set)? == Some(true) {
            return Ok(Some(set.clone()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bad_of_a_list_takes_few_questions() {
        for culprit in 1..100 {
            let mut asked = 0;
            let found = first_bad(100, |one| {
                asked += 1;
                Ok(Some(one >= culprit))
            });
            assert_eq!((found.unwrap(), asked <= 7), (Step { good: culprit - 1, bad: culprit }, true));
        }
        assert_eq!(first_bad(2, |_| panic!("nothing to ask")).unwrap(), Step { good: 0, bad: 1 });
    }

    #[test]
    fn the_list_is_searched_around_what_has_no_answer() {
        let search = |unknown: std::ops::Range<usize>, culprit: usize| {
            let answer = |one: usize| Ok((!unknown.contains(&one)).then_some(one >= culprit));
            first_bad(20, answer).unwrap()
        };
        assert_eq!(search(8..12, 4), Step { good: 3, bad: 4 });
        assert_eq!(search(8..12, 15), Step { good: 14, bad: 15 });
        // The change lies among those without an answer.
        assert_eq!(search(8..12, 10), Step { good: 7, bad: 12 });
        assert_eq!(search(1..19, 10), Step { good: 0, bad: 19 });
    }

    #[test]
    fn one_culprit_is_found_by_halving() {
        for culprit in 0..40 {
            let mut asked = 0;
            let found = smallest_bad(40, |set| {
                asked += 1;
                Ok(Some(set.contains(&culprit)))
            });
            assert_eq!(found.unwrap(), [culprit]);
            assert!(asked <= 12, "{asked} questions for {culprit}");
        }
    }

    #[test]
    fn culprits_that_are_bad_only_together_are_all_found() {
        let found = smallest_bad(20, |set| Ok(Some(set.contains(&3) && set.contains(&17))));
        assert_eq!(found.unwrap(), [3, 17]);
        assert_eq!(smallest_bad(1, |_| panic!("nothing to ask")).unwrap(), [0]);
    }

    #[test]
    fn a_set_without_an_answer_is_never_the_result() {
        // Change 2 cannot be built without change 9, and change 2 alone is to blame.
        let found = smallest_bad(12, |set| {
            let (has, needs) = (set.contains(&2), set.contains(&9));
            Ok((!has || needs).then_some(has))
        });
        assert_eq!(found.unwrap(), [2, 9]);
        // Nothing but the whole has an answer.
        assert_eq!(smallest_bad(4, |_| Ok(None)).unwrap(), [0, 1, 2, 3]);
    }

    #[test]
    fn an_error_ends_the_search() {
        assert!(first_bad(10, |_| anyhow::bail!("x")).is_err());
        assert!(smallest_bad(10, |_| anyhow::bail!("x")).is_err());
    }
}
