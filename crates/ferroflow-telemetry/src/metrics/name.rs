//! Which names are sent.

use std::borrow::Cow;

use regex::Regex;

use super::recorder::MetricsError;
use super::settings::MetricsSettings;

/// The longest name that is sent.
const LONGEST: usize = 250;

/// A part of a name or a tag without what may not stand there: other characters become underscores.
pub fn normalized(part: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if part.chars().all(is_plain) {
        return Cow::Borrowed(part);
    }
    Cow::Owned(part.chars().map(|c| if is_plain(c) { c } else { '_' }).collect())
}

/// Whether a name is short and plain enough. With tags in it, it has commas and equals signs.
pub(super) fn is_valid(name: &str, has_tags: bool) -> bool {
    name.chars().count() <= LONGEST && is_plain_enough(name, has_tags)
}

/// Whether a name is plain enough.
pub(super) fn is_plain_enough(name: &str, has_tags: bool) -> bool {
    let is_allowed = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '_' | '.' | '-' | '/')
            || (has_tags && matches!(c, ',' | '='))
    };
    name.chars().all(is_allowed)
}

/// The patterns of `[metrics]`.
#[derive(Debug)]
pub(super) struct Rules {
    names: Names,
    disabled_tags: Vec<Regex>,
}

#[derive(Debug)]
enum Names {
    All,
    Only(Vec<Regex>),
    Except(Vec<Regex>),
}

impl Rules {
    pub(super) fn new(settings: &MetricsSettings) -> Result<Self, MetricsError> {
        let names = if !settings.allow_list.is_empty() {
            if !settings.block_list.is_empty() {
                tracing::warn!(
                    "[metrics] metrics_block_list has no effect while metrics_allow_list is set; remove one"
                );
            }
            Names::Only(compiled("metrics_allow_list", &settings.allow_list)?)
        } else if !settings.block_list.is_empty() {
            Names::Except(compiled("metrics_block_list", &settings.block_list)?)
        } else {
            Names::All
        };
        Ok(Self { names, disabled_tags: compiled("statsd_disabled_tags", &settings.disabled_tags)? })
    }

    pub(super) fn is_sent(&self, name: &str) -> bool {
        match &self.names {
            Names::All => true,
            Names::Only(patterns) => is_found(patterns, name),
            Names::Except(patterns) => !is_found(patterns, name),
        }
    }

    pub(super) fn is_tag_sent(&self, tag: &str) -> bool {
        !is_found(&self.disabled_tags, tag)
    }
}

fn is_found(patterns: &[Regex], name: &str) -> bool {
    let name = name.trim().to_lowercase();
    patterns.iter().any(|pattern| pattern.is_match(&name))
}

/// Patterns are found anywhere, in small letters on both sides.
fn compiled(option: &'static str, patterns: &[String]) -> Result<Vec<Regex>, MetricsError> {
    let compile = |pattern: &String| {
        Regex::new(&pattern.trim().to_lowercase()).map_err(|source| MetricsError::Pattern {
            option,
            pattern: pattern.clone(),
            source: Box::new(source),
        })
    };
    patterns.iter().map(compile).collect()
}
