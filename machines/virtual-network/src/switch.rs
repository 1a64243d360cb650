//! The switch itself: opened, given hosts and guests, changed, closed.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use barograph_platform::{Facts, Ledger, LinkSpec};

use crate::SwitchError;
use crate::address::PREFIX;
use crate::calibrate::{self, Calibration};
use crate::relay::{RelayCount, RelayProgram};
use crate::state::Shared;

/// A host on a switch: a network namespace with the device `eth0`, and with `lo` up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its namespace, for [`crate::enter`].
    pub namespace: String,
    /// Its address.
    pub address: IpAddr,
    /// How many bits of it all hosts of the switch share.
    pub prefix: u8,
    /// The machine's address on the switch, where everything else goes to.
    pub gateway: IpAddr,
    /// Kernel settings that differ from those of a new namespace.
    pub settings: Facts,
}

/// A tap for the guest of a virtual machine. It lies in the switch's namespace, so the emulator runs there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tap {
    /// Its name.
    pub name: String,
    /// The namespace of the device, for [`crate::enter`].
    pub namespace: String,
    /// The device, persistent and up.
    pub device: String,
    /// The address that the guest is to take.
    pub address: IpAddr,
    /// How many bits of it all hosts of the switch share.
    pub prefix: u8,
    /// The machine's address on the switch, where everything else goes to.
    pub gateway: IpAddr,
    /// The hardware address that the guest's device is to have.
    pub mac: String,
}

/// A bridge in a network namespace, with a leg into this machine. Clones are the same switch; when the last one is
/// dropped without [`Switch::close`], everything is removed.
#[derive(Clone, Debug)]
pub struct Switch {
    shared: Arc<Shared>,
}

impl Switch {
    /// Makes a switch. `id` tells it from those of other runs; `relay` is started for links with a delay or a loss
    /// where the kernel does neither.
    pub async fn open(id: &str, relay: RelayProgram, ledger: &Ledger) -> Result<Self, SwitchError> {
        let (id, ledger) = (id.to_owned(), ledger.clone());
        // When nobody waits any more, what was opened is dropped, and so removed.
        blocking(move || Ok(Switch { shared: Arc::new(Shared::open(&id, relay, &ledger)?) })).await
    }

    /// The namespace of the bridge and of all taps.
    #[must_use]
    pub fn netns(&self) -> &str {
        self.shared.namespace()
    }

    /// The machine's address on the switch.
    #[must_use]
    pub fn leg(&self) -> IpAddr {
        self.shared.network().machine().into()
    }

    /// How many bits of their addresses all hosts share.
    #[must_use]
    pub fn prefix(&self) -> u8 {
        PREFIX
    }

    /// Whether the kernel delays and loses packets itself; else relays do.
    #[must_use]
    pub fn kernel_delays(&self) -> bool {
        self.shared.kernel_delays()
    }

    /// Whether relays run before everything else on this machine. Without the right to that, they are late when the
    /// machine is busy.
    #[must_use]
    pub fn relays_come_first(&self) -> bool {
        self.shared.relays_come_first()
    }

    /// Makes a host.
    pub async fn host(&self, name: &str, link: &LinkSpec) -> Result<Host, SwitchError> {
        let (name, link) = (name.to_owned(), *link);
        self.work(move |shared| shared.host(&name, link)).await
    }

    /// Makes a tap for a guest.
    pub async fn tap(&self, name: &str, link: &LinkSpec) -> Result<Tap, SwitchError> {
        let (name, link) = (name.to_owned(), *link);
        self.work(move |shared| shared.tap(&name, link, None)).await
    }

    /// Makes another tap for the guest of tap `of`, with the same addresses: where the guest will be after a move. Only
    /// one of the two may be in use at a time. It has a link of its own.
    pub async fn twin_tap(&self, of: &str, name: &str) -> Result<Tap, SwitchError> {
        let (of, name) = (of.to_owned(), name.to_owned());
        self.work(move |shared| shared.tap(&name, LinkSpec::default(), Some(&of))).await
    }

    /// Sets an address aside under a name, as one that hosts hand to each other (VRRP): no host is given it.
    pub async fn reserve(&self, name: &str) -> Result<IpAddr, SwitchError> {
        let name = name.to_owned();
        self.work(move |shared| shared.reserve(&name)).await
    }

    /// Removes a host or a tap.
    pub async fn remove(&self, name: &str) -> Result<(), SwitchError> {
        let name = name.to_owned();
        self.work(move |shared| shared.remove(&name)).await
    }

    /// The address of a host or guest, or one that was reserved.
    #[must_use]
    pub fn address(&self, name: &str) -> Option<IpAddr> {
        self.shared.address(name)
    }

    /// Gives a host or guest another link, while traffic flows. A change from a plain link to one with a limit, from one
    /// with a limit to one with a delay, or back loses the packets that are on the way at that moment.
    pub async fn shape(&self, name: &str, link: LinkSpec) -> Result<(), SwitchError> {
        let name = name.to_owned();
        self.work(move |shared| shared.shape(&name, link)).await
    }

    /// Takes these hosts off the network of all others, the machine included; they still see each other. Hosts that were
    /// cut off before with others leave those.
    pub async fn partition(&self, names: &[String]) -> Result<(), SwitchError> {
        let names = names.to_vec();
        self.work(move |shared| shared.partition(&names)).await
    }

    /// Ends every partition.
    pub async fn heal(&self) -> Result<(), SwitchError> {
        self.work(Shared::heal).await
    }

    /// The processes of the relays, by host: what they use is part of what a run costs.
    #[must_use]
    pub fn relays(&self) -> Vec<(String, u32)> {
        self.shared.relays()
    }

    /// What the relays did so far, by host. Blocks for the microseconds that they take to answer.
    pub fn relay_counts(&self) -> Result<Vec<(String, RelayCount)>, SwitchError> {
        self.shared.relay_counts()
    }

    /// Measures the round trip between two hosts that it makes and removes, without and with `delay` each way: how
    /// exact a delay is.
    pub async fn calibrate(&self, delay: Duration) -> Result<Calibration, SwitchError> {
        calibrate::calibrate(self, delay).await
    }

    /// Removes everything. Processes that still sit in a namespace keep it, without a name and without links, until they
    /// end.
    pub async fn close(self) -> Result<(), SwitchError> {
        self.work(Shared::close).await
    }

    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T, SwitchError> + Send + 'static,
    ) -> Result<T, SwitchError> {
        let shared = self.shared.clone();
        blocking(move || work(&shared)).await
    }
}

/// Does blocking work on a thread for such.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SwitchError> + Send + 'static,
) -> Result<T, SwitchError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(stopped) => Err(SwitchError::Stopped(stopped.to_string())),
    }
}
