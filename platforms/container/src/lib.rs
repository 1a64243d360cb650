//! Hosts and units as containers of an engine that speaks the Docker API, Docker or Podman.
//!
//! A host is a *holder*: a container that does nothing, whose network, processes and shared memory are joined
//! by the containers of its units. So units of one host have one address, as on a machine; a unit is not the
//! first process of its namespace, so signals work as elsewhere; and when the holder is killed, everything on
//! the host is.
//!
//! The generated image has only folders: programs are the machine's own, in read-only mounts, so that a
//! container differs from a process by nothing else. A given image may be used instead.
//!
//! If no engine answers, the platform starts one of its own in a network namespace on a switch of its own:
//! the engine's changes to the network never affect the machine.

mod arguments;
mod at_once;
mod container_process;
mod create;
mod deadline;
mod ending;
mod engine;
mod files;
mod groups;
mod image;
mod limits;
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
mod resources;
mod running;
mod site;
mod sweep;
mod tar;

pub use arguments::{EngineOptions, NO_SETTINGS, SETTINGS, engine_arguments};
pub use own::{OwnEngine, OwnEngineOptions};
pub use platform::{ContainerPlatform, KIND};
pub use sweep::gone_with;
