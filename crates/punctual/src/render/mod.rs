//! Values to text; nothing else in the program formats or prints.

pub mod audit;
