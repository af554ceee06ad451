//! What happened to assets, and the runs that were made for it.

use ferroflow_db::asset::event::{AssetEvent, CreatedRun, Window};
use ferroflow_db::{ScopedFutureExt as _, asset};
use rmpv::Value;

use super::lookup::{Unset, asset_fields};
use crate::message::{GetAssetEventByAsset, GetAssetEventByAssetAlias};
use crate::sdk::SdkVersion;
use crate::value::{body, json, optional, time};
use crate::{Answer, Refusal, Service, read};

/// Events, and the runs that were made for them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AssetEvents {
    /// The events, in the order that was asked for.
    pub events: Vec<AssetEvent>,
    /// The runs, by the id of the event.
    pub runs: Vec<CreatedRun>,
}

impl Service {
    /// The events of the asset of a name and a URI; of the active one if only one of these is given.
    pub async fn asset_events(
        &self,
        name: Option<&str>,
        uri: Option<&str>,
        window: Window,
    ) -> Result<AssetEvents, Refusal> {
        let (name, uri) = (name.filter(|name| !name.is_empty()), uri.filter(|uri| !uri.is_empty()));
        if name.is_none() && uri.is_none() {
            return Err(Refusal::api(400, "Missing parameter", "name and uri cannot both be None"));
        }
        let found = self.db.read(|tx| {
            async move {
                let events = asset::event::of_asset(tx, name, uri, window).await?;
                let runs = asset::event::created_runs(tx, &events).await?;
                Ok(AssetEvents { events, runs })
            }
            .scope_boxed()
        });
        Ok(found.await?)
    }

    /// The events that were emitted through an alias.
    pub async fn asset_events_of_alias(&self, alias: &str, window: Window) -> Result<AssetEvents, Refusal> {
        let found = self.db.read(|tx| {
            async move {
                let events = asset::event::of_alias(tx, alias, window).await?;
                let runs = asset::event::created_runs(tx, &events).await?;
                Ok(AssetEvents { events, runs })
            }
            .scope_boxed()
        });
        Ok(found.await?)
    }

    pub(crate) async fn get_asset_events(
        &self,
        kind: &str,
        message: &Value,
        sdk: SdkVersion,
    ) -> Result<Answer, Refusal> {
        let GetAssetEventByAsset { name, uri, after, before, limit, ascending } = read(kind, message)?;
        let is_given = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        if !is_given(&name) && !is_given(&uri) {
            return Err(no_name());
        }
        let window = Window { after, before, limit: limit.filter(|limit| *limit != 0), ascending };
        let found = self.asset_events(name.as_deref(), uri.as_deref(), window).await?;
        answer(&found, sdk)
    }

    pub(crate) async fn get_alias_events(
        &self,
        kind: &str,
        message: &Value,
        sdk: SdkVersion,
    ) -> Result<Answer, Refusal> {
        let GetAssetEventByAssetAlias { alias_name, after, before, limit, ascending } = read(kind, message)?;
        if alias_name.is_empty() {
            return Err(no_name());
        }
        let window = Window { after, before, limit: limit.filter(|limit| *limit != 0), ascending };
        answer(&self.asset_events_of_alias(&alias_name, window).await?, sdk)
    }
}

fn no_name() -> Refusal {
    Refusal::Unsendable("Either `name`, `uri` or `alias_name` must be provided".to_owned())
}

fn answer(found: &AssetEvents, sdk: SdkVersion) -> Result<Answer, Refusal> {
    let events = found.events.iter().map(|event| {
        let runs = found.runs.iter().filter(|run| run.event_id == event.id);
        event_value(event, runs, sdk)
    });
    let events = events.collect::<Result<Vec<_>, Refusal>>()?;
    Ok(body("AssetEventsResult", [("asset_events", Value::Array(events))]))
}

/// What is not known is left out.
fn event_value<'r>(
    event: &AssetEvent,
    runs: impl Iterator<Item = &'r CreatedRun>,
    sdk: SdkVersion,
) -> Result<Value, Refusal> {
    let extra =
        json(|| format!("extra of event {} of asset {:?}", event.id, event.asset.name), &event.extra)?;
    let asset = asset_fields(&event.asset, Unset::LeftOut)?;
    // A run that has not started is left out: the child's model takes none without a start.
    let runs = runs.filter(|run| run.start_date.is_some()).map(|run| run_value(run, sdk));
    let mut fields: Vec<(Value, Value)> = vec![
        ("id".into(), event.id.into()),
        ("timestamp".into(), time(Some(event.timestamp))),
        ("asset".into(), Value::Map(asset)),
        ("created_dagruns".into(), Value::Array(runs.collect())),
    ];
    let maybe = [
        ("extra", extra),
        ("source_task_id", optional(event.source_task_id.as_deref())),
        ("source_dag_id", optional(event.source_dag_id.as_deref())),
        ("source_run_id", optional(event.source_run_id.as_deref())),
        ("source_map_index", optional(event.source_map_index)),
        ("partition_key", optional(event.partition_key.as_deref())),
    ];
    fields.extend(
        maybe.into_iter().filter(|(_, value)| !value.is_nil()).map(|(key, value)| (key.into(), value)),
    );
    Ok(Value::Map(fields))
}

fn run_value(run: &CreatedRun, sdk: SdkVersion) -> Value {
    let mut fields: Vec<(Value, Value)> = vec![
        ("run_id".into(), run.run_id.as_str().into()),
        ("dag_id".into(), run.dag_id.as_str().into()),
        ("logical_date".into(), time(run.logical_date)),
        ("start_date".into(), time(run.start_date)),
        ("end_date".into(), time(run.end_date)),
        ("state".into(), run.state.as_str().into()),
        ("data_interval_start".into(), time(run.data_interval_start)),
        ("data_interval_end".into(), time(run.data_interval_end)),
    ];
    if sdk.knows_partitions() {
        fields.push(("partition_key".into(), optional(run.partition_key.as_deref())));
    }
    Value::Map(fields)
}
