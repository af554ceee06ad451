//! Texts as booleans, numbers and lists, accepting what Airflow's typed getters accept.

use crate::ini::is_space;

/// `t`, `true`, `1` or `f`, `false`, `0`, in any case; a `#` ends the value.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    let text = text.split('#').next().unwrap_or_default().trim_matches(is_space).to_lowercase();
    match text.as_str() {
        "t" | "true" | "1" => Some(true),
        "f" | "false" | "0" => Some(false),
        _ => None,
    }
}

/// A whole number as Python's `int` reads it, or a float without fraction: `16`, `1_000`, `1e3`.
pub(crate) fn integer(text: &str) -> Option<i64> {
    // 2^63 as a float; at and above it no float fits.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if let Ok(number) = without_underscores(text)?.parse() {
        return Some(number);
    }
    let number = float(text)?;
    #[expect(clippy::cast_possible_truncation, reason = "it has no fraction and is within the limit")]
    (number.fract() == 0.0 && (-LIMIT..LIMIT).contains(&number)).then_some(number as i64)
}

/// A number as Python's `float` reads it.
pub(crate) fn float(text: &str) -> Option<f64> {
    without_underscores(text)?.parse().ok()
}

/// Parts between commas, trimmed; none for an empty text.
pub(crate) fn list(text: &str) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    text.split(',').map(|part| part.trim_matches(is_space).to_owned()).collect()
}

/// Python allows single underscores between digits.
fn without_underscores(text: &str) -> Option<String> {
    let text = text.trim_matches(is_space);
    let mut parts = text.split('_').peekable();
    let mut joined = String::with_capacity(text.len());
    while let Some(part) = parts.next() {
        let ends_well = parts.peek().is_none() || part.ends_with(|c: char| c.is_ascii_digit());
        let starts_well = joined.is_empty() || part.starts_with(|c: char| c.is_ascii_digit());
        if !ends_well || !starts_well {
            return None;
        }
        joined.push_str(part);
    }
    Some(joined)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Conversion {
        text: String,
        /// Why Airflow's numbers are none here.
        ferroflow: Option<serde_json::Value>,
        airflow: Converted,
    }

    #[derive(Deserialize)]
    struct Converted {
        boolean: Option<bool>,
        integer: Option<i64>,
        float: Option<String>,
        list: Vec<String>,
    }

    /// Replays what Airflow 3.3.2 answered (see `testdata/config/record_cases.py`).
    #[test]
    fn conversions_are_airflows() {
        let recorded = include_str!("../../../testdata/config/conversions.json");
        for Conversion { text, ferroflow, airflow } in
            serde_json::from_str::<Vec<Conversion>>(recorded).unwrap()
        {
            if let Some(because) = ferroflow {
                assert_eq!((float(&text), integer(&text)), (None, None), "{text:?}: {because}");
                continue;
            }
            assert_eq!(boolean(&text), airflow.boolean, "{text:?} as a boolean");
            assert_eq!(integer(&text), airflow.integer, "{text:?} as an integer");
            assert_eq!(list(&text), airflow.list, "{text:?} as a list");
            let expected = airflow.float.map(|float| float.parse::<f64>().unwrap());
            assert_eq!(float(&text).map(f64::to_bits), expected.map(f64::to_bits), "{text:?} as a float");
        }
    }
}
