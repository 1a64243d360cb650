//! Every kind of platform, in the order of sweeps: this machine itself first.

use std::path::PathBuf;
use std::sync::LazyLock;

use barograph_platform::{Platform, PlatformKind};
use barograph_platform_container::ContainerPlatform;
use barograph_platform_namespace::{NamespacePlatform, RelayProgram};
use barograph_platform_nested::NestedPlatform;
use barograph_platform_process::ProcessPlatform;
use barograph_platform_vm::{Program, VmPlatform};
use barograph_spec::{Plan, Refusal, Refused};

/// The hidden command that holds packets back.
const RELAY: &str = "relay";

/// The hidden command that makes units inside a virtual machine.
const AGENT: &str = "agent";

/// Every kind, as plans and lists show them.
pub(super) const KINDS: [PlatformKind; 5] = [
    barograph_platform_process::KIND,
    barograph_platform_namespace::KIND,
    barograph_platform_container::KIND,
    barograph_platform_vm::KIND,
    barograph_platform_nested::KIND,
];

struct All {
    process: ProcessPlatform,
    namespace: NamespacePlatform,
    container: ContainerPlatform,
    vm: VmPlatform,
    nested: NestedPlatform,
}

/// They live as long as the program.
static ALL: LazyLock<All> = LazyLock::new(|| {
    // A program that cannot find itself is refused by a preflight with this name.
    let path = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"));
    let relay = RelayProgram { program: path.clone(), args: vec![RELAY.to_owned()] };
    let container = ContainerPlatform::new(relay.clone());
    let vm = VmPlatform::new(Program { path, agent: vec![AGENT.to_owned()], relay: vec![RELAY.to_owned()] });
    All {
        process: ProcessPlatform,
        namespace: NamespacePlatform::new(relay),
        nested: NestedPlatform::new(vm.clone(), container.clone()),
        container,
        vm,
    }
});

/// The nested one comes before those it is made of: what went with its machines need not be asked for in a sweep.
static LIST: LazyLock<[&dyn Platform; 5]> =
    LazyLock::new(|| [&ALL.process, &ALL.namespace, &ALL.nested, &ALL.container, &ALL.vm]);

/// Every platform.
pub(crate) fn platforms() -> &'static [&'static dyn Platform] {
    LIST.as_slice()
}

/// The platform of a plan.
pub(crate) fn platform(plan: &Plan) -> Result<&'static dyn Platform, Refused> {
    let name = plan.deploy.platform.as_str();
    let found = platforms().iter().find(|platform| platform.name() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<&str> = platforms().iter().map(|platform| platform.name()).collect();
        Refused(vec![Refusal {
            place: plan.place("platform").to_owned(),
            key: "platform".to_owned(),
            value: format!("{name:?}"),
            allowed: format!("one of {}", names.join(", ")),
            remedy: "`barograph list platforms` shows them".to_owned(),
        }])
    })
}
