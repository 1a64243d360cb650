//! The lists: every workload and every platform of this program.

mod auction;

use barograph_harness::WorkloadKind;
use barograph_platform::Platform;
use barograph_platform_process::ProcessPlatform;

/// Every workload.
pub(crate) const WORKLOADS: &[&dyn WorkloadKind] = &[&auction::AuctionKind];

/// Every platform. The first is the default.
pub(crate) const PLATFORMS: &[&dyn Platform] = &[&ProcessPlatform];

/// The workload of a name.
pub(crate) fn workload(name: &str) -> Option<&'static dyn WorkloadKind> {
    WORKLOADS.iter().copied().find(|kind| kind.name() == name)
}
