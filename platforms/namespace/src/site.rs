//! A site of namespaces: units of the process platform on the hosts of a switch.

use std::net::IpAddr;

use barograph_platform::{
    BoxFuture, Disks, Facts, Fault, HERE, Ledger, LinkSpec, MissingRequirement, Network, OnLine, Site,
    SiteSpec, Unit, UnitHandle,
};
use barograph_platform_process::{HostEntry, Local};
use barograph_virtual_network::{RelayProgram, Switch, enter, facts};

use crate::{VIRTUAL_ADDRESSES, hosts, is_delayed};

/// Units first: they end before their hosts are removed, even if the site is dropped.
#[derive(Debug)]
pub(crate) struct NamespaceSite {
    local: Local,
    switch: Switch,
    facts: Facts,
}

impl NamespaceSite {
    pub(crate) async fn open(spec: &SiteSpec, relay: RelayProgram, ledger: &Ledger) -> Result<Self, Fault> {
        let mut local = Local::open(spec, ledger).with_folder()?;
        let switch = Switch::open(&spec.id, relay, ledger).await?;
        let machine = HostEntry { address: switch.leg(), prefix: Vec::new(), own_ports: false };
        local = local.with_host(HERE, machine);
        let mut facts = facts();
        facts.push(("network addresses".to_owned(), format!("{}/{}", switch.leg(), switch.prefix())));
        for name in virtual_addresses(spec) {
            switch.reserve(name).await?;
        }
        let delay = hosts(spec).filter(|host| is_delayed(host)).map(|host| host.link.delay).max();
        if let Some(delay) = delay {
            // Before the hosts exist, so that their traffic does not disturb it.
            facts.extend(switch.calibrate(delay).await?.facts());
        }
        for (number, host) in hosts(spec).enumerate() {
            let made = switch.host(&host.name, &host.link).await?;
            if number == 0 {
                // The same for all.
                let settings = made.settings.iter().map(|(name, value)| format!("{name} = {value}"));
                let list = settings.collect::<Vec<_>>().join("; ");
                facts.push(("kernel settings of hosts that differ from a new namespace's".to_owned(), list));
            }
            if let Ok(offloads) = host.offloads.parse() {
                switch.offload(&host.name, offloads).await?;
                facts.push((format!("offloads of {}, read back", host.name), host.offloads.clone()));
            }
            let on = HostEntry { address: made.address, prefix: enter(&made.namespace), own_ports: true };
            local = local.with_host(&host.name, on);
        }
        Ok(NamespaceSite { local, switch, facts })
    }

    async fn close_all(self) -> Result<(), Fault> {
        let NamespaceSite { local, switch, .. } = self;
        // Both are closed in any case; the first failure is returned.
        let units = Box::new(local).close().await;
        let hosts = switch.close().await.map_err(Fault::from);
        units.and(hosts)
    }
}

/// Returns the names of addresses that hosts pass to each other, from the site's option
/// [`VIRTUAL_ADDRESSES`].
fn virtual_addresses(spec: &SiteSpec) -> impl Iterator<Item = &str> {
    spec.option(VIRTUAL_ADDRESSES).unwrap_or_default().split_ascii_whitespace()
}

impl Site for NamespaceSite {
    fn address(&self, host: &str) -> Option<IpAddr> {
        self.local.address(host).or_else(|| self.switch.address(host))
    }

    fn port(&self, host: &str, wanted: u16) -> Result<u16, Fault> {
        self.local.port(host, wanted)
    }

    fn take_port(&self, host: &str, port: u16) -> Result<(), Fault> {
        self.local.take_port(host, port)
    }

    fn preflight<'a>(&'a self, unit: &'a Unit) -> BoxFuture<'a, Result<Facts, MissingRequirement>> {
        self.local.preflight(unit)
    }

    fn create<'a>(
        &'a self,
        unit: &'a Unit,
        on_line: OnLine,
    ) -> BoxFuture<'a, Result<Box<dyn UnitHandle>, Fault>> {
        self.local.create(unit, on_line)
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), Fault>> {
        Box::pin((*self).close_all())
    }

    fn network(&self) -> Option<&dyn Network> {
        Some(self)
    }

    fn disks(&self) -> Option<&dyn Disks> {
        self.local.disks()
    }
}

impl Network for NamespaceSite {
    fn shape<'a>(&'a self, host: &'a str, link: LinkSpec) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move { Ok(self.switch.shape(host, link).await?) })
    }

    fn partition<'a>(&'a self, hosts: &'a [String]) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move { Ok(self.switch.partition(hosts).await?) })
    }

    fn heal(&self) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(async move { Ok(self.switch.heal().await?) })
    }

    fn carriers(&self) -> Vec<(String, u32)> {
        self.switch.relays()
    }

    /// Queries the relays for their counts, which takes microseconds.
    fn facts(&self) -> Facts {
        let mut facts = self.facts.clone();
        match self.switch.relay_counts() {
            Ok(counts) => {
                facts.extend(
                    counts.iter().map(|(host, count)| (format!("relay of {host}"), count.to_string())),
                );
            }
            Err(error) => facts.push(("relays".to_owned(), error.to_string())),
        }
        facts
    }
}
