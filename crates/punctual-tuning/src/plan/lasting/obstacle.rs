//! Reasons why a change cannot be made to last, with what to do instead.

use punctual_facts::fact::printable;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// Another tool owns this setting; the text says how to change it there.
    #[error("to be done by hand here: {0}")]
    ByHand(String),
    #[error(
        "no boot loader was found; add the words in the place where this machine's firmware or boot script keeps its \
        command line"
    )]
    NoLoader,
    #[error(
        "signs of several boot loaders, and nothing says which one started this machine: {}; remove the files of those \
         that are not in use",
        .0.join(", ")
    )]
    SeveralLoaders(Vec<String>),
    #[error("this is a container ({0}): lasting settings belong to its host; run punctual there")]
    Container(String),
    #[error("nothing can be booted just once here: {0}")]
    NoTrial(String),
    #[error("{path}: may not be read; run this as root")]
    Denied { path: String },
    #[error("{path}: does not exist, but is needed to make the change last")]
    Missing { path: String },
    #[error("{path}: {why}; put it right, or make the change by hand")]
    Strange { path: String, why: String },
    #[error("{path}: {why}; remove that from the file, or leave this change out")]
    Conflict { path: String, why: String },
    /// The value cannot be written, for the reason `why`.
    #[error("'{}' is not written: {why}", printable(.value, 80))]
    Unfit { value: String, why: String },
    /// The command line would have more bytes, the final NUL included, than the kernel keeps.
    #[error(
        "the kernel's command line would need {bytes} bytes, and the kernel keeps {kept}; take words off that are not needed"
    )]
    TooLong { bytes: usize, kept: usize },
}
