//! What a number of samples can claim. Knows numbers only, not what was measured.

pub mod binomial;
