//! A real Kubernetes cluster for tests.
//!
//! The control plane and the nodes are processes of this machine: API server, controllers and scheduler on a
//! host of the namespace platform, and on a host for each node a container runtime, a kubelet and a proxy.
//! Nodes see the files of this machine, and this machine has routes to pods and services. Everything is in a
//! folder of its own and gone with the [`Cluster`]; what a killed process left of one, the next start removes.
//!
//! A test can add a server of metrics, by which the cluster's autoscaler sees the use of processors, and simulated
//! nodes.
//!
//! The programs are built by `cargo xtask tools --kubernetes`; etcd, containerd, runc and the network plug-ins
//! are Debian's.

mod abandoned;
mod cluster;
mod files;
mod image;
mod leftovers;
mod network;
mod nodes;
mod programs;
mod simulated;

pub use cluster::Cluster;
pub use image::{IMAGE, SHELL_IMAGE};
pub use simulated::{SIMULATED, SimulatedNodes};
