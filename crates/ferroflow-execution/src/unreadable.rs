//! Rows that cannot be read are told of, each once.

use ferroflow_db::{BadRow, Db};
use ferroflow_telemetry::metrics::scheduling;

/// Tells of the rows that were found since this was last asked, in the log and in the metrics; answers them.
pub fn tell_unreadable(db: &Db) -> Vec<BadRow> {
    let found = db.unreadable().take();
    for bad in &found {
        let BadRow { operation, key, column, value, reason } = bad;
        tracing::error!(
            operation,
            row = key,
            column,
            value,
            reason,
            "a row cannot be read, and is left out until it is mended"
        );
        scheduling::unreadable_row(bad.table());
    }
    found
}
