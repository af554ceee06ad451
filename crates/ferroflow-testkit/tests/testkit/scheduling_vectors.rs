//! What Airflow's scheduler was seen to decide, asked of ours.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::io::Write as _;
use std::process::Command;

use ferroflow_testkit::replay::{read, replay_scheduling};
use ferroflow_testkit::repository;
use serde_json::{Value, json};

/// Changes a history, of which this is a run.
type Damage = fn(&mut Value, &str);

const FILE: &str = "testdata/scheduling/scheduling.jsonl.gz";
/// Where time passes, much comes from outside, and DAGs change.
const MORE: &str = "testdata/scheduling/more-histories.jsonl.gz";

#[test]
fn runs_are_decided_as_airflow_decides_them() {
    let report = replay_scheduling(&repository(FILE)).unwrap();
    assert!(report.passed(), "{report}");
    let at_least = [("histories", 1500), ("mapped_group", 350), ("clear", 300), ("deadlock", 100)];
    for (kind, count) in at_least {
        assert!(report.total(kind) >= count, "there are {} histories of {kind}", report.total(kind));
    }
}

#[test]
fn what_comes_from_outside_is_taken_as_airflow_takes_it() {
    let report = replay_scheduling(&repository(MORE)).unwrap();
    assert!(report.passed(), "{report}");
    let at_least = [
        ("histories", 225),
        ("up_for_retry_just_due", 15),
        ("up_for_retry_waits", 12),
        ("up_for_reschedule_just_due", 20),
        ("up_for_reschedule_waits", 12),
        ("is_sensor", 25),
        ("to_deferred", 50),
        ("to_awaiting_input", 50),
        ("to_queued", 90),
        ("to_running", 90),
        ("deferred_at_once", 20),
        ("timed_out", 20),
        ("not_before", 5),
        ("paused", 50),
        ("paused_beyond_timeout", 2),
        ("cleared_repeatedly", 100),
        ("probe_settles_active", 11),
        ("probe_ends_run", 7),
        ("dag_changed", 30),
        ("reconciled", 25),
        ("large_dag", 4),
        ("nested_mapped_groups", 20),
    ];
    for (kind, count) in at_least {
        assert!(report.total(kind) >= count, "there are {} histories of {kind}", report.total(kind));
    }
}

#[test]
fn time_and_pauses_are_part_of_a_history() {
    let mut history = history_of(MORE, "up_for_retry_waits");
    for tick in history["ticks"].as_array_mut().unwrap() {
        tick.as_object_mut().unwrap().remove("now");
    }
    let (code, told) = tool(&history);
    assert_eq!(code, Some(1), "all is due at once: {told}");

    let mut history = history_of(MORE, "paused_beyond_timeout");
    for tick in history["ticks"].as_array_mut().unwrap() {
        tick.as_object_mut().unwrap().remove("paused");
    }
    let (code, told) = tool(&history);
    assert_eq!(code, Some(1), "a run times out unless it is paused: {told}");
}

#[test]
fn the_tool_shows_where_a_history_goes_another_way() {
    let mut history = first_history();
    let (code, told) = tool(&history);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("histories        1 of 1\n"), "{told}");

    history["ticks"][0]["decisions"][0][4] = json!("skipped");
    let (code, told) = tool(&history);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("histories        0 of 1\n"), "{told}");
    assert!(told.contains("tick 0: decisions differ\n    expected ("), "{told}");
    assert!(told.contains("all_success] <- nothing\n"), "the DAG is drawn: {told}");

    let (code, told) = tool(&json!({"id": "no history"}));
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("line 1 of ") && told.contains("missing field"), "{told}");
}

#[test]
fn every_part_of_a_history_is_compared() {
    let history = first_history();
    let run_id = history["runs"][0]["run_id"].as_str().unwrap().to_owned();
    let broken: [(&str, Damage); 5] = [
        ("the first instances differ", |history, _| {
            history["initial_tis"].as_array_mut().unwrap().pop();
        }),
        ("states of runs differ", |history, run| history["ticks"][0]["run_states"][run] = json!("failed")),
        ("final states of", |history, run| {
            let states = history["final"]["ti_states"][run].as_object_mut().unwrap();
            *states.values_mut().next().unwrap() = json!("removed");
        }),
        ("tries of", |history, run| {
            let tries = history["final"]["try_numbers"][run].as_object_mut().unwrap();
            *tries.values_mut().next().unwrap() = json!(77);
        }),
        ("ended as", |history, run| history["final"]["run_states"][run] = json!("queued")),
    ];
    for (difference, change) in broken {
        let mut history = history.clone();
        change(&mut history, &run_id);
        let (code, told) = tool(&history);
        assert_eq!(code, Some(1), "{difference}");
        assert!(told.contains(difference), "{difference}: {told}");
    }
}

/// What Airflow was seen to do when the last task to become ready is one of a mapped group: it looks at the
/// first of the new instances, and ends the run.
#[test]
fn a_run_that_airflow_ends_too_early_is_told() {
    for (does_nothing, end) in [(false, "scheduled"), (true, "success")] {
        let (code, told) = tool(&history_that_ends_too_early(does_nothing, end));
        assert_eq!(code, Some(0), "{told}");
        assert!(told.contains("note: early: Airflow ended manual__2024-01-01T00:00:00+00:00 with"), "{told}");
    }
}

fn history_that_ends_too_early(does_nothing: bool, end: &str) -> Value {
    let run = "manual__2024-01-01T00:00:00+00:00";
    let change = |task: &str, index: i32, from: Value, to: &str| json!([run, task, index, from, to]);
    let went = |task: &str, index: i32, state: &str| change(task, index, json!("scheduled"), state);
    let executed = |task: &str, index: i32| json!({"ti": [run, task, index], "try": 1});
    json!({
        "id": "early", "features": [], "serialized_dag": group_that_waits_for_another_task(does_nothing),
        "runs": [{"run_id": run, "logical_date": "2024-01-01T00:00:00+00:00", "run_type": "manual"}],
        "initial_tis": [[run, "a", -1], [run, "b", -1], [run, "c", -1], [run, "s", -1]],
        "ticks": [
            {"tick": 0, "run_states": {run: "running"},
             "decisions": [change("c", -1, json!(null), "scheduled"), change("s", -1, json!(null), "scheduled")],
             "executed": [{"ti": [run, "s", -1], "try": 1, "xcom": true, "task_map": 2}],
             "executor_changes": [went("s", -1, "success")]},
            {"tick": 1, "run_states": {run: "running"},
             "decisions": [change("a", -1, json!(null), "(absent)"), change("a", 0, json!("(absent)"), "scheduled"),
                           change("a", 1, json!("(absent)"), "scheduled")],
             "executed": [executed("a", 0), executed("a", 1), executed("c", -1)],
             "executor_changes": [went("a", 0, "skipped"), went("a", 1, "success"), went("c", -1, "success")]},
            {"tick": 2, "run_states": {run: "success"},
             "decisions": [change("b", -1, json!(null), "(absent)"), change("b", 0, json!("(absent)"), "skipped"),
                           change("b", 1, json!("(absent)"), end)]},
        ],
        "final": {
            "run_states": {run: "success"},
            "try_numbers": {run: {"a[0]": 1, "a[1]": 1, "b[1]": 1, "c[-1]": 1, "s[-1]": 1}},
            "ti_states": {run: {"a[0]": "skipped", "a[1]": "success", "b[0]": "skipped", "b[1]": end,
                                "c[-1]": "success", "s[-1]": "success"}},
        },
    })
}

/// `s` and, in a group mapped over its result, `a` before `b`, which waits for `c` too.
fn group_that_waits_for_another_task(does_nothing: bool) -> Value {
    let task = |id: &str, downstream: &[&str]| {
        json!({"__type": "operator", "__var": {"task_id": id, "task_type": "Node", "_task_module": "nodes",
            "downstream_task_ids": downstream, "_is_empty": does_nothing && id == "b"}})
    };
    let group = |id: Value, children: Value| {
        json!({"_group_id": id, "prefix_group_id": false, "tooltip": "", "ui_color": "a", "ui_fgcolor": "b",
            "children": children, "upstream_group_ids": [], "downstream_group_ids": [],
            "upstream_task_ids": [], "downstream_task_ids": []})
    };
    let mut mapped = group(json!("g"), json!({"a": ["operator", "a"], "b": ["operator", "b"]}));
    mapped["is_mapped"] = json!(true);
    let result = json!({"__type": "xcomref", "__var": {"task_id": "s", "key": "return_value"}});
    mapped["expand_input"] =
        json!({"type": "dict-of-lists", "value": {"__type": "dict", "__var": {"x": result}}});
    let root = group(
        json!(null),
        json!({"s": ["operator", "s"], "c": ["operator", "c"], "g": ["taskgroup", mapped]}),
    );
    json!({"__version": 3, "dag": {
        "dag_id": "early", "fileloc": "/dags/early.py", "timezone": "UTC", "catchup": false, "task_group": root,
        "timetable": {"__type": "airflow.timetables.simple.NullTimetable", "__var": {}},
        "tasks": [task("s", &["a", "b"]), task("c", &["b"]), task("a", &["b"]), task("b", &[])],
    }})
}

fn first_history() -> Value {
    history_of(FILE, "")
}

/// The first history with a feature, or the first of all.
fn history_of(file: &str, feature: &str) -> Value {
    let text = read(&repository(file)).unwrap();
    let mut histories = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let has_it = |history: &Value| history["features"].as_array().unwrap().contains(&json!(feature));
    histories.find(|history| feature.is_empty() || has_it(history)).unwrap()
}

fn tool(history: &Value) -> (Option<i32>, String) {
    let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile().unwrap();
    writeln!(file, "{history}").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_replay"));
    let output = command.arg("scheduling").arg(file.path()).output().unwrap();
    let told = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(told).unwrap())
}
