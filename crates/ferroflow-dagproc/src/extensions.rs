//! Python's extension points, as the parts of the processor want them.

use ferroflow_db::Json;
use ferroflow_db::connection::Connection;
use ferroflow_model::stored_dag::TimetableColumns;
use ferroflow_model::timetable::{Restriction, RunInfo};
use ferroflow_python::extensions::SecretsBackends;
use ferroflow_python::timetables::Timetables;

use crate::requests::{Asked, SecretsBackend};
use crate::store::{self, Description};

impl store::Timetables for Timetables {
    async fn describe(&self, timetable: &Json) -> Result<Description, String> {
        let described = Timetables::describe(self, timetable).await.map_err(|error| crate::chain(&error))?;
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
        Timetables::next_run(self, timetable, last, restriction).await.map_err(|error| crate::chain(&error))
    }
}

/// The site's own secrets backend.
pub(crate) struct Backend {
    name: String,
    backends: SecretsBackends,
}

impl Backend {
    pub(crate) fn new(name: &str, backends: SecretsBackends) -> Self {
        Self { name: name.to_owned(), backends }
    }
}

impl SecretsBackend for Backend {
    fn name(&self) -> &str {
        &self.name
    }

    fn variable<'a>(&'a self, key: &'a str) -> Asked<'a, String> {
        Box::pin(async move { self.backends.variable(key, None).await.map_err(|error| crate::chain(&error)) })
    }

    fn connection<'a>(&'a self, conn_id: &'a str) -> Asked<'a, Connection> {
        Box::pin(async move {
            let found =
                self.backends.connection(conn_id, None).await.map_err(|error| crate::chain(&error))?;
            Ok(found.map(|found| Connection {
                conn_id: found.conn_id,
                conn_type: found.conn_type.unwrap_or_default(),
                description: None,
                host: found.host,
                schema: found.schema,
                login: found.login,
                password: found.password,
                port: found.port.and_then(|port| i32::try_from(port).ok()),
                extra: found.extra,
                team_name: None,
            }))
        })
    }
}
