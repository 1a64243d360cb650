//! A port of the bridge: the devices between a host or guest and the others.

use std::net::Ipv4Addr;

use barograph_platform::{Entry, Ledger, LinkSpec};

use crate::SwitchError;
use crate::ip::Batch;
use crate::lacks::lacks_tun;
use crate::names::{MAIN, hash};
use crate::queue::{Queue, change, queue};
use crate::relay::{Relay, RelayPosition, RelayProgram};

/// State shared by all ports of a switch.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) namespace: String,
    pub(crate) relay: RelayProgram,
    pub(crate) ledger: Ledger,
    /// Whether the kernel can delay packets itself.
    pub(crate) netem: bool,
    /// Words before a relay that give it priority.
    pub(crate) first: Vec<String>,
}

/// The other end of a port.
#[derive(Debug)]
pub(crate) enum PortPeer {
    /// A host in a namespace of its own.
    Host { namespace: String, entry: Entry },
    /// A guest.
    Guest,
}

/// Devices between the port's small bridge and the main one.
#[derive(Debug)]
enum Middle {
    /// None: the port is on the main bridge.
    Nothing,
    /// A veth pair.
    Pair,
    /// Two taps and a relay.
    Relay(Relay),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PortWiring {
    Nothing,
    Pair,
    Relay,
}

/// A port.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) address: Ipv4Addr,
    pub(crate) behind: PortPeer,
    link: LinkSpec,
    middle: Middle,
    /// Number of the bridge of a partition.
    island: Option<u32>,
}

/// Returns the port's own device.
pub(crate) fn device(name: &str) -> String {
    format!("p-{name}")
}

/// Returns the bridge of a partition.
pub(crate) fn island(number: u32) -> String {
    format!("island{number}")
}

impl Port {
    /// Makes a port whose device is on the bridge.
    pub(crate) fn plain(name: &str, address: Ipv4Addr, behind: PortPeer) -> Self {
        let name = name.to_owned();
        Port { name, address, behind, link: LinkSpec::default(), middle: Middle::Nothing, island: None }
    }

    /// Returns its relay.
    pub(crate) fn relay(&mut self) -> Option<&mut Relay> {
        match &mut self.middle {
            Middle::Relay(relay) => Some(relay),
            _ => None,
        }
    }

    /// Returns the bridge of its outer end.
    pub(crate) fn bridge(&self) -> String {
        self.island.map_or_else(|| MAIN.to_owned(), island)
    }

    /// Whether it is cut off from the bridge.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.island.is_some()
    }

    /// Returns the device by which it is connected to a shared bridge.
    pub(crate) fn outer(&self) -> String {
        self.ends(self.way()).map_or_else(|| device(&self.name), |(_, outer)| outer)
    }

    /// Notes the current bridge of the outer end.
    pub(crate) fn moved(&mut self, island: Option<u32>) {
        self.island = island;
    }

    /// Replaces its link. Packets in transit are lost if the kind of link changes; otherwise none are.
    pub(crate) fn shape(&mut self, link: LinkSpec, frame: &Frame) -> Result<(), SwitchError> {
        let (old, new) = (self.way(), way(&link, frame.netem));
        if let (PortWiring::Relay, Middle::Relay(relay)) = (new, &mut self.middle) {
            relay.set(&link)?;
        } else if old != new {
            self.rebuild(new, &link, frame)?;
        }
        let has = queue(&self.link, old == PortWiring::Pair);
        let wanted = queue(&link, new == PortWiring::Pair);
        let mut tc = change(Batch::tc(&frame.namespace), &device(&self.name), has, wanted);
        if let Some((inner, _)) = self.ends(new) {
            tc = change(tc, &inner, if old == new { has } else { Queue::default() }, wanted);
        }
        tc.run()?;
        self.link = link;
        Ok(())
    }

    fn way(&self) -> PortWiring {
        match self.middle {
            Middle::Nothing => PortWiring::Nothing,
            Middle::Pair => PortWiring::Pair,
            Middle::Relay(_) => PortWiring::Relay,
        }
    }

    /// Inner and outer device of a kind of link.
    fn ends(&self, way: PortWiring) -> Option<(String, String)> {
        let letter = match way {
            PortWiring::Nothing => return None,
            PortWiring::Pair => 'v',
            PortWiring::Relay => 't',
        };
        Some((format!("{letter}i-{}", self.name), format!("{letter}o-{}", self.name)))
    }

    fn small_bridge(&self) -> String {
        format!("s-{}", self.name)
    }

    /// Replaces the middle by another kind. There are never two paths at once, which would be a loop.
    fn rebuild(&mut self, new: PortWiring, link: &LinkSpec, frame: &Frame) -> Result<(), SwitchError> {
        let (port, small, bridge) = (device(&self.name), self.small_bridge(), self.bridge());
        let (old, built) = (self.ends(self.way()), self.ends(new));
        let middle = self.build(new, link, frame)?;
        let mut swap = Batch::ip(&frame.namespace);
        if let Some((old_inner, _)) = &old {
            swap = swap.then(&format!("link set {old_inner} nomaster"));
        }
        match &built {
            Some((inner, outer)) => {
                swap = swap
                    .then(&format!("link set {outer} master {bridge}"))
                    .then(&format!("link set {inner} master {small}"));
                if old.is_none() {
                    swap = swap.then(&format!("link set {port} master {small}"));
                }
            }
            None => {
                swap =
                    swap.then(&format!("link set {port} master {bridge}")).then(&format!("link del {small}"))
            }
        }
        swap.run()?;
        // Dropping an old relay closes its taps, which stay until they are deleted.
        let before = std::mem::replace(&mut self.middle, middle);
        let were_taps = matches!(before, Middle::Relay(_));
        drop(before);
        let Some((old_inner, old_outer)) = old else { return Ok(()) };
        let mut clear = Batch::ip(&frame.namespace).then(&format!("link del {old_inner}"));
        if were_taps {
            clear = clear.then(&format!("link del {old_outer}"));
        }
        clear.run()
    }

    /// Creates the devices of a middle, up but on no bridge.
    fn build(&self, way: PortWiring, link: &LinkSpec, frame: &Frame) -> Result<Middle, SwitchError> {
        let Some((inner, outer)) = self.ends(way) else { return Ok(Middle::Nothing) };
        if way == PortWiring::Relay {
            may_tap()?;
        }
        let mut make = Batch::ip(&frame.namespace);
        if self.way() == PortWiring::Nothing {
            make = bridge(make, &self.small_bridge());
        }
        make = if way == PortWiring::Pair {
            make.then(&format!("link add {inner} type veth peer name {outer}"))
        } else {
            // A burst of a large window comes faster than a relay reads it, and needs room.
            [&inner, &outer].into_iter().fold(make, |make, tap| {
                make.then(&format!("tuntap add dev {tap} mode tap"))
                    .then(&format!("link set {tap} txqueuelen 10000"))
            })
        };
        let made = make.then(&format!("link set {inner} up")).then(&format!("link set {outer} up")).run();
        let middle = made.and_then(|()| self.join(way, link, frame));
        if middle.is_err() {
            self.undo(&frame.namespace, &[&inner, &outer]);
        }
        middle
    }

    /// Joins the two devices of a middle, if the kernel does not.
    fn join(&self, way: PortWiring, link: &LinkSpec, frame: &Frame) -> Result<Middle, SwitchError> {
        let Some((inner, outer)) = self.ends(way) else { return Ok(Middle::Nothing) };
        if way == PortWiring::Pair {
            return Ok(Middle::Pair);
        }
        let place = RelayPosition {
            namespace: &frame.namespace,
            host: &self.name,
            inner: &inner,
            outer: &outer,
            first: &frame.first,
            seed: hash(&self.name),
        };
        Ok(Middle::Relay(Relay::start(&frame.relay, &place, link, &frame.ledger)?))
    }

    /// Removes devices that were created in vain. Only the error that led here is reported.
    fn undo(&self, namespace: &str, devices: &[&str]) {
        for device in devices {
            let _ = Batch::ip(namespace).then(&format!("link del {device}")).run();
        }
        if self.way() == PortWiring::Nothing {
            let _ = Batch::ip(namespace).then(&format!("link del {}", self.small_bridge())).run();
        }
    }

    /// Deletes its devices on the switch; the other end of a host's pair is deleted with them.
    pub(crate) fn delete(&mut self, namespace: &str) -> Result<(), SwitchError> {
        let ends = self.ends(self.way());
        let was_relay = matches!(self.middle, Middle::Relay(_));
        self.middle = Middle::Nothing;
        let mut delete = Batch::ip(namespace).then(&format!("link del {}", device(&self.name)));
        if let Some((inner, outer)) = ends {
            delete = delete.then(&format!("link del {inner}"));
            if was_relay {
                delete = delete.then(&format!("link del {outer}"));
            }
            delete = delete.then(&format!("link del {}", self.small_bridge()));
        }
        delete.run()
    }
}

/// Checks that taps can be created, as `ip` alone would not name what is missing.
pub(crate) fn may_tap() -> Result<(), SwitchError> {
    lacks_tun().map_or(Ok(()), |missing| Err(SwitchError::Lacks(missing)))
}

/// Adds the commands that create a bridge that forwards from the beginning.
pub(crate) fn bridge(batch: Batch, name: &str) -> Batch {
    batch
        .then(&format!("link add {name} type bridge stp_state 0 forward_delay 0 mcast_snooping 0"))
        .then(&format!("link set {name} up"))
}

/// Returns the kind that a link needs.
fn way(link: &LinkSpec, netem: bool) -> PortWiring {
    if link.is_plain() {
        PortWiring::Nothing
    } else if netem || (link.delay.is_zero() && link.loss == 0.0) {
        PortWiring::Pair
    } else {
        PortWiring::Relay
    }
}
