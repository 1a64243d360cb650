//! State of a switch, and blocking work on it.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use barograph_model::Offloads;
use barograph_platform::{Entry, Ledger, LinkSpec, Resource};

use crate::SwitchError;
use crate::address::{Network, PREFIX, mac};
use crate::ip::{Batch, ask};
use crate::names::{
    HOST_DEVICE, LEG, MAIN, check_host, check_id, host_namespace, leg_device, switch_namespace,
};
use crate::namespace::{exists, remove};
use crate::port::{Frame, Port, PortPeer, bridge, device, island, may_tap};
use crate::relay::{RelayCount, RelayProgram, priority};
use crate::switch::{Host, Tap};
use crate::{offloads, settings, subnet};

/// File locked while a network is chosen, so that two programs do not choose the same one. It is in the
/// folder of namespaces, so programs that see the same names see the same lock.
const LOCK: &str = "/run/barograph-virtual-network.lock";

#[derive(Debug)]
pub(crate) struct SharedSwitch {
    id: String,
    network: Network,
    leg: String,
    frame: Frame,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    ports: BTreeMap<String, Port>,
    /// Addresses without a device of the switch.
    reserved: BTreeMap<String, Ipv4Addr>,
    islands: u32,
    /// Entries of the namespace and of the leg; `None` once closed.
    entries: Option<[Entry; 2]>,
}

impl SharedSwitch {
    pub(crate) fn open(id: &str, relay: RelayProgram, ledger: &Ledger) -> Result<Self, SwitchError> {
        check_id(id)?;
        let (namespace, leg) = (switch_namespace(id), leg_device(id));
        let lock = lock()?;
        if exists(&namespace) {
            return Err(SwitchError::Taken(namespace));
        }
        if ask(&["-o", "link", "show", &leg]).is_ok() {
            return Err(SwitchError::Taken(leg));
        }
        let routes = subnet::routes(&ask(&["-4", "route", "show", "table", "all"])?);
        let network = subnet::choose(id, &routes).ok_or(SwitchError::NoneFree("network in 10.64.0.0/10"))?;
        // The leg is recorded first, so that a sweep, newest first, removes the namespace before it looks for
        // the leg.
        let leg_thing = Resource::Link { name: leg.clone() };
        let leg_entry = ledger.will(leg_thing.clone())?;
        let namespace_thing = Resource::Namespace { name: namespace.clone() };
        let namespace_entry = ledger.will(namespace_thing.clone())?;
        let frame = Frame { namespace, relay, ledger: ledger.clone(), netem: false, first: Vec::new() };
        let state = State { entries: Some([namespace_entry, leg_entry]), ..State::default() };
        // From here on dropping it removes everything created.
        let mut shared = SharedSwitch { id: id.to_owned(), network, leg, frame, state: Mutex::new(state) };
        shared.make()?;
        drop(lock);
        shared.frame.netem = netem_works(&shared.frame.namespace);
        if !shared.frame.netem {
            shared.frame.first = priority();
        }
        ledger.done(leg_entry, leg_thing)?;
        ledger.done(namespace_entry, namespace_thing)?;
        Ok(shared)
    }

    fn make(&self) -> Result<(), SwitchError> {
        let (namespace, leg) = (&self.frame.namespace, &self.leg);
        let machine = self.network.machine();
        Batch::here()
            .then(&format!("netns add {namespace}"))
            .then(&format!(
                "link add {leg} address {} type veth peer name {LEG} netns {namespace}",
                mac(machine)
            ))
            .then(&format!("link set {leg} addrgenmode none"))
            .then(&format!("addr add {machine}/{PREFIX} dev {leg}"))
            .then(&format!("link set {leg} up"))
            .run()?;
        settings::quiet_bridge(namespace)?;
        bridge(Batch::ip(namespace).then("link set lo up"), MAIN)
            .then(&format!("link set {LEG} master {MAIN} up"))
            .run()
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.frame.namespace
    }

    pub(crate) fn network(&self) -> Network {
        self.network
    }

    pub(crate) fn kernel_delays(&self) -> bool {
        self.frame.netem
    }

    pub(crate) fn relays_come_first(&self) -> bool {
        !self.frame.first.is_empty()
    }

    /// A panic elsewhere leaves a valid state, so it is used further.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_state(&self) -> Result<MutexGuard<'_, State>, SwitchError> {
        let state = self.state();
        if state.entries.is_some() { Ok(state) } else { Err(SwitchError::Closed) }
    }

    pub(crate) fn address(&self, name: &str) -> Option<IpAddr> {
        let state = self.state();
        let of_port = state.ports.get(name).map(|port| port.address);
        of_port.or_else(|| state.reserved.get(name).copied()).map(IpAddr::from)
    }

    pub(crate) fn reserve(&self, name: &str) -> Result<IpAddr, SwitchError> {
        let mut state = self.open_state()?;
        let address = self.place(&state, name)?;
        state.reserved.insert(name.to_owned(), address);
        Ok(address.into())
    }

    pub(crate) fn relays(&self) -> Vec<(String, u32)> {
        let mut state = self.state();
        let pid = |port: &mut Port| Some((port.name.clone(), port.relay()?.pid()));
        state.ports.values_mut().filter_map(pid).collect()
    }

    pub(crate) fn relay_counts(&self) -> Result<Vec<(String, RelayCount)>, SwitchError> {
        let mut state = self.open_state()?;
        let relays = state.ports.values_mut().filter_map(|port| Some((port.name.clone(), port.relay()?)));
        relays.map(|(name, relay)| Ok((name, relay.count()?))).collect()
    }

    pub(crate) fn host(&self, name: &str, link: LinkSpec) -> Result<Host, SwitchError> {
        let mut state = self.open_state()?;
        let address = self.place(&state, name)?;
        let namespace = host_namespace(&self.id, name);
        if exists(&namespace) {
            return Err(SwitchError::Taken(namespace));
        }
        let thing = Resource::Namespace { name: namespace.clone() };
        let entry = self.frame.ledger.will(thing.clone())?;
        // From here on closing removes everything created.
        let port = Port::plain(name, address, PortPeer::Host { namespace: namespace.clone(), entry });
        let port = state.ports.entry(name.to_owned()).or_insert(port);
        let made = self.make_host(port, &namespace).and_then(|settings| {
            port.shape(link, &self.frame)?;
            self.frame.ledger.done(entry, thing)?;
            Ok(settings)
        });
        let settings = match made {
            Ok(settings) => settings,
            Err(error) => {
                // The first error is reported; things that cannot be removed stay in the ledger.
                let _ = self.take_away(&mut state, name);
                return Err(error);
            }
        };
        let gateway = self.network.machine().into();
        Ok(Host {
            name: name.to_owned(),
            namespace,
            address: address.into(),
            prefix: PREFIX,
            gateway,
            settings,
        })
    }

    fn make_host(&self, port: &Port, namespace: &str) -> Result<barograph_platform::Facts, SwitchError> {
        let (switch, device, address) = (&self.frame.namespace, device(&port.name), port.address);
        let mac = mac(address);
        Batch::here()
            .then(&format!("netns add {namespace}"))
            .then(&format!(
                "link add {device} netns {switch} type veth peer name {HOST_DEVICE} address {mac} netns {namespace}"
            ))
            .run()?;
        let settings = settings::copy_to_host(namespace)?;
        Batch::ip(switch).then(&format!("link set {device} master {MAIN} up")).run()?;
        Batch::ip(namespace)
            .then("link set lo up")
            .then(&format!("link set {HOST_DEVICE} addrgenmode none"))
            .then(&format!("addr add {address}/{PREFIX} dev {HOST_DEVICE}"))
            .then(&format!("link set {HOST_DEVICE} up"))
            .then(&format!("route add default via {}", self.network.machine()))
            .run()?;
        Ok(settings)
    }

    pub(crate) fn offload(&self, name: &str, offloads: Offloads) -> Result<(), SwitchError> {
        let mut state = self.open_state()?;
        let PortPeer::Host { namespace, .. } = &state.port(name)?.behind else {
            return Err(SwitchError::Unknown(name.to_owned()));
        };
        if let Some(mtu) = offloads.mtu {
            Batch::ip(&self.frame.namespace).then(&format!("link set {} mtu {mtu}", device(name))).run()?;
            Batch::ip(namespace).then(&format!("link set {HOST_DEVICE} mtu {mtu}")).run()?;
        }
        // The kernel merges what a device receives only if the other end of the pair cuts what it sends.
        let of_port = Offloads { tso: offloads.tso, gso: offloads.gso, ..Offloads::default() };
        offloads::set(&self.frame.namespace, &device(name), of_port)?;
        offloads::set(namespace, HOST_DEVICE, offloads)
    }

    pub(crate) fn tap(&self, name: &str, link: LinkSpec, twin: Option<&str>) -> Result<Tap, SwitchError> {
        may_tap()?;
        let mut state = self.open_state()?;
        let free = self.place(&state, name)?;
        let address = match twin {
            Some(twin) => state.port(twin)?.address,
            None => free,
        };
        let device = device(name);
        // Not recorded: the device is removed with the switch's namespace.
        let port = state.ports.entry(name.to_owned()).or_insert(Port::plain(name, address, PortPeer::Guest));
        let made = Batch::ip(&self.frame.namespace)
            .then(&format!("tuntap add dev {device} mode tap"))
            .then(&format!("link set {device} master {MAIN} up"))
            .run()
            .and_then(|()| port.shape(link, &self.frame));
        if let Err(error) = made {
            let _ = self.take_away(&mut state, name);
            return Err(error);
        }
        Ok(Tap {
            name: name.to_owned(),
            namespace: self.frame.namespace.clone(),
            device,
            address: address.into(),
            prefix: PREFIX,
            gateway: self.network.machine().into(),
            mac: mac(address),
        })
    }

    /// Returns an address for a new name.
    fn place(&self, state: &State, name: &str) -> Result<Ipv4Addr, SwitchError> {
        check_host(name)?;
        if state.ports.contains_key(name) || state.reserved.contains_key(name) {
            return Err(SwitchError::Taken(name.to_owned()));
        }
        let taken = |address| {
            let mut ports = state.ports.values().map(|port| port.address);
            ports.any(|of_port| of_port == address) || state.reserved.values().any(|r| *r == address)
        };
        self.network.free(taken).ok_or(SwitchError::NoneFree("address on the switch"))
    }

    pub(crate) fn remove(&self, name: &str) -> Result<(), SwitchError> {
        let mut state = self.open_state()?;
        state.port(name)?;
        self.take_away(&mut state, name)
    }

    fn take_away(&self, state: &mut State, name: &str) -> Result<(), SwitchError> {
        let Some(mut port) = state.ports.remove(name) else { return Ok(()) };
        // The devices first: a process in the namespace would keep them.
        let deleted = port.delete(&self.frame.namespace);
        if let PortPeer::Host { namespace, entry } = &port.behind {
            remove(namespace)?;
            self.frame.ledger.removed(*entry)?;
        }
        deleted
    }

    pub(crate) fn shape(&self, name: &str, link: LinkSpec) -> Result<(), SwitchError> {
        self.open_state()?.port(name)?.shape(link, &self.frame)
    }

    pub(crate) fn partition(&self, names: &[String]) -> Result<(), SwitchError> {
        let mut state = self.open_state()?;
        if let Some(unknown) = names.iter().find(|name| !state.ports.contains_key(*name)) {
            return Err(SwitchError::Unknown(unknown.clone()));
        }
        let number = state.islands + 1;
        bridge(Batch::ip(&self.frame.namespace), &island(number)).run()?;
        state.islands = number;
        let mut moves = Batch::ip(&self.frame.namespace);
        for name in names {
            let port = state.port(name)?;
            moves = moves.then(&format!("link set {} master {}", port.outer(), island(number)));
            // Even if the move fails: healing restores every host that may have been moved.
            port.moved(Some(number));
        }
        moves.run()
    }

    pub(crate) fn heal(&self) -> Result<(), SwitchError> {
        let mut state = self.open_state()?;
        let mut batch = Batch::ip(&self.frame.namespace);
        for port in state.ports.values_mut().filter(|port| port.is_cut_off()) {
            batch = batch.then(&format!("link set {} master {MAIN}", port.outer()));
        }
        batch = (1..=state.islands).fold(batch, |batch, n| batch.then(&format!("link del {}", island(n))));
        batch.run()?;
        state.islands = 0;
        state.ports.values_mut().for_each(|port| port.moved(None));
        Ok(())
    }

    pub(crate) fn close(&self) -> Result<(), SwitchError> {
        let mut state = self.state();
        let Some(entries) = state.entries.take() else { return Ok(()) };
        let mut first = Ok(());
        let ledger = &self.frame.ledger;
        let hosts = std::mem::take(&mut state.ports).into_values().filter_map(|port| match port.behind {
            PortPeer::Host { namespace, entry } => Some((namespace, entry)),
            PortPeer::Guest => None,
        });
        // The leg first: if something still keeps a namespace, the machine is at least free of its device.
        let [namespace_entry, leg_entry] = entries;
        note(&mut first, delete_link(&self.leg), ledger, leg_entry);
        for (namespace, entry) in hosts {
            note(&mut first, remove(&namespace), ledger, entry);
        }
        note(&mut first, remove(&self.frame.namespace), ledger, namespace_entry);
        first
    }
}

impl State {
    fn port(&mut self, name: &str) -> Result<&mut Port, SwitchError> {
        self.ports.get_mut(name).ok_or_else(|| SwitchError::Unknown(name.to_owned()))
    }
}

impl Drop for SharedSwitch {
    fn drop(&mut self) {
        // A failure cannot be reported here; the ledger still names what was not removed.
        let _ = self.close();
    }
}

/// Records that a thing is gone; keeps the first failure.
fn note(
    first: &mut Result<(), SwitchError>,
    removed: Result<bool, SwitchError>,
    ledger: &Ledger,
    entry: Entry,
) {
    let noted = removed.and_then(|_| Ok(ledger.removed(entry)?));
    if first.is_ok() {
        *first = noted;
    }
}

/// Deletes a device of this namespace. Returns whether it existed.
pub(crate) fn delete_link(name: &str) -> Result<bool, SwitchError> {
    if ask(&["-o", "link", "show", name]).is_err() {
        return Ok(false);
    }
    let deleted = Batch::here().then(&format!("link del {name}")).run();
    // It may have disappeared in between, with the namespace of its other end.
    if deleted.is_err() && ask(&["-o", "link", "show", name]).is_err() {
        Ok(false)
    } else {
        deleted.map(|()| true)
    }
}

/// Whether the kernel has the queue that delays packets, which only a request shows.
fn netem_works(namespace: &str) -> bool {
    Batch::tc(namespace)
        .then(&format!("qdisc add dev {MAIN} root netem delay 1us"))
        .then(&format!("qdisc del dev {MAIN} root"))
        .run()
        .is_ok()
}

/// Waits for the lock. Its holder needs milliseconds, and a killed holder releases it.
fn lock() -> Result<File, SwitchError> {
    let path = PathBuf::from(LOCK);
    let failed = |source| SwitchError::File { path: path.clone(), source };
    let file = OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
    file.lock().map_err(failed)?;
    Ok(file)
}
