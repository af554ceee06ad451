//! The tokens that requests for logs have: which file they are for, and until when.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha512;

/// Whom tokens are for.
const AUDIENCE: &str = "task-instance-logs";

/// By how much clocks may differ, in seconds.
const LEEWAY: f64 = 30.0;

/// Why a token does not count.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadToken {
    #[error("it is no token")]
    Malformed,
    #[error("it is not signed with [api] secret_key")]
    BadSignature,
    #[error("it is for somebody else")]
    WrongAudience,
    #[error("it lacks {0}, or has something else there")]
    Missing(&'static str),
    #[error("it has expired; the clocks of all components should agree")]
    Expired,
    #[error("it is from the future; the clocks of all components should agree")]
    NotYetValid,
    #[error("it names no file")]
    NoFile,
}

/// The file that a token is for, if it counts at this time (in seconds of Unix).
pub(crate) fn filename(token: &str, secret: &str, now: f64) -> Result<String, BadToken> {
    let (signed, signature) = token.rsplit_once('.').ok_or(BadToken::Malformed)?;
    let (head, claims) = signed.split_once('.').ok_or(BadToken::Malformed)?;
    if json(head)?.get("alg").and_then(Value::as_str) != Some("HS512") {
        return Err(BadToken::BadSignature);
    }
    let signature = BASE64.decode(signature).map_err(|_| BadToken::Malformed)?;
    let mut mac = Hmac::<Sha512>::new_from_slice(secret.as_bytes()).map_err(|_| BadToken::BadSignature)?;
    mac.update(signed.as_bytes());
    mac.verify_slice(&signature).map_err(|_| BadToken::BadSignature)?;
    let claims = json(claims)?;
    check_times(&claims, now)?;
    check_audience(&claims)?;
    claims.get("filename").and_then(Value::as_str).map(str::to_owned).ok_or(BadToken::NoFile)
}

fn json(part: &str) -> Result<Value, BadToken> {
    let bytes = BASE64.decode(part).map_err(|_| BadToken::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| BadToken::Malformed)
}

fn check_times(claims: &Value, now: f64) -> Result<(), BadToken> {
    let time = |name: &'static str| {
        let time = claims.get(name).and_then(Value::as_f64);
        time.ok_or(BadToken::Missing(name))
    };
    let (expires, issued, begins) = (time("exp")?, time("iat")?, time("nbf")?);
    if issued > now + LEEWAY || begins > now + LEEWAY {
        return Err(BadToken::NotYetValid);
    }
    if expires <= now - LEEWAY {
        return Err(BadToken::Expired);
    }
    Ok(())
}

fn check_audience(claims: &Value) -> Result<(), BadToken> {
    let is_meant = match claims.get("aud") {
        Some(Value::String(one)) => one == AUDIENCE,
        Some(Value::Array(several)) => several.iter().any(|one| one == AUDIENCE),
        _ => false,
    };
    if is_meant { Ok(()) } else { Err(BadToken::WrongAudience) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: f64 = 1_800_000_000.0;

    fn token(algorithm: &str, claims: &str, secret: &str) -> String {
        let head = BASE64.encode(format!("{{\"alg\":\"{algorithm}\"}}"));
        let signed = format!("{head}.{}", BASE64.encode(claims));
        let mut mac = Hmac::<Sha512>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(signed.as_bytes());
        format!("{signed}.{}", BASE64.encode(mac.finalize().into_bytes()))
    }

    fn claims(audience: &str, issued: i64, expires: i64) -> String {
        format!(r#"{{"aud":{audience},"iat":{issued},"nbf":{issued},"exp":{expires},"filename":"a/b.log"}}"#)
    }

    #[test]
    fn a_token_counts_while_it_is_valid_and_for_whom_it_is_meant() {
        let asked = |claims: &str| filename(&token("HS512", claims, "secret"), "secret", NOW);
        let mine = "\"task-instance-logs\"";
        assert_eq!(asked(&claims(mine, 1_800_000_000, 1_800_000_030)), Ok("a/b.log".to_owned()));
        assert_eq!(
            asked(&claims("[\"x\",\"task-instance-logs\"]", 1_799_999_900, 1_799_999_971)).unwrap(),
            "a/b.log"
        );
        assert_eq!(asked(&claims(mine, 1_799_999_900, 1_799_999_970)), Err(BadToken::Expired));
        assert_eq!(asked(&claims(mine, 1_800_000_031, 1_800_000_060)), Err(BadToken::NotYetValid));
        assert_eq!(asked(&claims("\"x\"", 1_800_000_000, 1_800_000_030)), Err(BadToken::WrongAudience));
        assert_eq!(asked("{}"), Err(BadToken::Missing("exp")));
    }

    #[test]
    fn a_signature_of_another_kind_or_key_does_not_count() {
        let claims = claims("\"task-instance-logs\"", 1_800_000_000, 1_800_000_030);
        let other_key = token("HS512", &claims, "other");
        assert_eq!(filename(&other_key, "secret", NOW), Err(BadToken::BadSignature));
        let none = token("none", &claims, "secret");
        assert_eq!(filename(&none, "secret", NOW), Err(BadToken::BadSignature));
        assert_eq!(filename("a.b", "secret", NOW), Err(BadToken::Malformed));
    }
}
