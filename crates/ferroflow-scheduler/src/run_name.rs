//! What runs are called.

use jiff::Timestamp;

use crate::log_path::iso_format;

/// The name of a run that a user makes, as Airflow's commands call it.
pub fn manual_run_id(run_after: Timestamp) -> String {
    format!("manual__{}", iso_format(run_after))
}
