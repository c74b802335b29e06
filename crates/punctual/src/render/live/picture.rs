//! What a live view is asked for.

use super::keys::Key;
use super::screen::Line;

/// A request by a key to what is going on. All other keys change only the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Put a mark into the recording.
    Mark,
    Quit,
    Redraw,
}

/// What is shown, and what keys do to it. Knows neither a terminal nor a clock.
pub trait Picture: Default + Send + 'static {
    /// What is told of it while it goes on.
    type News: Clone + Send + 'static;

    fn take(&mut self, news: Self::News);

    /// Shows a message until the next message, where there is room for one.
    fn say(&mut self, _message: &str) {}

    /// Applies a key to the view; returns a request if the key makes one.
    fn press(&mut self, key: Key) -> Option<Wish>;

    /// Notes that the end is near, so that the view says so.
    fn end(&mut self);

    /// The lines for a screen of this size. Scrolls back if the view is scrolled beyond the end.
    fn lines(&mut self, columns: usize, rows: usize) -> Vec<Line>;
}

/// What part of something longer than the screen is shown.
#[derive(Debug, Default)]
pub struct Scroll {
    /// The first that is shown.
    pub first: usize,
    /// Their number on the screen at the last drawing.
    pub page: usize,
}

impl Scroll {
    /// Scrolls, if the key says so. The next drawing scrolls back from beyond the end.
    pub fn press(&mut self, key: Key) {
        let page = self.page.max(1);
        match key {
            Key::Up | Key::Char('k') => self.first = self.first.saturating_sub(1),
            Key::Down | Key::Char('j') => self.first = self.first.saturating_add(1),
            Key::PageUp => self.first = self.first.saturating_sub(page),
            Key::PageDown => self.first = self.first.saturating_add(page),
            Key::Char(_) => {}
        }
    }
}
