//! One field in words: what minutes, hours, days and months have in common.

/// The words of one kind of field.
pub(super) trait Wording {
    /// For `*`.
    const EVERY: &'static str;

    /// One value, or None for what is not one.
    fn item(&self, value: &str) -> Option<String>;

    /// A value at the end of a range.
    fn end(&self, value: &str) -> Option<String> {
        self.item(value)
    }

    /// For the 5 of `*/5`.
    fn step(&self, step: &str) -> String;

    /// For a range that is not in a list.
    fn between(&self, from: &str, to: &str) -> String;

    /// For the words of one value, or of a list; `field` is the text they stand for.
    fn only(&self, field: &str, words: &str) -> String;
}

/// A field in words, or None if it holds what is not a value.
pub(super) fn phrase<W: Wording>(field: &str, wording: &W) -> Option<String> {
    if field == "*" {
        return Some(W::EVERY.to_owned());
    }
    if field.contains(',') {
        return Some(wording.only(field, &enumeration(field, wording)?));
    }
    if let Some((range, step)) = field.split_once('/') {
        return stepped(range, step, wording);
    }
    if field.contains('-') {
        return between(field, wording);
    }
    Some(wording.only(field, &wording.item(field)?))
}

/// The items of a list: "a and b", or "a, b, and c".
pub(super) fn enumeration(field: &str, wording: &impl Wording) -> Option<String> {
    let items: Vec<String> = field.split(',').map(|item| listed(item, wording)).collect::<Option<_>>()?;
    let (last, others) = items.split_last()?;
    let comma = if others.len() > 1 { "," } else { "" };
    Some(format!("{}{comma} and {last}", others.join(", ")))
}

fn listed(item: &str, wording: &impl Wording) -> Option<String> {
    let Some((range, step)) = item.split_once('/') else {
        return if item.contains('-') { through(item, wording) } else { wording.item(item) };
    };
    let step = wording.step(step);
    let step = without_comma(&step);
    if range.contains('-') {
        return Some(format!("{step}, {}", through(range, wording)?));
    }
    if range == "*" {
        return Some(step.to_owned());
    }
    // The reference has no English for "starting at", so that only the comma is left of it. The value must still
    // be one.
    wording.item(range).map(|_| format!("{step}, "))
}

fn through(range: &str, wording: &impl Wording) -> Option<String> {
    let (from, to) = ends(range, wording)?;
    Some(format!("{from} through {to}"))
}

fn stepped(range: &str, step: &str, wording: &impl Wording) -> Option<String> {
    let step = wording.step(step);
    if range.contains('-') {
        let between = between(range, wording)?;
        return Some(format!("{step}, {}", without_comma(&between)));
    }
    if range == "*" {
        return Some(step);
    }
    let start = wording.only(range, &wording.item(range)?);
    Some(format!("{step}, starting {}", without_comma(&start)))
}

fn without_comma(words: &str) -> &str {
    words.strip_prefix(", ").unwrap_or(words)
}

fn between(range: &str, wording: &impl Wording) -> Option<String> {
    let (from, to) = ends(range, wording)?;
    Some(wording.between(&from, &to))
}

fn ends(range: &str, wording: &impl Wording) -> Option<(String, String)> {
    let (from, to) = range.split_once('-')?;
    Some((wording.item(from)?, wording.end(to)?))
}
