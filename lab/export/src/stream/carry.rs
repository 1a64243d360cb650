//! The sending thread: one batch after the other, with retries while the receiver is down, until the sender
//! leaves.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use barograph_model::words::in_one_line;
use reqwest::{Client, Response, StatusCode};
use tokio::sync::{mpsc, watch};

use super::point::Batch;
use super::prometheus::OpenSeries;
use super::receiver::{Protocol, Receiver};
use super::{otlp, prometheus};

/// First pause after a failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Longest pause after a failure.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Time limit at the end for sending the queued batches.
const LEAVE_WITHIN: Duration = Duration::from_secs(5);

/// Most characters of an answer in a note.
const MOST_WORDS: usize = 200;

/// Fate of the figures so far.
#[derive(Debug, Default)]
pub(super) struct DeliveryCounts {
    /// Accepted by the receiver.
    pub(super) arrived: AtomicU64,
    /// Refused by the receiver.
    pub(super) refused: AtomicU64,
    /// The latest failure, in words.
    failure: Mutex<Option<String>>,
}

impl DeliveryCounts {
    pub(super) fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn fail(&self, why: String) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }
}

/// Result of a try.
enum AttemptResult {
    /// The receiver accepted the figures.
    Taken,
    /// The receiver refused them for good.
    Refused,
    /// The receiver is absent or too busy.
    Again,
}

/// Whether a request may be retried after such an answer. With remote-write, after every fault of the
/// receiver; with OpenTelemetry, after four statuses, and the others are final.
fn may_be_taken_later(protocol: Protocol, status: StatusCode) -> bool {
    match protocol {
        Protocol::Prometheus => status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS,
        Protocol::Otlp => matches!(status.as_u16(), 429 | 502..=504),
    }
}

/// Sends batches to a receiver.
pub(super) struct Carrier {
    pub(super) client: Client,
    pub(super) receiver: Receiver,
    pub(super) fate: Arc<DeliveryCounts>,
}

impl Carrier {
    /// Sends batches from the queue until it is closed and empty, and then ends the series of the receiver.
    /// Once `leaving` is true, all waits are limited to a few seconds.
    pub(super) async fn work(self, mut queue: mpsc::Receiver<Batch>, mut leaving: watch::Receiver<bool>) {
        let mut left = leaving.clone();
        let all = async {
            let mut begun = OpenSeries::default();
            while let Some(batch) = queue.recv().await {
                match self.bring(&batch, &mut leaving).await {
                    AttemptResult::Taken if self.receiver.protocol == Protocol::Prometheus => {
                        begun.took(&batch)
                    }
                    AttemptResult::Taken | AttemptResult::Refused => {}
                    AttemptResult::Again => return,
                }
            }
            if let Some(body) = begun.end() {
                // A failure loses no measurements.
                let _ = self.post(body).await;
            }
        };
        let time_is_up = async {
            // The other end is only dropped when it is true.
            let _ = left.wait_for(|leaving| *leaving).await;
            tokio::time::sleep(LEAVE_WITHIN).await;
        };
        tokio::select! {
            () = all => {}
            () = time_is_up => {}
        }
    }

    /// Tries until the receiver has decided; undecided if it is down and the sender leaves.
    async fn bring(&self, batch: &Batch, leaving: &mut watch::Receiver<bool>) -> AttemptResult {
        let body = match self.receiver.protocol {
            Protocol::Prometheus => prometheus::body(batch),
            Protocol::Otlp => otlp::body(batch),
        };
        let mut pause = FIRST_PAUSE;
        loop {
            let was_leaving = *leaving.borrow();
            let tried = self.try_once(body.clone(), batch.points.len() as u64).await;
            if was_leaving || !matches!(tried, AttemptResult::Again) {
                return tried;
            }
            // Leaving ends the pause: one last try follows.
            let _ = tokio::time::timeout(pause, leaving.wait_for(|leaving| *leaving)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn post(&self, body: Vec<u8>) -> reqwest::Result<Response> {
        let headers: &[(&str, &str)] = match self.receiver.protocol {
            Protocol::Prometheus => &prometheus::HEADERS,
            Protocol::Otlp => &otlp::HEADERS,
        };
        let mut request = self.client.post(self.receiver.url()).body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await
    }

    async fn try_once(&self, body: Vec<u8>, points: u64) -> AttemptResult {
        let answer = match self.post(body).await {
            Ok(answer) => answer,
            Err(why) => {
                self.fate.fail(in_one_line(&why));
                return AttemptResult::Again;
            }
        };
        let status = answer.status();
        let words = answer.bytes().await.unwrap_or_default();
        if status.is_success() {
            self.taken(points, &words);
            return AttemptResult::Taken;
        }
        let text: String = String::from_utf8_lossy(&words).trim().chars().take(MOST_WORDS).collect();
        self.fate.fail(format!("the receiver answered {status}: {text}"));
        if may_be_taken_later(self.receiver.protocol, status) {
            return AttemptResult::Again;
        }
        self.fate.refused.fetch_add(points, Ordering::Relaxed);
        AttemptResult::Refused
    }

    /// Records an accepted batch. An OpenTelemetry receiver may accept only a part and report that.
    fn taken(&self, points: u64, answer: &[u8]) {
        let rejected = match self.receiver.protocol {
            Protocol::Otlp => otlp::rejected(answer),
            Protocol::Prometheus => None,
        };
        let (rejected, why) = rejected.unwrap_or_default();
        if rejected > 0 {
            self.fate.fail(why);
        }
        self.fate.refused.fetch_add(rejected.min(points), Ordering::Relaxed);
        self.fate.arrived.fetch_add(points.saturating_sub(rejected), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_protocol_says_after_which_answers_it_is_asked_again() {
        let again =
            |protocol, status: u16| may_be_taken_later(protocol, StatusCode::from_u16(status).unwrap());
        for (status, prometheus, otlp) in [
            (302, false, false),
            (400, false, false),
            (404, false, false),
            (429, true, true),
            (500, true, false),
            (501, true, false),
            (502, true, true),
            (503, true, true),
            (504, true, true),
            (505, true, false),
        ] {
            assert_eq!(again(Protocol::Prometheus, status), prometheus, "{status}");
            assert_eq!(again(Protocol::Otlp, status), otlp, "{status}");
        }
    }
}
