//! Tables that stay readable on narrow terminals.
//!
//! A table that is too wide is printed in blocks, each with the first column again, so that no line is wrapped. If not
//! even two columns fit, each row becomes a list. Must not know what cells mean.

use crate::render::clean::clean;
use crate::render::lang::width;

#[derive(Clone, Debug)]
pub struct Table {
    /// Name of each column, and whether its cells touch the right edge.
    columns: Vec<(String, bool)>,
    rows: Vec<Entry>,
}

#[derive(Clone, Debug)]
enum Entry {
    Title(String),
    Cells(Vec<String>),
}

pub struct TableLine {
    pub heading: bool,
    pub text: String,
}

const GAP: usize = 2;
/// Smallest width for blocks, in columns. On a narrower terminal a block would hold one number, so each row becomes a
/// list.
const BLOCKS_FROM: usize = 36;

impl Table {
    /// A table with these columns, the first of which names the rows. The first character of each string aligns the
    /// column's cells: `<` to the left, `>` to the right. The rest is the column's name.
    pub fn new(columns: &[impl AsRef<str>]) -> Self {
        let column = |spec: &str| (clean(spec.get(1..).unwrap_or_default()), spec.starts_with('>'));
        Self { columns: columns.iter().map(|spec| column(spec.as_ref())).collect(), rows: Vec::new() }
    }

    /// Adds a row. Surplus cells are dropped, missing ones are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut row: Vec<String> = cells.into_iter().map(|c| clean(&c)).take(self.columns.len()).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(Entry::Cells(row));
    }

    pub fn title(&mut self, title: &str) {
        self.rows.push(Entry::Title(clean(title)));
    }

    /// The lines of the table in blocks no wider than `width`, or as a list if `width` is too small for blocks.
    pub fn lines(&self, width: usize) -> Vec<TableLine> {
        let blocks = self.blocks(width);
        let columns = |block: &Vec<usize>| block.iter().map(|column| self.column_width(*column) + GAP).sum::<usize>();
        if width < BLOCKS_FROM && blocks.len() > 1 || blocks.iter().any(|block| columns(block) > width + GAP) {
            return self.list();
        }
        let mut lines = Vec::new();
        for block in blocks {
            if !lines.is_empty() {
                lines.push(TableLine { heading: false, text: String::new() });
            }
            let names: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
            let heading = self.line(&block, &names);
            // A table without column names has no line of headings.
            if !heading.is_empty() {
                lines.push(TableLine { heading: true, text: heading });
            }
            lines.extend(self.rows.iter().filter_map(|entry| self.entry(&block, entry)));
        }
        lines
    }

    /// The table as a list: each row is its first cell, with the names and values of its other cells indented below.
    fn list(&self) -> Vec<TableLine> {
        let named = |column: usize, cell: &str| match self.columns.get(column) {
            Some((name, _)) if !name.is_empty() => format!("{name}: {cell}"),
            _ => cell.to_owned(),
        };
        let mut lines = Vec::new();
        for entry in &self.rows {
            match entry {
                Entry::Title(title) => lines.push(TableLine { heading: true, text: title.clone() }),
                Entry::Cells(cells) => {
                    let filled = cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty());
                    lines.extend(filled.map(|(column, cell)| {
                        let indent = if column == 0 { "" } else { "  " };
                        TableLine { heading: false, text: format!("{indent}{}", named(column, cell)) }
                    }));
                }
            }
        }
        lines
    }

    fn entry(&self, block: &[usize], entry: &Entry) -> Option<TableLine> {
        let text = match entry {
            Entry::Title(title) => title.clone(),
            Entry::Cells(cells) => {
                let says_something = |i: &usize| cells.get(*i).is_some_and(|cell| !cell.is_empty());
                block.iter().skip(1).any(says_something).then(|| self.line(block, cells))?
            }
        };
        Some(TableLine { heading: false, text })
    }

    /// The column numbers of each block. Every block begins with the first column.
    fn blocks(&self, width: usize) -> Vec<Vec<usize>> {
        let mut blocks = vec![vec![0]];
        let mut taken = self.column_width(0);
        for column in 1..self.columns.len() {
            let wants = GAP + self.column_width(column);
            let first_in_block = blocks.last().is_none_or(|block| block.len() == 1);
            if taken + wants > width && !first_in_block {
                blocks.push(vec![0]);
                taken = self.column_width(0);
            }
            taken += wants;
            if let Some(block) = blocks.last_mut() {
                block.push(column);
            }
        }
        blocks
    }

    fn column_width(&self, column: usize) -> usize {
        let name = self.columns.get(column).map_or(0, |(name, _)| width(name));
        let cells = self.rows.iter().filter_map(|entry| match entry {
            Entry::Title(_) => None,
            Entry::Cells(cells) => cells.get(column),
        });
        cells.map(|cell| width(cell)).max().unwrap_or(0).max(name)
    }

    fn line(&self, block: &[usize], cells: &[String]) -> String {
        let mut line = String::new();
        for (place, column) in block.iter().enumerate() {
            let (Some(cell), Some((_, is_right))) = (cells.get(*column), self.columns.get(*column)) else { continue };
            line.push_str(&" ".repeat(if place == 0 { 0 } else { GAP }));
            let blank = " ".repeat(self.column_width(*column).saturating_sub(width(cell)));
            line.extend(if *is_right { [blank.as_str(), cell] } else { [cell, blank.as_str()] });
        }
        line.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[">CPU", ">due", ">max", "<load"]);
        table.row(["0", "100", "43.2", "idle"].map(str::to_owned));
        table.row(["0 due", "", "99.1"].map(str::to_owned));
        table
    }

    fn text(width: usize) -> String {
        table().lines(width).iter().fold(String::new(), |text, line| text + &line.text + "\n")
    }

    #[test]
    fn aligned_in_one_block_where_there_is_room() {
        assert_eq!(text(80), "  CPU  due   max  load\n    0  100  43.2  idle\n0 due       99.1\n");
    }

    #[test]
    fn in_blocks_where_there_is_not_and_rows_without_cells_are_left_out() {
        let mut wide = table();
        wide.title("under load, which is a title");
        wide.row(["1", "100", "20.1", "a load with a long name"].map(str::to_owned));
        let blocks = wide.lines(36).iter().fold(String::new(), |text, line| text + &line.text + "\n");
        let first =
            "  CPU  due   max\n    0  100  43.2\n0 due       99.1\nunder load, which is a title\n    1  100  20.1\n";
        assert!(blocks.starts_with(first) && blocks.ends_with("    1  a load with a long name\n"), "{blocks}");
    }

    #[test]
    fn as_a_list_where_no_two_columns_fit() {
        let list = "CPU: 0\n  due: 100\n  max: 43.2\n  load: idle\nCPU: 0 due\n  max: 99.1\n";
        assert_eq!((text(16), text(1)), (list.to_owned(), list.to_owned()), "a column is never dropped");
    }
}
