//! What boots machines, which takes minutes where they are emulated.

mod actions;
mod deployments;
mod interrupted_in;
mod killed_in;
