//! Texts published by a test, for clients that wait for news.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// Most news kept; a test that publishes more is wrong.
const MOST_NEWS: usize = 1 << 16;

/// All news so far, with a signal.
pub(super) struct Feed {
    news: Mutex<Vec<String>>,
    count: watch::Sender<usize>,
}

impl Feed {
    pub(super) fn new() -> Self {
        Feed { news: Mutex::new(Vec::new()), count: watch::Sender::new(0) }
    }

    /// Adds one; returns its number, from 1.
    pub(super) fn publish(&self, text: &str) -> usize {
        let mut news = self.list();
        assert!(news.len() < MOST_NEWS, "a site keeps {MOST_NEWS} news and no more");
        news.push(text.to_owned());
        // Signalled under the lock, so that the count never goes back.
        self.count.send_replace(news.len());
        news.len()
    }

    /// The number of the latest; 0 without any.
    pub(super) fn latest(&self) -> usize {
        *self.count.borrow()
    }

    /// The first one after number `after`, waiting if need be.
    pub(super) async fn next(&self, after: usize) -> (usize, String) {
        let mut bell = self.count.subscribe();
        let rung = bell.wait_for(|count| *count > after).await.is_ok();
        assert!(rung, "the bell lives as long as the feed");
        (after + 1, self.list()[after].clone())
    }

    fn list(&self) -> MutexGuard<'_, Vec<String>> {
        // A push that panicked left whole entries only.
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
