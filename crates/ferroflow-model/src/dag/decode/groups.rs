//! The groups of a DAG.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::expand::ExpandInput;
use super::super::graph::TaskIndex;
use super::super::group::{GroupChild, GroupIndex, TaskGroup};
use super::expand::read_expand_input;
use super::strings::Strings;
use super::tasks::TaskNames;
use crate::document::{Reader, Value};

/// How long the id of a group may be, with those of the groups around it. Airflow holds keys to 250 characters.
const MAX_ID_LENGTH: usize = 1000;

/// Reads the groups, the outermost first, and for each task the group that it is in.
pub(super) fn read_groups<'v>(
    reader: &mut Reader<'v>,
    dag: &'v Value<'v>,
    names: &TaskNames<'v>,
    strings: &mut Strings<'v>,
) -> Option<(Vec<TaskGroup>, Vec<GroupIndex>)> {
    let Some(root) = dag.get("task_group").filter(|root| **root != Value::Null) else {
        return Some(one_group_of_all(names, strings));
    };
    reader.within("task_group", |reader| {
        let mut ids = GroupIds::default();
        ids.collect(root, None);
        let mut decoder =
            GroupDecoder { names, strings, ids, groups: Vec::new(), group_of_task: vec![None; names.len()] };
        decoder.read_group(reader, root, None)?;
        let GroupDecoder { groups, group_of_task, .. } = decoder;
        for (position, _) in group_of_task.iter().enumerate().filter(|(_, group)| group.is_none()) {
            let name = names.of(TaskIndex::at(position));
            if name.is_empty() {
                continue;
            }
            reader.problem(format_args!("task {name:?} is in no group"));
        }
        Some((groups, group_of_task.into_iter().map(|group| group.unwrap_or(GroupIndex::ROOT)).collect()))
    })
}

/// What very old documents mean, which have no groups.
fn one_group_of_all<'v>(
    names: &TaskNames<'v>,
    strings: &mut Strings<'v>,
) -> (Vec<TaskGroup>, Vec<GroupIndex>) {
    let mut root = empty_group(strings);
    root.children = (0..names.len()).map(TaskIndex::at).map(GroupChild::Task).collect();
    (vec![root], vec![GroupIndex::ROOT; names.len()])
}

fn empty_group(strings: &mut Strings<'_>) -> TaskGroup {
    TaskGroup {
        group_id: None,
        label: strings.intern(""),
        tooltip: strings.intern(""),
        doc_md: None,
        ui_color: strings.intern("CornflowerBlue"),
        ui_fgcolor: strings.intern("#000"),
        prefix_group_id: true,
        parent: None,
        children: Box::default(),
        upstream_groups: Box::default(),
        downstream_groups: Box::default(),
        upstream_tasks: Box::default(),
        downstream_tasks: Box::default(),
        expand: None,
    }
}

/// Which group is where. Groups name each other, so all names are needed before the first is read.
#[derive(Default)]
struct GroupIds {
    by_id: HashMap<Arc<str>, GroupIndex>,
    by_position: Vec<Option<Arc<str>>>,
}

impl GroupIds {
    fn collect<'v>(&mut self, group: &'v Value<'v>, parent: Option<(&str, bool)>) {
        let own = match group.get("_group_id") {
            Some(Value::Text(id)) if !id.is_empty() => Some(*id),
            _ => None,
        };
        let id: Option<Arc<str>> = own.map(|own| match parent {
            Some((parent, true)) if parent.len() < MAX_ID_LENGTH => format!("{parent}.{own}").into(),
            _ => own.into(),
        });
        let index = GroupIndex::at(self.by_position.len());
        self.by_position.push(id.clone());
        if let Some(id) = &id {
            self.by_id.entry(id.clone()).or_insert(index);
        }
        let prefixes = group.get("prefix_group_id") != Some(&Value::Bool(false));
        let around = id.as_deref().map(|id| (id, prefixes));
        for (_, child) in children(group) {
            if let Some(("taskgroup", inner)) = pair(child) {
                self.collect(inner, around);
            }
        }
    }
}

fn children<'v>(group: &'v Value<'v>) -> &'v [(&'v str, Value<'v>)] {
    match group.get("children") {
        Some(Value::Object(entries)) => entries,
        _ => &[],
    }
}

/// The kind of a child, and the child.
fn pair<'v>(child: &'v Value<'v>) -> Option<(&'v str, &'v Value<'v>)> {
    match child {
        Value::List([Value::Text(kind), child]) => Some((kind, child)),
        _ => None,
    }
}

struct GroupDecoder<'d, 'v> {
    names: &'d TaskNames<'v>,
    strings: &'d mut Strings<'v>,
    ids: GroupIds,
    groups: Vec<TaskGroup>,
    group_of_task: Vec<Option<GroupIndex>>,
}

impl<'v> GroupDecoder<'_, 'v> {
    /// Nests as deep as the document, which has a limit.
    fn read_group(
        &mut self,
        reader: &mut Reader<'v>,
        value: &'v Value<'v>,
        parent: Option<GroupIndex>,
    ) -> Option<GroupIndex> {
        // The place is taken before anything can go wrong: the ids were counted in the same way.
        let index = GroupIndex::at(self.groups.len());
        self.groups.push(empty_group(self.strings));
        reader.object(value)?;
        let own_id = reader.optional(value, "_group_id", Reader::text);
        self.check_id(reader, index, parent.is_some());
        let display_name = reader.optional(value, "group_display_name", Reader::text);
        let label = display_name.filter(|name| !name.is_empty()).or(own_id).unwrap_or_default();
        let mut group = empty_group(self.strings);
        group.group_id.clone_from(&self.ids.by_position[index.position()]);
        group.label = self.strings.intern(label);
        group.parent = parent;
        group.doc_md = self.read_text(reader, value, "doc_md");
        for (key, field) in [
            ("tooltip", &mut group.tooltip),
            ("ui_color", &mut group.ui_color),
            ("ui_fgcolor", &mut group.ui_fgcolor),
        ] {
            if let Some(text) = self.read_text(reader, value, key) {
                *field = text;
            }
        }
        let prefixes = reader.optional(value, "prefix_group_id", |reader, value| reader.boolean(value));
        group.prefix_group_id = prefixes.unwrap_or(true);
        group.upstream_groups = self.read_group_ids(reader, value, "upstream_group_ids");
        group.downstream_groups = self.read_group_ids(reader, value, "downstream_group_ids");
        group.upstream_tasks = self.read_task_ids(reader, value, "upstream_task_ids");
        group.downstream_tasks = self.read_task_ids(reader, value, "downstream_task_ids");
        group.expand = self.read_expand(reader, value).map(Box::new);
        group.children = self.read_children(reader, value, index)?;
        self.groups[index.position()] = group;
        Some(index)
    }

    fn check_id(&self, reader: &mut Reader<'v>, index: GroupIndex, is_inside: bool) {
        reader.within("_group_id", |reader| match &self.ids.by_position[index.position()] {
            Some(id) if id.len() > MAX_ID_LENGTH => {
                reader
                    .problem(format_args!("is longer than {MAX_ID_LENGTH} bytes, with the groups around it"));
            }
            Some(id) if self.ids.by_id[id] != index => {
                reader.problem(format_args!("another group is called {id:?} too"));
            }
            None if is_inside => reader.problem("is missing"),
            _ => {}
        });
    }

    fn read_text(
        &mut self,
        reader: &mut Reader<'v>,
        group: &'v Value<'v>,
        key: &'static str,
    ) -> Option<Arc<str>> {
        reader.optional(group, key, Reader::text).map(|text| self.strings.intern(text))
    }

    fn read_group_ids(
        &self,
        reader: &mut Reader<'v>,
        group: &'v Value<'v>,
        key: &'static str,
    ) -> Box<[GroupIndex]> {
        let groups = reader.optional(group, key, |reader, ids| {
            reader.list(ids, |reader, id| {
                let id = reader.text(id)?;
                let group = self.ids.by_id.get(id).copied();
                if group.is_none() {
                    reader.problem(format_args!("no group is called {id:?}"));
                }
                group
            })
        });
        groups.unwrap_or_default().into()
    }

    fn read_task_ids(
        &self,
        reader: &mut Reader<'v>,
        group: &'v Value<'v>,
        key: &'static str,
    ) -> Box<[TaskIndex]> {
        let tasks = reader
            .optional(group, key, |reader, ids| reader.list(ids, |reader, id| self.names.find(reader, id)));
        tasks.unwrap_or_default().into()
    }

    fn read_expand(&mut self, reader: &mut Reader<'v>, group: &'v Value<'v>) -> Option<ExpandInput> {
        let is_mapped = reader.optional(group, "is_mapped", |reader, value| reader.boolean(value));
        if !is_mapped? {
            return None;
        }
        reader.required(group, "expand_input", |reader, value| {
            read_expand_input(reader, value, self.names, self.strings)
        })
    }

    /// Sorted by name, as Airflow does when it reads a document.
    fn read_children(
        &mut self,
        reader: &mut Reader<'v>,
        group: &'v Value<'v>,
        index: GroupIndex,
    ) -> Option<Box<[GroupChild]>> {
        reader.required(group, "children", |reader, children| {
            let mut children: Vec<(&str, GroupChild)> = reader
                .object(children)?
                .iter()
                .filter_map(|(label, child)| {
                    let child = reader.within(label, |reader| self.read_child(reader, child, index))?;
                    Some((*label, child))
                })
                .collect();
            children.sort_by_key(|(label, _)| *label);
            Some(children.into_iter().map(|(_, child)| child).collect())
        })
    }

    fn read_child(
        &mut self,
        reader: &mut Reader<'v>,
        child: &'v Value<'v>,
        group: GroupIndex,
    ) -> Option<GroupChild> {
        match pair(child) {
            Some(("operator", id)) => {
                reader.within(1, |reader| self.find_task(reader, id, group)).map(GroupChild::Task)
            }
            Some(("taskgroup", inner)) => {
                reader.within(1, |reader| self.read_group(reader, inner, Some(group))).map(GroupChild::Group)
            }
            _ => {
                reader.expected("a pair of \"operator\" and a task, or of \"taskgroup\" and a group", child);
                None
            }
        }
    }

    fn find_task(
        &mut self,
        reader: &mut Reader<'v>,
        id: &'v Value<'v>,
        group: GroupIndex,
    ) -> Option<TaskIndex> {
        let task = self.names.find(reader, id)?;
        if self.group_of_task[task.position()].replace(group).is_some() {
            reader.problem(format_args!("task {:?} is in more than one group", self.names.of(task)));
        }
        Some(task)
    }
}
