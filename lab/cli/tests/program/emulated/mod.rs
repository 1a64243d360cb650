//! Tests that boot machines, which takes minutes if they are emulated.

mod actions;
mod deployments;
mod interrupted_in;
mod killed_in;
mod studies;
