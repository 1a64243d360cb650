//! The description of an export, before any load.

use std::sync::mpsc::sync_channel;
use std::time::Duration;

use barograph_model::Outcome;
use barograph_net::{Dialer, Fault, Routes};

use crate::handshake::Handshake;
use crate::input::Input;
use crate::{Export, NbdError};

impl Export {
    /// Asks a server for an export, over a connection of its own. Blocks for at most `timeout`.
    ///
    /// # Errors
    /// The fault of the server or of the way to it.
    pub fn ask(routes: &Routes, name: &str, timeout: Duration) -> Result<Export, NbdError> {
        let (send, receive) = sync_channel(1);
        let (routes, name) = (routes.clone(), name.to_owned());
        // A connection has no clock: the thread is abandoned after the limit.
        std::thread::spawn(move || {
            let asked = barograph_reactor::block_on(negotiate(&routes, &name));
            let found = asked.map_err(|why| NbdError::Io(why.to_string())).flatten();
            // The receiver is gone after the limit.
            let _ = send.send(found);
        });
        receive.recv_timeout(timeout).unwrap_or(Err(NbdError::Silent { seconds: timeout.as_secs() }))
    }
}

async fn negotiate(routes: &Routes, name: &str) -> Result<Export, NbdError> {
    let mut stream = Dialer::new(routes).connect(0).await.map_err(|why| NbdError::from(&why))?;
    let (mut handshake, mut input, mut out) = (Handshake::new(name), Input::default(), Vec::new());
    let broken = |why: std::io::Error| NbdError::Io(why.to_string());
    loop {
        if stream.read_into(input.room()).await.map_err(broken)? == 0 {
            return Err(NbdError::Closed("amid the handshake"));
        }
        if let Some(export) = handshake.take(&mut input, &mut out)? {
            return Ok(export);
        }
        stream.write_all(&out).await.map_err(broken)?;
        out.clear();
    }
}

impl From<&Fault> for NbdError {
    fn from(fault: &Fault) -> Self {
        let outcome: Outcome = fault.outcome();
        NbdError::Connect { outcome, why: barograph_model::words::in_one_line(fault) }
    }
}
