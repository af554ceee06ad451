//! What holds for every value, not only for those that somebody thought of.

use ferroflow_db::encoding::executor_config::ExecutorConfig;
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_model::{Json, extended_json};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::Value;

proptest! {
    #[test]
    fn extended_json_reads_back(value in any_json()) {
        prop_assert_eq!(extended_json::decode(&extended_json::encode(&value)), value);
    }

    #[test]
    fn json_text_is_ascii_and_reads_back(value in any_json()) {
        let json = Json::from(&value);
        prop_assert!(json.text().is_ascii());
        prop_assert_eq!(json.value().unwrap(), value);
    }

    #[test]
    fn a_pickle_reads_back(value in any_json()) {
        prop_assert_eq!(ExecutorConfig::pickle(&value).value(), Some(value));
    }

    #[test]
    fn bytes_that_are_no_pickle_are_no_value(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        // Whatever it makes of them, it does not panic, and keeps them.
        let config = ExecutorConfig::from_bytes(bytes.clone());
        let _ = config.value();
        prop_assert_eq!(config.into_bytes(), bytes);
    }

    #[test]
    fn what_is_encrypted_is_decrypted(text in ".*", key in any::<[u8; 32]>(), now in 0_i64..4_000_000_000) {
        let fernet = Fernet::new(&url_safe_base64(&key)).unwrap();
        let stored = fernet.encrypt(&text, Timestamp::from_second(now).unwrap());
        prop_assert!(stored.is_encrypted && stored.text != text);
        prop_assert_eq!(fernet.decrypt(&fernet.rotate(&stored).unwrap()).unwrap(), text);
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        prop::num::f64::NORMAL.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..8)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn url_safe_base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    bytes
        .chunks(3)
        .flat_map(|chunk| {
            let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
                << (8 * (3 - chunk.len()));
            (0..=chunk.len()).map(move |i| char::from(ALPHABET[(bits >> (18 - 6 * i) & 63) as usize]))
        })
        .collect()
}
