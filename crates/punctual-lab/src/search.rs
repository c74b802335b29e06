//! Finds what made a kernel bad, by halving. This module knows neither kernels nor measurements: it asks a function
//! whether something is bad.

use anyhow::Result;

/// Of a list whose first is good and whose last is bad, the index of the first that is bad. If good and bad alternate, it
/// is one that is bad and follows a good one.
pub fn first_bad(count: usize, mut is_bad: impl FnMut(usize) -> Result<bool>) -> Result<usize> {
    let (mut good, mut bad) = (0, count.saturating_sub(1));
    while bad > good + 1 {
        let middle = usize::midpoint(good, bad);
        if is_bad(middle)? { bad = middle } else { good = middle }
    }
    Ok(bad)
}

/// Of `count` changes that are bad together, a smallest set that is bad: none of it can be left out. If one change is to
/// blame, that one is found by halving; if several are only bad together, all of them are (Zeller's ddmin).
pub fn smallest_bad(count: usize, mut is_bad: impl FnMut(&[usize]) -> Result<bool>) -> Result<Vec<usize>> {
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
fn found(sets: &[Vec<usize>], is_bad: &mut impl FnMut(&[usize]) -> Result<bool>) -> Result<Option<Vec<usize>>> {
    for set in sets {
        if is_bad(set)? {
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
                Ok(one >= culprit)
            });
            assert_eq!((found.unwrap(), asked <= 7), (culprit, true));
        }
        assert_eq!(first_bad(2, |_| panic!("nothing to ask")).unwrap(), 1);
    }

    #[test]
    fn one_culprit_is_found_by_halving() {
        for culprit in 0..40 {
            let mut asked = 0;
            let found = smallest_bad(40, |set| {
                asked += 1;
                Ok(set.contains(&culprit))
            });
            assert_eq!(found.unwrap(), [culprit]);
            assert!(asked <= 12, "{asked} questions for {culprit}");
        }
    }

    #[test]
    fn culprits_that_are_bad_only_together_are_all_found() {
        let found = smallest_bad(20, |set| Ok(set.contains(&3) && set.contains(&17)));
        assert_eq!(found.unwrap(), [3, 17]);
        assert_eq!(smallest_bad(1, |_| panic!("nothing to ask")).unwrap(), [0]);
    }

    #[test]
    fn an_error_ends_the_search() {
        assert!(first_bad(10, |_| anyhow::bail!("x")).is_err());
        assert!(smallest_bad(10, |_| anyhow::bail!("x")).is_err());
    }
}
