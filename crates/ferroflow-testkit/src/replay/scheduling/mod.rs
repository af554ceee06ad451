//! Histories of runs: what Airflow's scheduler decided, examination by examination.
//!
//! Each history is replayed twice at once: by runs that are kept in memory and told what changed, and by loading
//! every run anew before each examination. Both have to decide what Airflow decided.

mod drawing;
mod history;
mod run;
mod vector;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, bail};

use super::{Report, vectors};
use history::History;
use vector::Vector;

/// The kind that counts every history.
const HISTORIES: &str = "histories";

/// Replays a file with one history per line, which may be compressed with gzip.
pub fn replay_scheduling(path: &Path) -> anyhow::Result<Report> {
    let text = vectors::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut report = Report::default();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = || format!("line {} of {} is not a history", number + 1, path.display());
        let vector: Vector<'_> = serde_json::from_str(line).with_context(place)?;
        let mut kinds = vec![HISTORIES.to_owned()];
        kinds.extend(vector.features.iter().cloned());
        let outcome = replay(&vector, &mut report.notes);
        report.count_as(&kinds, &vector.id, outcome);
    }
    if report.kinds.is_empty() {
        bail!("{} holds no histories", path.display());
    }
    Ok(report)
}

/// Replays one history, up to its first difference. Where we differ on purpose, it is noted.
fn replay(vector: &Vector<'_>, notes: &mut BTreeSet<String>) -> Result<(), String> {
    let mut history = History::begin(vector)?;
    let outcome = history.check_beginning().and_then(|()| {
        for tick in &vector.ticks {
            history.examine(tick).map_err(|difference| format!("tick {}: {difference}", tick.number))?;
            history.execute(tick).map_err(|problem| format!("tick {}: {problem}", tick.number))?;
        }
        history.check_end()
    });
    notes.extend(history.ended_too_early().map(|run_id| {
        format!("{}: Airflow ended {run_id} with instances that it had just made left; we do not", vector.id)
    }));
    outcome.map_err(|difference| format!("{difference}\n{}", drawing::draw(history.dag())))
}
