//! `asset_active`: the assets that are in use, of which no two share a name or a URI.

use ferroflow_model::stored_assets::AssetKey;

use crate::statement::{binds, sql};
use crate::{Error, Tx};

/// Makes an asset active, unless one of its name or of its URI is.
pub async fn insert_unless_claimed(tx: &mut Tx, (name, uri): AssetKey<'_>) -> Result<(), Error> {
    tx.execute(sql!("asset_active/insert_unless_claimed"), binds![name, uri]).await?;
    Ok(())
}
