//! Reads the layout of an event from the text of its `format` file.
//!
//! Offsets and sizes differ between kernels, so none is built in. This module knows neither particular events nor
//! pages.

/// Why the layout of an event, or of the head of a page, cannot be read. Nothing is guessed: the event is then not
/// decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{of}: {why}")]
pub struct FormatError {
    /// The event whose layout was to be read, as `group:name`, or `header_page`.
    pub of: String,
    pub why: FormatFault,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatFault {
    /// The event is not in `EVENTS`.
    #[error("an event that punctual does not read")]
    NotWanted,
    #[error("its format has no number of the event")]
    NoId,
    #[error("this kernel's format has no field `{0}`")]
    Missing(String),
    #[error("a line of its format cannot be understood: {0}")]
    Line(String),
    #[error("field `{0}` has a size or a kind that cannot be read")]
    Unfit(String),
    #[error("its number {0} is that of another event")]
    SameId(u16),
    #[error("traces of big-endian machines cannot be read")]
    BigEndian,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    /// The field itself consists of the bytes of the text.
    Array,
    /// The field holds the offset of the bytes from the start of the record, and their number.
    Located,
    /// The field holds the offset of the bytes from the end of the field, and their number.
    Relative,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub name: String,
    pub kind: Kind,
    pub offset: u16,
    pub size: u16,
    pub signed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventFormat {
    pub id: u16,
    pub fields: Vec<Field>,
}

impl EventFormat {
    pub fn parse(text: &str) -> Result<Self, FormatFault> {
        let id = text
            .lines()
            .find_map(|line| line.strip_prefix("ID:"))
            .and_then(|id| id.trim().parse().ok())
            .ok_or(FormatFault::NoId)?;
        Ok(Self { id, fields: fields(text)? })
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// The fields that a `format` file declares. They end at the line `print fmt:`.
pub(crate) fn fields(text: &str) -> Result<Vec<Field>, FormatFault> {
    text.lines()
        .take_while(|line| !line.starts_with("print fmt:"))
        .filter_map(|line| line.trim_start().strip_prefix("field:"))
        .map(|line| field(line).ok_or_else(|| FormatFault::Line(line.to_owned())))
        .collect()
}

/// Reads a line `TYPE NAME; offset:N; size:N; signed:N;`, whose parts are separated by tabs.
fn field(line: &str) -> Option<Field> {
    let mut parts = line.split(';').map(str::trim);
    let declared = parts.next()?;
    let (mut offset, mut size, mut signed) = (None, None, false);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", number)) => offset = Some(number.parse().ok()?),
            Some(("size", number)) => size = Some(number.parse().ok()?),
            Some(("signed", number)) => signed = number == "1",
            _ => {}
        }
    }
    let (kind, name) = declaration(declared)?;
    Some(Field { name, kind, offset: offset?, size: size?, signed })
}

fn declaration(text: &str) -> Option<(Kind, String)> {
    let (kind, rest) = match text.split_once(char::is_whitespace) {
        Some(("__data_loc", rest)) => (Some(Kind::Located), rest),
        Some(("__rel_loc", rest)) => (Some(Kind::Relative), rest),
        _ => (None, text),
    };
    let last = rest.split_whitespace().next_back()?;
    let (name, array) = match last.split_once('[') {
        Some((name, _)) => (name, Kind::Array),
        None => (last, Kind::Number),
    };
    let name = name.trim_start_matches('*');
    let good = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    good.then(|| (kind.unwrap_or(array), name.to_owned()))
}
