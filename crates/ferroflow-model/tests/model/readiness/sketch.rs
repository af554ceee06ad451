//! DAGs in a few words.

use std::sync::Arc;

use ferroflow_model::dag::{Dag, TaskIndex};
use ferroflow_model::readiness::{
    Action, Decision, Facts, Instance, InstanceRef, Plan, Pushed, Run, Skips, WhenReady, first_instances,
};
use ferroflow_model::state::{RunType, TaskState};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub(crate) const NOW: Timestamp = Timestamp::constant(1_700_000_000, 0);

/// A DAG to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sketch {
    pub(crate) tasks: Vec<TaskSketch>,
    pub(crate) groups: Vec<GroupSketch>,
    pub(crate) settings: Map<String, Value>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct TaskSketch {
    pub(crate) id: String,
    pub(crate) upstream: Vec<usize>,
    pub(crate) group: Option<usize>,
    pub(crate) expand: Option<Value>,
    pub(crate) fields: Map<String, Value>,
}

/// A mapped group, or a plain one without `expand`. Those inside come after the one around them.
#[derive(Clone, Debug)]
pub(crate) struct GroupSketch {
    pub(crate) parent: Option<usize>,
    pub(crate) expand: Option<Value>,
}

impl Sketch {
    /// Tasks in a row of words: `a; b < a; c < a, b; d : all_done < b`.
    pub(crate) fn of(words: &str) -> Self {
        let mut sketch = Self::default();
        for word in words.split(';').map(str::trim).filter(|word| !word.is_empty()) {
            let (head, upstream) = word.split_once('<').unwrap_or((word, ""));
            let (id, rule) = head.split_once(':').unwrap_or((head, "all_success"));
            let upstream = upstream.split(',').map(str::trim).filter(|id| !id.is_empty());
            let upstream = upstream.map(|id| sketch.place(id)).collect();
            let fields = Map::from_iter([("trigger_rule".to_owned(), json!(rule.trim()))]);
            sketch.tasks.push(TaskSketch {
                id: id.trim().to_owned(),
                upstream,
                fields,
                ..TaskSketch::default()
            });
        }
        sketch
    }

    pub(crate) fn place(&self, id: &str) -> usize {
        self.tasks.iter().position(|task| task.id == id).unwrap_or_else(|| panic!("no task {id}"))
    }

    /// With a field of a task.
    pub(crate) fn with(mut self, id: &str, field: &str, value: Value) -> Self {
        let place = self.place(id);
        self.tasks[place].fields.insert(field.to_owned(), value);
        self
    }

    /// With a task mapped over a list of this length, or over what another task pushes.
    pub(crate) fn mapped(mut self, id: &str, over: Value) -> Self {
        let place = self.place(id);
        self.tasks[place].expand = Some(over);
        self
    }

    /// With a mapped group around tasks.
    pub(crate) fn grouped(mut self, ids: &[&str], over: Value) -> Self {
        self.groups.push(GroupSketch { parent: None, expand: Some(over) });
        for id in ids {
            let place = self.place(id);
            self.tasks[place].group = Some(self.groups.len() - 1);
        }
        self
    }

    pub(crate) fn setting(mut self, field: &str, value: Value) -> Self {
        self.settings.insert(field.to_owned(), value);
        self
    }

    pub(crate) fn dag(&self) -> Dag {
        Dag::decode(&self.document().to_string()).unwrap_or_else(|problems| panic!("{problems}\n{self:#?}"))
    }

    pub(crate) fn plan(&self) -> Arc<Plan> {
        Arc::new(Plan::new(Arc::new(self.dag())))
    }

    /// A run of it at its beginning.
    pub(crate) fn run(&self) -> Run {
        let plan = self.plan();
        let instances = beginning(plan.dag());
        Run::load(plan, Facts::default(), None, instances)
    }

    /// A run with these instances.
    pub(crate) fn run_with(&self, instances: &[(&str, i32, Option<TaskState>)]) -> Run {
        let plan = self.plan();
        let instance = |(id, map_index, state): &(&str, _, _)| Instance {
            task: plan.dag().find(id).unwrap_or_else(|| panic!("no task {id}")),
            map_index: *map_index,
            state: *state,
            due: None,
        };
        let instances: Vec<Instance> = instances.iter().map(instance).collect();
        Run::load(plan, Facts { logical_date: Some(NOW), ..Facts::default() }, None, instances)
    }

    fn document(&self) -> Value {
        let tasks: Vec<Value> = (0..self.tasks.len()).map(|place| self.task(place)).collect();
        let mut dag = json!({
            "dag_id": "sketch", "fileloc": "/dags/sketch.py", "timezone": "UTC", "catchup": false,
            "timetable": {"__type": "airflow.timetables.simple.NullTimetable", "__var": {}},
            "task_group": self.group(None), "tasks": tasks, "dag_dependencies": [], "edge_info": {}, "params": [],
        });
        dag.as_object_mut().unwrap().extend(self.settings.clone());
        json!({"__version": 3, "dag": dag})
    }

    fn task(&self, place: usize) -> Value {
        let task = &self.tasks[place];
        let downstream: Vec<&str> = self
            .tasks
            .iter()
            .filter(|other| other.upstream.contains(&place))
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
            all.extend(Map::from_iter([
                ("_is_mapped".to_owned(), json!(true)),
                ("_expand_input_attr".to_owned(), json!("expand_input")),
                ("expand_input".to_owned(), expand.clone()),
                ("partial_kwargs".to_owned(), Value::Object(arguments)),
            ]));
        } else {
            all.extend(task.fields.clone());
        }
        json!({"__type": "operator", "__var": fields})
    }

    fn group(&self, which: Option<usize>) -> Value {
        let mut children = Map::new();
        for task in self.tasks.iter().filter(|task| task.group == which) {
            children.insert(task.id.clone(), json!(["operator", task.id]));
        }
        for place in (0..self.groups.len()).filter(|place| self.groups[*place].parent == which) {
            children.insert(format!("g{place}"), json!(["taskgroup", self.group(Some(place))]));
        }
        let mut group = json!({
            "_group_id": which.map(|place| format!("g{place}")), "prefix_group_id": false, "tooltip": "",
            "ui_color": "a", "ui_fgcolor": "b", "children": children, "upstream_group_ids": [],
            "downstream_group_ids": [], "upstream_task_ids": [], "downstream_task_ids": [],
        });
        if let Some(expand) = which.and_then(|place| self.groups[place].expand.clone()) {
            group["expand_input"] = expand;
            group["is_mapped"] = json!(true);
        }
        group
    }
}

/// What something is mapped over: a list of this length.
pub(crate) fn items(length: usize) -> Value {
    json!({"type": "dict-of-lists", "value": {"__type": "dict", "__var": {"x": vec![0; length]}}})
}

/// What something is mapped over: the result of a task.
pub(crate) fn result_of(task: &str) -> Value {
    let reference = json!({"__type": "xcomref", "__var": {"task_id": task, "key": "return_value"}});
    json!({"type": "dict-of-lists", "value": {"__type": "dict", "__var": {"x": reference}}})
}

pub(crate) fn beginning(dag: &Dag) -> Vec<Instance> {
    let first = first_instances(dag, RunType::Manual, Some(NOW));
    let all = first.into_iter().flat_map(|(task, indexes)| {
        indexes.map(move |map_index| Instance { task, map_index, state: None, due: None })
    });
    all.collect()
}

/// Talks about a run by names.
pub(crate) trait ByName {
    fn task(&self, id: &str) -> TaskIndex;
    fn state_of(&self, id: &str) -> Option<TaskState>;
    fn go(&mut self, id: &str, state: impl Into<Option<TaskState>>);
    fn wait(&mut self, id: &str, state: impl Into<Option<TaskState>>, due: Timestamp);
    fn push(&mut self, id: &str, length: impl Into<Option<u64>>);
    fn follow(&mut self, branch: &str, tasks: &[&str]);
    fn decide(&mut self) -> Decision;
    fn decided(&mut self) -> Vec<String>;
    fn told(&self, decision: &Decision) -> Vec<String>;
    fn name(&self, instance: InstanceRef) -> String;
}

impl ByName for Run {
    fn task(&self, id: &str) -> TaskIndex {
        self.plan().dag().find(id).unwrap_or_else(|| panic!("no task {id}"))
    }

    /// Of `task`, or of `task[index]`.
    fn state_of(&self, id: &str) -> Option<TaskState> {
        let (task, index) = parted(id);
        self.instance(self.task(task), index).unwrap_or_else(|| panic!("no {id}")).state
    }

    fn go(&mut self, id: &str, state: impl Into<Option<TaskState>>) {
        let (task, index) = parted(id);
        assert!(self.set_state(self.task(task), index, state.into(), None), "no {id}");
    }

    fn wait(&mut self, id: &str, state: impl Into<Option<TaskState>>, due: Timestamp) {
        let (task, index) = parted(id);
        assert!(self.set_state(self.task(task), index, state.into(), Some(due)), "no {id}");
    }

    /// A task that is not mapped pushes so many items.
    fn push(&mut self, id: &str, length: impl Into<Option<u64>>) {
        self.set_pushed(self.task(id), Pushed { length: length.into(), results: 0 });
    }

    /// A branch leaves out all but these.
    fn follow(&mut self, branch: &str, tasks: &[&str]) {
        let (branch, index) = parted(branch);
        let followed = tasks.iter().map(|id| self.task(id)).collect();
        let skips = Skips { followed: Some(followed), skipped: Box::default() };
        self.set_skips(self.task(branch), index, Some(skips));
    }

    fn decide(&mut self) -> Decision {
        self.examine(NOW, WhenReady::Schedule)
    }

    fn decided(&mut self) -> Vec<String> {
        let decision = self.decide();
        self.told(&decision)
    }

    /// What was decided, sorted, in words: `a scheduled`, `b[2] skipped`, `c 0..3 made`.
    fn told(&self, decision: &Decision) -> Vec<String> {
        let id = |task: &TaskIndex| self.plan().dag()[*task].task_id.to_string();
        let mut told: Vec<String> = decision
            .actions
            .iter()
            .map(|action| match action {
                Action::Settle { instance, to, .. } => format!("{} {to}", self.name(*instance)),
                Action::Overwrite { instance, to, .. } => format!("{} {to} at once", self.name(*instance)),
                Action::Forget { instance } => format!("{} forgotten", self.name(*instance)),
                Action::BecomeFirst { task, .. } => format!("{}[0] from unmapped", id(task)),
                Action::Delete { task, .. } => format!("{} deleted", id(task)),
                Action::Create { task, first, end, .. } => format!("{} {first}..{end} made", id(task)),
                Action::Schedule { instance, .. } => format!("{} scheduled", self.name(*instance)),
                Action::Succeed { instance, .. } => format!("{} done", self.name(*instance)),
                Action::Defer { instance, .. } => format!("{} deferred", self.name(*instance)),
            })
            .collect();
        told.sort();
        told
    }

    fn name(&self, instance: InstanceRef) -> String {
        let id = &self.plan().dag()[instance.task].task_id;
        if instance.map_index < 0 { id.to_string() } else { format!("{id}[{}]", instance.map_index) }
    }
}

fn parted(id: &str) -> (&str, i32) {
    match id.split_once('[') {
        Some((task, index)) => (task, index.trim_end_matches(']').parse().unwrap()),
        None => (id, -1),
    }
}
