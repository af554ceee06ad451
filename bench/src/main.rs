//! Our half of the measurements in this folder: `ferroflow-bench model` and `ferroflow-bench scheduling`.
//!
//! Each reads its cases as JSON from standard input and prints figures as JSON. `ferroflow-bench fleet` is a scheduler whose
//! executor runs nothing.

#![expect(clippy::print_stdout, reason = "the figures are the output")]
#![expect(clippy::disallowed_methods, reason = "this is where time is measured")]

mod fleet;
mod memory;
mod model;
mod scheduling;

use std::io::Read as _;

use anyhow::bail;
use serde_json::Value;

fn main() -> anyhow::Result<()> {
    let what = std::env::args().nth(1);
    if what.as_deref() == Some("fleet") {
        return fleet::run();
    }
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input)?;
    let cases: Value = serde_json::from_str(&input)?;
    let figures = match what.as_deref() {
        Some("model") => model::measure(&cases)?,
        Some("scheduling") => scheduling::measure(&cases)?,
        _ => bail!("usage: ferroflow-bench fleet, or ferroflow-bench model|scheduling < cases.json"),
    };
    println!("{figures}");
    Ok(())
}
