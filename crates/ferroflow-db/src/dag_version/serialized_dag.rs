//! `serialized_dag`: the serialized form of each version of a DAG.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};

use ferroflow_model::id;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use jiff::Timestamp;
use uuid::Uuid;

use crate::statement::{Row, binds, sql};
use crate::{Error, Json, Tx};

/// A DAG to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSerializedDag {
    /// The DAG.
    pub dag_id: String,
    /// Which version of it this is.
    pub dag_version_id: Uuid,
    /// What tells whether it changed: 32 digits, made by Airflow's rule.
    pub dag_hash: String,
    /// The DAG itself.
    pub data: Json,
}

/// A stored DAG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerializedDag {
    /// The identity of the row.
    pub id: Uuid,
    /// The DAG.
    pub dag_id: String,
    /// Which version of it this is.
    pub dag_version_id: Uuid,
    /// What tells whether it changed.
    pub dag_hash: String,
    /// The DAG itself, however it was stored.
    pub data: Json,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its row was last written.
    pub last_updated: Timestamp,
}

/// Stores a DAG, compressed if `[core] compress_serialized_dags` says so, and returns the id of its row.
///
/// Of a compressed one `data` is JSON `null`, of a plain one `data_compressed` is SQL NULL, as Airflow writes
/// them. Its compressed text has sorted keys, which nothing relies on: the text is compressed as it is here.
pub async fn insert(
    tx: &mut Tx,
    dag: &NewSerializedDag,
    compress: bool,
    now: Timestamp,
) -> Result<Uuid, Error> {
    let (data, data_compressed) = columns(&dag.data, compress);
    let id = id::new_v7(now, rand::random());
    let binds = binds![
        id,
        dag.dag_id.as_str(),
        data,
        data_compressed,
        now,
        now,
        dag.dag_hash.as_str(),
        dag.dag_version_id,
    ];
    tx.execute(sql!("serialized_dag/insert"), binds).await?;
    Ok(id)
}

/// Replaces the DAG of a version in which nothing ran. The row keeps its id.
pub async fn rewrite(
    tx: &mut Tx,
    dag: &NewSerializedDag,
    compress: bool,
    now: Timestamp,
) -> Result<(), Error> {
    let (data, data_compressed) = columns(&dag.data, compress);
    let binds = binds![data, data_compressed, dag.dag_hash.as_str(), now, dag.dag_version_id];
    tx.execute(sql!("serialized_dag/rewrite"), binds).await?;
    Ok(())
}

/// The DAG of one version, plain or compressed.
pub async fn find(tx: &mut Tx, dag_version_id: Uuid) -> Result<Option<SerializedDag>, Error> {
    let row = tx.fetch_optional(sql!("serialized_dag/find"), binds![dag_version_id]).await?;
    row.as_ref().map(serialized_dag).transpose()
}

/// The newest version of a DAG that is stored, plain or compressed.
pub async fn latest(tx: &mut Tx, dag_id: &str) -> Result<Option<SerializedDag>, Error> {
    let row = tx.fetch_optional(sql!("serialized_dag/latest"), binds![dag_id]).await?;
    row.as_ref().map(serialized_dag).transpose()
}

/// Which version of a DAG is the newest that is stored, and what tells whether it was rewritten.
pub async fn latest_hash(tx: &mut Tx, dag_id: &str) -> Result<Option<(Uuid, String)>, Error> {
    let row = tx.fetch_optional(sql!("serialized_dag/latest_hash"), binds![dag_id]).await?;
    row.map(|row| Ok((row.get("dag_version_id")?, row.get("dag_hash")?))).transpose()
}

/// The same for several DAGs at once. One that has no stored version is left out.
pub async fn latest_hashes(tx: &mut Tx, dag_ids: &[&str]) -> Result<HashMap<String, (Uuid, String)>, Error> {
    let mut found = HashMap::with_capacity(dag_ids.len());
    for ids in dag_ids.chunks(crate::statement::BATCH) {
        let rows =
            tx.fetch_all(sql!("serialized_dag/latest_hashes"), vec![ids.iter().copied().collect()]).await?;
        found.extend(tx.readable(&rows, |row| {
            Ok((row.get("dag_id")?, (row.get("dag_version_id")?, row.get("dag_hash")?)))
        })?);
    }
    Ok(found)
}

/// The DAGs of several versions. One whose document cannot be read is told as such: it keeps none back.
pub async fn find_many(
    tx: &mut Tx,
    versions: &[Uuid],
) -> Result<Vec<(Uuid, Result<SerializedDag, Error>)>, Error> {
    /// Documents are long.
    const MOST: usize = 64;
    let mut found = Vec::with_capacity(versions.len());
    for versions in versions.chunks(MOST) {
        let list = versions.iter().copied().collect();
        let rows = tx.fetch_all(sql!("serialized_dag/find_many"), vec![list]).await?;
        found.extend(tx.readable(&rows, |row| Ok((row.get("dag_version_id")?, serialized_dag(row))))?);
    }
    Ok(found)
}

/// Those of some versions whose DAGs are stored.
pub async fn stored(tx: &mut Tx, versions: &[Uuid]) -> Result<Vec<Uuid>, Error> {
    let rows = tx.fetch_all(sql!("serialized_dag/stored"), vec![versions.iter().copied().collect()]).await?;
    tx.readable(&rows, |row| row.get("dag_version_id"))
}

/// `data` and `data_compressed`.
fn columns(data: &Json, compress: bool) -> (Json, Option<Vec<u8>>) {
    if compress { (Json::null(), Some(compressed(data.text()))) } else { (data.clone(), None) }
}

fn serialized_dag(row: &Row) -> Result<SerializedDag, Error> {
    const COMPRESSED: &str = "data_compressed";
    let data = match row.optional::<Vec<u8>>(COMPRESSED)? {
        Some(bytes) if !bytes.is_empty() => {
            decompressed(&bytes).map_err(|error| row.bad(COMPRESSED, error))?
        }
        _ => row.get("data")?,
    };
    Ok(SerializedDag {
        id: row.get("id")?,
        dag_id: row.get("dag_id")?,
        dag_version_id: row.get("dag_version_id")?,
        dag_hash: row.get("dag_hash")?,
        data,
        created_at: row.get("created_at")?,
        last_updated: row.get("last_updated")?,
    })
}

fn compressed(text: &str) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory takes all that is written");
    encoder.finish().expect("memory takes all that is written")
}

fn decompressed(bytes: &[u8]) -> Result<Json, Box<dyn std::error::Error + Send + Sync>> {
    let mut text = String::new();
    ZlibDecoder::new(bytes).read_to_string(&mut text)?;
    Ok(Json::from_text(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_python_compressed_is_read() {
        // zlib.compress(b'{"a": 1}')
        let bytes = b"x\x9c\xabVJT\xb2R0\xac\x05\x00\t\xe5\x02)";
        assert_eq!(decompressed(bytes).unwrap().text(), r#"{"a": 1}"#);
    }

    #[test]
    fn compressed_text_reads_back_and_has_the_header_of_zlib() {
        let text = format!(r#"{{"long": "{}"}}"#, "é🎉".repeat(10_000));
        let bytes = compressed(&text);
        assert_eq!(bytes[..2], [0x78, 0x9c]);
        assert_eq!(decompressed(&bytes).unwrap().text(), text);
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        assert!(decompressed(b"not zlib").is_err());
        assert!(decompressed(&compressed("not JSON")).is_err());
    }
}
