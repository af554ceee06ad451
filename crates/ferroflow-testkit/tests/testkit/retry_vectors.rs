//! When Airflow was seen to try a task again, how it weighed tasks, and what it made of executors' events, asked of
//! ours. `testdata/retries/record_retries.py` asked Airflow.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use ferroflow_model::dag::Dag;
use ferroflow_model::outcome::fail_fast::{FailFast, Other, fail_fast};
use ferroflow_model::outcome::{EventRow, EventTask, ExecutorEvent, Ignored, Outcome, executor_event};
use ferroflow_model::retry::{FailedTry, is_due, is_tried_again, next_try, worker_may_retry};
use ferroflow_model::state::TaskState;
use ferroflow_model::weight::{Weight, weights};
use ferroflow_testkit::replay::read;
use ferroflow_testkit::repository;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// The records of a kind, of which there must be so many.
fn records(kind: &str, at_least: usize) -> Vec<Value> {
    let text = read(&repository("testdata/retries/retries.json.gz")).unwrap();
    let mut all: Value = serde_json::from_str(&text).unwrap();
    let found = all[kind].take().as_array().unwrap().clone();
    assert!(found.len() >= at_least, "{} records of {kind}", found.len());
    found
}

/// A DAG with these tasks.
fn dag(tasks: &[Value]) -> Dag {
    let ids = tasks.iter().map(|task| task["task_id"].as_str().unwrap());
    let children: serde_json::Map<String, Value> =
        ids.map(|id| (id.to_owned(), json!(["operator", id]))).collect();
    let tasks: Vec<Value> = tasks.iter().map(|task| json!({"__type": "operator", "__var": task})).collect();
    let document = json!({
        "__version": 3,
        "dag": {
            "dag_id": "d",
            "timetable": {"__type": "airflow.timetables.simple.NullTimetable", "__var": {}},
            "tasks": tasks,
            "task_group": {"_group_id": null, "children": children},
        },
    });
    Dag::decode(&document.to_string()).unwrap()
}

fn state(value: &Value) -> Option<TaskState> {
    value.as_str().map(|word| word.parse().unwrap())
}

fn integer(value: &Value) -> i32 {
    i32::try_from(value.as_i64().unwrap()).unwrap()
}

#[test]
fn the_next_try_is_when_airflow_s_is() {
    for record in records("retries", 4000) {
        let mut task = json!({"task_id": record["task"], "retry_delay": record["delay"]});
        task["retry_exponential_backoff"] = record["factor"].clone();
        if !record["max"].is_null() {
            task["max_retry_delay"] = record["max"].clone();
        }
        let dag = dag(&[task]);
        let instant = |name: &str| record[name].as_str().map(|text| text.parse::<Timestamp>().unwrap());
        let failed = FailedTry {
            dag_id: record["dag"].as_str().unwrap(),
            logical_date: instant("logical_date"),
            try_number: integer(&record["try"]),
            end_date: instant("end"),
            retry_delay_override: record["override"].as_f64(),
        };
        let longest = record["longest"].as_i64().unwrap();
        let found = next_try(&dag.tasks()[0], &failed, longest, Timestamp::UNIX_EPOCH);
        match record["next"].as_str() {
            // Airflow raises there; ours ends with the calendar.
            None => assert!(found == Timestamp::MAX || found < year_one(), "{found}: {record}"),
            // Python's calendar has two days more than ours.
            Some(text) if text > "9999-12-30T22:00:00.999999" => {
                assert_eq!(found, Timestamp::MAX, "{record}");
            }
            Some(text) => assert_eq!(found, text.parse().unwrap(), "{record}"),
        }
        let just_after = found.checked_add(SignedDuration::from_micros(1));
        assert!(!is_due(&dag.tasks()[0], &failed, longest, found));
        assert!(just_after.is_err() || is_due(&dag.tasks()[0], &failed, longest, just_after.unwrap()));
    }
}

fn year_one() -> Timestamp {
    "0001-01-01T00:00:00Z".parse().unwrap()
}

#[test]
fn a_task_is_tried_again_when_airflow_does() {
    for record in records("eligible", 800) {
        let (from, max_tries) = (state(&record["state"]), integer(&record["max_tries"]));
        let try_number = integer(&record["try"]);
        let retries = record["retries"].as_i64().map(|retries| i32::try_from(retries).unwrap());
        assert_eq!(is_tried_again(from, try_number, max_tries, retries), record["eligible"], "{record}");
        assert_eq!(worker_may_retry(from, try_number, max_tries), record["worker"], "{record}");
    }
}

#[test]
fn tasks_weigh_what_they_weigh_in_airflow() {
    let mut beyond_the_column = 0;
    for record in records("weights", 40) {
        let recorded = record["tasks"].as_array().unwrap();
        let task = |task: &Value| {
            let rule = format!("airflow.task.priority_strategy.{}", task["rule"].as_str().unwrap());
            json!({"task_id": task["id"], "weight_rule": rule, "priority_weight": task["own"],
                   "downstream_task_ids": task["downstream"]})
        };
        let dag = dag(&recorded.iter().map(task).collect::<Vec<_>>());
        for (weight, expected) in weights(&dag).iter().zip(recorded) {
            let total = expected["total"].as_i64().unwrap();
            let stored = total.clamp(i32::MIN.into(), i32::MAX.into());
            beyond_the_column += usize::from(stored != total);
            assert_eq!(*weight, Weight::Of(i32::try_from(stored).unwrap()), "{expected}");
        }
    }
    assert!(beyond_the_column > 100, "some sums are too large for the column: {beyond_the_column}");
}

#[test]
fn executors_events_lead_where_they_lead_in_airflow() {
    for record in records("events", 6000) {
        let event = ExecutorEvent { state: state(&record["event"]), try_number: 1 };
        let row = EventRow {
            state: state(&record["state"]),
            try_number: integer(&record["try"]),
            max_tries: integer(&record["max_tries"]),
            is_queued_by_me: record["mine"].as_bool().unwrap(),
            has_next_method: record["next_method"].as_bool().unwrap(),
        };
        let task = match record["task"].as_str().unwrap() {
            "often" => Some(EventTask { retries: 3, fail_fast: false }),
            "once" => Some(EventTask { retries: 0, fail_fast: false }),
            _ => None,
        };
        let outcome = executor_event(event, row, record["known"].as_bool().unwrap(), task);

        assert_eq!(
            outcome.new_state().unwrap_or(row.state),
            state(&record["becomes"]),
            "{record}: {outcome:?}"
        );
        let max_tries =
            if let Outcome::Restarted { max_tries } = outcome { max_tries } else { row.max_tries };
        assert_eq!(max_tries, integer(&record["new_max_tries"]), "{record}: {outcome:?}");
        let with_history = outcome == Outcome::Retried { with_history: true };
        assert_eq!(with_history, record["history"], "{record}: {outcome:?}");
        let told: Vec<&str> = outcome.told_as().map(TaskState::as_str).into_iter().collect();
        assert_eq!(json!(told), record["told"], "{record}: {outcome:?}");
        let is_recorded = outcome == Outcome::IdRecorded;
        assert_eq!(is_recorded, !record["id"].is_null() && row.try_number == 1, "{record}: {outcome:?}");
    }
}

/// Airflow stores the id; it then belongs to a process that is not this try's.
#[test]
fn the_id_of_another_try_is_not_recorded() {
    let mut stored_by_airflow = 0;
    for record in records("events", 6000).iter().filter(|record| record["try"] == 2) {
        let event = ExecutorEvent { state: state(&record["event"]), try_number: 1 };
        let row = EventRow {
            state: state(&record["state"]),
            try_number: 2,
            max_tries: 2,
            is_queued_by_me: true,
            has_next_method: false,
        };
        stored_by_airflow += usize::from(!record["id"].is_null());
        let reason = match executor_event(event, row, true, None) {
            Outcome::Ignored(reason) => reason,
            other => panic!("{other:?}"),
        };
        let is_known = matches!(reason, Ignored::OtherTry { event: 1, row: 2 } | Ignored::NotForExecutors(_));
        assert!(is_known, "{reason}");
    }
    assert!(stored_by_airflow > 0, "Airflow stores it");
}

#[test]
fn the_rest_of_a_run_ends_as_it_does_in_airflow() {
    for record in records("fail_fast", 42) {
        let task = record["other"].as_str().unwrap();
        let from = state(&record["state"]);
        let verdict = fail_fast(Other {
            state: from,
            is_of_same_task: task == "once",
            is_teardown: Some(task == "teardown"),
        });
        let becomes = match verdict {
            FailFast::Left(_) => from,
            FailFast::Failed => Some(TaskState::Failed),
            FailFast::Skipped => Some(TaskState::Skipped),
        };
        assert_eq!(becomes, state(&record["becomes"]), "{record}: {verdict:?}");
    }
}
