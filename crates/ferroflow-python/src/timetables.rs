//! Custom timetables, asked through a helper.
//!
//! A timetable is given as its serialized form, the whole of it: one of Airflow's own that has a custom one within is
//! evaluated by Python too, and so is one that has a custom partition mapper or window. Deadline references
//! are asked in the same process.

mod answers;
mod error;
mod partitions;
mod references;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ferroflow_model::Json;
use ferroflow_model::timetable::{Custom, DataInterval, Restriction, RunInfo};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::ForkServer;
use crate::asking::{Asking, NoAnswer, Subject, locked};

pub use answers::{Described, Runs};
pub use error::TimetableError;
pub use partitions::{AwaitedPartition, AwaitedPartitions, ExpectedKeys, MappedKey, WaitingPartition};
pub use references::{ReferenceError, RunToBe};

use answers::{Instant, Interval, Run, last_run};

/// How many descriptions are kept. Beyond it all are forgotten: asking again takes a millisecond each.
const MAX_DESCRIPTIONS: usize = 10_000;

/// The custom timetables of an installation.
pub struct Timetables {
    asking: Asking,
    descriptions: Mutex<HashMap<String, Arc<Described>>>,
}

impl Timetables {
    /// Timetables that may take up to `limit` (`[ferroflow] timetable_timeout`) for each answer.
    pub fn new(server: ForkServer, limit: Duration) -> Self {
        Self { asking: Asking::new(server, "custom timetables", limit), descriptions: Mutex::default() }
    }

    /// From now on, one that hangs or crashes has all timetables of its class left alone for a while.
    pub fn blame_classes(&self) {
        self.asking.blame_classes();
    }

    /// What was said about it, if it was asked.
    pub fn described(&self, timetable: &Json) -> Option<Arc<Described>> {
        locked(&self.descriptions).get(timetable.text()).cloned()
    }

    /// What the interface and the database say about it. Asked once: a timetable is what it was serialized to.
    pub async fn describe(&self, timetable: &Json) -> Result<Arc<Described>, TimetableError> {
        if let Some(known) = self.described(timetable) {
            return Ok(known);
        }
        let described: Arc<Described> = Arc::new(self.ask("timetable.describe", timetable, json!({})).await?);
        let mut descriptions = locked(&self.descriptions);
        if descriptions.len() >= MAX_DESCRIPTIONS {
            descriptions.clear();
        }
        descriptions.insert(timetable.text().to_owned(), Arc::clone(&described));
        Ok(described)
    }

    /// The next run, given the last one that the schedule or a backfill made. Python reads the time itself.
    pub async fn next_run(
        &self,
        timetable: &Json,
        last: Option<&RunInfo>,
        restriction: &Restriction,
    ) -> Result<Option<RunInfo>, TimetableError> {
        let params = json!({
            "last": last.map(last_run),
            "restriction": {
                "earliest": restriction.earliest.map(Instant),
                "latest": restriction.latest.map(Instant),
                "catchup": restriction.catchup,
            },
        });
        let next: Option<Run> = self.ask("timetable.next", timetable, params).await?;
        Ok(next.map(RunInfo::from))
    }

    /// The data interval of a run that is triggered.
    pub async fn manual_interval(
        &self,
        timetable: &Json,
        run_after: Timestamp,
    ) -> Result<DataInterval, TimetableError> {
        let params = json!({"run_after": Instant(run_after)});
        let interval: Interval = self.ask("timetable.manual", timetable, params).await?;
        Ok(interval.into())
    }

    /// The id of a run of a schedule or a backfill. Of one that is triggered, Airflow does not name the
    /// partition to the timetable.
    pub async fn run_id(
        &self,
        timetable: &Json,
        run_type: &str,
        run: &RunInfo,
    ) -> Result<String, TimetableError> {
        let is_triggered = matches!(run_type, "manual" | "asset_materialization");
        let extra = if is_triggered { json!({}) } else { json!({"partition_key": run.partition_key}) };
        let interval = run.data_interval.map(Interval::from);
        let params = json!({
            "run_type": run_type,
            "run_after": Instant(run.run_after),
            "interval": interval,
            "extra": extra,
        });
        self.ask("timetable.run_id", timetable, params).await
    }

    /// The runs that a backfill makes between two times, both included: the first `most` of them.
    pub async fn runs_between(
        &self,
        timetable: &Json,
        earliest: Timestamp,
        latest: Timestamp,
        most: usize,
    ) -> Result<Runs, TimetableError> {
        let params = json!({"earliest": Instant(earliest), "latest": Instant(latest), "most": most});
        self.ask("timetable.between", timetable, params).await
    }

    /// The date that a partition key stands for; `None` if it stands for none.
    pub async fn partition_date(
        &self,
        timetable: &Json,
        key: &str,
    ) -> Result<Option<Timestamp>, TimetableError> {
        let date: Option<Instant> =
            self.ask("timetable.partition_date", timetable, json!({"key": key})).await?;
        Ok(date.map(|date| date.0))
    }

    /// A bound on partition dates as a user typed it, read in the timetable's zone.
    pub async fn localize_partition_bound(
        &self,
        timetable: &Json,
        bound: Timestamp,
    ) -> Result<Timestamp, TimetableError> {
        let params = json!({"bound": Instant(bound)});
        let localized: Instant = self.ask("timetable.localize", timetable, params).await?;
        Ok(localized.0)
    }

    /// Loads plugins anew, and forgets what the old ones said.
    pub async fn restart(&self) {
        self.asking.restart().await;
        locked(&self.descriptions).clear();
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        timetable: &Json,
        mut params: Value,
    ) -> Result<T, TimetableError> {
        let text = timetable.text();
        let (class, classes) = error::classes_of(timetable);
        params["timetable"] = Value::from(text);
        let subject = Subject { who: text, classes, is_asked_again: true };
        let answer = self.asking.call(&subject, method, params).await;
        let answer = answer.map_err(|no_answer| match no_answer {
            NoAnswer::LeftAlone(left) => TimetableError::in_quarantine(&class, left),
            NoAnswer::Failed(source) => TimetableError::of(&class, source),
        })?;
        serde_json::from_value(answer)
            .map_err(|problem| TimetableError::Nonsense { class, problem: problem.to_string() })
    }
}

/// A custom timetable as it is serialized.
pub fn serialized(custom: &Custom) -> Json {
    let text =
        format!(r#"{{"__type": {}, "__var": {}}}"#, Value::from(custom.class.as_str()), custom.data.text());
    Json::from_text(text).unwrap_or_else(|_| Json::null())
}
