//! Texts that repeat.

use std::collections::HashMap;
use std::sync::Arc;

/// The texts of one DAG, each once.
#[derive(Default)]
pub(super) struct Strings<'v> {
    seen: HashMap<&'v str, Arc<str>>,
    /// Most tasks say what those before them said: looking here first saves most of the hashing.
    recent: [Option<Arc<str>>; RECENT],
}

const RECENT: usize = 16;

impl<'v> Strings<'v> {
    /// The one copy of a text.
    pub(super) fn intern(&mut self, text: &'v str) -> Arc<str> {
        let bytes = text.as_bytes();
        let slot = (bytes.len() ^ usize::from(bytes.last().copied().unwrap_or(0))) % RECENT;
        if let Some(recent) = &self.recent[slot]
            && **recent == *text
        {
            return recent.clone();
        }
        let interned = self.seen.entry(text).or_insert_with(|| text.into()).clone();
        self.recent[slot] = Some(interned.clone());
        interned
    }

    /// Puts a text where mostly the same one is already.
    pub(super) fn replace(&mut self, slot: &mut Arc<str>, text: &'v str) {
        if **slot != *text {
            *slot = self.intern(text);
        }
    }
}
