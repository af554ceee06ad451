//! Lists as Airflow's commands print them: `-o table|json|yaml|plain`.
//!
//! Values are text, nothing, or lists and maps of these, in every format, as they are in Airflow's. What differs on
//! purpose: lines do not end in blanks, nothing is cut or folded at the width of the terminal, and a cell has one
//! line, so that `grep` finds whole rows.

mod cell;
mod progress;
mod terminal;
mod text;
mod yaml;

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};

use clap::{Args, ValueEnum};
use ferroflow_model::Json;
use unicode_width::UnicodeWidthStr as _;

pub(crate) use cell::{Cell, python_repr};
pub(crate) use ferroflow_model::python_literal;
pub(crate) use progress::Progress;
pub(crate) use terminal::Terminal;
pub(crate) use text::Text;
pub(crate) use yaml::document as yaml_document;

/// The option of a command that prints a list.
#[derive(Args, Debug)]
pub(crate) struct OutputArgs {
    /// How to print: table is for people, the others are for scripts
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    #[arg(hide_possible_values = true, value_name = "table|json|yaml|plain")]
    pub(crate) output: Format,
}

/// How a list is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Table,
    Json,
    Yaml,
    Plain,
}

/// The option of a command that tells something other than a list.
#[derive(Args, Debug)]
pub(crate) struct AnswerArgs {
    /// How to print: text is for people, json for scripts
    #[arg(short, long, value_enum, default_value_t = AnswerFormat::Text)]
    pub(crate) output: AnswerFormat,
}

/// How an answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnswerFormat {
    Text,
    Json,
}

/// Rows of named values.
pub(crate) struct Records {
    columns: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

impl Records {
    /// Each row has one value per column.
    pub(crate) fn new<C: Into<Cell>>(columns: Vec<&'static str>, rows: Vec<Vec<C>>) -> Self {
        debug_assert!(rows.iter().all(|row| row.len() == columns.len()), "one value per column");
        let rows = rows.into_iter().map(|row| row.into_iter().map(Into::into).collect()).collect();
        Self { columns, rows }
    }

    /// Only the columns in which some row has something.
    pub(crate) fn without_empty_columns(self) -> Self {
        let is_used: Vec<bool> =
            (0..self.columns.len()).map(|n| self.rows.iter().any(|row| row[n].says_something())).collect();
        let rows = self.rows.into_iter().map(|row| used(row, &is_used)).collect();
        Self { columns: used(self.columns, &is_used), rows }
    }

    /// Prints all rows.
    pub(crate) fn print(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Json => writeln!(out, "{}", Json::from(self.to_cell().into_json())),
            Format::Yaml => writeln!(out, "{}", yaml_document(&self.to_cell().into_json())),
            Format::Table | Format::Plain if self.rows.is_empty() => writeln!(out, "No data found"),
            Format::Table => self.print_table(out),
            Format::Plain => self.print_plain(out),
        }
    }

    /// The list as programs see it: one map per row.
    fn to_cell(&self) -> Cell {
        let map = |row: &Vec<Cell>| {
            let names = self.columns.iter().map(|name| Cow::Borrowed(*name));
            Cell::Map(names.zip(row.iter().cloned()).collect())
        };
        Cell::List(self.rows.iter().map(map).collect())
    }

    fn print_table(&self, out: &mut dyn Write) -> io::Result<()> {
        let cells = self.cells(Cell::in_table);
        let columns = self.layout(&cells, 0, |_| false);
        writeln!(out, "{}", line(&columns, &self.columns, " | "))?;
        let rules: Vec<String> = columns.iter().map(|column| "=".repeat(column.width)).collect();
        writeln!(out, "{}", rules.join("=+="))?;
        cells.iter().try_for_each(|row| writeln!(out, "{}", line(&columns, row, " | ")))
    }

    /// Numbers are right-aligned, and a column is a little wider than its name.
    fn print_plain(&self, out: &mut dyn Write) -> io::Result<()> {
        let cells = self.cells(Cell::in_plain);
        let columns = self.layout(&cells, 2, |column| {
            let mut values = column.iter().filter(|cell| !cell.is_empty()).peekable();
            values.peek().is_some() && values.all(|cell| is_whole_number(cell))
        });
        writeln!(out, "{}", line(&columns, &self.columns, "  "))?;
        cells.iter().try_for_each(|row| writeln!(out, "{}", line(&columns, row, "  ")))
    }

    fn cells(&self, text: impl Fn(&Cell) -> String) -> Vec<Vec<String>> {
        let cell = |cell: &Cell| on_one_line(&text(cell));
        self.rows.iter().map(|row| row.iter().map(cell).collect()).collect()
    }

    fn layout(
        &self,
        cells: &[Vec<String>],
        room: usize,
        is_right_aligned: impl Fn(&[&str]) -> bool,
    ) -> Vec<Column> {
        let column = |(n, name): (usize, &&str)| {
            let cells: Vec<&str> = cells.iter().map(|row| row[n].as_str()).collect();
            let widest = cells.iter().map(|cell| cell.width()).max().unwrap_or(0);
            Column { width: widest.max(name.width() + room), is_right_aligned: is_right_aligned(&cells) }
        };
        self.columns.iter().enumerate().map(column).collect()
    }
}

/// How the cells of a column are laid out.
struct Column {
    width: usize,
    is_right_aligned: bool,
}

/// Tells the user something, in one line, that is not what was asked for, and so is not on standard output.
pub(crate) fn note(message: &dyn Display) -> io::Result<()> {
    writeln!(io::stderr(), "{}", on_one_line(&message.to_string()))
}

/// A text of somebody else's, for a terminal: line breaks and other control characters would tear a row apart or
/// do things to the terminal, and marks of direction would show its characters in another order.
pub(crate) fn on_one_line(text: &str) -> String {
    let is_harmful = |c: char| {
        let is_break = matches!(c, '\u{2028}' | '\u{2029}');
        let is_mark = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}');
        let is_turn = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        c.is_control() || is_break || is_mark || is_turn
    };
    text.chars().map(|c| if is_harmful(c) { ' ' } else { c }).collect()
}

fn used<T>(values: Vec<T>, is_used: &[bool]) -> Vec<T> {
    values.into_iter().zip(is_used).filter_map(|(value, is_used)| is_used.then_some(value)).collect()
}

fn line(columns: &[Column], cells: &[impl AsRef<str>], between: &str) -> String {
    let padded = columns.iter().zip(cells).map(|(column, cell)| {
        let cell = cell.as_ref();
        let blanks = " ".repeat(column.width.saturating_sub(cell.width()));
        if column.is_right_aligned { blanks + cell } else { cell.to_owned() + &blanks }
    });
    padded.collect::<Vec<_>>().join(between).trim_end().to_owned()
}

fn is_whole_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use ferroflow_testkit::{Airflow, repository};
    use serde_json::{Map, Value};

    use super::*;

    /// What `testdata/output/record_output.py` recorded, but for blanks at the ends of lines and empty last lines.
    #[test]
    fn lists_look_as_airflow_s() {
        let recorded = std::fs::read_to_string(repository("testdata/output/output.json")).unwrap();
        let recorded: Vec<Value> = serde_json::from_str(&recorded).unwrap();
        assert!(recorded.len() > 5, "the samples were found");
        for sample in recorded {
            let records = records(&sample["rows"]);
            for (name, format) in [
                ("table", Format::Table),
                ("json", Format::Json),
                ("yaml", Format::Yaml),
                ("plain", Format::Plain),
            ] {
                let lines = sample[name].as_str().unwrap().lines().map(str::trim_end);
                let expected = lines.collect::<Vec<_>>().join(
                    "
",
                );
                let printed = printed(&records, format);
                assert_eq!(printed.trim_end(), expected.trim_end(), "{name} of {}", sample["rows"]);
                assert!(printed.ends_with('\n'), "{printed:?}");
            }
        }
    }

    #[test]
    fn every_text_comes_back_from_yaml() {
        let texts = [
            "",
            " ",
            "~",
            "null",
            "Null",
            "yes",
            "No",
            "ON",
            "y",
            "true",
            "1",
            "-1",
            "1e3",
            "0x1f",
            "1_000",
            "0o7",
            "12:30:45",
            "2026-03-01",
            "2026-03-01T00:00:00+00:00",
            "=",
            "<<",
            ".inf",
            ".nan",
            "a: b",
            "a:",
            "a:b",
            "a #b",
            "a#b",
            "#a",
            "- a",
            "-",
            "? a",
            "[a]",
            "{a: b}",
            "a, b",
            "&a",
            "*a",
            "!a",
            "|",
            ">",
            "%a",
            "@a",
            "`a",
            "'",
            "''",
            "it's",
            "\"",
            "a\\b",
            "a\nb",
            "\n",
            "a\tb",
            "\ttab",
            " lead",
            "trail ",
            "caf\u{e9}",
            "\u{6f22}\u{5b57}",
            "\u{1f511}",
            "\u{7f}",
            "\u{85}",
            "\u{a0}",
            "\u{2028}",
            "\u{feff}",
            "\u{1b}[31m",
            "\u{0}",
            "---",
            "...",
            "--- a",
            "7 of 9",
            "clocks go back; 02:30 comes twice: runs at the second",
        ];
        let rows = texts.iter().map(|text| vec![Some((*text).to_owned()), None]).collect::<Vec<_>>();
        let records = Records::new(vec!["text", "nothing"], rows);
        let yaml = printed(&records, Format::Yaml);
        let loaded =
            Airflow::on("sqlite://").python("testdata/output/load_yaml.py", &[], &yaml).expect_success();
        let loaded: Value = serde_json::from_str(&loaded).unwrap();
        assert_eq!(loaded, records.to_cell().into_json());
    }

    #[test]
    fn a_row_is_one_line() {
        for separator in ["\n", "\r", "\t", "\u{1b}", "\u{7f}", "\u{9b}", "\u{2028}", "\u{202e}", "\u{2066}"]
        {
            let text = format!("a{separator}b c");
            let records = Records::new(vec!["text"], vec![vec![Some(text)]]);
            assert_eq!(printed(&records, Format::Plain), "text\na b c\n");
            assert_eq!(printed(&records, Format::Table), "text\n=====\na b c\n");
        }
        assert_eq!(
            on_one_line("Dr\u{e4}ger \u{6f22}\u{5b57} \u{1f511}"),
            "Dr\u{e4}ger \u{6f22}\u{5b57} \u{1f511}"
        );
    }

    #[test]
    fn columns_without_anything_can_be_left_out() {
        let row = |values: [Option<&str>; 3]| values.map(|value| value.map(str::to_owned)).to_vec();
        let rows = vec![row([Some("a"), None, Some("")]), row([None, None, Some("")])];
        let records = Records::new(vec!["one", "two", "three"], rows).without_empty_columns();
        assert_eq!(printed(&records, Format::Json), "[{\"one\": \"a\"}, {\"one\": null}]\n");
    }

    fn printed(records: &Records, format: Format) -> String {
        let mut out = Vec::new();
        records.print(format, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn records(rows: &Value) -> Records {
        let rows: Vec<&Map<String, Value>> =
            rows.as_array().unwrap().iter().map(|row| row.as_object().unwrap()).collect();
        let names = rows.first().map_or_else(Vec::new, |row| row.keys().cloned().collect());
        let columns = names.into_iter().map(|name| &*name.leak()).collect();
        let values =
            |row: &&Map<String, Value>| row.values().map(|value| value.as_str().map(str::to_owned)).collect();
        Records::new(columns, rows.iter().map(values).collect())
    }
}
