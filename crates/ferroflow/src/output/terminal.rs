//! What standard output is.

use std::io::{self, IsTerminal as _};

use ferroflow_config::Environment;

/// Columns and rows of what cannot be asked for them.
const USUAL_SIZE: (u16, u16) = (80, 24);

/// Standard output, as far as it matters to what is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terminal {
    /// Whether it is a terminal with a cursor; else it just takes lines.
    pub(crate) is_live: bool,
    /// Whether it shows colours, and somebody wants them.
    pub(crate) colours: bool,
}

impl Terminal {
    pub(crate) fn of(environment: &Environment) -> Self {
        let is_dumb = environment.var("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let is_live = io::stdout().is_terminal() && !is_dumb;
        let is_coloured = environment.var("NO_COLOR").is_none_or(str::is_empty);
        Self { is_live, colours: is_live && is_coloured }
    }

    /// Its columns and rows, as they are now.
    pub(crate) fn size() -> (u16, u16) {
        match rustix::termios::tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
            _ => USUAL_SIZE,
        }
    }
}
