//! A driver: waits for its harness, makes the load it is told to, and hands over whole intervals.
//!
//! It serves one control connection and ends with it. Whoever comes besides, or without the token, is refused. When the
//! harness is gone the load ends at once: nobody would know of it.

mod session;

use std::pin::Pin;
use std::time::Duration;

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

/// A driver and its harness, until the load is over.
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
    /// Serves until the load is over.
    ///
    /// # Errors
    /// When the harness is gone before the end, says something that makes no sense, or the engine breaks.
    pub async fn serve(self) -> Result<(), FleetError> {
        let Driver { listener, token, tool, cores, open_files, clock, workloads } = self;
        listener.set_nonblocking(true).map_err(FleetError::Listen)?;
        let listener = TcpListener::from_std(listener).map_err(FleetError::Listen)?;
        let mut greetings = JoinSet::new();
        let mut session: Option<Leading> = None;
        loop {
            tokio::select! {
                ended = maybe(&mut session) => return ended,
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
                    let Some(mut wire) = greeted else { continue };
                    if session.is_some() {
                        refuse(&mut wire, "this driver has a control connection already").await;
                        continue;
                    }
                    let welcome = Said::Welcome { protocol: PROTOCOL, tool: tool.clone(), cores, open_files };
                    session = Some(Box::pin(async move {
                        wire.say(&welcome).await.map_err(FleetError::Harness)?;
                        session::Session::new(wire, clock, workloads)?.run().await
                    }));
                }
            }
        }
    }
}

async fn maybe<T>(future: &mut Option<Pin<Box<dyn Future<Output = T>>>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

/// Failures to accept that are the other end's, or pass.
fn passes(why: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(why.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

/// A connection that has shown the token.
async fn greet(stream: TcpStream, token: Token, tool: String) -> Option<Wire> {
    let mut wire = Wire::new(stream, frame::LONGEST_GREETING, GREETING).ok()?;
    match hello(&mut wire, &token, &tool).await {
        Ok(None) => {
            wire.trust(frame::LONGEST, HARNESS_SILENCE);
            Some(wire)
        }
        Ok(Some(why)) => {
            refuse(&mut wire, &why).await;
            wire.part().await;
            None
        }
        // Whoever speaks another language is not answered.
        Err(_) => None,
    }
}

/// Reads the greeting; why it is not good enough, if it is not.
async fn hello(wire: &mut Wire, token: &Token, tool: &str) -> Result<Option<String>, Trouble> {
    let frame = wire.next().await?;
    if frame.kind != Kind::Message {
        return Err(out_of_place("a greeting that is none"));
    }
    let Command::Hello { protocol, tool: theirs, token: word } = message::read(&frame.body)? else {
        return Err(out_of_place("a command before the greeting"));
    };
    if !token.is(&word) {
        return Ok(Some("the token is wrong".to_owned()));
    }
    if protocol != PROTOCOL || theirs != tool {
        return Ok(Some(format!("this driver is {tool}, and the harness is {theirs}")));
    }
    Ok(None)
}

async fn refuse(wire: &mut Wire, why: &str) {
    let refused = Said::Refused { why: why.to_owned(), exit: ExitCode::Refused.code() };
    // Whoever is refused need not hear it.
    let _ = wire.say(&refused).await;
}
