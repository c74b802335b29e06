//! A line that identifies a machine, as a name and a value.

/// One line that identifies a machine, as a name and a value.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineLine {
    pub name: String,
    pub value: String,
}

impl MachineLine {
    pub fn of<'a>(lines: &'a [Self], name: &str) -> Option<&'a str> {
        lines.iter().find(|line| line.name == name).map(|line| line.value.as_str())
    }
}

impl<N: Into<String>, V: Into<String>> From<(N, V)> for MachineLine {
    fn from((name, value): (N, V)) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}
