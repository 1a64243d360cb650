//! Hosts and units as containers of an engine that speaks the Docker API, Docker or Podman.
//!
//! A host is a *holder*: a container that does nothing, whose network, processes and shared memory the containers of
//! its units join. So units of one host see each other at one address, as on a machine; a unit is not the first process
//! of its namespace, so signals work as they do elsewhere; and when the holder is killed, everything on the host is.
//!
//! The image is made here and has nothing but folders: programs are the machine's own, seen through read-only mounts,
//! so that a container differs from a process by the container alone. A given image may be used instead.
//!
//! Where no engine answers, the platform starts one of its own in a network namespace on a switch of its own: what the
//! engine does to the network never touches the machine.

mod arguments;
mod at_once;
mod contained;
mod create;
mod deadline;
mod ending;
mod engine;
mod files;
mod groups;
mod image;
mod limits;
mod made;
mod mounts;
mod names;
mod open;
mod options;
mod output;
mod own;
mod platform;
mod preflight;
mod proc_fs;
mod remover;
mod render;
mod running;
mod site;
mod sweep;
mod tar;

pub use arguments::{EngineWishes, NO_SETTINGS, SETTINGS, engine_arguments};
pub use own::{OwnEngine, OwnWishes};
pub use platform::{ContainerPlatform, KIND};
pub use sweep::gone_with;
