//! What a word means.

use std::sync::LazyLock;

use anyhow::{Result, anyhow, bail};
use regex::Regex;
use saphyr_parser::Tag;
use serde_json::{Number, Value};

/// The value of a word: by its tag, if it has one, and by its look, if it is in no quotes. Dates stay texts.
pub(super) fn meaning(text: &str, is_plain: bool, tag: Option<&Tag>) -> Result<Value> {
    let Some(tag) = tag else {
        return Ok(if is_plain { look(text)? } else { Value::from(text) });
    };
    let name = if tag.is_yaml_core_schema() { tag.suffix.as_str() } else { "" };
    let value = match name {
        "str" => Some(Value::from(text)),
        "null" => Some(Value::Null),
        "bool" => truth(text).map(Value::Bool),
        "int" => whole_number(text),
        "float" => fraction(text).or_else(|| Some(Value::from(whole_number(text)?.as_f64()?))),
        _ => bail!("the tag {tag} is not known"),
    };
    value.ok_or_else(|| anyhow!("{text:?} is no {name}"))
}

fn look(text: &str) -> Result<Value> {
    static WHOLE: LazyLock<Regex> = LazyLock::new(|| {
        pattern("[-+]?(0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(:[0-5]?[0-9])+)")
    });
    static FRACTION: LazyLock<Regex> = LazyLock::new(|| {
        let with_exponent = r"([-+]?[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)([eE][-+][0-9]+)?";
        let sexagesimal = r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*";
        pattern(&format!(r"{with_exponent}|{sexagesimal}|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"))
    });
    if matches!(text, "" | "~" | "null" | "Null" | "NULL") {
        return Ok(Value::Null);
    }
    let number = if WHOLE.is_match(text) {
        whole_number(text)
    } else if FRACTION.is_match(text) {
        fraction(text)
    } else {
        return Ok(truth(text).map_or_else(|| Value::from(text), Value::Bool));
    };
    number.ok_or_else(|| anyhow!("{text} is a number that JSON cannot hold; put it in quotes"))
}

fn pattern(text: &str) -> Regex {
    Regex::new(&format!("^({text})$")).expect("the pattern is one")
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Some(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// Binary, octal, decimal, hexadecimal or sexagesimal.
fn whole_number(text: &str) -> Option<Value> {
    let text = text.replace('_', "");
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(&text)),
    };
    let number = if let Some(binary) = digits.strip_prefix("0b") {
        i128::from_str_radix(binary, 2).ok()?
    } else if let Some(hexadecimal) = digits.strip_prefix("0x") {
        i128::from_str_radix(hexadecimal, 16).ok()?
    } else if digits.len() > 1 && digits.starts_with('0') {
        i128::from_str_radix(digits, 8).ok()?
    } else {
        let add = |sum: i128, part: &str| sum.checked_mul(60)?.checked_add(part.parse().ok()?);
        digits.split(':').try_fold(0, add)?
    };
    Number::from_i128(sign * number).map(Value::Number)
}

/// With a point, and perhaps sexagesimal before it.
fn fraction(text: &str) -> Option<Value> {
    let text = text.replace('_', "");
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1.0, digits),
        None => (1.0, text.strip_prefix('+').unwrap_or(&text)),
    };
    let parts: Option<Vec<f64>> = digits.split(':').map(|part| part.parse().ok()).collect();
    let number = parts?.into_iter().fold(0.0, |sum, part| sum * 60.0 + part);
    Number::from_f64(sign * number).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_mean_what_they_mean_in_airflow() {
        let words = [
            "",
            "~",
            "null",
            "yes",
            "No",
            "ON",
            "y",
            "true",
            "1",
            "-1",
            "+7",
            "0",
            "007",
            "010",
            "08",
            "0x1F",
            "0b11",
            "1_000",
            "12:30",
            "-1:00:30",
            "1:90",
            "1.50",
            "1.",
            ".5",
            "1e3",
            "1.0e+3",
            "1.0e3",
            "1:30.5",
            "0o17",
            "-",
            "2020-01-02",
            "text",
        ];
        let meant: Vec<Value> = words.iter().map(|word| look(word).unwrap()).collect();
        let expected = concat!(
            r#"[null,null,null,true,false,true,"y",true,1,-1,7,0,7,8,"08",31,3,"#,
            r#"1000,750,-3630,"1:90",1.5,1.0,0.5,"1e3",1000.0,"1.0e3",90.5,"0o17","-","#,
            r#""2020-01-02","text"]"#
        );
        assert_eq!(Value::Array(meant).to_string(), expected);
        assert!(look(".inf").is_err() && look(".nan").is_err());
    }

    #[test]
    fn tags_decide() {
        let tag = |suffix: &str| Tag { handle: "tag:yaml.org,2002:".to_owned(), suffix: suffix.to_owned() };
        for (text, suffix, expected) in
            [("12", "str", "\"12\""), ("0x10", "int", "16"), ("1", "float", "1.0"), ("", "null", "null")]
        {
            assert_eq!(meaning(text, true, Some(&tag(suffix))).unwrap().to_string(), expected);
        }
        assert!(meaning("x", true, Some(&tag("int"))).is_err());
        assert!(meaning("x", true, Some(&tag("python/name:os"))).is_err());
        assert_eq!(meaning("12", false, None).unwrap(), "12");
    }
}
