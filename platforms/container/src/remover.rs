//! Makes what an engine is to have, and sees to it that it is removed, also when nobody waits for that any more.

use std::future::Future;
use std::io;

use barograph_platform::{Entry, Ledger, LedgerError, Thing};
use bollard::errors::Error;
use tokio::runtime::Handle;

use crate::engine::Engine;

/// A container, network or image that is there, or may be. When it is dropped without [`Remover::now`], the thing is
/// removed by a task of its own; when there is no runtime for that, the ledger still names it.
#[derive(Debug)]
pub(crate) struct Remover {
    engine: Engine,
    name: String,
    thing: Thing,
    ledger: Ledger,
    entry: Option<Entry>,
}

impl Remover {
    /// Notes that a container is about to be made.
    pub(crate) fn of_container(engine: &Engine, name: &str, ledger: &Ledger) -> Result<Self, LedgerError> {
        let thing = Thing::Container { engine: engine.address().to_owned(), name: name.to_owned() };
        Remover::will(engine, name, thing, ledger)
    }

    /// Notes that a network is about to be made.
    pub(crate) fn of_network(engine: &Engine, name: &str, ledger: &Ledger) -> Result<Self, LedgerError> {
        let thing = Thing::ContainerNetwork { engine: engine.address().to_owned(), name: name.to_owned() };
        Remover::will(engine, name, thing, ledger)
    }

    /// Notes that an image is about to be made.
    pub(crate) fn of_image(engine: &Engine, name: &str, ledger: &Ledger) -> Result<Self, LedgerError> {
        let thing = Thing::Image { engine: engine.address().to_owned(), name: name.to_owned() };
        Remover::will(engine, name, thing, ledger)
    }

    fn will(engine: &Engine, name: &str, thing: Thing, ledger: &Ledger) -> Result<Self, LedgerError> {
        let entry = Some(ledger.will(thing.clone())?);
        let (engine, name, ledger) = (engine.clone(), name.to_owned(), ledger.clone());
        Ok(Remover { engine, name, thing, ledger, entry })
    }

    /// Makes it and notes that; when that fails, it is gone. An engine goes on with what it was asked for when nobody
    /// waits any more, so a task of its own does, and removes then what has come of it.
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
                    // The error is what to tell; what stays is noted.
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

    /// The name of the thing.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Removes it and notes that.
    pub(crate) async fn now(mut self) -> Result<(), Error> {
        let Some(entry) = self.entry.take() else { return Ok(()) };
        remove(&self.engine, (&self.thing, &self.name), &self.ledger, entry).await
    }
}

async fn remove(
    engine: &Engine,
    (thing, name): (&Thing, &str),
    ledger: &Ledger,
    entry: Entry,
) -> Result<(), Error> {
    engine.remove_thing(thing, name).await?;
    // What cannot be noted stays in the ledger, and the next sweep finds it gone.
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
