//! What is told stays; below it, on a terminal, a few lines change in place. Nothing of the terminal is switched, so
//! nothing has to be restored, however this process ends.

use std::fmt::Write as _;
use std::io::{self, Write};

use ferroflow_config::Environment;

use crate::output::{Terminal, Text};

/// Where it is shown.
pub(super) struct Screen<'a> {
    out: &'a mut dyn Write,
    is_live: bool,
    colours: bool,
    /// The lines that change, as they are on the terminal.
    shown: Vec<String>,
    /// Whether nobody sees it any more.
    is_gone: bool,
}

impl<'a> Screen<'a> {
    /// Standard output, which is a terminal with a cursor or just takes lines.
    pub(super) fn new(out: &'a mut dyn Write, environment: &Environment) -> Self {
        let Terminal { is_live, colours } = Terminal::of(environment);
        Self { out, is_live, colours, shown: Vec::new(), is_gone: false }
    }

    /// Whether there are lines that change; else all that happens has to be told.
    pub(super) fn is_live(&self) -> bool {
        self.is_live
    }

    /// Whether nobody sees it any more: the terminal was closed, or the pipe.
    pub(super) fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Changes the lines that change.
    pub(super) fn show(&mut self, block: &[Text]) {
        self.tell(&[], block);
    }

    /// Tells lines that stay, and changes the others.
    pub(super) fn tell(&mut self, lines: &[Text], block: &[Text]) {
        let lines: Vec<String> = lines.iter().map(|line| line.painted(None, self.colours)).collect();
        let written = if self.is_live { self.paint(&lines, block) } else { self.print(&lines) };
        self.is_gone |= written.is_err();
    }

    fn print(&mut self, lines: &[String]) -> io::Result<()> {
        lines.iter().try_for_each(|line| writeln!(self.out, "{line}"))?;
        self.out.flush()
    }

    fn paint(&mut self, lines: &[String], block: &[Text]) -> io::Result<()> {
        // The last column stays empty: terminals do not agree on where the cursor is after it.
        let (width, height) = Terminal::size();
        let (width, height) = (usize::from(width).saturating_sub(1), usize::from(height).saturating_sub(1));
        // Of a block that is higher than the terminal only the end could be written over.
        let block = &block[block.len().saturating_sub(height)..];
        let block: Vec<String> = block.iter().map(|line| line.painted(Some(width), self.colours)).collect();
        if lines.is_empty() && block == self.shown {
            return Ok(());
        }
        self.out.write_all(repaint(self.shown.len(), lines, &block).as_bytes())?;
        self.shown = block;
        self.out.flush()
    }
}

/// What a terminal is sent to have `lines` above `block`, where `height` lines are replaced. Each line is written over
/// what was there and the rest of it cleared, in one go: nothing flickers.
fn repaint(height: usize, lines: &[String], block: &[String]) -> String {
    let mut text = String::from("\r");
    if height > 0 {
        let _ = write!(text, "\x1b[{height}A");
    }
    for line in lines.iter().chain(block) {
        text.push_str(line);
        text.push_str("\x1b[K\n");
    }
    text.push_str("\x1b[J");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_over_those_that_were_there() {
        let texts = |texts: &[&str]| -> Vec<String> { texts.iter().map(|text| (*text).to_owned()).collect() };
        assert_eq!(repaint(0, &[], &texts(&["a", "b"])), "\ra\x1b[K\nb\x1b[K\n\x1b[J");
        assert_eq!(repaint(2, &texts(&["told"]), &texts(&["c"])), "\r\x1b[2Atold\x1b[K\nc\x1b[K\n\x1b[J");
        assert_eq!(repaint(1, &[], &[]), "\r\x1b[1A\x1b[J");
    }

    #[test]
    fn what_is_no_terminal_gets_lines_alone() {
        let mut out = Vec::new();
        let environment = Environment::empty("/").with("TERM", "dumb");
        let mut screen = Screen::new(&mut out, &environment);
        assert!(!screen.is_live());
        screen.tell(&[Text::new().bad("failed")], &[Text::new().plain("changes")]);
        assert_eq!(String::from_utf8(out).unwrap(), "failed\n");
    }

    #[test]
    fn nobody_looking_is_noticed() {
        let mut full = [0_u8; 3];
        let mut out = full.as_mut_slice();
        let mut screen = Screen::new(&mut out, &Environment::empty("/"));
        screen.tell(&[Text::new().plain("a")], &[]);
        assert!(!screen.is_gone());
        screen.tell(&[Text::new().plain("much more")], &[]);
        assert!(screen.is_gone());
    }
}
