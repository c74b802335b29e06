//! Why something cannot be made to last, and what to do instead.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Someone else owns this; what to do there.
    ByHand(String),
    /// No sign of a boot loader.
    NoLoader,
    /// Signs of several boot loaders, and none of which one ran.
    SeveralLoaders(Vec<String>),
    Container(String),
    /// The boot loader cannot boot something once.
    NoTrial(String),
    /// A file or folder may not be read.
    Denied {
        path: String,
    },
    /// A file that is needed is not there.
    Missing {
        path: String,
    },
    /// A file is not as it should be.
    Strange {
        path: String,
        why: String,
    },
    Conflict {
        path: String,
        why: String,
    },
    /// A value that must not be written.
    Unfit {
        value: String,
        why: String,
    },
    /// The command line would be longer than the kernel keeps.
    TooLong {
        /// Its length in bytes, the final NUL included.
        bytes: usize,
        kept: usize,
    },
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByHand(what) => write!(f, "to be done by hand here: {what}"),
            Self::NoLoader => f.write_str(
                "no boot loader was found; put the words where this machine's firmware or boot script keeps them",
            ),
            Self::SeveralLoaders(found) => write!(
                f,
                "signs of several boot loaders, and nothing says which one started this machine: {}; remove the files \
                 of those that are not in use",
                found.join(", ")
            ),
            Self::Container(name) => {
                write!(f, "this is a container ({name}): what lasts is decided on its host; run punctual there")
            }
            Self::NoTrial(why) => write!(f, "nothing can be booted just once here: {why}"),
            Self::Denied { path } => write!(f, "{path}: may not be read; run this as root"),
            Self::Missing { path } => write!(f, "{path}: is not there, but is needed to make the change last"),
            Self::Strange { path, why } => write!(f, "{path}: {why}; put it right, or make the change by hand"),
            Self::Conflict { path, why } => write!(f, "{path}: {why}; take that out, or leave this change out"),
            Self::Unfit { value, why } => {
                write!(f, "'{}' is not written: {why}", punctual_facts::fact::printable(value, 80))
            }
            Self::TooLong { bytes, kept } => write!(
                f,
                "the kernel's command line would need {bytes} bytes, and the kernel keeps {kept}; take words off that \
                 are not needed"
            ),
        }
    }
}

impl std::error::Error for Obstacle {}
