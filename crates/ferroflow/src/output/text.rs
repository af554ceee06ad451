//! A line for a terminal: words, some of them in a colour.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar as _;

use super::on_one_line;

/// How words look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tone {
    Plain,
    Good,
    Bad,
    Busy,
    Odd,
    Faint,
}

/// A line. What is put into it stays on one line, whatever characters it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text(Vec<(Tone, String)>);

impl Text {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn plain(self, words: &str) -> Self {
        self.with(Tone::Plain, words)
    }

    pub(crate) fn good(self, words: &str) -> Self {
        self.with(Tone::Good, words)
    }

    pub(crate) fn bad(self, words: &str) -> Self {
        self.with(Tone::Bad, words)
    }

    pub(crate) fn busy(self, words: &str) -> Self {
        self.with(Tone::Busy, words)
    }

    pub(crate) fn odd(self, words: &str) -> Self {
        self.with(Tone::Odd, words)
    }

    pub(crate) fn faint(self, words: &str) -> Self {
        self.with(Tone::Faint, words)
    }

    fn with(mut self, tone: Tone, words: &str) -> Self {
        self.0.push((tone, on_one_line(words)));
        self
    }

    /// The line, cut to a width if one is given, and with colours if so wished.
    pub(crate) fn painted(&self, width: Option<usize>, colours: bool) -> String {
        let mut left = width.unwrap_or(usize::MAX);
        let mut line = String::new();
        for (tone, words) in &self.0 {
            let kept = cut(words, &mut left);
            let code = match tone {
                Tone::Plain => None,
                Tone::Good => Some(32),
                Tone::Bad => Some(31),
                Tone::Busy => Some(36),
                Tone::Odd => Some(33),
                Tone::Faint => Some(2),
            };
            match code.filter(|_| colours && !kept.is_empty()) {
                Some(code) => {
                    let _ = write!(line, "\x1b[{code}m{kept}\x1b[0m");
                }
                None => line.push_str(kept),
            }
        }
        line
    }
}

/// As much of the words as there is room for, which becomes less.
fn cut<'a>(words: &'a str, left: &mut usize) -> &'a str {
    for (at, character) in words.char_indices() {
        let width = character.width().unwrap_or(0);
        if width > *left {
            // Nothing that comes later is to fit by chance.
            *left = 0;
            return &words[..at];
        }
        *left -= width;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_take_no_room() {
        let text = Text::new().plain("a ").bad("failed").faint(" 日本");
        assert_eq!(text.painted(None, false), "a failed 日本");
        assert_eq!(text.painted(Some(11), false), "a failed 日");
        assert_eq!(text.painted(Some(10), true), "a \x1b[31mfailed\x1b[0m\x1b[2m \x1b[0m");
        assert_eq!(text.painted(Some(4), true), "a \x1b[31mfa\x1b[0m");
    }

    #[test]
    fn what_somebody_else_wrote_does_nothing_to_the_terminal() {
        assert_eq!(Text::new().plain("two\nlines\x1b[2J").painted(None, true), "two lines [2J");
    }
}
