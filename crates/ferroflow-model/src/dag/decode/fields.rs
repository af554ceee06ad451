//! The fields of a task.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::super::rule::WeightRule;
use super::super::task::{Flag, StartTrigger, Task, TaskDetails};
use super::operator::{OperatorKey, sequence};
use super::strings::Strings;
use crate::asset::AssetCondition;
use crate::document::{Reader, Value};

type Entries<'v> = &'v [(&'v str, Value<'v>)];

/// A task while it is read.
pub(super) struct Draft<'v> {
    pub(super) task: Task,
    pub(super) task_id: Option<&'v Value<'v>>,
    pub(super) operator: OperatorKey<'v>,
    pub(super) params: Option<&'v Value<'v>>,
    pub(super) downstream: Option<&'v Value<'v>>,
    pub(super) partial_kwargs: Option<&'v Value<'v>>,
    is_mapped: bool,
    expand_input_attr: Option<&'v Value<'v>>,
    expand_input: Option<&'v Value<'v>>,
    op_kwargs_expand_input: Option<&'v Value<'v>>,
}

impl<'v> Draft<'v> {
    /// One that begins with these settings.
    pub(super) fn new(task: Task) -> Self {
        Self {
            task,
            task_id: None,
            operator: OperatorKey::default(),
            params: None,
            downstream: None,
            partial_kwargs: None,
            is_mapped: false,
            expand_input_attr: None,
            expand_input: None,
            op_kwargs_expand_input: None,
        }
    }

    /// Reads what stands directly in a task.
    pub(super) fn read_fields(
        &mut self,
        reader: &mut Reader<'v>,
        entries: Entries<'v>,
        strings: &mut Strings<'v>,
    ) {
        for (key, value) in entries.iter().filter(|(_, value)| !matches!(value, Value::Null)) {
            reader.within(key, |reader| {
                if !self.read_own(reader, key, value) {
                    self.read_setting(reader, key, value, strings);
                }
            });
        }
    }

    /// Reads settings: what the arguments of a mapped operator and the defaults of an installation hold too.
    pub(super) fn read_settings(
        &mut self,
        reader: &mut Reader<'v>,
        entries: Entries<'v>,
        strings: &mut Strings<'v>,
    ) {
        for (key, value) in entries.iter().filter(|(_, value)| !matches!(value, Value::Null)) {
            reader.within(key, |reader| self.read_setting(reader, key, value, strings));
        }
    }

    /// What a mapped task is mapped over, and under which key it stands.
    pub(super) fn expand_input(&self, reader: &mut Reader<'v>) -> Option<(&'static str, &'v Value<'v>)> {
        if !self.is_mapped {
            return None;
        }
        let (key, input) = reader.within("_expand_input_attr", |reader| {
            let Some(attribute) = self.expand_input_attr else {
                reader.problem("is missing");
                return None;
            };
            match reader.text(attribute)? {
                "expand_input" => Some(("expand_input", self.expand_input)),
                "op_kwargs_expand_input" => Some(("op_kwargs_expand_input", self.op_kwargs_expand_input)),
                other => {
                    reader.problem(format_args!(
                        "{other:?} is not where a task is expanded (known: expand_input, op_kwargs_expand_input)"
                    ));
                    None
                }
            }
        })?;
        if input.is_none() {
            reader.within(key, |reader| reader.problem("is missing"));
        }
        Some((key, input?))
    }

    /// A field that only the task itself has. Answers whether it is one.
    fn read_own(&mut self, reader: &mut Reader<'v>, key: &'v str, value: &'v Value<'v>) -> bool {
        match key {
            "task_id" => self.task_id = Some(value),
            "task_type" | "_task_type" => set(&mut self.operator.task_type, reader.text(value)),
            "_task_module" => set(&mut self.operator.module, reader.text(value)),
            "_operator_name" => self.operator.name = reader.text(value),
            "ui_color" => set(&mut self.operator.ui_color, reader.text(value)),
            "ui_fgcolor" => set(&mut self.operator.ui_fgcolor, reader.text(value)),
            "template_fields" => self.operator.template_fields = Some(value),
            "_operator_extra_links" => self.operator.extra_links = Some(value),
            "downstream_task_ids" | "_downstream_task_ids" => self.downstream = Some(value),
            "params" => self.params = Some(value),
            "start_date" => self.task.start_date = read_instant(reader, value),
            "end_date" => self.task.end_date = read_instant(reader, value),
            "_is_mapped" => self.is_mapped = reader.boolean(value).unwrap_or(false),
            "partial_kwargs" => self.partial_kwargs = Some(value),
            "_expand_input_attr" => self.expand_input_attr = Some(value),
            "expand_input" => self.expand_input = Some(value),
            "op_kwargs_expand_input" => self.op_kwargs_expand_input = Some(value),
            "on_execute_callback" => self.task.flags.set(Flag::HasOnExecuteCallback, is_truthy(value)),
            "on_failure_callback" => self.task.flags.set(Flag::HasOnFailureCallback, is_truthy(value)),
            "on_retry_callback" => self.task.flags.set(Flag::HasOnRetryCallback, is_truthy(value)),
            "on_skipped_callback" => self.task.flags.set(Flag::HasOnSkippedCallback, is_truthy(value)),
            "on_success_callback" => self.task.flags.set(Flag::HasOnSuccessCallback, is_truthy(value)),
            _ => return false,
        }
        true
    }

    /// What is not known here is a custom class, or newer.
    fn read_setting(
        &mut self,
        reader: &mut Reader<'v>,
        key: &'v str,
        value: &'v Value<'v>,
        strings: &mut Strings<'v>,
    ) {
        let task = &mut self.task;
        match key {
            "owner" => replace(&mut task.owner, reader.text(value), strings),
            "pool" => replace(&mut task.pool, reader.text(value), strings),
            "queue" => replace(&mut task.queue, reader.text(value), strings),
            "pool_slots" => set(&mut task.pool_slots, reader.integer(value)),
            "retries" => set(&mut task.retries, reader.integer(value)),
            "priority_weight" => set(&mut task.priority_weight, reader.integer(value)),
            "trigger_rule" => set(&mut task.trigger_rule, reader.word(value)),
            "retry_delay" => set(&mut task.retry_delay, read_duration(reader, value)),
            "execution_timeout" => task.execution_timeout = read_duration(reader, value),
            "weight_rule" => {
                let rule = WeightRule::read(reader, value, |path| strings.intern(path));
                set(&mut task.weight_rule, rule);
            }
            "_on_failure_fail_dagrun" => {
                set_flag(self, Flag::OnFailureFailDagrun, reader.boolean(value));
            }
            _ => match Flag::of_key(key) {
                Some(flag) => set_flag(self, flag, reader.boolean(value)),
                None => self.read_detail(reader, key, value, strings),
            },
        }
    }

    /// A setting that few tasks have.
    fn read_detail(
        &mut self,
        reader: &mut Reader<'v>,
        key: &'v str,
        value: &'v Value<'v>,
        strings: &mut Strings<'v>,
    ) {
        let mut details = Details { draft: self, reader, value, strings };
        match key {
            "_task_display_name" | "task_display_name" => details.text(|details| &mut details.display_name),
            "map_index_template" => details.text(|details| &mut details.map_index_template),
            "doc_md" => details.text(|details| &mut details.doc_md),
            "executor" => details.text(|details| &mut details.executor),
            "run_as_user" => details.text(|details| &mut details.run_as_user),
            "email" => details.email(),
            "max_active_tis_per_dag" => details.integer(|details| &mut details.max_active_tis_per_dag),
            "max_active_tis_per_dagrun" => details.integer(|details| &mut details.max_active_tis_per_dagrun),
            "executor_config" => details.json(|details| &mut details.executor_config),
            "resources" => details.json(|details| &mut details.resources),
            "retry_exponential_backoff" => details.backoff(),
            "max_retry_delay" => {
                let delay = read_duration(details.reader, value);
                details.set(delay.is_some(), |details| details.max_retry_delay = delay);
            }
            "inlets" | "_inlets" => details.assets(|details| &mut details.inlets),
            "outlets" | "_outlets" => details.assets(|details| &mut details.outlets),
            "start_trigger_args" => {
                let trigger = read_start_trigger(details.reader, value);
                details.set(trigger.is_some(), |details| details.start_trigger = trigger);
            }
            "render_template_as_native_obj" => {
                let native = details.reader.boolean(value);
                details.set(native.is_some(), |details| details.render_template_as_native_obj = native);
            }
            _ => {}
        }
    }
}

fn set<T>(slot: &mut T, read: Option<T>) {
    if let Some(value) = read {
        *slot = value;
    }
}

fn replace<'v>(slot: &mut Arc<str>, read: Option<&'v str>, strings: &mut Strings<'v>) {
    if let Some(text) = read {
        strings.replace(slot, text);
    }
}

fn set_flag(draft: &mut Draft<'_>, flag: Flag, read: Option<bool>) {
    if let Some(value) = read {
        draft.task.flags.set(flag, value);
    }
}

/// What Python's `bool()` says; old documents hold the source text of callbacks.
fn is_truthy(value: &Value<'_>) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Int(value) => *value != 0,
        Value::Float(value) => *value != 0.0,
        Value::Text(text) => !text.is_empty(),
        Value::List(items) => !items.is_empty(),
        Value::Object(entries) => !entries.is_empty(),
    }
}

/// Seconds, bare or in an envelope.
fn read_duration<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<SignedDuration> {
    match value.envelope() {
        Some(("timedelta", seconds)) => reader.seconds(seconds),
        _ => reader.seconds(value),
    }
}

/// Seconds since the epoch, bare or in an envelope.
fn read_instant<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<Timestamp> {
    match value.envelope() {
        Some(("datetime", seconds)) => reader.instant(seconds),
        _ => reader.instant(value),
    }
}

fn read_start_trigger<'v>(reader: &mut Reader<'v>, value: &'v Value<'v>) -> Option<StartTrigger> {
    reader.object(value)?;
    let trigger_class = reader.required(value, "trigger_cls", Reader::text);
    let next_method = reader.required(value, "next_method", Reader::text);
    let trigger_kwargs = reader.optional(value, "trigger_kwargs", |_, kwargs| Some(kwargs.to_json()));
    let next_kwargs = reader.optional(value, "next_kwargs", |_, kwargs| Some(kwargs.to_json()));
    let timeout = reader.optional(value, "timeout", read_duration);
    Some(StartTrigger {
        trigger_class: trigger_class?.into(),
        trigger_kwargs,
        next_method: next_method?.into(),
        next_kwargs,
        timeout: timeout.filter(|timeout| !timeout.is_zero()),
    })
}

/// A field of the details, which exist only once one of them has a value.
struct Details<'d, 'v> {
    draft: &'d mut Draft<'v>,
    reader: &'d mut Reader<'v>,
    value: &'v Value<'v>,
    strings: &'d mut Strings<'v>,
}

impl Details<'_, '_> {
    fn set(&mut self, has_value: bool, set: impl FnOnce(&mut TaskDetails)) {
        if has_value || self.draft.task.details.is_some() {
            set(self.draft.task.details_mut());
        }
    }

    fn text(&mut self, field: impl FnOnce(&mut TaskDetails) -> &mut Option<Arc<str>>) {
        let text = self.reader.text(self.value).map(|text| self.strings.intern(text));
        self.set(text.is_some(), |details| *field(details) = text);
    }

    fn integer(&mut self, field: impl FnOnce(&mut TaskDetails) -> &mut Option<i32>) {
        let integer = self.reader.integer(self.value);
        self.set(integer.is_some(), |details| *field(details) = integer);
    }

    fn json(&mut self, field: impl FnOnce(&mut TaskDetails) -> &mut Option<crate::Json>) {
        let content = self.value.envelope().map_or(self.value, |(_, content)| content);
        let is_empty = *content == Value::Object(&[]);
        let json = self.reader.object(self.value).filter(|_| !is_empty).map(|_| self.value.to_json());
        self.set(json.is_some(), |details| *field(details) = json);
    }

    /// Legacy documents hold a boolean, where true is a factor of 2.
    fn backoff(&mut self) {
        let factor = match self.value {
            Value::Bool(doubles) => Some(if *doubles { 2.0 } else { 0.0 }),
            other => self.reader.float(other),
        };
        let factor = factor.unwrap_or(0.0);
        self.set(factor != 0.0, |details| details.retry_exponential_backoff = factor);
    }

    fn email(&mut self) {
        let value = sequence(self.value);
        let strings = &mut *self.strings;
        let addresses = match value {
            Value::Text(address) => Some(vec![strings.intern(address)]),
            _ => self
                .reader
                .list(value, |reader, address| reader.text(address).map(|address| strings.intern(address))),
        };
        let addresses = addresses.unwrap_or_default();
        self.set(!addresses.is_empty(), |details| details.email = addresses);
    }

    /// Authors may list anything. What is no asset means nothing, here as in Airflow.
    fn assets(&mut self, field: impl FnOnce(&mut TaskDetails) -> &mut Vec<AssetCondition>) {
        let assets = self.reader.list(sequence(self.value), |reader, item| match item {
            Value::Object(_) => match item.envelope() {
                Some((kind, _)) if !AssetCondition::is_kind(kind) => None,
                _ => AssetCondition::read(reader, item),
            },
            _ => None,
        });
        let assets = assets.unwrap_or_default();
        self.set(!assets.is_empty(), |details| *field(details) = assets);
    }
}
