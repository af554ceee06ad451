//! DAGs in a few words, as documents.

use serde_json::{Map, Value, json};

/// A DAG to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sketch {
    tasks: Vec<Task>,
    settings: Map<String, Value>,
}

#[derive(Clone, Debug, Default)]
struct Task {
    id: String,
    upstream: Vec<String>,
    expand: Option<Value>,
    fields: Map<String, Value>,
}

impl Sketch {
    /// Tasks in a row of words: `a; b < a; d : all_done < a, b`.
    pub(crate) fn of(words: &str) -> Self {
        let mut sketch = Self::default();
        for word in words.split(';').map(str::trim).filter(|word| !word.is_empty()) {
            let (head, upstream) = word.split_once('<').unwrap_or((word, ""));
            let (id, rule) = head.split_once(':').unwrap_or((head, "all_success"));
            let upstream = upstream.split(',').map(str::trim).filter(|id| !id.is_empty());
            sketch.tasks.push(Task {
                id: id.trim().to_owned(),
                upstream: upstream.map(str::to_owned).collect(),
                expand: None,
                fields: Map::from_iter([("trigger_rule".to_owned(), json!(rule.trim()))]),
            });
        }
        sketch
    }

    /// With a field of a task.
    pub(crate) fn with(mut self, id: &str, field: &str, value: Value) -> Self {
        self.task(id).fields.insert(field.to_owned(), value);
        self
    }

    /// With a task mapped over a list of this length.
    pub(crate) fn mapped(mut self, id: &str, length: usize) -> Self {
        self.task(id).expand = Some(
            json!({"type": "dict-of-lists", "value": {"__type": "dict", "__var": {"x": vec![0; length]}}}),
        );
        self
    }

    /// With a task mapped over what another one pushes.
    pub(crate) fn mapped_over(mut self, id: &str, other: &str) -> Self {
        let reference = json!({"__type": "xcomref", "__var": {"task_id": other, "key": "return_value"}});
        self.task(id).expand =
            Some(json!({"type": "dict-of-lists", "value": {"__type": "dict", "__var": {"x": reference}}}));
        self
    }

    /// With a field of the DAG.
    pub(crate) fn setting(mut self, field: &str, value: Value) -> Self {
        self.settings.insert(field.to_owned(), value);
        self
    }

    /// The serialized form.
    pub(crate) fn document(&self, dag_id: &str) -> Value {
        let children: Map<String, Value> =
            self.tasks.iter().map(|task| (task.id.clone(), json!(["operator", task.id]))).collect();
        let tasks: Vec<Value> = self.tasks.iter().map(|task| self.operator(task)).collect();
        let mut dag = json!({
            "dag_id": dag_id, "fileloc": "/dags/sketch.py", "relative_fileloc": "sketch.py", "timezone": "UTC",
            "catchup": false, "timetable": {"__type": "airflow.timetables.simple.NullTimetable", "__var": {}},
            "tasks": tasks, "dag_dependencies": [], "edge_info": {}, "params": [],
            "task_group": {"_group_id": null, "prefix_group_id": false, "tooltip": "", "ui_color": "a",
                "ui_fgcolor": "b", "children": children, "upstream_group_ids": [], "downstream_group_ids": [],
                "upstream_task_ids": [], "downstream_task_ids": []},
        });
        dag.as_object_mut().unwrap().extend(self.settings.clone());
        json!({"__version": 3, "dag": dag})
    }

    fn task(&mut self, id: &str) -> &mut Task {
        self.tasks.iter_mut().find(|task| task.id == id).unwrap_or_else(|| panic!("no task {id}"))
    }

    fn operator(&self, task: &Task) -> Value {
        let downstream: Vec<&str> = self
            .tasks
            .iter()
            .filter(|other| other.upstream.contains(&task.id))
            .map(|other| &*other.id)
            .collect();
        let mut fields = json!({
            "task_id": task.id, "task_type": "Node", "_task_module": "nodes", "downstream_task_ids": downstream,
        });
        let all = fields.as_object_mut().unwrap();
        if let Some(expand) = &task.expand {
            // Flags of the class stay outside; settings go with the arguments that are not mapped.
            let (of_class, arguments): (Map<_, _>, Map<_, _>) =
                task.fields.clone().into_iter().partition(|(field, _)| field.starts_with('_'));
            all.extend(of_class);
            all.insert("_is_mapped".to_owned(), json!(true));
            all.insert("_expand_input_attr".to_owned(), json!("expand_input"));
            all.insert("expand_input".to_owned(), expand.clone());
            all.insert("partial_kwargs".to_owned(), Value::Object(arguments));
        } else {
            all.extend(task.fields.clone());
        }
        json!({"__type": "operator", "__var": fields})
    }
}
