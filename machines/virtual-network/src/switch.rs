//! The switch: opened, given hosts and guests, changed, closed.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use barograph_model::Offloads;
use barograph_platform::{Facts, Ledger, LinkSpec};

use crate::SwitchError;
use crate::address::PREFIX;
use crate::calibrate::{self, Calibration};
use crate::relay::{RelayCount, RelayProgram};
use crate::state::SharedSwitch;

/// A host on a switch: a network namespace with the device `eth0`, and with `lo` up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Name of the host.
    pub name: String,
    /// Namespace, for [`crate::enter`].
    pub namespace: String,
    /// Address of the host.
    pub address: IpAddr,
    /// Length of the network prefix shared by all hosts of the switch.
    pub prefix: u8,
    /// The machine's address on the switch, the default gateway.
    pub gateway: IpAddr,
    /// Kernel settings that differ from those of a new namespace.
    pub settings: Facts,
}

/// A tap for the guest of a virtual machine. It is in the switch's namespace, so the emulator must run there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tap {
    /// Name of the tap.
    pub name: String,
    /// Namespace of the device, for [`crate::enter`].
    pub namespace: String,
    /// The device, persistent and up.
    pub device: String,
    /// Address for the guest.
    pub address: IpAddr,
    /// Length of the network prefix shared by all hosts of the switch.
    pub prefix: u8,
    /// The machine's address on the switch, the default gateway.
    pub gateway: IpAddr,
    /// Hardware address for the guest's device.
    pub mac: String,
}

/// A bridge in a network namespace, with a leg to this machine. Clones are the same switch; if the last one
/// is dropped without [`Switch::close`], everything is removed.
#[derive(Clone, Debug)]
pub struct Switch {
    shared: Arc<SharedSwitch>,
}

impl Switch {
    /// Creates a switch. `id` distinguishes it from those of other runs; `relay` is started for links with a
    /// delay or a loss if the kernel supports neither.
    pub async fn open(id: &str, relay: RelayProgram, ledger: &Ledger) -> Result<Self, SwitchError> {
        let (id, ledger) = (id.to_owned(), ledger.clone());
        // If the caller has given up, the opened switch is dropped, and so removed.
        blocking(move || Ok(Switch { shared: Arc::new(SharedSwitch::open(&id, relay, &ledger)?) })).await
    }

    /// Returns the namespace of the bridge and of all taps.
    #[must_use]
    pub fn netns(&self) -> &str {
        self.shared.namespace()
    }

    /// Returns the machine's address on the switch.
    #[must_use]
    pub fn leg(&self) -> IpAddr {
        self.shared.network().machine().into()
    }

    /// Returns the length of the network prefix shared by all hosts.
    #[must_use]
    pub fn prefix(&self) -> u8 {
        PREFIX
    }

    /// Whether the kernel delays and drops packets itself; otherwise relays do.
    #[must_use]
    pub fn kernel_delays(&self) -> bool {
        self.shared.kernel_delays()
    }

    /// Whether relays run before everything else on this machine. Without the right to that, they are late on
    /// a busy machine.
    #[must_use]
    pub fn relays_come_first(&self) -> bool {
        self.shared.relays_come_first()
    }

    /// Creates a host.
    pub async fn host(&self, name: &str, link: &LinkSpec) -> Result<Host, SwitchError> {
        let (name, link) = (name.to_owned(), *link);
        self.work(move |shared| shared.host(&name, link)).await
    }

    /// Sets the offloads of a host's end of its link, and reads them back. They go with the host.
    ///
    /// # Errors
    /// If the device refuses one, or does not have what was set.
    pub async fn offload(&self, name: &str, offloads: Offloads) -> Result<(), SwitchError> {
        let name = name.to_owned();
        self.work(move |shared| shared.offload(&name, offloads)).await
    }

    /// Creates a tap for a guest.
    pub async fn tap(&self, name: &str, link: &LinkSpec) -> Result<Tap, SwitchError> {
        let (name, link) = (name.to_owned(), *link);
        self.work(move |shared| shared.tap(&name, link, None)).await
    }

    /// Creates another tap for the guest of tap `of`, with the same addresses, for the time after a move.
    /// Only one of the two may be in use at a time. It has a link of its own.
    pub async fn twin_tap(&self, of: &str, name: &str) -> Result<Tap, SwitchError> {
        let (of, name) = (of.to_owned(), name.to_owned());
        self.work(move |shared| shared.tap(&name, LinkSpec::default(), Some(&of))).await
    }

    /// Reserves an address under a name, as one that hosts pass to each other (VRRP): no host gets it.
    pub async fn reserve(&self, name: &str) -> Result<IpAddr, SwitchError> {
        let name = name.to_owned();
        self.work(move |shared| shared.reserve(&name)).await
    }

    /// Removes a host or a tap.
    pub async fn remove(&self, name: &str) -> Result<(), SwitchError> {
        let name = name.to_owned();
        self.work(move |shared| shared.remove(&name)).await
    }

    /// Returns the address of a host or guest, or a reserved one.
    #[must_use]
    pub fn address(&self, name: &str) -> Option<IpAddr> {
        self.shared.address(name)
    }

    /// Replaces the link of a host or guest, while traffic flows. A change between a plain link, one with a
    /// limit, and one with a delay loses the packets in transit.
    pub async fn shape(&self, name: &str, link: LinkSpec) -> Result<(), SwitchError> {
        let name = name.to_owned();
        self.work(move |shared| shared.shape(&name, link)).await
    }

    /// Separates these hosts from all others, including the machine; they still reach each other. Hosts that
    /// were separated before together with others leave those.
    pub async fn partition(&self, names: &[String]) -> Result<(), SwitchError> {
        let names = names.to_vec();
        self.work(move |shared| shared.partition(&names)).await
    }

    /// Ends every partition.
    pub async fn heal(&self) -> Result<(), SwitchError> {
        self.work(SharedSwitch::heal).await
    }

    /// Returns the processes of the relays, by host: their resource use is a cost of the run.
    #[must_use]
    pub fn relays(&self) -> Vec<(String, u32)> {
        self.shared.relays()
    }

    /// Returns the counts of the relays so far, by host. Blocks for the microseconds of their replies.
    pub fn relay_counts(&self) -> Result<Vec<(String, RelayCount)>, SwitchError> {
        self.shared.relay_counts()
    }

    /// Measures the precision of a delay: the round trip between two temporary hosts, without and with
    /// `delay` each way.
    pub async fn calibrate(&self, delay: Duration) -> Result<Calibration, SwitchError> {
        calibrate::calibrate(self, delay).await
    }

    /// Removes everything. Processes in a namespace keep it, without a name and without links, until they
    /// end.
    pub async fn close(self) -> Result<(), SwitchError> {
        self.work(SharedSwitch::close).await
    }

    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SharedSwitch) -> Result<T, SwitchError> + Send + 'static,
    ) -> Result<T, SwitchError> {
        let shared = self.shared.clone();
        blocking(move || work(&shared)).await
    }
}

/// Runs blocking work on a blocking thread of the runtime.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SwitchError> + Send + 'static,
) -> Result<T, SwitchError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(stopped) => Err(SwitchError::Stopped(stopped.to_string())),
    }
}
