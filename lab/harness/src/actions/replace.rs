//! The parts of a lost node start on other nodes.

use std::time::Duration;

use barograph_platform::{Nodes, UnitExit};
use futures::FutureExt as _;

use super::{ActionFailure, ActionResult};
use crate::clock::RunClock;
use crate::deploy::{DRIVERS, Deployment, StartedPart};

/// How often a cluster is asked whether parts have left their node.
const ASK_EVERY: Duration = Duration::from_millis(200);

/// Longest wait for all parts of a lost node: a cluster gives them up together.
const KNOWN_WITHIN: Duration = Duration::from_secs(60);

/// Starts all parts of a lost node elsewhere, stores first and fronts last. The pause lasts from now, when the cluster
/// gave up the node, until all of them are ready.
pub(super) async fn replace(
    deployed: &Deployment,
    node: &str,
    clock: &RunClock,
) -> Result<ActionResult, ActionFailure> {
    let nodes = deployed.site().nodes().ok_or(ActionFailure::Unable("replace the node of"))?;
    let begun = clock.now();
    // What is not known by then is replaced when it is.
    if let Ok(known) = tokio::time::timeout(KNOWN_WITHIN, until_known(deployed, nodes, node)).await {
        known?;
    }
    let there: Vec<&StartedPart> = services(deployed).filter(|part| is_lost(part, node)).collect();
    // Set for all before the first one starts, since the end of any other one would end the run.
    there.iter().for_each(|part| part.expect_end(true));
    for part in there.iter().rev() {
        part.start_again(deployed.site()).await?;
    }
    let started: Vec<String> = there.iter().map(|part| part.name.clone()).collect();
    let words = format!("{} started elsewhere", started.join(", "));
    let pause = Some((clock.now() - begun).into());
    Ok(ActionResult { words, pause, started, ..ActionResult::default() })
}

/// Services but drivers, which cannot be replaced under load.
fn services(deployed: &Deployment) -> impl DoubleEndedIterator<Item = &StartedPart> {
    deployed.services().filter(|part| part.tier != DRIVERS)
}

fn is_lost(part: &StartedPart, node: &str) -> bool {
    let ended = part.running().wait_exit().now_or_never();
    matches!(ended, Some(UnitExit::NodeLost(lost)) if lost == node)
}

/// Waits until every part either runs on another node or has ended.
async fn until_known(deployed: &Deployment, nodes: &dyn Nodes, node: &str) -> Result<(), ActionFailure> {
    loop {
        let mut all_known = true;
        for part in services(deployed).filter(|part| !part.has_ended()) {
            // A part that is leaving its node is on none.
            all_known &= nodes.node_of(&part.unit).await?.is_some_and(|other| other != node);
        }
        if all_known {
            return Ok(());
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
}
