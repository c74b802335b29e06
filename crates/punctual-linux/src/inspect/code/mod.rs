//! From what the kernel kept of a thread to places in the program's code.
//!
//! ```text
//! maps, records of new mappings -> Space of Modules \
//! registers, top of the stack ---------------------> unwind -> call stack -> places -> Code
//! ```

mod module;
mod names;
mod places;
mod space;
mod unwind;

pub use places::Places;
pub use space::{Function, Piece, Space, Spaces};
pub use unwind::{REGISTERS, Registers, Unwinder};
