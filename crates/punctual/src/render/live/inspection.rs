//! Lays out the live view of an inspection: the answer so far, and what its report would be.

use super::keys::Key;
use super::picture::{Picture, Scroll, Wish};
use super::screen::{Line, Weight};
use crate::render::inspect::{brief, so_far};
use crate::render::lang::tr;
use crate::render::sheet::Style;
use punctual_numbers::inspect::Inspection;

/// Lines around the report: the answer and a blank line above it, the keys below.
const AROUND: usize = 3;

#[derive(Debug, Default)]
pub struct InspectionView {
    inspection: Option<Inspection>,
    /// Whether the present report stays although newer ones come.
    paused: bool,
    /// The lines of the report that are shown.
    scroll: Scroll,
    ending: bool,
}

impl Picture for InspectionView {
    type News = Inspection;

    fn take(&mut self, inspection: Inspection) {
        if !self.paused {
            self.inspection = Some(inspection);
        }
    }

    fn press(&mut self, key: Key) -> Option<Wish> {
        match key {
            Key::Char('q') => {
                self.ending = true;
                return Some(Wish::Quit);
            }
            Key::Char('\x0c') => return Some(Wish::Redraw),
            Key::Char('p' | ' ') => self.paused = !self.paused,
            key => self.scroll.press(key),
        }
        None
    }

    fn end(&mut self) {
        self.ending = true;
    }

    fn lines(&mut self, columns: usize, rows: usize) -> Vec<Line> {
        let line = |weight, text: &str| Line::new(weight, text, columns);
        let Some(inspection) = &self.inspection else {
            return vec![line(Weight::Plain, tr!("about to begin")), self.keys(columns)];
        };
        let report = so_far(inspection, Style { width: columns, colour: false });
        let report: Vec<&str> = report.lines().collect();
        self.scroll.page = rows.saturating_sub(AROUND).max(1);
        self.scroll.first = self.scroll.first.min(report.len().saturating_sub(self.scroll.page));
        let weight = |text: &str| if text.starts_with(' ') { Weight::Plain } else { Weight::Heading };
        let mut lines = vec![line(Weight::Heading, &brief(inspection)), Line::default()];
        lines.extend(report.iter().skip(self.scroll.first).take(self.scroll.page).map(|text| line(weight(text), text)));
        lines.resize(lines.len().max(rows.saturating_sub(1)), Line::default());
        lines.push(self.keys(columns));
        // On a screen of few lines, the keys are what can be spared.
        lines.truncate(rows);
        lines
    }
}

impl InspectionView {
    fn keys(&self, columns: usize) -> Line {
        match (self.ending, self.paused) {
            (true, _) => Line::new(Weight::Alert, tr!("ending: the report is being made"), columns),
            (_, true) => Line::new(Weight::Alert, tr!("PAUSED, observing goes on   p continue  q quit"), columns),
            _ => Line::new(Weight::Heading, tr!("p pause  arrow keys scroll  q quit"), columns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::inspect::tests as examples;

    fn texts(view: &mut InspectionView, columns: usize, rows: usize) -> Vec<String> {
        view.lines(columns, rows).into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn the_answer_stays_on_top_and_the_report_scrolls() {
        let mut view = InspectionView::default();
        assert_eq!(texts(&mut view, 80, 24)[0], "about to begin");
        view.take(examples::disturbed());
        let lines = texts(&mut view, 80, 24);
        assert_eq!(lines.len(), 24);
        assert!(lines[0].starts_with("DISTURBED: ") && lines[2].contains("observed for"), "{lines:#?}");
        assert_eq!(lines[23], "p pause  arrow keys scroll  q quit");
        assert!(lines.iter().all(|line| line.len() <= 80));
        view.press(Key::PageDown);
        let scrolled = texts(&mut view, 80, 24);
        assert_eq!(scrolled[0], lines[0]);
        assert_ne!(scrolled[2], lines[2]);
        (0..100).for_each(|_| assert_eq!(view.press(Key::PageDown), None));
        assert!(texts(&mut view, 80, 24)[22] != String::new(), "it stops at the last page");
        (0..100).for_each(|_| assert_eq!(view.press(Key::PageUp), None));
        assert_eq!(texts(&mut view, 80, 24), lines);
    }

    #[test]
    fn a_paused_view_keeps_its_report_and_small_screens_get_what_fits() {
        let mut view = InspectionView::default();
        view.take(examples::disturbed());
        let before = texts(&mut view, 80, 24);
        view.press(Key::Char('p'));
        view.take(examples::clean());
        assert_eq!(texts(&mut view, 80, 24)[..23], before[..23]);
        view.press(Key::Char('p'));
        view.take(examples::clean());
        assert!(texts(&mut view, 80, 24)[0].starts_with("CLEAN: "));
        for (columns, rows) in [(20, 3), (1, 1), (80, 2), (300, 100)] {
            let lines = texts(&mut view, columns, rows);
            assert!(lines.len() <= rows && lines.iter().all(|line| line.len() <= columns), "{columns} x {rows}");
        }
        assert_eq!(view.press(Key::Char('q')), Some(Wish::Quit));
        assert_eq!(texts(&mut view, 80, 24)[23], "ending: the report is being made");
    }
}
