//! Measures many candidates at once, by designs of Plackett and Burman (1946), in which any two candidates are set
//! together in a quarter of the runs. The mirror image of each design is added, so that a joint effect of two
//! candidates is not mistaken for the effect of a third.

/// First rows of the cyclic designs, as published, for 4, 8, 12, 16, 20 and 24 runs.
const CYCLES: [&str; 6] =
    ["++-", "+++-+--", "++-+++---+-", "++++-+-++--+---", "++--++++-+-+----++-", "+++++-+-++--++--+-+----"];

/// Largest number of candidates: the length of the longest of [`CYCLES`].
pub const CANDIDATES_MAX: usize = 23;

/// The candidates that are set in each run of the design and its mirror image. Empty for more than [`CANDIDATES_MAX`]
/// candidates.
pub(super) fn rows(candidates: usize) -> Vec<Vec<usize>> {
    let fitting = CYCLES.iter().map(|cycle| cycle.as_bytes()).find(|cycle| cycle.len() >= candidates);
    let Some(cycle) = fitting else { return Vec::new() };
    let length = cycle.len();
    let is_set = |row: usize, column: usize| row < length && cycle.get((column + row) % length) == Some(&b'+');
    let row = |row: usize| (0..candidates).filter(|column| is_set(row, *column)).collect::<Vec<_>>();
    let mirrored = |row: usize| (0..candidates).filter(|column| !is_set(row, *column)).collect::<Vec<_>>();
    (0..=length).map(row).chain((0..=length).map(mirrored)).collect()
}

/// For each candidate, the mean response with it minus the mean response without it. `responses` has one value for each
/// row.
pub(super) fn contrasts(rows: &[Vec<usize>], responses: &[f64], candidates: usize) -> Vec<f64> {
    let contrast = |candidate: usize| {
        let (mut with, mut without) = ((0.0, 0.0), (0.0, 0.0));
        for (row, response) in rows.iter().zip(responses) {
            let side = if row.contains(&candidate) { &mut with } else { &mut without };
            *side = (side.0 + response, side.1 + 1.0);
        }
        let mean = |(sum, count): (f64, f64)| if count > 0.0 { sum / count } else { 0.0 };
        mean(with) - mean(without)
    };
    (0..candidates).map(contrast).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The defining property of these designs: each candidate is set in half of the runs, each pair in a quarter.
    #[test]
    fn every_candidate_and_every_pair_is_balanced() {
        for candidates in 1..=CANDIDATES_MAX {
            let all = rows(candidates);
            let half = all.len() / 2;
            assert!(half > candidates && half % 4 == 0, "{candidates}: {half}");
            for design in [&all[..half], &all[half..]] {
                for a in 0..candidates {
                    let with = design.iter().filter(|row| row.contains(&a)).count();
                    assert_eq!(with * 2, half, "{candidates}: {a}");
                    for b in 0..a {
                        let both = design.iter().filter(|row| row.contains(&a) && row.contains(&b)).count();
                        assert_eq!(both * 4, half, "{candidates}: {a} and {b}");
                    }
                }
            }
        }
        assert!(rows(CANDIDATES_MAX + 1).is_empty());
    }

    #[test]
    fn contrasts_give_back_what_was_put_in() {
        let effects = [3.0, 0.0, -2.0, 0.5, 0.0];
        let rows = rows(effects.len());
        // The joint effect of the first two candidates must not show as an effect of others.
        let response = |row: &Vec<usize>| {
            let pair = if row.contains(&0) && row.contains(&1) { 10.0 } else { 0.0 };
            row.iter().map(|c| effects[*c]).sum::<f64>() + pair
        };
        let responses: Vec<f64> = rows.iter().map(response).collect();
        let found = contrasts(&rows, &responses, effects.len());
        for (place, (found, wanted)) in found.iter().zip(effects).enumerate() {
            let wanted = if place < 2 { wanted + 5.0 } else { wanted };
            assert!((found - wanted).abs() < 1e-9, "{place}: {found}");
        }
    }
}
