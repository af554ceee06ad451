//! Documents as nobody should write them: everything that is wrong is told, with its place, and nothing
//! panics, hangs or overflows.

use ferroflow_model::dag::Dag;
use serde_json::{Value, json};

use crate::serialized_dags::{decode, document, sample};

fn problems(document: &Value) -> Vec<String> {
    decode(document).unwrap_err().lines().map(str::to_owned).collect()
}

#[test]
fn a_document_that_ends_too_early() {
    let text = serde_json::from_str::<Value>(&sample("db-prod")).unwrap().to_string();
    for end in 0..text.len() {
        let problems = Dag::decode(&text[..end]).unwrap_err();
        assert!(problems.to_string().contains("EOF while parsing"), "{end}: {problems}");
    }
    assert!(Dag::decode(&text).is_ok());
}

#[test]
fn versions_that_are_not_known() {
    let with = |version: Value| {
        let mut document = document(&[]);
        document["__version"] = version;
        problems(&document)
    };
    assert_eq!(with(json!(4)), ["__version: format 4 is not known (known: 1, 2, 3)"]);
    assert_eq!(with(json!(0)), ["__version: format 0 is not known (known: 1, 2, 3)"]);
    assert_eq!(with(json!("3")), ["__version: expected an integer, found a string"]);
    assert_eq!(with(json!(null)), ["__version: expected an integer, found null"]);
    assert_eq!(problems(&json!({"dag": {}})), ["__version: is missing"]);
    assert_eq!(problems(&json!([])), ["document: expected an object, found a list"]);
    assert_eq!(problems(&json!({"__version": 3})), ["dag: is missing"]);
    assert_eq!(
        problems(&json!({"__version": 2, "dag": {}})),
        ["dag_id: is missing", "timetable: is missing", "tasks: is missing"]
    );
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let mut document = document(&[
        json!({"task_id": "a", "trigger_rule": "sometimes", "retries": "many", "pool": 1,
            "downstream_task_ids": ["b", "nowhere"]}),
        json!({"task_id": "b", "weight_rule": "heavy", "retry_delay": 1e300, "pool_slots": 3_000_000_000_i64,
            "outlets": [{"__type": "asset", "__var": {"name": "x"}}], "_is_mapped": true,
            "_expand_input_attr": "expand_input",
            "partial_kwargs": {"execution_timeout": {"__type": "timedelta", "__var": "soon"}}}),
    ]);
    document["dag"]["catchup"] = json!("no");
    document["dag"]["deadline"] = json!(["no id"]);
    document["dag"]["allowed_run_types"] = json!(["sometimes"]);
    document["client_defaults"] = json!({"tasks": {"queue": 5}});
    assert_eq!(
        problems(&document),
        [
            "client_defaults.tasks.queue: expected a string, found an integer",
            "tasks[0].trigger_rule: \"sometimes\" is not a trigger rule (known: all_success, all_failed, \
             all_done, all_done_min_one_success, all_done_setup_success, one_success, one_failed, one_done, \
             none_failed, none_skipped, always, none_failed_min_one_success, all_skipped)",
            "tasks[0].retries: expected an integer, found a string",
            "tasks[0].pool: expected a string, found an integer",
            "tasks[1].weight_rule: \"heavy\" is not a weight rule (known: downstream, upstream, absolute, or \
             the import path of a class)",
            &format!("tasks[1].retry_delay: {} seconds is out of range", 1e300),
            "tasks[1].pool_slots: 3000000000 is out of range",
            "tasks[1].outlets[0].uri: is missing",
            "tasks[1].outlets[0].group: is missing",
            "tasks[1].partial_kwargs.execution_timeout: expected a number, found a string",
            "tasks[1].expand_input: is missing",
            "tasks[0].downstream_task_ids[1]: no task is called \"nowhere\"",
            "catchup: expected a boolean, found a string",
            "allowed_run_types[0]: \"sometimes\" is not a type of a DAG run (known: backfill, scheduled, manual, \
             operator_triggered, asset_triggered, asset_materialization)",
            "deadline[0]: \"no id\" is not a UUID",
        ]
    );
}

#[test]
fn tasks_without_a_name_of_their_own() {
    let document = document(&[json!({"task_id": "a"}), json!({"retries": 1}), json!({"task_id": "a"})]);
    assert_eq!(
        problems(&document),
        [
            "tasks[1].task_id: is missing",
            "tasks[2].task_id: tasks[0] is called \"a\" too",
            "task_group: task \"a\" is in no group",
        ]
    );
}

#[test]
fn cycles_are_named() {
    let chain = |ids: &[(&str, &str)]| {
        let tasks: Vec<Value> =
            ids.iter().map(|(id, next)| json!({"task_id": id, "downstream_task_ids": [next]})).collect();
        problems(&document(&tasks))
    };
    assert_eq!(chain(&[("a", "a")]), ["tasks: a -> a is a cycle"]);
    assert_eq!(
        chain(&[("z", "a"), ("a", "b"), ("b", "c"), ("c", "a")]),
        ["tasks: a -> b -> c -> a is a cycle"]
    );
    let names: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    let ring: Vec<(&str, &str)> = (0..20).map(|n| (&*names[n], &*names[(n + 1) % 20])).collect();
    let [problem] = &chain(&ring)[..] else { panic!("one problem") };
    assert!(problem.ends_with(" -> 8 -> 9 -> … -> 0 is a cycle"), "{problem}");
}

#[test]
fn groups_that_do_not_fit_their_tasks() {
    let mut document =
        document(&[json!({"task_id": "a"}), json!({"task_id": "b"}), json!({"task_id": "g.c"})]);
    let inner = |children: Value| {
        json!({"_group_id": "g", "children": children, "upstream_group_ids": ["elsewhere"],
            "downstream_task_ids": ["nobody"], "is_mapped": true,
            "expand_input": {"type": "dict-of-lists", "value": {"__type": "dict", "__var": {
                "x": {"__type": "xcomref", "__var": {"task_id": "nobody", "key": "k"}}}}}})
    };
    document["dag"]["task_group"]["children"] = json!({
        "a": ["operator", "a"],
        "again": ["operator", "a"],
        "ghost": ["operator", "ghost"],
        "g": ["taskgroup", inner(json!({"g.c": ["operator", "g.c"]}))],
        "h": ["taskgroup", inner(json!({}))],
        "what": ["thing", 1],
    });
    assert_eq!(
        problems(&document),
        [
            "task_group.children.again[1]: task \"a\" is in more than one group",
            "task_group.children.ghost[1]: no task is called \"ghost\"",
            "task_group.children.g[1].upstream_group_ids[0]: no group is called \"elsewhere\"",
            "task_group.children.g[1].downstream_task_ids[0]: no task is called \"nobody\"",
            "task_group.children.g[1].expand_input.value.x.task_id: no task is called \"nobody\"",
            "task_group.children.h[1]._group_id: another group is called \"g\" too",
            "task_group.children.h[1].upstream_group_ids[0]: no group is called \"elsewhere\"",
            "task_group.children.h[1].downstream_task_ids[0]: no task is called \"nobody\"",
            "task_group.children.h[1].expand_input.value.x.task_id: no task is called \"nobody\"",
            "task_group.children.what: expected a pair of \"operator\" and a task, or of \"taskgroup\" and a \
             group, found a list",
            "task_group: task \"b\" is in no group",
        ]
    );
}

/// Each value of some documents, replaced by one of every kind.
#[test]
fn a_value_of_another_kind_anywhere() {
    for name in ["db-prod", "example_task_group_mapping", "asset_alias_example_alias_consumer", "format1"] {
        let document: Value = serde_json::from_str(&sample(name)).unwrap();
        let mut paths = Vec::new();
        collect_paths(&document, String::new(), &mut paths);
        assert!(paths.len() > 50, "{name} has values");
        for path in paths {
            for other in [json!(null), json!(true), json!(7), json!("text"), json!([]), json!({})] {
                let mut changed = document.clone();
                *changed.pointer_mut(&path).unwrap() = other.clone();
                if let Err(problems) = Dag::decode(&changed.to_string()) {
                    let places: Vec<&str> =
                        problems.list().iter().map(|problem| problem.place.as_str()).collect();
                    assert!(
                        places.iter().any(|found| is_at(found, &path)) || is_a_name(&path),
                        "{name}{path} = {other}: {places:?}"
                    );
                }
            }
        }
    }
}

fn collect_paths(value: &Value, path: String, paths: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect_paths(value, format!("{path}/{key}"), paths);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                collect_paths(value, format!("{path}/{index}"), paths);
            }
        }
        _ => {}
    }
    paths.push(path);
}

/// Whether a problem is where a document was changed: at the value, around it or inside it.
fn is_at(place: &str, path: &str) -> bool {
    let place = place.replace(['[', '.'], "/").replace(']', "");
    let place = place.split('/').filter(|step| !step.is_empty());
    let path = path.split('/').filter(|step| !matches!(*step, "" | "__var" | "dag"));
    place.zip(path).all(|(place, path)| place == path || is_renamed(place, path))
}

fn is_renamed(place: &str, path: &str) -> bool {
    path.trim_start_matches('_') == place || place == "asset_condition" && path == "dataset_condition"
}

/// What others refer to, or what is copied from an old document to another place: the problem is there.
fn is_a_name(path: &str) -> bool {
    let ends = ["/task_id", "/_group_id", "/tasks", "/__version", "/0", "/1", "/dependency_id", "/uri"];
    ends.iter().any(|end| path.ends_with(end))
}

#[test]
fn too_many_tasks() {
    let task = r#"{"__type":"operator","__var":{"task_id":"t"}},"#;
    let tasks = task.repeat(1_000_000);
    let text = format!(
        r#"{{"__version":3,"dag":{{"dag_id":"d","timetable":{{"__type":"x.Y","__var":{{}}}},"tasks":[{}]}}}}"#,
        tasks.trim_end_matches(',')
    );
    assert_eq!(
        Dag::decode(&text).unwrap_err().to_string(),
        "tasks: 1000000 tasks are more than the 100000 that a DAG may have"
    );
}

/// A long id is repeated in those of all the groups inside.
#[test]
fn ids_of_groups_have_a_limit() {
    let inner: serde_json::Map<String, Value> = (0..500)
        .map(|n| (n.to_string(), json!(["taskgroup", {"_group_id": format!("g{n}"), "children": {}}])))
        .collect();
    let outer = json!({"_group_id": "x".repeat(100_000), "children": inner});
    let document = json!({"__version": 3, "dag": {
        "dag_id": "d", "tasks": [], "timetable": {"__type": "x.Y", "__var": {}},
        "task_group": {"_group_id": null, "children": {"x": ["taskgroup", outer]}},
    }});
    let problems = Dag::decode(&document.to_string()).unwrap_err();
    assert_eq!(
        problems.list()[0].to_string(),
        "task_group.children.x[1]._group_id: is longer than 1000 bytes, with the groups around it"
    );
}

/// Tasks of one class that differ in everything else are told apart without comparing each with all.
#[test]
fn many_operators_of_one_class() {
    let task = |n: usize| {
        json!({"__type": "operator", "__var": {
            "task_id": format!("t{n}"), "task_type": "Same", "_task_module": "same", "ui_color": format!("#{n}"),
            "template_fields": [format!("a{n}"), "b"],
        }})
    };
    let tasks: Vec<Value> = (0..30_000).map(task).collect();
    let document = json!({"__version": 3, "dag": {
        "dag_id": "d", "tasks": tasks, "timetable": {"__type": "x.Y", "__var": {}},
    }});
    assert_eq!(Dag::decode(&document.to_string()).unwrap().tasks().len(), 30_000);
}

#[test]
fn nesting_without_end() {
    let deep = "[".repeat(1_000_000);
    let text = format!(r#"{{"__version":3,"dag":{{"tasks":{deep}"#);
    let problems = Dag::decode(&text).unwrap_err();
    assert!(problems.list()[0].place.starts_with("dag.tasks[0][0]"), "{}", problems.list()[0].place);
    assert!(problems.list()[0].what.starts_with("recursion limit exceeded"));

    let mut group = json!({"_group_id": "deepest", "children": {}});
    let mut result = json!({"task_id": "a", "key": "k"});
    for level in 0..38 {
        group = json!({"_group_id": format!("g{level}"), "children": {"x": ["taskgroup", group]}});
        result = json!({"type": "map", "arg": result, "callables": []});
    }
    let mut document = document(&[
        json!({"task_id": "a"}),
        json!({"task_id": "b", "_is_mapped": true, "_expand_input_attr": "expand_input", "partial_kwargs": {},
            "expand_input": {"type": "list-of-dicts", "value": {"__type": "xcomref", "__var": result}}}),
    ]);
    document["dag"]["task_group"]["children"]["x"] = json!(["taskgroup", group]);
    let dag = decode(&document).unwrap();
    assert_eq!(dag.groups().len(), 40);
    let mapped = dag.tasks()[1].details().expand.as_ref().unwrap();
    assert_eq!(mapped.length(|_| Some(3)), Some(3));
}

#[test]
fn as_many_tasks_as_may_be_in_a_chain_and_in_a_fan() {
    let chain: Vec<Value> = (0..100_000)
        .map(|n| match n {
            0 => json!({"task_id": "0"}),
            _ => json!({"task_id": n.to_string(), "downstream_task_ids": [(n - 1).to_string()]}),
        })
        .collect();
    let dag = decode(&document(&chain)).unwrap();
    assert_eq!(dag.graph().order()[0], dag.find("99999").unwrap());

    let fan: Vec<Value> =
        (0..10_000).map(|n| json!({"task_id": n.to_string(), "downstream_task_ids": ["end"]})).collect();
    let dag = decode(&document(&[fan, vec![json!({"task_id": "end"})]].concat())).unwrap();
    assert_eq!(dag.graph().upstream(dag.find("end").unwrap()).len(), 10_000);
}

#[test]
fn keys_that_are_not_known_are_ignored() {
    let mut document = document(&[json!({"task_id": "a", "from_the_future": [1], "sla": 5.0, "label": {}})]);
    document["new"] = json!(1);
    document["dag"]["newer"] = json!({"x": []});
    assert!(decode(&document).is_ok());
}
