//! A driver: waits for its harness, generates the ordered load, and sends whole intervals.
//!
//! It serves a control connection for each load of the run and ends with the last. Further connections, and
//! those without the token, are refused. If the harness is gone, all loads end at once, as their results
//! would be lost.

mod session;

use std::pin::Pin;
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::clock::Clock;
use super::error::out_of_place;
use super::frame::{self, FrameKind};
use super::message::{self, DriverCommand, DriverMessage, PROTOCOL};
use super::wire::{Wire, WireError};
use super::{FleetError, Token};
use barograph_record::ExitCode;
use barograph_workload::Workloads;

/// Time in which a new connection must present the token.
const GREETING: Duration = Duration::from_secs(5);

/// Largest number of connections in the greeting; further ones are closed at once.
const GREETED: usize = 8;

/// Longest silence of the harness, which may stand still while it writes to a slow disk.
const HARNESS_SILENCE: Duration = Duration::from_secs(60);

/// Most loads of a run, as in a plan.
const MOST_LOADS: usize = 64;

/// Serves one control connection until its load ends.
type SessionFuture = Pin<Box<dyn Future<Output = Result<(), FleetError>>>>;

/// Parameters of a driver, set by its program.
pub struct Driver {
    /// Listens for the harness.
    pub listener: std::net::TcpListener,
    /// Token that the harness must present.
    pub token: Token,
    /// Version of this program; the harness must have the same.
    pub tool: String,
    /// Number of cores it may use.
    pub cores: usize,
    /// Limit of open files of each worker.
    pub open_files: u64,
    /// Clock that the harness aligns with its own.
    pub clock: Clock,
    /// Available workloads.
    pub workloads: Workloads,
}

impl Driver {
    /// Serves until all loads have ended.
    ///
    /// # Errors
    /// If the harness disappears early, breaks the protocol, or the engine fails.
    pub async fn serve(self) -> Result<(), FleetError> {
        let Driver { listener, token, tool, cores, open_files, clock, workloads } = self;
        listener.set_nonblocking(true).map_err(FleetError::Listen)?;
        let listener = TcpListener::from_std(listener).map_err(FleetError::Listen)?;
        let mut greetings = JoinSet::new();
        let mut sessions: FuturesUnordered<SessionFuture> = FuturesUnordered::new();
        // Number of connections still expected, known from the first one.
        let mut to_come: Option<usize> = None;
        loop {
            tokio::select! {
                Some(ended) = sessions.next() => {
                    ended?;
                    if sessions.is_empty() && to_come == Some(0) {
                        return Ok(());
                    }
                }
                came = listener.accept() => match came {
                    Ok((stream, _)) if greetings.len() < GREETED => {
                        greetings.spawn(greet(stream, token.clone(), tool.clone()));
                    }
                    // A connection that is closed already, or superfluous.
                    Ok(_) => {}
                    Err(why) if passes(&why) => {}
                    Err(why) => return Err(FleetError::Listen(why)),
                },
                Some(greeted) = greetings.join_next() => {
                    let greeted = greeted.unwrap_or_else(|bug| std::panic::resume_unwind(bug.into_panic()));
                    let Some((mut wire, loads)) = greeted else { continue };
                    let Some(left) = to_come.unwrap_or(loads.min(MOST_LOADS)).checked_sub(1) else {
                        refuse(&mut wire, "this driver has a control connection for each load already").await;
                        continue;
                    };
                    to_come = Some(left);
                    let welcome = DriverMessage::Welcome { protocol: PROTOCOL, tool: tool.clone(), cores, open_files };
                    sessions.push(Box::pin(async move {
                        wire.say(&welcome).await.map_err(FleetError::Harness)?;
                        session::Session::new(wire, clock, workloads)?.run().await
                    }));
                }
            }
        }
    }
}

/// Whether a failed accept is temporary or caused by the other end.
fn passes(why: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(why.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

/// Checks the token of a new connection. Returns it with the number of loads of the run.
async fn greet(stream: TcpStream, token: Token, tool: String) -> Option<(Wire, usize)> {
    let mut wire = Wire::new(stream, frame::LONGEST_GREETING, GREETING).ok()?;
    match hello(&mut wire, &token, &tool).await {
        Ok(Ok(loads)) => {
            wire.trust(frame::LONGEST, HARNESS_SILENCE);
            Some((wire, loads))
        }
        Ok(Err(why)) => {
            refuse(&mut wire, &why).await;
            wire.part().await;
            None
        }
        // Connections that speak another protocol get no reply.
        Err(_) => None,
    }
}

/// Reads the greeting, the number of loads. The inner error is the reason for a refusal.
async fn hello(wire: &mut Wire, token: &Token, tool: &str) -> Result<Result<usize, String>, WireError> {
    let frame = wire.next().await?;
    if frame.kind != FrameKind::Message {
        return Err(out_of_place("a greeting that is none"));
    }
    let DriverCommand::Hello { protocol, tool: theirs, token: word, loads } = message::read(&frame.body)?
    else {
        return Err(out_of_place("a command before the greeting"));
    };
    if !token.is(&word) {
        return Ok(Err("the token is wrong".to_owned()));
    }
    if protocol != PROTOCOL || theirs != tool {
        return Ok(Err(format!("this driver is {tool}, and the harness is {theirs}")));
    }
    Ok(Ok(loads))
}

async fn refuse(wire: &mut Wire, why: &str) {
    let refused = DriverMessage::Refused { why: why.to_owned(), exit: ExitCode::Refused.code() };
    // Delivery of the refusal is not required.
    let _ = wire.say(&refused).await;
}
