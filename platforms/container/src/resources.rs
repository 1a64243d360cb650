//! Everything created for a site, removed in the right order in any case.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use barograph_platform::{Fault, Ledger};
use futures::future::join_all;
use rustix::process::{Signal, pidfd_send_signal};
use tokio::runtime::Handle;

use crate::engine::Engine;
use crate::groups::{SiteGroup, failed};
use crate::image::Image;
use crate::own::OwnEngine;
use crate::remover::Remover;

/// The holder of a host.
pub(crate) struct Holder {
    pub(crate) remover: Remover,
    /// Address of the host, if it has its own.
    pub(crate) address: Option<IpAddr>,
    /// First process: when it is killed, everything on the host is.
    pub(crate) process: Option<OwnedFd>,
}

/// Everything of a site. Dropping it ends everything on its hosts at once, and removes the rest in a task.
pub(crate) struct SiteResources {
    pub(crate) ledger: Ledger,
    pub(crate) own: Option<OwnEngine>,
    pub(crate) group: Option<SiteGroup>,
    pub(crate) image: Option<Image>,
    pub(crate) network: Option<Remover>,
    pub(crate) holders: BTreeMap<String, Holder>,
    /// Whether it is being removed by the last task; if that is cancelled too, the ledger has the rest.
    given_up: bool,
}

impl SiteResources {
    pub(crate) fn nothing(ledger: &Ledger) -> Self {
        SiteResources {
            ledger: ledger.clone(),
            own: None,
            group: None,
            image: None,
            network: None,
            holders: BTreeMap::new(),
            given_up: false,
        }
    }

    /// Records and creates a network.
    pub(crate) async fn make_network(
        &mut self,
        engine: &Engine,
        request: bollard::models::NetworkCreateRequest,
    ) -> Result<(), Fault> {
        let act = format!("make network `{}`", request.name);
        let remover = Remover::of_network(engine, &request.name, &self.ledger).map_err(failed(&act))?;
        let made = remover.make(|engine, _| async move { engine.create_network(request).await });
        self.network = Some(made.await.map_err(failed(&act))?);
        Ok(())
    }

    /// Removes everything, continuing after failures; the first one is returned, and things that stay are in
    /// the ledger.
    pub(crate) async fn unmake(mut self) -> Result<(), Fault> {
        self.remove_all().await
    }

    async fn remove_all(&mut self) -> Result<(), Fault> {
        let mut outcome = Ok(());
        let mut keep = |result: Result<(), Fault>| {
            if outcome.is_ok() {
                outcome = result;
            }
        };
        let holders = std::mem::take(&mut self.holders);
        let removing = holders.into_values().map(|holder| holder.remover.now());
        for removed in join_all(removing).await {
            keep(removed.map_err(failed("remove the container of a host")));
        }
        if let Some(network) = self.network.take() {
            let act = format!("remove network `{}`", network.name());
            keep(network.now().await.map_err(failed(&act)));
        }
        if let Some(image) = self.image.take() {
            keep(image.remove().await);
        }
        if let Some(own) = self.own.take() {
            keep(own.close().await);
        }
        if let Some(group) = self.group.take() {
            keep(group.remove().await);
        }
        outcome
    }

    fn is_empty(&self) -> bool {
        self.holders.is_empty()
            && self.network.is_none()
            && self.image.is_none()
            && self.own.is_none()
            && self.group.is_none()
    }
}

impl Drop for SiteResources {
    fn drop(&mut self) {
        // A runtime that ends drops the task below at once: it must not start another.
        if self.given_up || self.is_empty() {
            return;
        }
        for holder in self.holders.values() {
            if let Some(process) = &holder.process {
                // A process that does not end is ended below, or by the next sweep.
                let _ = pidfd_send_signal(process, Signal::KILL);
            }
        }
        let Ok(runtime) = Handle::try_current() else { return };
        let mut rest = SiteResources {
            ledger: self.ledger.clone(),
            own: self.own.take(),
            group: self.group.take(),
            image: self.image.take(),
            network: self.network.take(),
            holders: std::mem::take(&mut self.holders),
            given_up: true,
        };
        runtime.spawn(async move {
            // Things that cannot be removed stay in the ledger.
            let _ = rest.remove_all().await;
        });
    }
}
