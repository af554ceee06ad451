//! Questions of one kind, and their answers.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferroflow_telemetry::clock::Stopwatch;
use tokio::sync::mpsc::UnboundedSender;

use super::{Answered, NoAnswer};

/// Who has failed is asked again after so long.
const PATIENCE: Duration = Duration::from_secs(5);

/// Questions by what they concern. Of one thing, one question at a time is asked; the newest is what comes next.
pub(crate) struct Desk<K, Q, V> {
    /// How long an answer is true.
    fresh: Duration,
    /// Whether the last answer is used until there is another one.
    uses_the_last: bool,
    entries: Arc<Mutex<Entries<K, Q, V>>>,
}

struct Entries<K, Q, V> {
    by_key: HashMap<K, Entry<Q, V>>,
    /// Since those that are not asked for any more were looked for.
    tidied: Stopwatch,
}

struct Entry<Q, V> {
    /// None if the answer is not wanted any more.
    question: Option<Q>,
    /// Who is asked.
    who: String,
    is_asked: bool,
    /// Whether something else was to be asked meanwhile.
    is_superseded: bool,
    answer: Option<V>,
    /// What was said before to another question, where the last answer is used.
    before: Option<(Q, V)>,
    /// Why it failed when it was asked last.
    failure: Option<String>,
    /// Since it was asked or answered.
    since: Stopwatch,
}

impl<K, Q, V> Desk<K, Q, V>
where
    K: Clone + Eq + Hash + Send + 'static,
    Q: Clone + PartialEq + Send + 'static,
    V: Clone + Send + 'static,
{
    /// A desk whose answers are true for so long.
    pub(crate) fn new(fresh: Duration) -> Self {
        let entries = Entries { by_key: HashMap::new(), tidied: Stopwatch::start() };
        Self { fresh, uses_the_last: false, entries: Arc::new(Mutex::new(entries)) }
    }

    /// With the last answer to a question used while it is asked again.
    pub(crate) fn using_the_last(self) -> Self {
        Self { uses_the_last: true, ..self }
    }

    /// The answer, if there is a fresh one.
    pub(crate) fn answer(&self, key: &K, question: &Q) -> Option<V> {
        let entries = locked(&self.entries);
        let entry = entries.by_key.get(key).filter(|entry| entry.is_of(question))?;
        let is_usable = !entry.is_asked && entry.since.elapsed() < self.fresh;
        entry.answer.clone().filter(|_| is_usable || self.uses_the_last)
    }

    /// How many have no answer yet.
    pub(crate) fn unanswered(&self) -> usize {
        locked(&self.entries).by_key.values().filter(|entry| entry.is_asked).count()
    }

    /// Why there will be no answer for a moment: it is asked, or has failed a moment ago.
    pub(crate) fn silence(&self, key: &K) -> Option<NoAnswer> {
        let entries = locked(&self.entries);
        let entry = entries.by_key.get(key)?;
        let is_young = entry.is_asked || entry.since.elapsed() < PATIENCE;
        match &entry.failure {
            Some(failure) => is_young.then(|| NoAnswer::Failed(failure.clone())),
            None => entry.is_asked.then(|| NoAnswer::Awaited(entry.who.clone())),
        }
    }

    /// What was said last, and to which question.
    pub(crate) fn last(&self, key: &K) -> Option<(Q, V)> {
        let entries = locked(&self.entries);
        let entry = entries.by_key.get(key)?;
        entry.question.clone().zip(entry.answer.clone()).or_else(|| entry.before.clone())
    }

    /// What was asked is over. A question that has no answer yet is waited for all the same: it takes a process.
    pub(crate) fn forget(&self, key: &K) {
        let mut entries = locked(&self.entries);
        match entries.by_key.get_mut(key) {
            Some(entry) if entry.is_asked => entry.question = None,
            _ => _ = entries.by_key.remove(key),
        }
    }

    /// The answer. Where it is waited for, that is when it is there; where it is announced, that is at once, and if
    /// there is none, the question goes out and `wakes` is told once there is.
    pub(crate) async fn ask<F>(
        &self,
        told: Option<UnboundedSender<Answered>>,
        key: K,
        question: Q,
        wakes: Answered,
        who: &str,
        ask: impl FnOnce() -> F + Send,
    ) -> Result<V, NoAnswer>
    where
        F: Future<Output = Result<V, String>> + Send + 'static,
    {
        // What is waited for is large, and a future that awaits it would be larger than a stack likes.
        let Some(told) = told else { return Box::pin(ask()).await.map_err(NoAnswer::Failed) };
        match self.look(&key, question, who) {
            Looked::Answer(answer) => answer,
            Looked::Ask { meanwhile } => {
                self.send(told, key, wakes, ask());
                meanwhile.unwrap_or_else(|| Err(NoAnswer::Awaited(who.to_owned())))
            }
            Looked::Awaited => Err(NoAnswer::Awaited(who.to_owned())),
        }
    }

    /// What is known; what is not is noted as asked.
    fn look(&self, key: &K, question: Q, who: &str) -> Looked<V> {
        let mut entries = locked(&self.entries);
        let is_other = |entry: &&mut Entry<Q, V>| entry.is_asked && !entry.is_of(&question);
        if let Some(entry) = entries.by_key.get_mut(key).filter(is_other) {
            entry.is_superseded = true;
            return Looked::Awaited;
        }
        let known = entries.by_key.get(key).filter(|entry| entry.is_of(&question));
        let mut meanwhile = None;
        if let Some(entry) = known {
            let is_old = |limit: Duration| !entry.is_asked && entry.since.elapsed() >= limit;
            meanwhile = match (&entry.failure, &entry.answer) {
                (Some(failure), _) => Some((Err(NoAnswer::Failed(failure.clone())), is_old(PATIENCE))),
                (None, Some(answer)) => Some((Ok(answer.clone()), is_old(self.fresh))),
                (None, None) => None,
            };
            match meanwhile {
                Some((said, false)) => return Looked::Answer(said),
                None => return Looked::Awaited,
                Some((_, true)) => {}
            }
        }
        entries.note(key, (question, who), (self.fresh, self.uses_the_last));
        let said = meanwhile.map(|(said, _)| said).filter(|said| said.is_err() || self.uses_the_last);
        Looked::Ask { meanwhile: said }
    }

    /// Has a question answered beside the caller.
    fn send<F>(&self, told: UnboundedSender<Answered>, key: K, wakes: Answered, asked: F)
    where
        F: Future<Output = Result<V, String>> + Send + 'static,
    {
        let entries = Arc::clone(&self.entries);
        tokio::spawn(async move {
            let mut open = Open { entries, key: Some(key) };
            let answer = asked.await;
            if open.close(Some(answer)) {
                // A loop that has ended waits for no answer.
                drop(told.send(wakes));
            }
        });
    }
}

/// What is known of a question.
enum Looked<V> {
    Answer(Result<V, NoAnswer>),
    /// It is to be asked; what is said meanwhile.
    Ask {
        meanwhile: Option<Result<V, NoAnswer>>,
    },
    Awaited,
}

impl<K: Clone + Eq + Hash, Q: PartialEq, V> Entries<K, Q, V> {
    /// Notes that a question is asked. Why the same one has failed is still known, and what was said if it may be used.
    fn note(&mut self, key: &K, (question, who): (Q, &str), (fresh, uses_the_last): (Duration, bool)) {
        let long_ago = fresh.max(PATIENCE) * 2;
        if self.tidied.elapsed() >= long_ago {
            self.by_key.retain(|_, entry| entry.is_asked || entry.since.elapsed() < long_ago);
            self.tidied = Stopwatch::start();
        }
        let (mut answer, mut before, mut failure) = (None, None, None);
        if let Some(entry) = self.by_key.remove(key) {
            if entry.is_of(&question) {
                (answer, before, failure) = (entry.answer, entry.before, entry.failure);
            } else {
                before = entry.question.zip(entry.answer).or(entry.before);
            }
        }
        let (answer, before) = (answer.filter(|_| uses_the_last), before.filter(|_| uses_the_last));
        let entry = Entry {
            question: Some(question),
            who: who.to_owned(),
            is_asked: true,
            is_superseded: false,
            answer,
            before,
            failure,
            since: Stopwatch::start(),
        };
        self.by_key.insert(key.clone(), entry);
    }
}

impl<Q: PartialEq, V> Entry<Q, V> {
    fn is_of(&self, question: &Q) -> bool {
        self.question.as_ref() == Some(question)
    }
}

/// A question that is asked. One whose asking ends without an answer, by a panic, is as if it had never been asked.
struct Open<K: Eq + Hash, Q, V> {
    entries: Arc<Mutex<Entries<K, Q, V>>>,
    key: Option<K>,
}

impl<K: Eq + Hash, Q, V> Open<K, Q, V> {
    /// Notes the answer. Whether it is any news, or something else can be asked now.
    fn close(&mut self, answer: Option<Result<V, String>>) -> bool {
        let Some(key) = self.key.take() else { return false };
        let mut entries = locked(&self.entries);
        let Some(entry) = entries.by_key.get_mut(&key) else { return false };
        (entry.is_asked, entry.since) = (false, Stopwatch::start());
        match answer {
            Some(Ok(answer)) if entry.question.is_some() => {
                (entry.answer, entry.before, entry.failure) = (Some(answer), None, None);
            }
            Some(Err(failure)) if entry.question.is_some() => {
                let is_news = entry.failure.as_ref() != Some(&failure);
                (entry.answer, entry.failure) = (None, Some(failure));
                return is_news || std::mem::take(&mut entry.is_superseded);
            }
            _ => _ = entries.by_key.remove(&key),
        }
        true
    }
}

impl<K: Eq + Hash, Q, V> Drop for Open<K, Q, V> {
    fn drop(&mut self) {
        self.close(None);
    }
}

/// Every change is whole before it is let go of.
fn locked<K, Q, V>(entries: &Mutex<Entries<K, Q, V>>) -> MutexGuard<'_, Entries<K, Q, V>> {
    entries.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    #[tokio::test]
    async fn an_answer_is_of_exactly_what_was_asked() {
        let desk: Desk<&str, u8, u8> = Desk::new(Duration::from_mins(1));
        let (told, mut tracked) = unbounded_channel();
        let ask = async |question: u8, answer: Result<u8, &str>| {
            let answer = answer.map_err(str::to_owned);
            let asked = move || std::future::ready(answer);
            desk.ask(Some(told.clone()), "key", question, Answered::Create, "who", asked).await
        };
        let awaited = Err(NoAnswer::Awaited("who".to_owned()));
        assert_eq!(ask(1, Ok(10)).await, awaited);
        assert_eq!(ask(1, Ok(11)).await, awaited, "it is asked");
        assert_eq!((tracked.recv().await, desk.unanswered()), (Some(Answered::Create), 0));
        assert_eq!(ask(1, Ok(11)).await, Ok(10), "and is not asked again");
        assert_eq!((desk.answer(&"key", &1), desk.answer(&"key", &2)), (Some(10), None));
        assert_eq!(ask(2, Err("no")).await, awaited, "another question has another answer");
        tracked.recv().await;
        let failed = Err(NoAnswer::Failed("no".to_owned()));
        assert_eq!(ask(2, Ok(12)).await, failed, "who has failed is not asked again at once");
        desk.forget(&"key");
        assert_eq!(ask(2, Ok(12)).await, awaited, "what was used is over");
        tracked.recv().await;
        assert_eq!(ask(2, Ok(13)).await, Ok(12));
    }

    #[tokio::test]
    async fn one_question_at_a_time_is_asked_about_the_same() {
        let desk: Desk<&str, u8, u8> = Desk::new(Duration::from_mins(1));
        let (told, mut tracked) = unbounded_channel();
        let (may_answer, mut first) = tokio::sync::watch::channel(false);
        let awaited = Err(NoAnswer::Awaited("who".to_owned()));
        let slowly = move || async move {
            first.wait_for(|may| *may).await.unwrap();
            Err("no".to_owned())
        };
        let said = desk.ask(Some(told.clone()), "key", 1, Answered::Create, "who", slowly).await;
        assert_eq!(said, awaited);
        for question in 2..100 {
            let never = || async { panic!("something else is asked") };
            let said = desk.ask(Some(told.clone()), "key", question, Answered::Create, "who", never).await;
            assert_eq!(said, awaited);
        }
        desk.forget(&"key");
        assert_eq!(desk.unanswered(), 1, "it takes a process");
        may_answer.send(true).unwrap();
        assert_eq!(tracked.recv().await, Some(Answered::Create), "another can be asked now");
        let at_once = || std::future::ready(Ok(7));
        let ask = async || desk.ask(Some(told.clone()), "key", 100, Answered::Create, "who", at_once).await;
        assert_eq!(ask().await, awaited);
        tracked.recv().await;
        assert_eq!(ask().await, Ok(7));
    }

    #[tokio::test]
    async fn an_old_answer_is_used_while_it_is_asked_again_where_that_does_no_harm() {
        let (told, mut tracked) = unbounded_channel();
        let ask = async |desk: &Desk<(), (), u8>, answer: u8| {
            let asked = move || std::future::ready(Ok(answer));
            desk.ask(Some(told.clone()), (), (), Answered::Create, "who", asked).await
        };
        let desk = Desk::new(Duration::ZERO).using_the_last();
        assert!(ask(&desk, 1).await.is_err());
        tracked.recv().await;
        assert_eq!(ask(&desk, 2).await, Ok(1));
        let desk = Desk::new(Duration::ZERO);
        assert!(ask(&desk, 1).await.is_err());
        tracked.recv().await;
        tracked.recv().await;
        assert!(ask(&desk, 2).await.is_err(), "it is too old");
    }
}
