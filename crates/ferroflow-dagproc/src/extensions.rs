//! Python's extension points, as the parts of the processor want them.

use ferroflow_db::Json;
use ferroflow_model::stored_dag::TimetableColumns;
use ferroflow_model::timetable::{Restriction, RunInfo};
use ferroflow_python::timetables::Timetables;

use crate::context::Context;
use crate::store::{self, Description};

impl store::Timetables for Timetables {
    async fn describe(&self, timetable: &Json) -> Result<Description, String> {
        let described = Timetables::describe(self, timetable)
            .await
            .map_err(|error| ferroflow_telemetry::chain(&error))?;
        Ok(Description {
            columns: TimetableColumns {
                type_name: described.type_name.clone(),
                summary: described.summary.clone(),
                description: described.description.clone(),
                partitioned: described.partitioned,
                periodic: described.periodic,
                can_be_scheduled: described.can_be_scheduled,
                partition_mapper_info: described.partition_mapper_info.clone(),
            },
            assets: described.assets.clone(),
        })
    }

    async fn next_run(
        &self,
        timetable: &Json,
        last: Option<&RunInfo>,
        restriction: &Restriction,
    ) -> Result<Option<RunInfo>, String> {
        Timetables::next_run(self, timetable, last, restriction)
            .await
            .map_err(|error| ferroflow_telemetry::chain(&error))
    }
}

/// The same while the result of a file is stored: waiting for Python must not hold up the database.
pub(crate) struct BetweenTransactions<'a>(pub(crate) &'a Context);

impl store::Timetables for BetweenTransactions<'_> {
    async fn describe(&self, timetable: &Json) -> Result<Description, String> {
        let _waits = self.0.waits_for_python();
        store::Timetables::describe(&*self.0.extensions.timetables, timetable).await
    }

    async fn next_run(
        &self,
        timetable: &Json,
        last: Option<&RunInfo>,
        restriction: &Restriction,
    ) -> Result<Option<RunInfo>, String> {
        let _waits = self.0.waits_for_python();
        store::Timetables::next_run(&*self.0.extensions.timetables, timetable, last, restriction).await
    }
}
