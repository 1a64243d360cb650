//! QEMU's control protocol: JSON texts, one per line, over a Unix socket.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clock::now;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{Instant, sleep, timeout_at};

/// Longest wait for an answer. QEMU answers at once, except while it stops a guest.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// Number of unclaimed events that are kept; older ones are dropped.
const KEPT_EVENTS: usize = 256;

/// Interval between polls for a missing socket.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A failure of the connection, or a refusal by QEMU.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QmpError {
    #[error("reach QEMU at `{}`", path.display())]
    Connect {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("speak with QEMU")]
    Io(#[from] io::Error),
    #[error("QEMU refuses `{command}`: {says}")]
    Refused { command: String, says: String },
    #[error("QEMU did not answer `{0}` in time")]
    Late(String),
    #[error("{0}")]
    Failed(String),
}

/// An event reported by QEMU.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) data: Value,
    /// Time by QEMU's clock, since 1970.
    pub(crate) at: Duration,
}

/// A connection to one QEMU.
#[derive(Debug)]
pub(crate) struct Qmp {
    lines: Lines<BufReader<OwnedReadHalf>>,
    to: OwnedWriteHalf,
    events: VecDeque<Event>,
    count: u64,
}

/// Content of a line.
enum QmpLine {
    Answer { id: u64, result: Result<Value, String> },
    Event(Event),
    Other,
}

impl Qmp {
    /// Waits for the socket, and negotiates.
    pub(crate) async fn connect(path: &Path, deadline: Instant) -> Result<Qmp, QmpError> {
        let stream = loop {
            match UnixStream::connect(path).await {
                Ok(stream) => break stream,
                Err(_) if now() < deadline => sleep(LOOK_EVERY).await,
                Err(source) => return Err(QmpError::Connect { path: path.to_owned(), source }),
            }
        };
        let (from, to) = stream.into_split();
        let lines = BufReader::new(from).lines();
        let mut qmp = Qmp { lines, to, events: VecDeque::new(), count: 0 };
        qmp.execute("qmp_capabilities", json!({})).await?;
        Ok(qmp)
    }

    /// Sends a command and waits for its answer.
    pub(crate) async fn execute(&mut self, command: &str, arguments: Value) -> Result<Value, QmpError> {
        self.execute_by(now() + ANSWER_LIMIT, command, arguments).await
    }

    /// As [`Qmp::execute`], for a command that is answered when its work is done.
    pub(crate) async fn execute_by(
        &mut self,
        deadline: Instant,
        command: &str,
        arguments: Value,
    ) -> Result<Value, QmpError> {
        self.count += 1;
        let wanted = self.count;
        let mut line = json!({ "execute": command, "arguments": arguments, "id": wanted }).to_string();
        line.push('\n');
        self.to.write_all(line.as_bytes()).await?;
        loop {
            let heard = timeout_at(deadline, self.hear()).await;
            match heard.map_err(|_| QmpError::Late(command.to_owned()))?? {
                QmpLine::Answer { id, result } if id == wanted => {
                    let refused = |says| QmpError::Refused { command: command.to_owned(), says };
                    return result.map_err(refused);
                }
                QmpLine::Event(event) => self.keep(event),
                // The answer to a command whose caller has gone, or the greeting.
                QmpLine::Answer { .. } | QmpLine::Other => {}
            }
        }
    }

    /// Returns the next event for which `wanted` holds, from those received and those to come.
    pub(crate) async fn event(
        &mut self,
        deadline: Instant,
        wanted: impl Fn(&Event) -> bool,
    ) -> Result<Event, QmpError> {
        if let Some(at) = self.events.iter().position(&wanted)
            && let Some(event) = self.events.remove(at)
        {
            return Ok(event);
        }
        loop {
            let heard = timeout_at(deadline, self.hear()).await;
            match heard.map_err(|_| QmpError::Late("an event".to_owned()))?? {
                QmpLine::Event(event) if wanted(&event) => return Ok(event),
                QmpLine::Event(event) => self.keep(event),
                QmpLine::Answer { .. } | QmpLine::Other => {}
            }
        }
    }

    /// Drops the events received so far.
    pub(crate) fn forget_events(&mut self) {
        self.events.clear();
    }

    fn keep(&mut self, event: Event) {
        if self.events.len() == KEPT_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    async fn hear(&mut self) -> Result<QmpLine, QmpError> {
        match self.lines.next_line().await? {
            Some(line) => Ok(understand(&line)),
            None => Err(QmpError::Io(io::ErrorKind::UnexpectedEof.into())),
        }
    }
}

fn understand(line: &str) -> QmpLine {
    let Ok(Value::Object(mut line)) = serde_json::from_str::<Value>(line) else { return QmpLine::Other };
    if let Some(Value::String(name)) = line.remove("event") {
        let at = line.get("timestamp").and_then(Value::as_object).map(instant).unwrap_or_default();
        let data = line.remove("data").unwrap_or(Value::Null);
        return QmpLine::Event(Event { name, data, at });
    }
    let Some(id) = line.get("id").and_then(Value::as_u64) else { return QmpLine::Other };
    let result = match line.get("error") {
        Some(error) => Err(error["desc"].as_str().unwrap_or("no reason").to_owned()),
        None => Ok(line.remove("return").unwrap_or(Value::Null)),
    };
    QmpLine::Answer { id, result }
}

fn instant(timestamp: &Map<String, Value>) -> Duration {
    let field = |name: &str| timestamp.get(name).and_then(Value::as_u64).unwrap_or(0);
    Duration::from_secs(field("seconds")) + Duration::from_micros(field("microseconds"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::UnixListener;

    /// A QEMU that sends these lines after its first request.
    async fn qmp(says: &'static [&'static str]) -> (Qmp, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let (from, mut to) = stream.into_split();
            let mut lines = BufReader::new(from).lines();
            to.write_all(b"{\"QMP\":{}}\n").await.unwrap();
            lines.next_line().await.unwrap();
            to.write_all(b"{\"return\":{},\"id\":1}\n").await.unwrap();
            lines.next_line().await.unwrap();
            for line in says {
                to.write_all(line.as_bytes()).await.unwrap();
                to.write_all(b"\n").await.unwrap();
            }
        });
        (Qmp::connect(&path, Instant::now() + ANSWER_LIMIT).await.unwrap(), folder)
    }

    #[tokio::test]
    async fn answers_are_told_from_events() {
        let (mut qmp, _folder) = qmp(&[
            r#"{"event":"STOP","timestamp":{"seconds":7,"microseconds":5}}"#,
            r#"{"id":99,"return":{}}"#,
            r#"{"id":2,"return":{"status":"running"}}"#,
            r#"{"event":"RESUME","data":{"x":1},"timestamp":{"seconds":8,"microseconds":0}}"#,
        ])
        .await;
        assert_eq!(qmp.execute("query-status", json!({})).await.unwrap()["status"], "running");
        let deadline = Instant::now() + ANSWER_LIMIT;
        let resume = qmp.event(deadline, |event| event.name == "RESUME").await.unwrap();
        let stop = qmp.event(deadline, |event| event.name == "STOP").await.unwrap();
        assert_eq!((resume.at - stop.at, &resume.data["x"]), (Duration::from_micros(999_995), &json!(1)));
        assert!(matches!(qmp.event(deadline, |_| true).await, Err(QmpError::Io(_))), "QEMU is gone");
    }

    #[tokio::test]
    async fn a_refusal_says_why() {
        let (mut qmp, _folder) =
            qmp(&[r#"{"id":2,"error":{"class":"GenericError","desc":"no such device"}}"#]).await;
        let error = qmp.execute("device_del", json!({"id": "x"})).await.unwrap_err();
        assert_eq!(error.to_string(), "QEMU refuses `device_del`: no such device");
    }
}
