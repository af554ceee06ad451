//! The schedule of a parsed DAG, as its row has it.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::json::{InvalidJson, Json, standard_json};
use crate::timetable::{DataInterval, RunInfo, Timetable};

/// What the `dag` table says about a timetable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimetableColumns {
    /// `timetable_type`
    pub type_name: String,
    /// `timetable_summary`
    pub summary: Option<String>,
    /// `timetable_description`
    pub description: Option<String>,
    /// `timetable_partitioned`
    pub partitioned: bool,
    /// `timetable_periodic`
    pub periodic: bool,
    /// No column: whether the scheduler makes runs at all.
    pub can_be_scheduled: bool,
    /// `partition_mapper_info`: a list.
    pub partition_mapper_info: Json,
}

/// The run that the next one of a schedule follows: the last that the schedule or a backfill made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatestRun {
    /// From when on it might run.
    pub run_after: Timestamp,
    /// What it worked on.
    pub data_interval: Option<DataInterval>,
    /// The date of its partition.
    pub partition_date: Option<Timestamp>,
    /// The key of its partition.
    pub partition_key: Option<String>,
}

impl TimetableColumns {
    /// Of a timetable of Airflow itself. A custom one has defaults here; Python knows better.
    pub fn of(timetable: &Timetable) -> Self {
        let facts = timetable.facts();
        Self {
            type_name: facts.type_name,
            summary: Some(facts.summary),
            description: Some(facts.description),
            partitioned: facts.partitioned,
            periodic: facts.periodic,
            can_be_scheduled: facts.can_be_scheduled,
            partition_mapper_info: partition_mapper_info(timetable),
        }
    }
}

impl LatestRun {
    /// What a timetable is told of it. The run of a partition has no interval; one that has neither, from before
    /// there were intervals, is taken for a manual one.
    pub fn info(&self, timetable: &Timetable) -> RunInfo {
        let interval = match (&self.partition_key, self.data_interval) {
            (Some(_), _) => None,
            (None, Some(interval)) => Some(interval),
            (None, None) => timetable.manual_interval(self.run_after).ok(),
        };
        RunInfo {
            run_after: self.run_after,
            data_interval: interval,
            partition_date: self.partition_date,
            partition_key: self.partition_key.clone(),
        }
    }
}

/// Whether only Python can tell all about a timetable: its class is a custom one, or that of the times within is, or
/// that of a partition mapper or window.
pub fn needs_python(timetable: &Timetable) -> bool {
    match timetable {
        Timetable::PartitionedAsset(partitioned) => !partitioned.own_classes().is_empty(),
        timetable => timetable.custom().is_some(),
    }
}

/// The timetable of a serialized DAG, as the document has it. The rest, which may be large, is passed over.
pub fn timetable_document(document: &str) -> Result<Json, InvalidJson> {
    #[derive(Deserialize)]
    struct Document<'d> {
        #[serde(borrow)]
        dag: Inside<'d>,
    }
    #[derive(Deserialize)]
    struct Inside<'d> {
        #[serde(borrow)]
        timetable: &'d RawValue,
    }
    let text = standard_json(document);
    let document: Document<'_> = serde_json::from_str(&text).map_err(InvalidJson)?;
    Json::from_text(document.dag.timetable.get().to_owned())
}

fn partition_mapper_info(timetable: &Timetable) -> Json {
    let Timetable::PartitionedAsset(partitioned) = timetable else { return Json::from(json!([])) };
    let entries = partitioned.mapper_infos().map(|info| {
        let mut entry = serde_json::Map::new();
        let texts = [("name", info.name), ("uri", info.uri)];
        entry.extend(texts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?.into()))));
        entry.insert("is_rollup".to_owned(), info.is_rollup.into());
        serde_json::Value::Object(entry)
    });
    Json::from(entries.collect::<serde_json::Value>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timetable(text: &str) -> Timetable {
        Timetable::decode(text).unwrap()
    }

    #[test]
    fn only_a_class_of_somebodys_own_needs_python() {
        let custom = r#"{"__type": "mine.T", "__var": {}}"#;
        let null = r#"{"__type": "airflow.timetables.simple.NullTimetable", "__var": {}}"#;
        assert!(needs_python(&timetable(custom)));
        assert!(!needs_python(&timetable(null)));
        let or = |time: &str| {
            timetable(&format!(
                r#"{{"__type": "airflow.timetables.assets.AssetOrTimeSchedule", "__var": {{"timetable": {time},
                "asset_condition": {{"__type": "asset_alias", "name": "a", "group": "g"}}}}}}"#
            ))
        };
        assert!(needs_python(&or(custom)));
        assert!(!needs_python(&or(null)));
        let partitioned = |mapper: &str| {
            timetable(&format!(
                r#"{{"__type": "airflow.timetables.simple.PartitionedAssetTimetable", "__var": {{
                "asset_condition": {{"__type": "asset_alias", "name": "a", "group": "g"}},
                "partition_mapper_config": [],
                "default_partition_mapper": {{"__type": "{mapper}", "__var": {{}}}}}}}}"#
            ))
        };
        assert!(needs_python(&partitioned("mine.Mapper")));
        assert!(!needs_python(&partitioned("airflow.partition_mappers.identity.IdentityMapper")));
    }

    #[test]
    fn the_run_of_a_partition_has_no_interval_and_an_old_run_has_that_of_a_manual_one() {
        let at = Timestamp::constant(1_800_000_000, 0);
        let interval = Some(DataInterval::exact(at));
        let run =
            LatestRun { run_after: at, data_interval: interval, partition_date: None, partition_key: None };
        let null = Timetable::Null;
        assert_eq!(run.info(&null).data_interval, interval);
        assert_eq!(LatestRun { data_interval: None, ..run.clone() }.info(&null).data_interval, interval);
        let partition = LatestRun { partition_key: Some("k".to_owned()), ..run };
        assert_eq!(partition.info(&null).data_interval, None);
    }
}
