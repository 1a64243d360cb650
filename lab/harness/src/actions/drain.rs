//! The parts of a node restart on other nodes.

use barograph_platform::Nodes;

use super::{ActionFailure, ActionResult, stop};
use crate::clock::RunClock;
use crate::deploy::{DRIVERS, Deployment, StartedPart};

/// The ability to keep parts off nodes.
pub(super) fn nodes(deployed: &Deployment) -> Result<&dyn Nodes, ActionFailure> {
    deployed.site().nodes().ok_or(ActionFailure::Unable("drain the node of"))
}

/// Closes the node of a part. All parts that run there stop, fronts first and stores last, and start elsewhere in
/// the opposite order, since a part may need another one when it starts. Drivers stay: a driver cannot be
/// replaced under load. The pause lasts from the first end until all are ready.
pub(super) async fn drain(
    deployed: &Deployment,
    part: &StartedPart,
    clock: &RunClock,
) -> Result<ActionResult, ActionFailure> {
    let nodes = nodes(deployed)?;
    let node = nodes.node_of(&part.unit).await?.ok_or(ActionFailure::Ended)?;
    nodes.avoid(&node).await?;
    let mut there = Vec::new();
    for part in deployed.services().filter(|part| part.tier != DRIVERS && !part.has_ended()) {
        if nodes.node_of(&part.unit).await?.as_deref() == Some(node.as_str()) {
            there.push(part);
        }
    }
    let mut first_end = None;
    for part in &there {
        stop(part).await?;
        first_end = first_end.or_else(|| Some(clock.now()));
    }
    for part in there.iter().rev() {
        part.start_again(deployed.site()).await?;
    }
    let started: Vec<String> = there.iter().map(|part| part.name.clone()).collect();
    let words = format!("{} left {node}", started.join(", "));
    let pause = first_end.map(|end| (clock.now() - end).into());
    Ok(ActionResult { words, pause, started, ..ActionResult::default() })
}
