//! A value for a file of the kernel, and how to write it now or describe it in a text.

use super::case::{Case, marked};
use super::template::{Part, Template};
use punctual_facts::fact::Fact;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    pub file: File,
    pub value: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    Number(i64),
    Text(Template<'static>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// A file below `/proc/sys`, given by its sysctl name.
    Sysctl(&'static str),
    /// A file by its path. `*` stands for every file of a kind, `cpu<I>` for each real-time CPU, `cpu<H>` for each
    /// housekeeping CPU.
    Path(&'static str),
    /// A parameter of a module, loaded or built in.
    Parameter { module: &'static str, name: &'static str },
}

/// The kind of CPUs that have one file each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Each {
    RealTime,
    Others,
}

impl File {
    /// The kind of CPUs that the path stands for; `None` if the file does not exist once per CPU.
    pub fn each(self) -> Option<Each> {
        Template::parse(&self.path()).parts().find_map(|part| match part {
            Part::Cpus => Some(Each::RealTime),
            Part::Housekeeping => Some(Each::Others),
            _ => None,
        })
    }

    /// The path with `cpu` in place of the number of the CPU.
    pub(crate) fn path_of(self, cpu: &str) -> String {
        Template::parse(&self.path()).filled(|_| cpu.to_owned())
    }

    pub fn path(self) -> String {
        match self {
            Self::Sysctl(name) => format!("/proc/sys/{}", name.replace('.', "/")),
            Self::Path(path) => path.to_owned(),
            Self::Parameter { module, name } => format!("/sys/module/{module}/parameters/{name}"),
        }
    }
}

impl Value {
    pub const fn text(text: &'static str) -> Self {
        Self::Text(Template::new(text))
    }

    pub fn names_housekeeping(self) -> bool {
        matches!(self, Self::Text(text) if text.names_housekeeping())
    }

    pub fn here(self, case: &Case<'_>) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => case.fill(text),
        }
    }

    /// The value on this machine; `None` if a blank is left for a person to fill.
    pub fn whole(self, case: &Case<'_>) -> Option<String> {
        match self {
            Self::Number(number) => Some(number.to_string()),
            Self::Text(text) => case.fill_whole(text),
        }
    }

    /// The value with its blanks as they are written in the catalogue.
    pub(crate) fn source(self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.source().to_owned(),
        }
    }
}

impl Setting {
    /// The setting as a text: a line of `/etc/sysctl.d`, or which value is written to which file.
    pub(crate) fn told(self, fill: impl Fn(Template<'_>) -> String) -> String {
        let value = fill(Template::parse(&self.value.source()));
        match self.file {
            File::Sysctl(name) => format!("/etc/sysctl.d: {name} = {value}"),
            File::Path(_) | File::Parameter { .. } => {
                format!("At boot: write {value} to {}", fill(Template::parse(&self.file.path())))
            }
        }
    }

    pub(crate) fn names_housekeeping(self) -> bool {
        self.value.names_housekeeping() || Template::parse(&self.file.path()).names_housekeeping()
    }

    /// The shell command that writes the value into the file. The blanks of the value are not filled.
    pub(crate) fn write(self) -> String {
        self.command(&self.value.source())
    }

    /// The value as one argument in a shell, with quotes if necessary.
    pub(crate) fn quoted(self, value: &str) -> String {
        let is_one = self.value.names_housekeeping() || !value.contains(' ');
        if is_one { value.to_owned() } else { format!("'{value}'") }
    }

    /// The shell command that writes `value` into the file. Blanks in the path are not filled.
    pub(crate) fn command(self, value: &str) -> String {
        let value = self.quoted(value);
        if let File::Sysctl(name) = self.file {
            return format!("sysctl {name}={value}");
        }
        if let Some(each) = self.file.each() {
            let cpus = if each == Each::RealTime { "<I>" } else { "<H>" };
            return format!("echo {value} > {} for N in {cpus}", self.file.path_of("N"));
        }
        let path = self.file.path();
        if path.contains('*') {
            format!("for f in {path}; do echo {value} > $f; done")
        } else {
            format!("echo {value} > {path}")
        }
    }

    /// The value that the file holds now, for the command that undoes the change. `None` if the file cannot be read, or
    /// if its value is the wanted one already or is not safe as part of a command.
    pub(crate) fn before(self, case: &Case<'_>) -> Option<String> {
        let path = self.file.path();
        if path.contains(['*', '<']) {
            return None;
        }
        let Fact::Known(text) = case.aside(|case| case.peek(&path)) else { return None };
        let before = marked(&text).unwrap_or(&text).trim();
        let is_plain = before.bytes().all(|b| b.is_ascii_alphanumeric() || b" \t-_.,".contains(&b));
        (is_plain && !before.is_empty() && before != self.value.here(case))
            .then(|| before.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}
