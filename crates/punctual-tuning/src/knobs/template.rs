//! Texts of the catalogue with typed blanks, for CPUs of the machine or for a choice that a person has to make.
//!
//! `<I>` stands for the real-time CPUs, `<I apart>` for the real-time CPUs in a text that isolates them (never all
//! CPUs), `<H>` for the housekeeping CPUs, and `<H mask>` for the housekeeping CPUs as a hex mask. Any other word in
//! capitals and angle brackets, such as `<FREQUENCY_KHZ>`, is a blank that only a person can fill; it is shown without
//! the brackets. Angle brackets around anything else are plain text.

/// A text with blanks. In texts of the catalogue, the compiler checks the blanks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template<'t>(&'t str);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'t> {
    Text(&'t str),
    /// The real-time CPUs, as a list.
    Cpus,
    /// The real-time CPUs in a text that isolates them, so that they are never all CPUs.
    CpusApart,
    Housekeeping,
    HousekeepingMask,
    /// A blank that a person has to fill, by its name.
    Blank(&'t str),
}

impl Template<'static> {
    /// Creates a text of the catalogue. A text whose blank is misspelt or not closed does not compile.
    pub const fn new(text: &'static str) -> Self {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at + 1 < bytes.len() {
            if bytes[at] == b'<' && bytes[at + 1].is_ascii_uppercase() {
                at = end_of_blank(bytes, at + 1);
            }
            at += 1;
        }
        Self(text)
    }
}

/// The index of the bracket that closes the blank beginning at `start`.
const fn end_of_blank(bytes: &[u8], start: usize) -> usize {
    let mut end = start;
    while end < bytes.len() && bytes[end] != b'>' {
        let is_name =
            bytes[end].is_ascii_uppercase() || bytes[end].is_ascii_digit() || matches!(bytes[end], b'_' | b'-');
        let is_kind = matches!(bytes[start], b'H' | b'I') && (bytes[end] == b' ' || bytes[end].is_ascii_lowercase());
        assert!(is_name || is_kind, "a blank is named by capitals");
        end += 1;
    }
    assert!(end < bytes.len(), "a blank is closed by >");
    end
}

impl<'t> Template<'t> {
    pub fn parts(self) -> impl Iterator<Item = Part<'t>> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let (part, length) = first(rest)?;
            rest = &rest[length..];
            Some(part)
        })
    }

    pub fn filled(self, mut fill: impl FnMut(Part<'t>) -> String) -> String {
        self.parts().map(|part| if let Part::Text(text) = part { text.to_owned() } else { fill(part) }).collect()
    }

    /// The text if no machine is known: the blanks for CPUs keep their brackets.
    pub fn anywhere(self) -> String {
        self.filled(|part| match part {
            Part::Cpus | Part::CpusApart => "<I>".to_owned(),
            Part::Housekeeping => "<H>".to_owned(),
            Part::HousekeepingMask => "<H mask>".to_owned(),
            Part::Blank(text) | Part::Text(text) => text.to_owned(),
        })
    }

    /// Whether the text names housekeeping CPUs.
    pub fn names_housekeeping(self) -> bool {
        self.parts().any(|part| matches!(part, Part::Housekeeping | Part::HousekeepingMask))
    }

    pub(crate) fn parse(text: &'t str) -> Self {
        Self(text)
    }

    /// The text with its blanks as they are written in the catalogue.
    pub(super) fn source(self) -> &'t str {
        self.0
    }
}

/// The first part of a text, and the length of that part in bytes.
fn first(text: &str) -> Option<(Part<'_>, usize)> {
    if let Some(part) = blank(text) {
        return Some(part);
    }
    let next = text.char_indices().skip(1).find(|(at, c)| *c == '<' && blank(&text[*at..]).is_some());
    let length = next.map_or(text.len(), |(at, _)| at);
    (length > 0).then(|| (Part::Text(&text[..length]), length))
}

fn blank(text: &str) -> Option<(Part<'_>, usize)> {
    let (name, _) = text.strip_prefix('<')?.split_once('>')?;
    let is_name = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-');
    let part = match name {
        "I" => Part::Cpus,
        "I apart" => Part::CpusApart,
        "H" => Part::Housekeeping,
        "H mask" => Part::HousekeepingMask,
        _ if name.starts_with(|c: char| c.is_ascii_uppercase()) && name.bytes().all(is_name) => Part::Blank(name),
        _ => return None,
    };
    Some((part, name.len() + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_falls_into_its_parts() {
        let text = Template::new("a <I>, <I apart>, <H> and <H mask> at <FREQUENCY_KHZ> in <locked/> of x > 1 < 2");
        let parts: Vec<Part<'_>> = text.parts().collect();
        let expected = [
            Part::Text("a "),
            Part::Cpus,
            Part::Text(", "),
            Part::CpusApart,
            Part::Text(", "),
            Part::Housekeeping,
            Part::Text(" and "),
            Part::HousekeepingMask,
            Part::Text(" at "),
            Part::Blank("FREQUENCY_KHZ"),
            Part::Text(" in <locked/> of x > 1 < 2"),
        ];
        assert_eq!(parts, expected);
        assert_eq!(text.anywhere(), "a <I>, <I>, <H> and <H mask> at FREQUENCY_KHZ in <locked/> of x > 1 < 2");
    }
}
