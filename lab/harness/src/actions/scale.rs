//! The number of running nodes of a tier changes, or they restart in turn.
//!
//! All nodes are deployed, so balancers and web servers have the addresses of all from their start. A balancer finds by its
//! health checks which of them run; a web server without such checks finds it by refused connections.

use std::collections::BTreeMap;
use std::time::Duration;

use barograph_platform::Fault;
use barograph_workload::topology::Part;
use futures::future::join_all;

use super::{ActionFailure, ActionResult, stop};
use crate::deploy::{DRIVERS, Deployment, StartedPart};
use crate::statistics::asker;

/// How often a balancer is asked whether it gives load to the nodes that run.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Longest wait for that: many of the looks of a balancer.
const FOUND_WITHIN: Duration = Duration::from_secs(10);

/// Name of the tier that a part belongs to: that of the part without its number.
pub(crate) fn tier_of(part: &str) -> &str {
    part.rsplit_once('-').map_or(part, |(tier, _)| tier)
}

/// Tiers that can be scaled, with their nodes: several nodes of an application behind parts that pass requests on.
pub(crate) fn scalable<'p>(parts: &[&'p Part]) -> BTreeMap<&'p str, u32> {
    let passes_on =
        |part: &Part, to: &Part| !part.node && part.tier != DRIVERS && part.uses.contains(&to.name);
    let behind = parts.iter().filter(|node| node.node && parts.iter().any(|part| passes_on(part, node)));
    let mut tiers = BTreeMap::new();
    for node in behind {
        *tiers.entry(tier_of(&node.name)).or_default() += 1;
    }
    tiers.retain(|_, nodes| *nodes > 1);
    tiers
}

/// Stops nodes of a tier, those with the highest numbers, or starts nodes that do not run, until `count` run. Nodes stop and
/// start side by side. Started ones are waited for until balancers have found them.
pub(super) async fn scale(
    deployed: &Deployment,
    tier: &str,
    count: u32,
) -> Result<ActionResult, ActionFailure> {
    let count = count as usize;
    let (down, running) = nodes(deployed, tier);
    let surplus = stop_surplus(deployed, tier, count).await?;
    let missing = &down[..count.saturating_sub(running.len()).min(down.len())];
    let site = deployed.site();
    let started = join_all(missing.iter().map(|part| part.start_again(site))).await;
    started.into_iter().collect::<Result<Vec<_>, _>>()?;
    let is_found = missing.is_empty() || are_found(deployed, tier).await;
    let names = |parts: &[&StartedPart]| parts.iter().map(|part| part.name.clone()).collect::<Vec<_>>();
    let words = match (&surplus[..], missing) {
        ([], []) => "no node stopped or started".to_owned(),
        ([], started) if is_found => format!("{} started", names(started).join(", ")),
        ([], started) => format!("{} started, {}", names(started).join(", "), left_out()),
        (stopped, _) => format!("{} stopped", names(stopped).join(", ")),
    };
    Ok(ActionResult { started: names(missing), ..ActionResult::in_words(words) })
}

/// Restarts the running nodes of a tier one after another, those with the lowest numbers first. The next one stops when
/// balancers have found the one before.
pub(super) async fn restart_in_turn(
    deployed: &Deployment,
    tier: &str,
) -> Result<ActionResult, ActionFailure> {
    let (_, running) = nodes(deployed, tier);
    let mut all_found = true;
    for part in &running {
        stop(part).await?;
        part.start_again(deployed.site()).await?;
        all_found &= are_found(deployed, tier).await;
    }
    let started: Vec<String> = running.iter().map(|part| part.name.clone()).collect();
    let words = match (started.is_empty(), all_found) {
        (true, _) => return Err(ActionFailure::Ended),
        (false, true) => started.join(", "),
        (false, false) => format!("{}, {}", started.join(", "), left_out()),
    };
    Ok(ActionResult { started, ..ActionResult::in_words(words) })
}

/// The words about a node that runs and gets no load.
fn left_out() -> String {
    format!("and after {} s a balancer still leaves one out", FOUND_WITHIN.as_secs())
}

/// Waits until balancers in front of a tier have found its nodes. Returns false if that takes too long.
async fn are_found(deployed: &Deployment, tier: &str) -> bool {
    tokio::time::timeout(FOUND_WITHIN, until_found(deployed, tier)).await.is_ok()
}

/// Nodes of a tier: those that do not run, and those that do.
fn nodes<'d>(deployed: &'d Deployment, tier: &str) -> (Vec<&'d StartedPart>, Vec<&'d StartedPart>) {
    let nodes = deployed.services().filter(|part| part.node && tier_of(&part.name) == tier);
    nodes.partition(|part| part.has_ended())
}

/// Stops nodes of a tier side by side, those with the highest numbers, until at most `count` run. Returns
/// those that it stopped.
pub(crate) async fn stop_surplus<'d>(
    deployed: &'d Deployment,
    tier: &str,
    count: usize,
) -> Result<Vec<&'d StartedPart>, Fault> {
    let (_, running) = nodes(deployed, tier);
    let surplus = running.get(count..).unwrap_or_default().to_vec();
    join_all(surplus.iter().map(|part| part.stop())).await.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(surplus)
}

/// Waits until balancers in front of a tier, those that tell, leave out only parts that do not run.
async fn until_found(deployed: &Deployment, tier: &str) {
    let before = |part: &&StartedPart| !part.node && part.uses.iter().any(|used| tier_of(used) == tier);
    join_all(deployed.services().filter(before).map(async |balancer| {
        let Some((mut asker, asked)) = asker(balancer) else { return };
        let Some(left_out) = asked.left_out_at() else { return };
        let behind = || deployed.services().filter(|part| balancer.uses.contains(&part.name));
        loop {
            let down = behind().filter(|part| part.has_ended()).count() as f64;
            let told = asker.ask().await.ok().and_then(|values| values[left_out]);
            if told.is_some_and(|told| told <= down) {
                return;
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
    }))
    .await;
}
