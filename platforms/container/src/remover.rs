//! Sees to it that a container that was noted is removed, also when nobody waits for that any more.

use barograph_platform::{Entry, Fault, Ledger, Thing};
use bollard::errors::Error;
use tokio::runtime::Handle;

use crate::engine::Engine;

/// A container that is there, or may be. When it is dropped without [`Remover::now`], the container is removed by a
/// task of its own; when there is no runtime for that, the ledger still names it.
pub(crate) struct Remover {
    engine: Engine,
    name: String,
    ledger: Ledger,
    entry: Option<Entry>,
}

impl Remover {
    /// Notes that the container is about to be made.
    pub(crate) fn will(engine: &Engine, name: &str, unit: &str, ledger: &Ledger) -> Result<Self, Fault> {
        let thing = Thing::Container { engine: engine.address().to_owned(), name: name.to_owned() };
        let note = |source| Fault::Note { unit: unit.to_owned(), source };
        let entry = ledger.will(thing).map_err(note)?;
        Ok(Remover {
            engine: engine.clone(),
            name: name.to_owned(),
            ledger: ledger.clone(),
            entry: Some(entry),
        })
    }

    /// Notes that it has been made.
    pub(crate) fn done(&self, unit: &str) -> Result<(), Fault> {
        let Some(entry) = self.entry else { return Ok(()) };
        let thing = Thing::Container { engine: self.engine.address().to_owned(), name: self.name.clone() };
        self.ledger.done(entry, thing).map_err(|source| Fault::Note { unit: unit.to_owned(), source })
    }

    /// The name of the container.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Removes it and notes that.
    pub(crate) async fn now(mut self) -> Result<(), Error> {
        let Some(entry) = self.entry.take() else { return Ok(()) };
        remove(&self.engine, &self.name, &self.ledger, entry).await
    }
}

async fn remove(engine: &Engine, name: &str, ledger: &Ledger, entry: Entry) -> Result<(), Error> {
    engine.remove(name).await?;
    // What cannot be noted stays in the ledger, and the next sweep finds it gone.
    let _ = ledger.removed(entry);
    Ok(())
}

impl Drop for Remover {
    fn drop(&mut self) {
        let Some(entry) = self.entry.take() else { return };
        let Ok(runtime) = Handle::try_current() else { return };
        let (engine, name, ledger) = (self.engine.clone(), self.name.clone(), self.ledger.clone());
        runtime.spawn(async move {
            // A failure leaves it in the ledger, for the next sweep.
            let _ = remove(&engine, &name, &ledger, entry).await;
        });
    }
}
