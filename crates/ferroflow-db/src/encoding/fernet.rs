//! Fernet: how variables, connections and trigger arguments are encrypted.
//!
//! A token is `0x80 | seconds since 1970 (8 bytes) | IV (16) | AES-128-CBC ciphertext | HMAC-SHA256 (32)`, in
//! URL-safe base64. A key is 32 bytes in the same base64: the first half signs, the second encrypts.

use std::fmt;

use aes::Aes128;
use aes::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit, block_padding::Pkcs7};
use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use sha2::Sha256;

const VERSION: u8 = 0x80;
const HEADER: usize = 1 + 8 + 16;
const SIGNATURE: usize = 32;
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    // As lenient as Python's decoder.
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The keys of `[core] fernet_key`. Without any, values are stored as they are.
#[derive(Clone, Default)]
pub struct Fernet {
    keys: Vec<Key>,
}

/// Why a value could not be decrypted, or a key not be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FernetError {
    /// A key that cannot be one.
    #[error(
        "[core] fernet_key: key {position} is not 32 bytes in URL-safe base64; \
         make one with: openssl rand -base64 32"
    )]
    BadKey {
        /// Which of the comma-separated keys, from 1.
        position: usize,
    },
    /// An encrypted value, and no key at all.
    #[error("the value is encrypted and [core] fernet_key is empty")]
    NoKey,
    /// An encrypted value that no key opens.
    #[error("the value was encrypted with a key that is not in [core] fernet_key, or it is damaged")]
    NoKeyFits,
}

/// A value as it stands in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The token, or the plain text.
    pub text: String,
    /// Which of the two.
    pub is_encrypted: bool,
}

#[derive(Clone)]
struct Key {
    signing: [u8; 16],
    encryption: [u8; 16],
}

impl Fernet {
    /// Reads `[core] fernet_key`: nothing, or keys separated by commas. The first encrypts, all decrypt.
    pub fn new(setting: &str) -> Result<Self, FernetError> {
        if setting.trim().is_empty() {
            return Ok(Self::default());
        }
        let keys = setting
            .split(',')
            .enumerate()
            .map(|(i, text)| Key::parse(text.trim()).ok_or(FernetError::BadKey { position: i + 1 }))
            .collect::<Result<_, _>>()?;
        Ok(Self { keys })
    }

    /// A new key, as `[core] fernet_key` takes it.
    pub fn make_key() -> String {
        BASE64.encode(rand::random::<[u8; 32]>())
    }

    /// What to store for `plain`.
    pub fn encrypt(&self, plain: &str, now: Timestamp) -> Stored {
        match self.keys.first() {
            None => Stored { text: plain.to_owned(), is_encrypted: false },
            Some(key) => {
                Stored { text: key.encrypt(plain.as_bytes(), now, rand::random()), is_encrypted: true }
            }
        }
    }

    /// The plain text of what is stored.
    pub fn decrypt(&self, stored: &Stored) -> Result<String, FernetError> {
        if !stored.is_encrypted {
            return Ok(stored.text.clone());
        }
        if self.keys.is_empty() {
            return Err(FernetError::NoKey);
        }
        let bytes = BASE64.decode(stored.text.trim()).map_err(|_| FernetError::NoKeyFits)?;
        let plain = self.keys.iter().find_map(|key| key.decrypt(&bytes)).ok_or(FernetError::NoKeyFits)?;
        String::from_utf8(plain).map_err(|_| FernetError::NoKeyFits)
    }

    /// Encrypts anew with the first key. The token keeps its time, and plain text stays plain, as in
    /// Airflow's own rotation.
    pub fn rotate(&self, stored: &Stored) -> Result<Stored, FernetError> {
        let plain = self.decrypt(stored)?;
        match time_of(&stored.text) {
            Some(made) if stored.is_encrypted => Ok(self.encrypt(&plain, made)),
            _ => Ok(stored.clone()),
        }
    }

    /// Whether values are encrypted at all.
    pub fn is_encrypting(&self) -> bool {
        !self.keys.is_empty()
    }
}

/// Never shows a key.
impl fmt::Debug for Fernet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fernet({} keys)", self.keys.len())
    }
}

impl Key {
    fn parse(text: &str) -> Option<Self> {
        // Keys in the other alphabet of base64, as openssl makes them, work in Airflow, too.
        let text = text.replace('+', "-").replace('/', "_");
        let bytes: [u8; 32] = BASE64.decode(text).ok()?.try_into().ok()?;
        let (signing, encryption) = bytes.split_at(16);
        Some(Self { signing: signing.try_into().ok()?, encryption: encryption.try_into().ok()? })
    }

    fn encrypt(&self, plain: &[u8], now: Timestamp, iv: [u8; 16]) -> String {
        let cipher = cbc::Encryptor::<Aes128>::new(&self.encryption.into(), &iv.into());
        let mut token = vec![VERSION];
        token.extend(u64::try_from(now.as_second()).unwrap_or(0).to_be_bytes());
        token.extend(iv);
        token.extend(cipher.encrypt_padded_vec::<Pkcs7>(plain));
        let signature = self.signature(&token).finalize().into_bytes();
        token.extend(signature);
        BASE64.encode(token)
    }

    fn decrypt(&self, token: &[u8]) -> Option<Vec<u8>> {
        let signed = token.len().checked_sub(SIGNATURE).filter(|length| *length >= HEADER)?;
        let (body, signature) = token.split_at(signed);
        self.signature(body).verify_slice(signature).ok()?;
        if body[0] != VERSION {
            return None;
        }
        let iv: [u8; 16] = body[9..HEADER].try_into().ok()?;
        let cipher = cbc::Decryptor::<Aes128>::new(&self.encryption.into(), &iv.into());
        cipher.decrypt_padded_vec::<Pkcs7>(&body[HEADER..]).ok()
    }

    fn signature(&self, body: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.signing).expect("HMAC takes a key of any length");
        mac.update(body);
        mac
    }
}

fn time_of(token: &str) -> Option<Timestamp> {
    let bytes = BASE64.decode(token.trim()).ok()?;
    let seconds = u64::from_be_bytes(bytes.get(1..9)?.try_into().ok()?);
    Timestamp::from_second(i64::try_from(seconds).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // The vectors of the Fernet specification.
    const KEY: &str = "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=";
    const TOKEN: &str = "gAAAAAAdwJ6wAAECAwQFBgcICQoLDA0ODy021cpGVWKZ_eEwCGM4BLLF_5CV9dOPmrhuVUPgJobwOz7JcbmrR64jVmpU4IwqDA==";
    const OTHER_KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

    fn encrypted(text: &str) -> Stored {
        Stored { text: text.to_owned(), is_encrypted: true }
    }

    #[test]
    fn the_specifications_token_is_made_and_read() {
        let key = Key::parse(KEY).unwrap();
        let iv = std::array::from_fn(|i| u8::try_from(i).unwrap());
        assert_eq!(key.encrypt(b"hello", Timestamp::from_second(499_162_800).unwrap(), iv), TOKEN);
        assert_eq!(Fernet::new(KEY).unwrap().decrypt(&encrypted(TOKEN)).unwrap(), "hello");
    }

    #[test]
    fn any_of_several_keys_decrypts_and_the_first_encrypts() {
        let both = Fernet::new(&format!("{OTHER_KEY}, {KEY}")).unwrap();
        assert_eq!(both.decrypt(&encrypted(TOKEN)).unwrap(), "hello");
        let made = both.encrypt("new", Timestamp::UNIX_EPOCH);
        assert_eq!(Fernet::new(OTHER_KEY).unwrap().decrypt(&made).unwrap(), "new");
        assert_eq!(Fernet::new(KEY).unwrap().decrypt(&made), Err(FernetError::NoKeyFits));
    }

    #[test]
    fn rotation_moves_to_the_first_key_and_keeps_the_time() {
        let both = Fernet::new(&format!("{OTHER_KEY},{KEY}")).unwrap();
        let rotated = both.rotate(&encrypted(TOKEN)).unwrap();
        assert_eq!(Fernet::new(OTHER_KEY).unwrap().decrypt(&rotated).unwrap(), "hello");
        assert_eq!(time_of(&rotated.text), time_of(TOKEN));
    }

    #[test]
    fn without_a_key_values_are_plain() {
        let none = Fernet::new("").unwrap();
        let stored = none.encrypt("secret", Timestamp::UNIX_EPOCH);
        assert_eq!(stored, Stored { text: "secret".to_owned(), is_encrypted: false });
        assert_eq!(none.decrypt(&stored).unwrap(), "secret");
        assert_eq!(none.decrypt(&encrypted(TOKEN)), Err(FernetError::NoKey));
    }

    #[test]
    fn damage_is_noticed() {
        let fernet = Fernet::new(KEY).unwrap();
        for damaged in ["", "gAAAAA", &TOKEN.replace("gAAA", "hAAA"), &TOKEN.replace("JcbmrR", "JcbmrS")] {
            assert_eq!(fernet.decrypt(&encrypted(damaged)), Err(FernetError::NoKeyFits), "{damaged}");
        }
    }

    #[test]
    fn keys_that_python_takes_are_taken() {
        let plain = KEY.replace('-', "+").replace('_', "/");
        let trailing_bits = KEY.replace("4e4=", "4e5=");
        for key in [plain, trailing_bits, KEY.trim_end_matches('=').to_owned()] {
            assert_eq!(Fernet::new(&key).unwrap().decrypt(&encrypted(TOKEN)).unwrap(), "hello", "{key}");
        }
    }

    #[test]
    fn a_bad_key_is_named_by_its_position() {
        assert_eq!(Fernet::new(&format!("{KEY},short")).unwrap_err(), FernetError::BadKey { position: 2 });
    }
}
