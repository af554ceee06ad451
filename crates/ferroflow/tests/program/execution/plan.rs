//! Which runs there are, and what official Airflow made of them.

use ferroflow_testkit::replay::read;
use ferroflow_testkit::repository;
use jiff::Timestamp;
use serde_json::{Map, Value};

/// The sets of runs, each with a recording of its own.
pub(crate) const SETS: [&str; 2] = ["own", "examples"];

/// A run that somebody asks for.
#[derive(Clone, Debug)]
pub(crate) struct PlannedRun {
    pub(crate) dag_id: String,
    pub(crate) logical_date: Timestamp,
    /// The date as the run's name has it.
    pub(crate) date_text: String,
    pub(crate) conf: Option<Map<String, Value>>,
    pub(crate) partition_key: Option<String>,
    /// Whether Airflow makes no such run.
    pub(crate) is_refused: bool,
}

impl PlannedRun {
    pub(crate) fn run_id(&self) -> String {
        format!("manual__{}", self.date_text)
    }
}

/// The runs of a set, wave by wave.
pub(crate) fn waves(set: &str) -> Vec<Vec<PlannedRun>> {
    let plan = plan(set);
    let waves = plan["waves"].as_array().expect("a set has waves").iter();
    waves.map(|wave| wave.as_array().expect("a wave has runs").iter().map(planned).collect()).collect()
}

/// The DAGs of a set whose rows are compared.
pub(crate) fn shown(set: &str) -> Vec<String> {
    let also = plan(set)["also_shown"].clone();
    let also = also.as_array().expect("a list").iter().filter_map(Value::as_str).map(str::to_owned);
    let mut shown: Vec<String> = waves(set).into_iter().flatten().map(|run| run.dag_id).chain(also).collect();
    shown.sort_unstable();
    shown.dedup();
    shown
}

/// What Airflow left of a set.
pub(crate) fn recorded(set: &str) -> Value {
    let path = repository("testdata/execution").join(format!("{set}.json.gz"));
    serde_json::from_str(&read(&path).expect("the recording is there")).expect("the recording is JSON")
}

/// What callbacks wrote, by run and by try, so that each can be compared with its like.
pub(crate) fn sort_traces(rows: &mut Value) {
    for dag in rows["dags"].as_object_mut().expect("DAGs by their ids").values_mut() {
        let Some(lines) = dag.get_mut("trace").map(Value::take) else { continue };
        let mut sorted = Value::Object(Map::new());
        for mut line in lines.as_array().expect("a trace has lines").iter().cloned() {
            let mut word = |name: &str| {
                let word = line.as_object_mut().expect("a line has names").remove(name).unwrap_or_default();
                word.as_str().map_or_else(|| word.to_string(), str::to_owned)
            };
            let (run_id, task_id, number) = (word("run_id"), word("task_id"), word("try_number"));
            let copy = Some(word("map_index")).filter(|index| index != "-1" && index != "null");
            let copy = copy.map(|index| format!("[{index}]")).unwrap_or_default();
            line.sort_all_objects();
            let of_try = &mut sorted[run_id][format!("{task_id}{copy} try {number}")];
            match of_try.as_array_mut() {
                Some(lines) => lines.push(line),
                None => *of_try = Value::Array(vec![line]),
            }
        }
        dag["trace"] = sorted;
    }
}

fn plan(set: &str) -> Value {
    let path = repository("testdata/execution/runs.json");
    let text = std::fs::read_to_string(path).expect("the plan is there");
    let mut plan: Value = serde_json::from_str(&text).expect("the plan is JSON");
    plan[set].take()
}

fn planned(run: &Value) -> PlannedRun {
    let text = |name: &str| run.get(name).map(|text| text.as_str().expect("a text").to_owned());
    let date_text = text("logical_date").expect("every run has a date");
    PlannedRun {
        dag_id: text("dag_id").expect("every run has a DAG"),
        logical_date: date_text.parse().expect("a date"),
        date_text,
        conf: run.get("conf").map(|conf| conf.as_object().expect("an object").clone()),
        partition_key: text("partition_key"),
        is_refused: run.get("refused").is_some(),
    }
}

#[test]
fn the_recordings_hold_something_of_everything() {
    let count = |set: &str| {
        let recorded = recorded(set);
        let dags = recorded["dags"].as_object().expect("DAGs by their ids").values();
        let runs = dags.flat_map(|dag| dag["runs"].as_object().expect("runs by their names").values());
        let tasks = runs.clone().map(|run| run["tasks"].as_object().map_or(0, Map::len)).sum::<usize>();
        (runs.count(), tasks)
    };
    let (runs, tasks) = count("own");
    assert!(runs >= 80 && tasks >= 650, "{runs} runs, {tasks} tasks");
    let (runs, tasks) = count("examples");
    assert!(runs >= 90 && tasks >= 300, "{runs} runs, {tasks} tasks");
}
