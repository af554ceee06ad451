//! The list of tasks.

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt as _};
use jiff::SignedDuration;

use super::super::MAX_TASKS;
use super::super::graph::TaskIndex;
use super::super::group::GroupIndex;
use super::super::param::{Params, read_params};
use super::super::rule::{TriggerRule, WeightRule};
use super::super::task::{Flags, Operator, Task};
use super::Dates;
use super::expand::read_expand_input;
use super::fields::Draft;
use super::operator::Operators;
use super::strings::Strings;
use crate::document::{Reader, Value};

/// What the list of tasks says.
pub(super) struct ReadTasks<'v> {
    /// `None` if one of them cannot be read.
    pub(super) tasks: Option<Vec<Task>>,
    pub(super) names: TaskNames<'v>,
    /// Sorted by the task that they leave.
    pub(super) edges: Vec<(TaskIndex, TaskIndex)>,
}

/// Which task is where in the list. Every edge is a look-up, so the hash is a fast one.
pub(super) struct TaskNames<'v> {
    by_position: Vec<&'v str>,
    by_name: HashMap<&'v str, TaskIndex>,
}

impl<'v> TaskNames<'v> {
    fn with_capacity(tasks: usize) -> Self {
        Self { by_position: Vec::with_capacity(tasks), by_name: HashMap::with_capacity(tasks) }
    }

    /// Adds the next task of the list. Answers with the one of the same name, if there is one.
    fn add(&mut self, name: &'v str) -> Option<TaskIndex> {
        let index = TaskIndex::at(self.by_position.len());
        self.by_position.push(name);
        let first = *self.by_name.entry(name).or_insert(index);
        (first != index).then_some(first)
    }

    pub(super) fn len(&self) -> usize {
        self.by_position.len()
    }

    /// The id of a task; empty if the document does not say it.
    pub(super) fn of(&self, task: TaskIndex) -> &'v str {
        self.by_position[task.position()]
    }

    /// The task of this name, which has to exist.
    pub(super) fn find(&self, reader: &mut Reader<'v>, name: &'v Value<'v>) -> Option<TaskIndex> {
        let name = reader.text(name)?;
        let task = self.by_name.get(name).copied();
        if task.is_none() {
            reader.problem(format_args!("no task is called {name:?}"));
        }
        task
    }
}

/// Reads the list of tasks. Nothing comes back if there is none, or one that is too long.
pub(super) fn read_tasks<'v>(
    reader: &mut Reader<'v>,
    dag: &'v Value<'v>,
    defaults: &'v [(&'v str, Value<'v>)],
    dates: Dates,
    strings: &mut Strings<'v>,
) -> Option<ReadTasks<'v>> {
    let prototype = read_prototype(reader, defaults, strings);
    reader.required(dag, "tasks", |reader, tasks| {
        let Value::List(items) = tasks else {
            reader.expected("a list", tasks);
            return None;
        };
        if items.len() > MAX_TASKS {
            reader.problem(format_args!(
                "{} tasks are more than the {MAX_TASKS} that a DAG may have",
                items.len()
            ));
            return None;
        }
        let mut names = TaskNames::with_capacity(items.len());
        let mut decoder = TaskDecoder { strings, operators: Operators::default(), last_params: None, dates };
        let mut later = Vec::with_capacity(items.len());
        let mut read = Vec::with_capacity(items.len());
        for (position, item) in items.iter().enumerate() {
            reader.within(position, |reader| {
                let task = decoder.read_task(reader, &prototype, item, &mut names);
                read.extend(task.map(|(task, rest)| {
                    later.push((position, rest));
                    task
                }));
            });
        }
        let edges = decoder.read_references(reader, &mut read, &later, &names);
        let tasks = Some(read).filter(|tasks| tasks.len() == items.len());
        Some(ReadTasks { tasks, names, edges })
    })
}

/// What a task begins with: Airflow's defaults, and over them those of the installation that wrote the
/// document.
fn read_prototype<'v>(
    reader: &mut Reader<'v>,
    defaults: &'v [(&'v str, Value<'v>)],
    strings: &mut Strings<'v>,
) -> Task {
    let mut draft = Draft::new(plain_task(strings));
    reader.within("client_defaults", |reader| {
        reader.within("tasks", |reader| draft.read_settings(reader, defaults, strings));
    });
    draft.task
}

/// What a task says about other tasks, which can be read when all of them are known.
struct References<'v> {
    downstream: Option<&'v Value<'v>>,
    expand: Option<(&'static str, &'v Value<'v>)>,
}

struct TaskDecoder<'d, 'v> {
    strings: &'d mut Strings<'v>,
    operators: Operators<'v>,
    last_params: Option<(&'v Value<'v>, Arc<Params>)>,
    dates: Dates,
}

impl<'v> TaskDecoder<'_, 'v> {
    fn read_task(
        &mut self,
        reader: &mut Reader<'v>,
        prototype: &Task,
        item: &'v Value<'v>,
        names: &mut TaskNames<'v>,
    ) -> Option<(Task, References<'v>)> {
        let Some(("operator", Value::Object(entries))) = item.envelope() else {
            reader.expected("an object with a \"__type\" of \"operator\" and a \"__var\"", item);
            names.by_position.push("");
            return None;
        };
        let mut draft = Draft::new(prototype.clone());
        draft.read_fields(reader, entries, self.strings);
        if let Some(partial_kwargs) = draft.partial_kwargs {
            reader.within("partial_kwargs", |reader| {
                if let Some(entries) = reader.object(partial_kwargs) {
                    draft.read_settings(reader, entries, self.strings);
                }
            });
        }
        let references = References { downstream: draft.downstream, expand: draft.expand_input(reader) };
        let mut task = draft.task;
        task.task_id = read_id(reader, draft.task_id, names).into();
        task.operator = self.operators.intern(reader, draft.operator, self.strings);
        task.params = draft.params.and_then(|params| self.read_params(reader, params));
        task.start_date = task.start_date.or(self.dates.start);
        task.end_date = task.end_date.or(self.dates.end);
        Some((task, references))
    }

    /// Mostly those of the DAG, so mostly equal to those of the task before.
    fn read_params(&mut self, reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Arc<Params>> {
        if let Some((last, params)) = &self.last_params
            && *last == value
        {
            return Some(params.clone());
        }
        let params = reader.within("params", |reader| read_params(reader, value))?;
        let params = Some(Arc::new(params)).filter(|params| !params.is_empty())?;
        self.last_params = Some((value, params.clone()));
        Some(params)
    }

    /// Reads what tasks say about other tasks: what each is mapped over, and the edges, which are the answer.
    fn read_references(
        &mut self,
        reader: &mut Reader<'v>,
        tasks: &mut [Task],
        references: &[(usize, References<'v>)],
        names: &TaskNames<'v>,
    ) -> Vec<(TaskIndex, TaskIndex)> {
        let mut edges = Vec::with_capacity(tasks.len());
        for (task, (position, references)) in tasks.iter_mut().zip(references) {
            reader.within(*position, |reader| {
                if let Some(ids) = references.downstream {
                    let index = TaskIndex::at(*position);
                    reader.within("downstream_task_ids", |reader| {
                        reader.list(ids, |reader, id| {
                            edges.push((index, names.find(reader, id)?));
                            Some(())
                        });
                    });
                }
                if let Some((key, value)) = references.expand {
                    task.details_mut().expand =
                        reader.within(key, |reader| read_expand_input(reader, value, names, self.strings));
                }
            });
        }
        edges
    }
}

fn read_id<'v>(reader: &mut Reader<'v>, id: Option<&'v Value<'v>>, names: &mut TaskNames<'v>) -> &'v str {
    reader.within("task_id", |reader| match id {
        Some(Value::Text(id)) => {
            if let Some(first) = names.add(id) {
                reader.problem(format_args!("tasks[{}] is called {id:?} too", first.position()));
            }
            id
        }
        other => {
            match other {
                Some(other) => reader.expected("a string", other),
                None => reader.problem("is missing"),
            }
            names.by_position.push("");
            ""
        }
    })
}

/// A task that says nothing.
fn plain_task(strings: &mut Strings<'_>) -> Task {
    let nothing = strings.intern("");
    let operator = Operator {
        task_type: nothing.clone(),
        module: nothing.clone(),
        name: nothing.clone(),
        ui_color: nothing.clone(),
        ui_fgcolor: nothing.clone(),
        template_fields: Box::default(),
        extra_links: Box::default(),
    };
    Task {
        task_id: nothing,
        operator: Arc::new(operator),
        owner: strings.intern("airflow"),
        pool: strings.intern("default_pool"),
        queue: strings.intern("default"),
        params: None,
        weight_rule: WeightRule::Downstream,
        priority_weight: 1,
        retry_delay: SignedDuration::from_mins(5),
        execution_timeout: None,
        start_date: None,
        end_date: None,
        retries: 0,
        pool_slots: 1,
        group: GroupIndex::ROOT,
        trigger_rule: TriggerRule::AllSuccess,
        flags: Flags::of_a_plain_task(),
        details: None,
    }
}
