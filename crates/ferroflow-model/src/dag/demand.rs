//! What a DAG asks for beyond what every installation has: custom classes, executors, users.

use std::collections::BTreeSet;

use super::Dag;
use super::deadline::{CallbackPlace, Deadline, DeadlineAlert, DeadlineReference};
use super::rule::WeightRule;
use crate::partition_mapper::OwnClass;
use crate::timetable::Timetable;

/// Something that a DAG asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Demand {
    /// A timetable of this class.
    Timetable(String),
    /// A weight rule of this class.
    WeightRule(String),
    /// A partition mapper of this class.
    PartitionMapper(String),
    /// A window of partitions of this class.
    PartitionWindow(String),
    /// A deadline reference of this class.
    DeadlineReference(String),
    /// That an executor calls this function when a deadline is missed.
    ExecutorCallback(String),
    /// An executor of this name.
    Executor(String),
    /// That tasks run as this user.
    User(String),
}

impl Dag {
    /// What it asks for. Deadlines that are stored as rows have their own.
    pub fn demands(&self) -> BTreeSet<Demand> {
        let mut found = BTreeSet::new();
        of_timetable(&self.timetable, &mut found);
        for task in self.tasks() {
            if let WeightRule::Custom(class) = &task.weight_rule {
                found.insert(Demand::WeightRule(class.to_string()));
            }
            let details = task.details();
            found.extend(details.executor.iter().map(|name| Demand::Executor(name.to_string())));
            found.extend(details.run_as_user.iter().map(|user| Demand::User(user.to_string())));
        }
        for deadline in &self.deadlines {
            if let Deadline::Inline(alert) = deadline {
                found.extend(alert.demands());
            }
        }
        found
    }
}

impl Demand {
    fn of_mapping(class: OwnClass<'_>) -> Self {
        match class {
            OwnClass::Mapper(class) => Self::PartitionMapper(class.to_owned()),
            OwnClass::Window(class) => Self::PartitionWindow(class.to_owned()),
        }
    }
}

impl DeadlineAlert {
    /// What it asks for.
    pub fn demands(&self) -> BTreeSet<Demand> {
        let mut found = BTreeSet::new();
        if let DeadlineReference::Custom { class, .. } = &self.reference {
            found.insert(Demand::DeadlineReference(class.to_string()));
        }
        if let Ok(callback) = self.callback()
            && matches!(callback.place, CallbackPlace::Executor(_))
        {
            found.insert(Demand::ExecutorCallback(callback.path));
        }
        found
    }
}

fn of_timetable(timetable: &Timetable, found: &mut BTreeSet<Demand>) {
    match timetable {
        Timetable::Custom(custom) => {
            found.insert(Demand::Timetable(custom.class.clone()));
        }
        Timetable::AssetOrTime { time, .. } => of_timetable(time, found),
        Timetable::PartitionedAsset(partitioned) => {
            found.extend(partitioned.own_classes().into_iter().map(Demand::of_mapping));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition_mapper::{MapperKind, PartitionMapper, Window};

    #[test]
    fn classes_are_found_wherever_they_are() {
        let custom = |class: &str| PartitionMapper {
            kind: MapperKind::Custom { class: class.to_owned(), data: crate::Json::null() },
            max_downstream_keys: None,
        };
        let window = Window::Custom { class: "my.Window".to_owned(), data: crate::Json::null() };
        let fan_out = MapperKind::FanOut {
            upstream: Box::new(custom("my.Upstream")),
            window,
            downstream: Box::new(custom("my.Downstream")),
        };
        let chain = PartitionMapper {
            kind: MapperKind::Chain(vec![PartitionMapper { kind: fan_out, max_downstream_keys: None }]),
            max_downstream_keys: None,
        };
        let found: BTreeSet<Demand> = chain.own_classes().into_iter().map(Demand::of_mapping).collect();
        let expected = [
            Demand::PartitionMapper("my.Downstream".to_owned()),
            Demand::PartitionMapper("my.Upstream".to_owned()),
            Demand::PartitionWindow("my.Window".to_owned()),
        ];
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_plain_dag_asks_for_nothing_and_another_for_what_it_names() {
        let document = |timetable: &str, task: &str| {
            format!(
                r#"{{"__version": 3, "dag": {{"dag_id": "d", "fileloc": "/d.py", "timezone": "UTC",
                 "timetable": {{"__type": "{timetable}", "__var": {{}}}},
                 "task_group": {{"_group_id": null, "group_display_name": "", "prefix_group_id": true, "tooltip": "",
                  "ui_color": "x", "ui_fgcolor": "x", "children": {{"t": ["operator", "t"]}},
                  "upstream_group_ids": [], "downstream_group_ids": [], "upstream_task_ids": [],
                  "downstream_task_ids": []}},
                 "edge_info": {{}}, "params": [], "deadline": null, "dag_dependencies": [],
                 "tasks": [{{"__type": "operator", "__var": {{"task_id": "t", "task_type": "EmptyOperator",
                  "_task_module": "m", "template_fields": [] {task}}}}}]}}}}"#
            )
        };
        let demands = |text: String| Dag::decode(&text).unwrap().demands().into_iter().collect::<Vec<_>>();
        assert_eq!(demands(document("airflow.timetables.simple.NullTimetable", "")), []);
        let asking = r#", "weight_rule": "my.Rule", "executor": "celery", "run_as_user": "ada""#;
        let expected = [
            Demand::Timetable("my.Timetable".to_owned()),
            Demand::WeightRule("my.Rule".to_owned()),
            Demand::Executor("celery".to_owned()),
            Demand::User("ada".to_owned()),
        ];
        assert_eq!(demands(document("my.Timetable", asking)), expected);
    }
}
