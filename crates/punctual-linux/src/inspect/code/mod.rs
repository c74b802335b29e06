//! From what the kernel kept of a thread to places in the program's code.
//!
//! ```text
//! maps, records of new mappings -> Space of Modules \
//! registers, top of the stack ---------------------> unwind -> call stack -> places -> Code
//! ```

mod go;
mod made;
mod module;
mod names;
mod places;
mod space;
mod unwind;

pub use made::is_of_script;
pub use names::is_interpreter;
pub use places::Places;
pub use space::{Function, Piece, Space, Spaces};
pub use unwind::{REGISTERS, Registers, Unwinder};
