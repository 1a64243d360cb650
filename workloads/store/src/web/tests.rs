//! Nodes, their clients, and answers that are wrong.

pub(crate) mod node;
mod operating;
mod scripted;
