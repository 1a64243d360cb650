//! Every kind of platform, in the order of sweeps: this machine itself first.

use std::path::PathBuf;
use std::sync::LazyLock;

use barograph_platform::{Platform, PlatformKind};
use barograph_platform_container::ContainerPlatform;
use barograph_platform_kubernetes::KubernetesPlatform;
use barograph_platform_namespace::{NamespacePlatform, RelayProgram};
use barograph_platform_nested::NestedPlatform;
use barograph_platform_process::ProcessPlatform;
use barograph_platform_vm::{Program, VmPlatform};
use barograph_spec::{Plan, Refusal, Refusals};

/// Hidden command that delays packets.
const RELAY: &str = "relay";

/// Hidden command that runs units inside a virtual machine.
const AGENT: &str = "agent";

/// Every kind, in the order of plans and lists.
pub(super) const KINDS: [PlatformKind; 6] = [
    barograph_platform_process::KIND,
    barograph_platform_namespace::KIND,
    barograph_platform_container::KIND,
    barograph_platform_vm::KIND,
    barograph_platform_nested::KIND,
    barograph_platform_kubernetes::KIND,
];

struct Platforms {
    process: ProcessPlatform,
    namespace: NamespacePlatform,
    container: ContainerPlatform,
    vm: VmPlatform,
    nested: NestedPlatform,
    kubernetes: KubernetesPlatform,
}

/// Static, because platforms are used for the life of the program.
static ALL: LazyLock<Platforms> = LazyLock::new(|| {
    // If the path of the program is unknown, a preflight refuses this name.
    let path = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"));
    let relay = RelayProgram { program: path.clone(), args: vec![RELAY.to_owned()] };
    let container = ContainerPlatform::new(relay.clone());
    let vm = VmPlatform::new(Program { path, agent: vec![AGENT.to_owned()], relay: vec![RELAY.to_owned()] });
    Platforms {
        process: ProcessPlatform,
        namespace: NamespacePlatform::new(relay),
        nested: NestedPlatform::new(vm.clone(), container.clone()),
        container,
        vm,
        kubernetes: KubernetesPlatform,
    }
});

/// Pods go before the folders that they see. The nested platform precedes those it consists of: after its machines are removed, a sweep need not ask
/// for their containers.
static LIST: LazyLock<[&dyn Platform; 6]> =
    LazyLock::new(|| [&ALL.process, &ALL.namespace, &ALL.nested, &ALL.container, &ALL.vm, &ALL.kubernetes]);

/// Returns every platform.
pub(crate) fn platforms() -> &'static [&'static dyn Platform] {
    LIST.as_slice()
}

/// Returns the platform of a plan.
pub(crate) fn platform(plan: &Plan) -> Result<&'static dyn Platform, Refusals> {
    let name = plan.deploy.platform.as_str();
    let found = platforms().iter().find(|platform| platform.name() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<&str> = platforms().iter().map(|platform| platform.name()).collect();
        Refusals(vec![Refusal {
            place: plan.place("platform").to_owned(),
            key: "platform".to_owned(),
            value: format!("{name:?}"),
            allowed: format!("one of {}", names.join(", ")),
            remedy: "`barograph list platforms` shows them".to_owned(),
        }])
    })
}
