//! What happened to assets, and the runs that were made for it.

use ferroflow_db::asset::event::{AssetEvent, CreatedRun, Window};
use ferroflow_db::{ScopedFutureExt as _, asset};

use crate::{Refusal, Service};

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
}
