//! A question before something that cannot be undone.

use std::io::{BufRead as _, Write, stdin};

use anyhow::{Result, bail};

/// Whether the person says yes. Nobody to ask is no answer: scripts say --yes.
pub(crate) fn confirmed(question: &str, out: &mut dyn Write) -> Result<bool> {
    writeln!(out, "{question}")?;
    loop {
        out.flush()?;
        let mut line = String::new();
        if stdin().lock().read_line(&mut line)? == 0 {
            bail!("nobody has answered; --yes answers in advance");
        }
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => writeln!(out, "Please respond with y/yes or n/no.")?,
        }
    }
}
