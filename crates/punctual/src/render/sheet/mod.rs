//! Lays out text for a terminal: headings, wrapped paragraphs, colours.
//!
//! All text is cleaned of control characters here. Must not know reports.

pub mod table;

use self::table::{Table, TableLine};
use crate::render::clean::{ascii, clean, clean_keeping_thin};
use crate::render::lang::{padded, pieces, tr, width};
use anstyle::AnsiColor;
use punctual_facts::finding::{Finding, Severity, State};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    pub width: usize,
    pub colour: bool,
}

impl Default for Style {
    /// A layout that every terminal can show: 80 columns, no colour codes.
    fn default() -> Self {
        Self { width: 80, colour: false }
    }
}

/// Width of the labels before the lines of an answer.
const ANSWER_LABEL: usize = 8;

/// The meaning of a piece of text, which gives its colour. The words must say the same, because colours may be off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Good,
    Bad,
    /// Not certain, or worth a look.
    Doubt,
    Heading,
    Quiet,
}

impl Tone {
    pub fn of(finding: &Finding) -> Self {
        match (&finding.state, finding.severity) {
            (State::Bad, Severity::Fatal | Severity::High) => Self::Bad,
            (State::Bad | State::Unknown(_), _) => Self::Doubt,
            (State::Good, _) => Self::Good,
            (State::Advice(_) | State::NotApplicable(_), _) => Self::Quiet,
        }
    }

    fn style(self) -> anstyle::Style {
        let style = anstyle::Style::new();
        match self {
            Self::Good => style.bold().fg_color(Some(AnsiColor::Green.into())),
            Self::Bad => style.bold().fg_color(Some(AnsiColor::Red.into())),
            Self::Doubt => style.bold().fg_color(Some(AnsiColor::Yellow.into())),
            Self::Heading => style.bold(),
            Self::Quiet => style.dimmed(),
        }
    }
}

pub struct Sheet {
    style: Style,
    text: String,
}

impl Sheet {
    /// An empty sheet. Its width is at least 20 columns, because few words fit fewer.
    pub fn new(style: Style) -> Self {
        Self { style: Style { width: style.width.max(20), ..style }, text: String::new() }
    }

    pub fn width(&self) -> usize {
        self.style.width
    }

    pub fn finish(self) -> String {
        self.text
    }

    /// Adds a heading, with an empty line above it.
    pub fn heading(&mut self, title: &str) {
        self.gap();
        if width(title) > self.style.width {
            return self.paragraph(0, title);
        }
        self.line(&self.toned(Tone::Heading, &clean(title)));
    }

    /// Adds an empty line, unless the sheet is still empty.
    pub fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    pub fn paragraph(&mut self, indent: usize, text: &str) {
        self.hanging(indent, indent, None, text);
    }

    /// Adds a paragraph in which the words `first` have a tone.
    pub fn toned_paragraph(&mut self, indent: usize, tone: Tone, first: &str, rest: &str) {
        self.hanging(indent, indent, Some((tone, first)), rest);
    }

    /// Adds a paragraph in which the words `first` have a tone. Its second and later lines are indented by `rest`.
    pub fn hanging_paragraph(&mut self, indent: usize, rest: usize, tone: Tone, first: &str, text: &str) {
        self.hanging(indent, rest, Some((tone, first)), text);
    }

    /// Adds a line of the answer: a label of at most eight columns, then the text.
    pub fn answer(&mut self, label: &str, text: &str) {
        self.toned_entry(2, ANSWER_LABEL, Tone::Heading, label, text);
    }

    /// Adds a command below a line of the answer.
    pub fn answer_command(&mut self, command: &str) {
        self.command(ANSWER_LABEL + 3, command);
    }

    /// Adds the next step to the answer: its purpose, its command and, if there is one, the command to run afterwards.
    pub fn answer_next(&mut self, why: &str, command: &str, then: Option<String>) {
        self.answer(tr!("Next"), why);
        self.answer_command(command);
        if let Some(then) = then {
            self.answer_more(tr!("Then measure again:"));
            self.answer_command(&then);
        }
    }

    /// Adds a paragraph below a line of the answer.
    pub fn answer_more(&mut self, text: &str) {
        self.paragraph(ANSWER_LABEL + 3, text);
    }

    /// Adds a command to paste. It is never wrapped: a line that only the terminal breaks is copied whole.
    pub fn command(&mut self, indent: usize, command: &str) {
        self.line(&format!("{}{}", " ".repeat(indent), clean(command)));
    }

    /// Adds a short label, with text that wraps to the right of it.
    pub fn entry(&mut self, indent: usize, label_width: usize, label: &str, text: &str) {
        self.toned_entry(indent, label_width, Tone::Quiet, label, text);
    }

    pub fn toned_entry(&mut self, indent: usize, label_width: usize, tone: Tone, label: &str, text: &str) {
        let label = padded(&ascii(label), label_width);
        let start = (indent + label_width + 1).min(self.style.width / 3);
        self.hanging(indent, start, Some((tone, &label)), text);
    }

    pub fn point(&mut self, indent: usize, text: &str) {
        self.hanging(indent, indent + 2, None, &format!("- {text}"));
    }

    /// Adds a table, indented by two columns. If it is too wide, it is split into blocks one below the other, or
    /// becomes a list.
    pub fn table(&mut self, table: &Table) {
        let room = self.style.width.saturating_sub(2);
        for TableLine { heading, text } in table.lines(room) {
            if width(&text) > room {
                self.hanging(2, 6, None, &text);
                continue;
            }
            let line = if heading { self.toned(Tone::Quiet, &text) } else { text };
            self.line(&format!("  {line}"));
        }
    }

    fn hanging(&mut self, first: usize, rest: usize, lead: Option<(Tone, &str)>, text: &str) {
        let lead = lead.map(|(tone, lead)| (tone, clean(lead)));
        let taken = lead.as_ref().map_or(0, |(_, lead)| width(lead) + usize::from(!lead.ends_with('：')));
        let mut line = " ".repeat(first);
        if let Some((tone, lead)) = &lead {
            line.push_str(&self.toned(*tone, lead));
            // A Chinese colon is as wide as a colon and a space.
            line.push_str(if lead.ends_with('：') { "" } else { " " });
        }
        let mut column = first + taken;
        let mut is_begun = false;
        let text = clean_keeping_thin(text);
        let words = text.split(' ').filter(|word| !word.is_empty());
        let parts = words.flat_map(|word| pieces(word).into_iter().enumerate().map(|(at, part)| (at == 0, part)));
        for (begins_word, part) in parts {
            let columns = width(part);
            let mut space = usize::from(is_begun && begins_word);
            if column + space + columns > self.style.width && (is_begun || taken > 0) && column > rest {
                self.line(&line);
                (line, column, space) = (" ".repeat(rest), rest, 0);
            }
            line.push_str(&" ".repeat(space));
            line.push_str(&ascii(part));
            column += space + columns;
            is_begun = true;
        }
        self.line(&line);
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn toned(&self, tone: Tone, text: &str) -> String {
        if !self.style.colour || text.trim().is_empty() {
            return text.to_owned();
        }
        let style = tone.style();
        format!("{}{text}{}", style.render(), style.render_reset())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::units::THIN;

    fn plain(width: usize) -> Sheet {
        Sheet::new(Style { width, colour: false })
    }

    #[test]
    fn a_number_is_never_torn_from_its_unit() {
        let mut sheet = plain(40);
        sheet.paragraph(2, &format!("this line is long enough to break at 123{THIN}456{THIN}us or so"));
        assert_eq!(sheet.finish(), "  this line is long enough to break at\n  123 456 us or so\n");
    }

    #[test]
    fn entries_hang() {
        let mut sheet = plain(40);
        sheet.entry(2, 6, "why", "wake-ups take longer when the CPU sleeps deeply");
        assert_eq!(sheet.finish(), "  why    wake-ups take longer when the\n         CPU sleeps deeply\n");
    }

    #[test]
    fn nothing_from_outside_reaches_the_terminal_as_a_command() {
        let mut sheet = plain(80);
        sheet.heading("a\x1b[2Jb");
        sheet.paragraph(0, "c\x07d\u{202e}e\nf\u{9b}31m");
        sheet.entry(0, 3, "g\x1b]0;x\x07", "h\r");
        let text = sheet.finish();
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        assert!(!text.contains('\u{202e}'));
    }

    #[test]
    fn colour_only_when_asked() {
        for colour in [false, true] {
            let mut sheet = Sheet::new(Style { width: 80, colour });
            sheet.toned_paragraph(0, Tone::Bad, "Not held:", "one release missed");
            let text = sheet.finish();
            assert_eq!(text.contains('\x1b'), colour);
            assert_eq!(anstream::adapter::strip_str(&text).to_string(), "Not held: one release missed\n");
        }
    }

    #[test]
    fn a_word_longer_than_the_line_is_kept_whole() {
        let path = "/".repeat(100);
        let mut sheet = plain(40);
        sheet.entry(2, 4, "read", &path);
        assert!(sheet.finish().contains(&path));
    }
}
