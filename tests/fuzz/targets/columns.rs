//! Columns as text, a line each, so that an input can be read: a number, `null`, text behind a `"`, or what is none of
//! them.

use alkstore::runtime::format::{Column, Columns};

#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Null,
    Number(f64),
    Text(String),
    Other,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cells(pub Vec<Cell>);

impl Cells {
    pub fn read<'t>(lines: impl Iterator<Item = &'t str>) -> Self {
        Self(lines.map(Cell::read).collect())
    }
}

impl Cell {
    fn read(line: &str) -> Self {
        if let Some(text) = line.strip_prefix('"') {
            return Self::Text(text.into());
        }
        match line.parse() {
            Ok(number) => Self::Number(number),
            Err(_) if line == "null" => Self::Null,
            Err(_) => Self::Other,
        }
    }
}

impl Columns for Cells {
    type Column = Cell;

    fn column(&self, at: u32) -> Cell {
        self.0.get(at as usize).cloned().unwrap_or(Cell::Other)
    }

    fn push(&mut self, column: &Cell) {
        self.0.push(column.clone());
    }
}

impl Column for Cell {
    fn null() -> Self {
        Self::Null
    }

    fn of_number(n: f64) -> Self {
        Self::Number(n)
    }

    fn of_text(text: &str) -> Self {
        Self::Text(text.into())
    }

    fn is_null(&self) -> bool {
        *self == Self::Null
    }

    fn number(&self) -> Option<f64> {
        if let Self::Number(n) = self { Some(*n) } else { None }
    }

    fn text(&self) -> Option<String> {
        if let Self::Text(text) = self { Some(text.clone()) } else { None }
    }
}
