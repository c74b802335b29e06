//! The name of a cause: what the kernel or the machine calls it, and what punctual adds to that name.

use std::fmt;

/// What a cause is called. It is published as text: `nvme0q3 (irq 131)`, `kworker: vmstat_update`, `under hog`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String", inline))]
pub enum CauseName {
    /// A word of the kernel, a device or a program; empty if the class of the cause needs no name.
    Given(String),
    /// A kernel worker, with the function that it ran if a record has it. The worker's own name would not help.
    Worker(Option<String>),
    /// The task that was running when nothing explained the time. The task is not blamed.
    Under(Box<CauseName>),
}

impl CauseName {
    /// The empty name, for causes whose class needs no name.
    pub const NONE: Self = Self::Given(String::new());

    pub fn is_empty(&self) -> bool {
        *self == Self::NONE
    }

    /// Whether the kernel's word in the name begins with `word`. For a worker, that is the name of its function.
    pub fn begins_with(&self, word: &str) -> bool {
        match self {
            Self::Given(name) | Self::Worker(Some(name)) => name.starts_with(word),
            Self::Worker(None) | Self::Under(_) => word.is_empty(),
        }
    }
}

/// A long recording has hundreds of thousands of names, so none keeps spare capacity.
impl<T: Into<String>> From<T> for CauseName {
    fn from(name: T) -> Self {
        let mut name = name.into();
        name.shrink_to_fit();
        Self::Given(name)
    }
}

impl fmt::Display for CauseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(name) => f.write_str(name),
            Self::Worker(Some(function)) => write!(f, "kworker: {function}"),
            Self::Worker(None) => f.write_str("kworker"),
            Self::Under(task) => write!(f, "under {task}"),
        }
    }
}

impl serde::Serialize for CauseName {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_published_as_text_and_found_by_the_words_of_the_kernel() {
        let worker = CauseName::Worker(Some("vmstat_update".to_owned()));
        let texts = [CauseName::NONE, "hog".into(), worker.clone(), CauseName::Under(Box::new(worker.clone()))];
        let published = serde_json::to_string(&texts).unwrap();
        assert_eq!(published, r#"["","hog","kworker: vmstat_update","under kworker: vmstat_update"]"#);
        assert!(worker.begins_with("vmstat") && !worker.begins_with("kworker") && !texts[3].begins_with("kworker"));
    }
}
