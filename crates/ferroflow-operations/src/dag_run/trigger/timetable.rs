//! What the timetable of a DAG says of a run that is asked for.

use ferroflow_model::state::RunType;
use ferroflow_model::stored_dag::needs_python;
use ferroflow_model::timetable::{DataInterval, RunInfo};
use ferroflow_telemetry::chain;
use jiff::Timestamp;

use crate::OperationError;
use crate::dag::StoredDag;
use crate::dag_run::RunMaking;

impl RunMaking {
    pub(super) async fn manual_interval(
        &self,
        stored: &StoredDag,
        run_after: Timestamp,
    ) -> Result<DataInterval, OperationError> {
        let timetable = &stored.dag.timetable;
        if timetable.custom().is_none() {
            return timetable
                .manual_interval(run_after)
                .map_err(|error| OperationError::value_error(error.to_string()));
        }
        let Some(python) = &self.timetables else { return Err(stored.no_python()) };
        let asked = python.manual_interval(&stored.timetable_document()?, run_after).await;
        asked.map_err(|error| OperationError::value_error(chain(&error)))
    }

    pub(super) async fn partition_date(
        &self,
        stored: &StoredDag,
        key: Option<&str>,
    ) -> Result<Option<Timestamp>, OperationError> {
        let Some(key) = key else { return Ok(None) };
        let timetable = &stored.dag.timetable;
        if !needs_python(timetable) {
            return timetable
                .partition_date(key)
                .map_err(|error| OperationError::invalid("invalid_partition_key", error.to_string()));
        }
        let Some(python) = &self.timetables else { return Err(stored.no_python()) };
        let asked = python.partition_date(&stored.timetable_document()?, key).await;
        asked.map_err(|error| OperationError::value_error(chain(&error)))
    }

    /// The name that the timetable of a DAG gives to a run that somebody asks for.
    pub(super) async fn manual_run_id(
        &self,
        stored: &StoredDag,
        run_type: RunType,
        has_logical_date: bool,
        run_after: Timestamp,
    ) -> Result<String, OperationError> {
        let timetable = &stored.dag.timetable;
        if timetable.custom().is_none() {
            let named = timetable.run_id(run_type, run_after, None, rand::random());
            return named.map_err(|error| OperationError::value_error(error.to_string()));
        }
        let Some(python) = &self.timetables else { return Err(stored.no_python()) };
        let data_interval =
            if has_logical_date { Some(self.manual_interval(stored, run_after).await?) } else { None };
        let run = RunInfo { run_after, data_interval, partition_date: None, partition_key: None };
        let document = stored.timetable_document()?;
        let asked = python.run_id(&document, run_type.as_str(), &run).await;
        asked.map_err(|error| OperationError::value_error(chain(&error)))
    }
}
