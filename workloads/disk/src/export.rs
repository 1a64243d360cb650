//! Exports of NBD servers as targets: what is between the load and the disk then are the connection, the server and its
//! filters.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

use barograph_engine::GroupFactory;
use barograph_model::Outcome;
use barograph_nbd::{Client, Completed, Export, NbdAddress, NbdError};
use barograph_net::{Dialer, Routes};
use barograph_ring::Completion;

use crate::error::DiskError;
use crate::group::QueueGroup;
use crate::operation::OpKind;
use crate::plan::DiskPlan;
use crate::program::Program;
use crate::queue::Queue;

/// Longest wait for the description of an export.
const PATIENCE: Duration = Duration::from_secs(5);

/// An export that fits the plan.
#[derive(Clone, Debug)]
pub(crate) struct FitExport {
    routes: Routes,
    name: String,
    /// Bytes that are loaded.
    pub(crate) span: u64,
}

impl FitExport {
    /// Asks the server of an address. Blocks.
    ///
    /// # Errors
    /// [`DiskError::Address`], [`DiskError::Server`], or what does not fit the plan.
    pub(crate) fn ask(url: &str, plan: &DiskPlan) -> Result<Self, DiskError> {
        let address = NbdAddress::parse(url);
        let address = address.map_err(|why| DiskError::Address { url: url.to_owned(), why })?;
        let failed = |why| DiskError::Server { url: url.to_owned(), why };
        let routes = address.endpoint.resolve(&[]);
        let routes = routes.map_err(|why| {
            let why = barograph_model::words::in_one_line(&why);
            failed(NbdError::Connect { outcome: Outcome::Broken, why })
        })?;
        let export = Export::ask(&routes, &address.export, PATIENCE).map_err(failed)?;
        let span = span(&export, plan).map_err(|why| DiskError::Unfit { path: url.into(), why })?;
        Ok(FitExport { routes, name: address.export, span })
    }
}

/// Bytes of an export that a plan loads; an error is a clause after `which`.
fn span(export: &Export, plan: &DiskPlan) -> Result<u64, String> {
    if plan.writes() && !export.writable {
        return Err("its server lets nothing write to".to_owned());
    }
    if plan.kinds().contains(&OpKind::Sync) && !export.flushable {
        return Err("has no command that brings writes to the disk".to_owned());
    }
    let (alignment, longest) = (u64::from(export.alignment), u64::from(export.longest));
    let unfit =
        plan.blocks.iter().map(|block| block.bytes).find(|b| !b.is_multiple_of(alignment) || *b > longest);
    if let Some(bytes) = unfit {
        return Err(format!(
            "takes multiples of {alignment} up to {longest} bytes, and no blocks of {bytes} bytes"
        ));
    }
    let bytes = export.size.min(plan.size);
    let span = bytes - bytes % plan.largest();
    if span == 0 { Err("is smaller than a block".to_owned()) } else { Ok(span) }
}

/// Makes the groups of one worker: a connection for each.
pub(crate) struct Exports {
    program: Arc<Program>,
    dialer: Rc<Dialer>,
    name: String,
    /// Users that share a connection.
    users: usize,
    /// Groups made.
    made: Cell<u32>,
}

impl Exports {
    pub(crate) fn new(program: &Arc<Program>, export: &FitExport, users: usize) -> Self {
        Exports {
            program: Arc::clone(program),
            dialer: Rc::new(Dialer::new(&export.routes)),
            name: export.name.clone(),
            users,
            made: Cell::new(0),
        }
    }
}

impl GroupFactory for Exports {
    type Group = QueueGroup<Client>;

    fn size(&self) -> usize {
        self.users
    }

    fn group(&self) -> QueueGroup<Client> {
        let number = self.made.replace(self.made.get().wrapping_add(1));
        let buffers = (self.users, self.program.plan.largest() as usize);
        let client = Client::new(&self.dialer, number, &self.name, buffers);
        QueueGroup::new(&self.program, Ok(client), self.users)
    }
}

impl Queue for Client {
    fn is_in_flight(&self, buffer: usize) -> bool {
        self.is_in_flight(buffer)
    }

    fn buffer(&self, index: usize) -> &[u8] {
        self.buffer(index)
    }

    fn buffer_mut(&mut self, index: usize) -> &mut [u8] {
        self.buffer_mut(index)
    }

    fn read(&mut self, buffer: usize, offset: u64, length: usize) {
        self.read(buffer, offset, length);
    }

    fn write(&mut self, buffer: usize, offset: u64, length: usize) {
        self.write(buffer, offset, length);
    }

    fn sync(&mut self, buffer: usize) {
        self.flush(buffer);
    }

    fn poll_work(&mut self, cx: &mut Context<'_>) -> bool {
        self.poll(cx)
    }

    fn together(&self) -> usize {
        usize::MAX
    }

    /// Never an error: a connection that has broken is made again.
    fn enter(&mut self) -> io::Result<()> {
        self.send();
        Ok(())
    }

    fn completed(&mut self) -> Option<Completion> {
        let Completed { buffer, result } = self.completed()?;
        Some(Completion { buffer, result: result.map_err(io::Error::other) })
    }

    /// None: the task is woken when the connection takes more.
    fn queued(&self) -> usize {
        0
    }
}

/// Outcome of an operation with an error.
pub(crate) fn outcome_of(why: &io::Error) -> Outcome {
    let fault = why.get_ref().and_then(|why| why.downcast_ref::<NbdError>());
    fault.map_or(Outcome::Refused, NbdError::outcome)
}
