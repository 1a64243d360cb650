//! An open site: its hosts, and this machine beside them.

use std::net::IpAddr;

use barograph_platform::{
    BoxFuture, Disks, Facts, Fault, HERE, MissingRequirement, OnLine, Readiness, Site, SiteSpec, Unit,
    UnitHandle,
};
use barograph_platform_process::Local;

use crate::create;
use crate::engine::Engine;
use crate::open::{SiteParts, tell};
use crate::options::Networking;
use crate::render::Common;
use crate::resources::SiteResources;

/// A site in containers.
pub(crate) struct ContainerSite {
    pub(crate) made: SiteResources,
    /// Units of this machine; it also knows addresses, ports and folders of all hosts.
    pub(crate) local: Local,
    pub(crate) engine: Engine,
    pub(crate) common: Common,
    /// Host to which ports are assigned if all hosts share them.
    first: Option<String>,
}

impl ContainerSite {
    pub(crate) fn new(made: SiteResources, built: SiteParts, local: Local, spec: &SiteSpec) -> Self {
        let local = tell(local, &built);
        let first = spec.hosts.first().map(|host| host.name.clone());
        ContainerSite { made, local, engine: built.engine, common: built.common, first }
    }

    /// Returns the name of a host's container.
    pub(crate) fn holder(&self, unit: &Unit) -> Result<String, Fault> {
        match self.made.holders.get(&unit.host) {
            Some(holder) => Ok(holder.remover.name().to_owned()),
            None => Err(Fault::Unit {
                unit: unit.name.clone(),
                act: format!("find host `{}` of", unit.host),
                source: "the site has no such host".into(),
            }),
        }
    }

    fn in_whose_name<'a>(&'a self, host: &'a str) -> &'a str {
        let shares = self.common.networking == Networking::Host && self.made.holders.contains_key(host);
        self.first.as_deref().filter(|_| shares).unwrap_or(host)
    }

    fn look(&self, unit: &Unit) -> Result<Facts, MissingRequirement> {
        let missing = |what: String, hint: &str| Err(MissingRequirement { what, hint: hint.to_owned() });
        if !self.made.holders.contains_key(&unit.host) {
            let what = format!("host `{}` of unit `{}` is not there", unit.host, unit.name);
            return missing(what, "add it to the site");
        }
        if self.common.remote && unit.limits.disk_bytes_s.is_some() {
            let what = format!(
                "unit `{}` wants a rate of disks, and those of its engine are not known here",
                unit.name
            );
            return missing(what, "use an engine of this machine, or leave the rate out");
        }
        if !unit.program.is_absolute() {
            let what = format!("program `{}` has no absolute path", unit.program.display());
            return missing(what, "give its whole path");
        }
        if !self.common.given_image && !unit.program.is_file() {
            let what = format!("program `{}` is not there", unit.program.display());
            return missing(what, "build or install it");
        }
        let view = self.common.view.with_folder(&unit.workdir);
        if !self.common.given_image && !view.plan().iter().any(|seen| unit.program.starts_with(&seen.path)) {
            let seen_links = unit.program.canonicalize().is_ok_and(|real| real.starts_with("/usr"));
            if !seen_links {
                let what = format!("program `{}` is not seen in containers", unit.program.display());
                return missing(what, "share its folder with the hosts of the site");
            }
        }
        if !self.common.remote {
            unit.check_workdir()?;
        }
        unit.check_log_folder()?;
        let mut facts = vec![("program".to_owned(), unit.program.display().to_string())];
        if matches!(unit.ready, Readiness::Runs) {
            facts.push(("ready".to_owned(), "when its container runs".to_owned()));
        }
        Ok(facts)
    }
}

impl Site for ContainerSite {
    fn address(&self, host: &str) -> Option<IpAddr> {
        self.local.address(host)
    }

    fn port(&self, host: &str, wanted: u16) -> Result<u16, Fault> {
        self.local.port(self.in_whose_name(host), wanted)
    }

    fn take_port(&self, host: &str, port: u16) -> Result<(), Fault> {
        self.local.take_port(self.in_whose_name(host), port)
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
            let running = create::create(self, unit, on_line).await?;
            Ok(Box::new(running) as Box<dyn UnitHandle>)
        })
    }

    /// The disks of this machine: a container sees the folder with its mounts.
    fn disks(&self) -> Option<&dyn Disks> {
        self.local.disks().filter(|_| !self.common.remote)
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), Fault>> {
        Box::pin(async move {
            let ContainerSite { made, local, .. } = *self;
            let unmade = made.unmake().await;
            // The engine's files are in the site's folder, so that is removed last.
            let closed = Box::new(local).close().await;
            unmade.and(closed)
        })
    }
}
