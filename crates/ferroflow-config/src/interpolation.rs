//! `%(name)s` and `%%` in values of the file, as Python's `BasicInterpolation` reads them.

/// Replaces `%%` by a percent sign and `%(name)s` by what `lookup` gives for the name.
///
/// An error is the description of what is wrong.
pub(crate) fn interpolate<'a>(
    text: &'a str,
    lookup: &dyn Fn(&str) -> Option<&'a str>,
) -> Result<String, String> {
    let mut result = String::with_capacity(text.len());
    append(&mut result, text, lookup, 1)?;
    Ok(result)
}

/// Python's limit on values that refer to values.
const MAX_NESTING: usize = 10;

fn append<'a>(
    result: &mut String,
    text: &'a str,
    lookup: &dyn Fn(&str) -> Option<&'a str>,
    depth: usize,
) -> Result<(), String> {
    if depth > MAX_NESTING {
        return Err(format!("its references %(…)s are nested more than {MAX_NESTING} deep"));
    }
    let mut rest = text;
    while let Some(percent) = rest.find('%') {
        result.push_str(&rest[..percent]);
        let after = &rest[percent + 1..];
        if let Some(literal) = after.strip_prefix('%') {
            result.push('%');
            rest = literal;
        } else if let Some(reference) = after.strip_prefix('(') {
            let (name, remainder) = reference
                .split_once(')')
                .filter(|(name, _)| !name.is_empty())
                .and_then(|(name, remainder)| Some((name, remainder.strip_prefix('s')?)))
                .ok_or("a reference has to look like %(name)s")?;
            let value = lookup(name).ok_or_else(|| {
                format!("%({name})s refers to an option that is neither in this section of the file nor in [DEFAULT]")
            })?;
            // As in Python, plain text ends a chain without being a link of it.
            if value.contains('%') {
                append(result, value, lookup, depth + 1)?;
            } else {
                result.push_str(value);
            }
            rest = remainder;
        } else {
            return Err("a percent sign has to be followed by another or by (name)s".to_owned());
        }
    }
    result.push_str(rest);
    Ok(())
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn run(text: &str) -> Result<String, String> {
        interpolate(text, &|name| match name {
            "a" => Some("1"),
            "b" => Some("<%(a)s%%>"),
            "loop" => Some("%(loop)s"),
            _ => None,
        })
    }

    #[test_case("plain" => "plain")]
    #[test_case("100%%" => "100%")]
    #[test_case("%(a)s%(b)s." => "1<1%>.")]
    #[test_case("%%(a)s" => "%(a)s")]
    fn replaces(text: &str) -> String {
        run(text).unwrap()
    }

    #[test_case("50%", "a percent sign has to be followed by another or by (name)s")]
    #[test_case("%(a", "a reference has to look like %(name)s")]
    #[test_case("%(a)d", "a reference has to look like %(name)s")]
    #[test_case("%()s", "a reference has to look like %(name)s")]
    #[test_case("%(loop)s", "its references %(…)s are nested more than 10 deep")]
    #[test_case(
        "%(A)s",
        "%(A)s refers to an option that is neither in this section of the file nor in [DEFAULT]"
    )]
    fn refuses(text: &str, problem: &str) {
        assert_eq!(run(text), Err(problem.to_owned()));
    }
}
