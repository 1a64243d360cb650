//! A driver: waits for its harness, makes the load it is told to, and hands over whole intervals.
//!
//! It serves a control connection for each load of the run and ends with the last. Further connections, and those without the
//! token, are refused. When the harness is gone all loads end at once: nothing would be known of them.

mod session;

use std::pin::Pin;
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::clock::Clock;
use super::error::out_of_place;
use super::frame::{self, Kind};
use super::message::{self, Command, PROTOCOL, Said};
use super::wire::{Trouble, Wire};
use super::{FleetError, Token};
use barograph_record::ExitCode;
use barograph_workload::Workloads;

/// Whoever connects must have shown its token by then.
const GREETING: Duration = Duration::from_secs(5);

/// Connections that may be greeted at the same time; more are closed at once.
const GREETED: usize = 8;

/// A harness may stand still while it writes to a slow disk, but not for longer.
const HARNESS_SILENCE: Duration = Duration::from_secs(60);

/// Most loads of a run, as in a plan.
const MOST_LOADS: usize = 64;

/// A driver and its harness, until a load is over.
type Leading = Pin<Box<dyn Future<Output = Result<(), FleetError>>>>;

/// A driver as its program makes it.
pub struct Driver {
    /// Where the harness will connect.
    pub listener: std::net::TcpListener,
    /// The secret that it must know.
    pub token: Token,
    /// This program's version; the harness must have the same.
    pub tool: String,
    /// Cores it may use.
    pub cores: usize,
    /// Files each of its workers may have open.
    pub open_files: u64,
    /// The clock that the harness aligns with its own.
    pub clock: Clock,
    /// Those that it can run.
    pub workloads: Workloads,
}

impl Driver {
    /// Serves until all loads are over.
    ///
    /// # Errors
    /// When the harness is gone before the end, says something that makes no sense, or the engine breaks.
    pub async fn serve(self) -> Result<(), FleetError> {
        let Driver { listener, token, tool, cores, open_files, clock, workloads } = self;
        listener.set_nonblocking(true).map_err(FleetError::Listen)?;
        let listener = TcpListener::from_std(listener).map_err(FleetError::Listen)?;
        let mut greetings = JoinSet::new();
        let mut sessions: FuturesUnordered<Leading> = FuturesUnordered::new();
        // Connections that are still to come, once the first has said how many.
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
                    // One that is gone already, or one too many.
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
                    let welcome = Said::Welcome { protocol: PROTOCOL, tool: tool.clone(), cores, open_files };
                    sessions.push(Box::pin(async move {
                        wire.say(&welcome).await.map_err(FleetError::Harness)?;
                        session::Session::new(wire, clock, workloads)?.run().await
                    }));
                }
            }
        }
    }
}

/// Failures to accept that are the other end's, or pass.
fn passes(why: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(why.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

/// A connection that has shown the token, and of how many loads it is one.
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
        // Whoever speaks another language is not answered.
        Err(_) => None,
    }
}

/// Reads the greeting: the number of loads. The inner error says why it is not good enough.
async fn hello(wire: &mut Wire, token: &Token, tool: &str) -> Result<Result<usize, String>, Trouble> {
    let frame = wire.next().await?;
    if frame.kind != Kind::Message {
        return Err(out_of_place("a greeting that is none"));
    }
    let Command::Hello { protocol, tool: theirs, token: word, loads } = message::read(&frame.body)? else {
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
    let refused = Said::Refused { why: why.to_owned(), exit: ExitCode::Refused.code() };
    // Whoever is refused need not hear it.
    let _ = wire.say(&refused).await;
}
