//! Creates things in an engine, and ensures their removal even if the caller gives up.

use std::future::Future;
use std::io;

use barograph_platform::{Entry, Ledger, LedgerError, Resource};
use bollard::errors::Error;
use tokio::runtime::Handle;

use crate::engine::Engine;

/// A container, network or image that exists, or may exist. If it is dropped without [`Remover::now`], a task
/// removes the thing; without a runtime for that, the ledger still names it.
#[derive(Debug)]
pub(crate) struct Remover {
    engine: Engine,
    name: String,
    thing: Resource,
    ledger: Ledger,
    entry: Option<Entry>,
}

impl Remover {
    /// Records that a container is about to be created.
    pub(crate) fn of_container(engine: &Engine, name: &str, ledger: &Ledger) -> Result<Self, LedgerError> {
        let thing = Resource::Container { engine: engine.address().to_owned(), name: name.to_owned() };
        Remover::will(engine, name, thing, ledger)
    }

    /// Records that a network is about to be created.
    pub(crate) fn of_network(engine: &Engine, name: &str, ledger: &Ledger) -> Result<Self, LedgerError> {
        let thing = Resource::ContainerNetwork { engine: engine.address().to_owned(), name: name.to_owned() };
        Remover::will(engine, name, thing, ledger)
    }

    /// Records that an image is about to be created.
    pub(crate) fn of_image(engine: &Engine, name: &str, ledger: &Ledger) -> Result<Self, LedgerError> {
        let thing = Resource::Image { engine: engine.address().to_owned(), name: name.to_owned() };
        Remover::will(engine, name, thing, ledger)
    }

    fn will(engine: &Engine, name: &str, thing: Resource, ledger: &Ledger) -> Result<Self, LedgerError> {
        let entry = Some(ledger.will(thing.clone())?);
        let (engine, name, ledger) = (engine.clone(), name.to_owned(), ledger.clone());
        Ok(Remover { engine, name, thing, ledger, entry })
    }

    /// Creates and records it; on failure it is removed. An engine completes a request whose caller has given
    /// up, so the work is done in a task, which then removes the result.
    pub(crate) async fn make<F>(self, making: impl FnOnce(Engine, String) -> F) -> Result<Self, Error>
    where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        let making = making(self.engine.clone(), self.name.clone());
        let made = tokio::spawn(async move {
            let made = match making.await {
                Ok(()) => self.done().map_err(|error| Error::from(io::Error::other(error))),
                Err(error) => Err(error),
            };
            match made {
                Ok(()) => Ok(self),
                Err(error) => {
                    // The error is reported; things that stay are in the ledger.
                    let _ = self.now().await;
                    Err(error)
                }
            }
        });
        made.await.unwrap_or_else(|error| Err(io::Error::from(error).into()))
    }

    fn done(&self) -> Result<(), LedgerError> {
        let Some(entry) = self.entry else { return Ok(()) };
        self.ledger.done(entry, self.thing.clone())
    }

    /// Returns the name of the thing.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Removes the thing and records that.
    pub(crate) async fn now(mut self) -> Result<(), Error> {
        let Some(entry) = self.entry.take() else { return Ok(()) };
        remove(&self.engine, (&self.thing, &self.name), &self.ledger, entry).await
    }
}

async fn remove(
    engine: &Engine,
    (thing, name): (&Resource, &str),
    ledger: &Ledger,
    entry: Entry,
) -> Result<(), Error> {
    engine.remove_thing(thing, name).await?;
    // An entry that cannot be updated stays in the ledger, and the next sweep finds the thing gone.
    let _ = ledger.removed(entry);
    Ok(())
}

impl Drop for Remover {
    fn drop(&mut self) {
        let Some(entry) = self.entry.take() else { return };
        let Ok(runtime) = Handle::try_current() else { return };
        let (engine, name, thing) = (self.engine.clone(), self.name.clone(), self.thing.clone());
        let ledger = self.ledger.clone();
        runtime.spawn(async move {
            // A failure leaves it in the ledger, for the next sweep.
            let _ = remove(&engine, (&thing, &name), &ledger, entry).await;
        });
    }
}
