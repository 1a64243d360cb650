//! State shared by the users of one worker, and the load that all workers share.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use barograph_engine::GroupFactory;
use barograph_model::{OpId, Outcome};
use barograph_net::{Fault, Routes};
use barograph_reactor::{Socket, SocketOptions};
use barograph_workload::{Failure, Reasons};

use super::group::NetGroup;
use crate::content::Content;
use crate::ledger::Ledger;
use crate::sampler::Sampler;
use crate::wire::{self, GREETING, RunSettings};

/// A load prepared for its target; all workers share it.
#[derive(Debug)]
pub(crate) struct PreparedLoad {
    pub(crate) settings: RunSettings,
    pub(crate) content: Content,
    /// Names the run at the responder.
    pub(super) token: u64,
    /// Greeting of a connection with the first message after it, so that both go in one packet.
    pub(crate) first: Vec<u8>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) sampler: Sampler,
    pub(crate) reasons: Arc<Mutex<Reasons>>,
    routes: Routes,
    options: SocketOptions,
}

impl PreparedLoad {
    pub(crate) fn new(
        settings: RunSettings,
        token: u64,
        routes: Routes,
        (ledger, sampler, reasons): (Arc<Ledger>, Sampler, Arc<Mutex<Reasons>>),
    ) -> Self {
        let content = Content::new(settings.largest());
        let mut first = wire::greeting(token).to_vec();
        first.extend_from_slice(content.at(0, settings.message.max(settings.request) as usize));
        let buffer = |bytes: u32| Some(bytes).filter(|bytes| *bytes > 0);
        let options = SocketOptions {
            send_buffer: buffer(settings.send_buffer),
            receive_buffer: buffer(settings.receive_buffer),
            delays: settings.delays,
            datagrams: settings.datagrams,
        };
        PreparedLoad { settings, content, token, first, ledger, sampler, reasons, routes, options }
    }

    /// The greeting and the first message, up to a length of that, from a byte on.
    pub(super) fn first(&self, from: usize, message: usize) -> &[u8] {
        &self.first[from..GREETING + message]
    }
}

/// State shared by the users of one worker.
pub(super) struct Worker {
    pub(super) load: Arc<PreparedLoad>,
    /// Buffer for what is read; what it holds is not used again.
    pub(super) buffer: RefCell<Vec<u8>>,
    /// Number of connections made.
    connections: Cell<u32>,
    /// Number of connections that are open.
    pub(super) open: Cell<u32>,
    /// Whether a connection did not end in time at its close. Others are not waited for then.
    pub(super) has_given_up: Cell<bool>,
}

impl Worker {
    /// Makes a connection.
    pub(super) async fn connect(&self) -> Result<Socket, Fault> {
        let number = self.connections.get();
        self.connections.set(number.wrapping_add(1));
        let (routes, options) = (&self.load.routes, self.load.options);
        let peer = routes.peer(number);
        let connected = Socket::connect_with(peer, routes.source(number), options).await;
        connected.map_err(|why| Fault::Connect { to: peer.clone(), why })
    }

    /// Records the reason of a failed operation.
    pub(super) fn note(&self, op: OpId, outcome: Outcome, why: &str) {
        Reasons::note(&self.load.reasons, op, &Failure { outcome, why: why.to_owned(), seen: &[] });
    }
}

/// Makes the groups of one worker.
pub(crate) struct NetUsers(Rc<Worker>);

impl NetUsers {
    pub(crate) fn new(load: &Arc<PreparedLoad>) -> Self {
        NetUsers(Rc::new(Worker {
            load: Arc::clone(load),
            buffer: RefCell::new(vec![0; load.settings.read as usize]),
            connections: Cell::new(0),
            open: Cell::new(0),
            has_given_up: Cell::new(false),
        }))
    }
}

impl GroupFactory for NetUsers {
    type Group = NetGroup;

    fn size(&self) -> usize {
        self.0.load.settings.pattern.users() as usize
    }

    fn group(&self) -> NetGroup {
        NetGroup::new(&self.0)
    }
}
