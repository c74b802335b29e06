//! Facts about a machine: its CPU sets, the kernel, the command line, and the effect of each word on that line.
//!
//! This crate has no access to the machine itself: all facts are read through [`tree::Tree`]. It opens no file, reads
//! no clock, starts no thread and prints nothing. It depends neither on knobs nor on recordings.

#![forbid(unsafe_code)]

/// Declares an enumeration of plain variants, each with its name.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* pub enum $type:ident { $($(#[$note:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        pub enum $type {
            $($(#[$note])* $variant,)+
        }

        impl $type {
            /// Every variant, in the order in which they are declared.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

pub mod ability;
pub mod cmdline;
pub mod cpu_set;
pub mod cpus;
pub mod fact;
pub mod finding;
pub mod lint;
pub mod machine;
pub mod profile;
pub mod stat_line;
pub mod tree;
