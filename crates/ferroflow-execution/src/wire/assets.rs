//! Assets and their events.

use ferroflow_python::Answer;
use rmpv::Value;

use super::client::Client;
use super::message::{
    GetAssetByName, GetAssetByUri, GetAssetEventByAsset, GetAssetEventByAssetAlias, GetAssetsByAlias,
};
use super::read;
use super::sdk::SdkVersion;
use super::value::{body, error_response, json, map, optional, time};
use crate::Refusal;
use crate::api::{AssetEventResponse, AssetRef, AssetResponse, CreatedRun, EventWindow, EventsOfAsset};

impl Client {
    pub(super) async fn get_asset_by_name(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let GetAssetByName { name } = read(kind, message)?;
        self.get_asset(AssetRef::Name(name)).await
    }

    pub(super) async fn get_asset_by_uri(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let GetAssetByUri { uri } = read(kind, message)?;
        self.get_asset(AssetRef::Uri(uri)).await
    }

    async fn get_asset(&self, of: AssetRef) -> Result<Answer, Refusal> {
        named(&of)?;
        match self.api.asset(&of).await {
            Ok(found) => {
                let mut fields = asset_fields(&found, Unset::LeftOut)?;
                fields.push(("type".into(), "AssetResult".into()));
                Ok(Answer::Body(Value::Map(fields)))
            }
            Err(refusal) if refusal.status() == Some(404) => {
                let detail = match of {
                    AssetRef::Name(name) => map([("name", name.into())]),
                    AssetRef::Uri(uri) => map([("uri", uri.into())]),
                };
                Ok(Answer::Body(error_response("ASSET_NOT_FOUND", detail)))
            }
            Err(refusal) => Err(refusal),
        }
    }

    pub(super) async fn get_assets_by_alias(&self, kind: &str, message: &Value) -> Result<Answer, Refusal> {
        let GetAssetsByAlias { alias_name } = read(kind, message)?;
        let found = self.api.assets_by_alias(&alias_name).await?;
        let assets = found.iter().map(|asset| {
            let mut fields = asset_fields(asset, Unset::Null)?;
            fields.push(("type".into(), "AssetResult".into()));
            Ok(Value::Map(fields))
        });
        let assets = assets.collect::<Result<Vec<_>, Refusal>>()?;
        Ok(body("AssetsByAliasResult", [("assets", Value::Array(assets))]))
    }

    pub(super) async fn get_asset_events(
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
        let window = EventWindow { after, before, limit: limit.filter(|limit| *limit != 0), ascending };
        events_answer(self.api.asset_events(&EventsOfAsset { name, uri }, window).await?, sdk)
    }

    pub(super) async fn get_alias_events(
        &self,
        kind: &str,
        message: &Value,
        sdk: SdkVersion,
    ) -> Result<Answer, Refusal> {
        let GetAssetEventByAssetAlias { alias_name, after, before, limit, ascending } = read(kind, message)?;
        if alias_name.is_empty() {
            return Err(no_name());
        }
        let window = EventWindow { after, before, limit: limit.filter(|limit| *limit != 0), ascending };
        events_answer(self.api.asset_events_of_alias(&alias_name, window).await?, sdk)
    }
}

/// Airflow's client asks for no asset without a name.
pub(super) fn named(of: &AssetRef) -> Result<(), Refusal> {
    let (AssetRef::Name(text) | AssetRef::Uri(text)) = of;
    if text.is_empty() {
        return Err(Refusal::Unsendable("Either `name` or `uri` must be provided".to_owned()));
    }
    Ok(())
}

fn no_name() -> Refusal {
    Refusal::Unsendable("Either `name`, `uri` or `alias_name` must be provided".to_owned())
}

/// What becomes of a field that holds nothing.
#[derive(Clone, Copy)]
enum Unset {
    LeftOut,
    Null,
}

fn asset_fields(asset: &AssetResponse, unset: Unset) -> Result<Vec<(Value, Value)>, Refusal> {
    let mut fields: Vec<(Value, Value)> = vec![
        ("name".into(), asset.name.as_str().into()),
        ("uri".into(), asset.uri.as_str().into()),
        ("group".into(), asset.group.as_str().into()),
    ];
    let extra = json(|| format!("extra of asset {:?}", asset.name), &asset.extra)?;
    match (extra, unset) {
        (Value::Nil, Unset::LeftOut) => {}
        (extra, _) => fields.push(("extra".into(), extra)),
    }
    Ok(fields)
}

fn events_answer(found: Vec<AssetEventResponse>, sdk: SdkVersion) -> Result<Answer, Refusal> {
    let events = found.into_iter().map(|event| event_value(event, sdk));
    let events = events.collect::<Result<Vec<_>, Refusal>>()?;
    Ok(body("AssetEventsResult", [("asset_events", Value::Array(events))]))
}

/// What is not known is left out.
fn event_value(event: AssetEventResponse, sdk: SdkVersion) -> Result<Value, Refusal> {
    let extra =
        json(|| format!("extra of event {} of asset {:?}", event.id, event.asset.name), &event.extra)?;
    let asset = asset_fields(&event.asset, Unset::LeftOut)?;
    // A run that has not started is left out: the child's model takes none without a start.
    let runs = event.created_dagruns.into_iter().filter(|run| run.start_date.is_some());
    let runs = runs.map(|run| created_run(run, sdk));
    let mut fields: Vec<(Value, Value)> = vec![
        ("id".into(), event.id.into()),
        ("timestamp".into(), time(Some(event.timestamp))),
        ("asset".into(), Value::Map(asset)),
        ("created_dagruns".into(), Value::Array(runs.collect())),
    ];
    let maybe = [
        ("extra", extra),
        ("source_task_id", optional(event.source_task_id)),
        ("source_dag_id", optional(event.source_dag_id)),
        ("source_run_id", optional(event.source_run_id)),
        ("source_map_index", optional(event.source_map_index)),
        ("partition_key", optional(event.partition_key)),
    ];
    fields.extend(
        maybe.into_iter().filter(|(_, value)| !value.is_nil()).map(|(key, value)| (key.into(), value)),
    );
    Ok(Value::Map(fields))
}

fn created_run(run: CreatedRun, sdk: SdkVersion) -> Value {
    let mut fields: Vec<(Value, Value)> = vec![
        ("run_id".into(), run.run_id.into()),
        ("dag_id".into(), run.dag_id.into()),
        ("logical_date".into(), time(run.logical_date)),
        ("start_date".into(), time(run.start_date)),
        ("end_date".into(), time(run.end_date)),
        ("state".into(), run.state.into()),
        ("data_interval_start".into(), time(run.data_interval_start)),
        ("data_interval_end".into(), time(run.data_interval_end)),
    ];
    if sdk.knows_partitions() {
        fields.push(("partition_key".into(), optional(run.partition_key)));
    }
    Value::Map(fields)
}
