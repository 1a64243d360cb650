//! An open site: its hosts, and this machine beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use barograph_platform::{
    Autoscaling, BoxFuture, Facts, Fault, HERE, MissingRequirement, Nodes, OnLine, Readiness, Site, Unit,
    UnitHandle,
};
use barograph_platform_process::Local;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::{Api, Client};

use crate::access::refused;
use crate::create;
use crate::drained::DrainedNodes;
use crate::names;
use crate::removal::{SiteObjects, apply_service, failed};
use crate::unit_pod::Common;
use crate::watch::PodWatch;

/// A site in a cluster.
pub(crate) struct KubernetesSite {
    pub(crate) objects: SiteObjects,
    pub(crate) watch: PodWatch,
    /// Units of this machine; it also knows addresses and ports of all hosts.
    pub(crate) local: Local,
    pub(crate) common: Common,
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) pending: Duration,
    /// Ports of each host, with those that its service has.
    pub(crate) ports: Mutex<BTreeMap<String, HostPorts>>,
    pub(crate) made_pods: AtomicU64,
    /// Nodes on which no pod starts.
    pub(crate) drained: DrainedNodes,
}

/// Ports of a host.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostPorts {
    wanted: BTreeSet<u16>,
    applied: BTreeSet<u16>,
}

impl KubernetesSite {
    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) fn events(&self) -> Api<Event> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Returns a name for the next pod of a unit.
    pub(crate) fn next_pod(&self, unit: &str) -> String {
        names::pod(&self.common.site, unit, self.made_pods.fetch_add(1, Ordering::Relaxed))
    }

    fn ports(&self) -> MutexGuard<'_, BTreeMap<String, HostPorts>> {
        self.ports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_port(&self, host: &str, port: u16) {
        if let Some(ports) = self.ports().get_mut(host) {
            ports.wanted.insert(port);
        }
    }

    /// Gives the service of a host the ports that were taken.
    pub(crate) async fn give_ports(&self, host: &str) -> Result<(), Fault> {
        let Some(HostPorts { wanted, applied }) = self.ports().get(host).cloned() else { return Ok(()) };
        if wanted == applied {
            return Ok(());
        }
        let place = (self.namespace.as_str(), self.common.site.as_str());
        let done = apply_service(&self.client, place, host, &wanted).await;
        done.map_err(|error| failed(&format!("give ports to host `{host}`"))(refused(&error)))?;
        if let Some(ports) = self.ports().get_mut(host) {
            ports.applied = wanted;
        }
        Ok(())
    }

    fn is_host(&self, host: &str) -> bool {
        self.ports().contains_key(host)
    }

    fn look(&self, unit: &Unit) -> Result<Facts, MissingRequirement> {
        let missing = |what: String, hint: &str| Err(MissingRequirement { what, hint: hint.to_owned() });
        if !self.is_host(&unit.host) {
            let what = format!("host `{}` of unit `{}` is not there", unit.host, unit.name);
            return missing(what, "add it to the site");
        }
        if !unit.program.is_absolute() {
            let what = format!("program `{}` has no absolute path", unit.program.display());
            return missing(what, "give its whole path");
        }
        if !self.common.given_image {
            let program = unit.program.display();
            if !unit.program.is_file() {
                return missing(format!("program `{program}` is not there"), "build or install it");
            }
            if !self.common.view.with_folder(&unit.workdir).sees(&unit.program) {
                let what = format!("program `{program}` is not seen in pods");
                return missing(what, "share its folder with the hosts of the site");
            }
        }
        unit.check_workdir()?;
        unit.check_log_folder()?;
        let mut facts = vec![("program".to_owned(), unit.program.display().to_string())];
        if matches!(unit.ready, Readiness::Runs) {
            facts.push(("ready".to_owned(), "when its container runs".to_owned()));
        }
        Ok(facts)
    }
}

impl Site for KubernetesSite {
    fn address(&self, host: &str) -> Option<IpAddr> {
        self.local.address(host)
    }

    /// Any address of the pod: that of the service is nowhere.
    fn listen_address(&self, host: &str) -> Option<IpAddr> {
        let address = self.address(host)?;
        if !self.is_host(host) {
            return Some(address);
        }
        Some(match address {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        })
    }

    fn port(&self, host: &str, wanted: u16) -> Result<u16, Fault> {
        let port = self.local.port(host, wanted)?;
        self.note_port(host, port);
        Ok(port)
    }

    fn take_port(&self, host: &str, port: u16) -> Result<(), Fault> {
        self.local.take_port(host, port)?;
        self.note_port(host, port);
        Ok(())
    }

    fn preflight<'a>(&'a self, unit: &'a Unit) -> BoxFuture<'a, Result<Facts, MissingRequirement>> {
        if unit.host == HERE {
            return self.local.preflight(unit);
        }
        Box::pin(async move { self.look(unit) })
    }

    fn create<'a>(
        &'a self,
        unit: &'a Unit,
        on_line: OnLine,
    ) -> BoxFuture<'a, Result<Box<dyn UnitHandle>, Fault>> {
        if unit.host == HERE {
            return self.local.create(unit, on_line);
        }
        Box::pin(async move {
            if !self.is_host(&unit.host) {
                return Err(Fault::Unit {
                    unit: unit.name.clone(),
                    act: format!("find host `{}` of", unit.host),
                    source: "the site has no such host".into(),
                });
            }
            let running = create::create(self, unit, on_line).await?;
            Ok(Box::new(running) as Box<dyn UnitHandle>)
        })
    }

    fn facts(&self) -> Facts {
        let image = if self.common.given_image { "image" } else { "image around the machine's programs" };
        vec![(image.to_owned(), self.common.image.clone())]
    }

    fn nodes(&self) -> Option<&dyn Nodes> {
        Some(self)
    }

    fn autoscaling(&self) -> Option<&dyn Autoscaling> {
        Some(self)
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), Fault>> {
        Box::pin(async move {
            let KubernetesSite { objects, watch, local, .. } = *self;
            let removed = objects.remove().await;
            drop(watch);
            // Pods have their files in the site's folder, so that is removed last.
            let closed = Box::new(local).close().await;
            removed.and(closed)
        })
    }
}
