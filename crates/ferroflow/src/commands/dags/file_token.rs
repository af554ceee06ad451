//! The token by which the REST API names the file of a DAG.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ferroflow_config::Secret;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha1::{Digest as _, Sha1};

/// Bundle and file, signed with `[api] secret_key` as the package itsdangerous signs: what is long is compressed
/// and then begins with a dot.
pub(super) fn file_token(key: &Secret, bundle_name: &str, relative_fileloc: Option<&str>) -> String {
    let [bundle, file] = [Some(bundle_name), relative_fileloc].map(Value::from);
    let document = format!("{{\"bundle_name\":{bundle},\"relative_fileloc\":{file}}}");
    let compressed = compressed(document.as_bytes());
    let payload = if compressed.len() < document.len() - 1 {
        format!(".{}", URL_SAFE_NO_PAD.encode(compressed))
    } else {
        URL_SAFE_NO_PAD.encode(document)
    };
    let signature = signature(key.expose().as_bytes(), payload.as_bytes());
    format!("{payload}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory takes all that is written");
    encoder.finish().expect("memory takes all that is written")
}

fn signature(key: &[u8], payload: &[u8]) -> Vec<u8> {
    let derived =
        Sha1::new().chain_update(b"itsdangerous").chain_update(b"signer").chain_update(key).finalize();
    let mut mac = Hmac::<Sha1>::new_from_slice(&derived).expect("any length is a key");
    mac.update(payload);
    mac.finalize().into_bytes().to_vec()
}
