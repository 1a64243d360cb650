//! The client of one server: fetches of its set over connections of its own.

use std::sync::{Arc, Mutex};

use barograph_engine::{OpContext, User, UserFactory};
use barograph_http::{Answer, Client, Connections};
use barograph_model::words::in_one_line;
use barograph_model::{OpId, Outcome, UserId};
use barograph_workload::{Failure, Reasons};

use crate::measures::{BYTES, FILES};
use crate::prepared::{ExpectedFile, PreparedLoad};

/// The clients of one worker.
pub(crate) struct FarmUsers {
    load: Arc<PreparedLoad>,
    reasons: Arc<Mutex<Reasons>>,
}

impl FarmUsers {
    pub(crate) fn new(load: &Arc<PreparedLoad>, reasons: &Arc<Mutex<Reasons>>) -> Self {
        FarmUsers { load: Arc::clone(load), reasons: Arc::clone(reasons) }
    }
}

impl UserFactory for FarmUsers {
    type User = FarmUser;

    fn user(&self, id: UserId) -> FarmUser {
        let server = id.0 as usize % self.load.servers.len();
        FarmUser {
            connections: Client::new(&self.load.servers[server].target).user(id.0),
            load: Arc::clone(&self.load),
            server,
            reasons: Arc::clone(&self.reasons),
        }
    }
}

/// The client of a server.
pub(crate) struct FarmUser {
    connections: Connections,
    load: Arc<PreparedLoad>,
    server: usize,
    reasons: Arc<Mutex<Reasons>>,
}

/// A file that did not come as it should.
pub(crate) struct WrongFile {
    outcome: Outcome,
    pub(crate) why: String,
    /// Beginning of the answer's body.
    seen: Vec<u8>,
}

impl FarmUser {
    /// Fetches a file and checks it. Returns its bytes.
    pub(crate) async fn fetch(
        connections: &Connections,
        file: &ExpectedFile,
        verify: bool,
    ) -> Result<usize, WrongFile> {
        match connections.send_prepared(&file.request).await {
            Ok(answer) => judged(&answer, file, verify),
            Err(fault) => {
                Err(WrongFile { outcome: fault.outcome(), why: in_one_line(&fault), seen: Vec::new() })
            }
        }
    }
}

/// Judges an answer; returns the length of its body.
fn judged(answer: &Answer, file: &ExpectedFile, verify: bool) -> Result<usize, WrongFile> {
    let wrong = |outcome, why| {
        let body = answer.body();
        Err(WrongFile { outcome, why, seen: body[..body.len().min(LONGEST)].to_vec() })
    };
    let length = answer.body_length();
    match answer.status {
        200 if length != file.length => {
            wrong(Outcome::WrongAnswer, format!("{length} bytes instead of {}", file.length))
        }
        200 if verify && crc32fast::hash(answer.body()) != file.hash => {
            wrong(Outcome::WrongAnswer, "other content than that of the set".to_owned())
        }
        200 => Ok(length),
        status => wrong(Outcome::Refused, format!("status {status}")),
    }
}

/// Most bytes kept of an answer.
const LONGEST: usize = 160;

impl User for FarmUser {
    async fn act(&self, op: OpId, context: &mut OpContext) -> Outcome {
        for file in &self.load.servers[self.server].files {
            context.sent();
            match FarmUser::fetch(&self.connections, file, self.load.verify).await {
                Ok(bytes) => {
                    context.add(FILES, 1);
                    context.add(BYTES, bytes as u64);
                }
                Err(WrongFile { outcome, why, seen }) => {
                    Reasons::note(&self.reasons, op, &Failure { outcome, why, seen: &seen });
                    return outcome;
                }
            }
        }
        Outcome::Good
    }
}
