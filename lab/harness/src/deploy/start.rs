//! Start of parts, side by side, each as soon as the parts it needs are ready.

use std::collections::BTreeSet;
use std::time::Duration;

use barograph_model::Nanos;
use barograph_platform::{Fault, Site, UnitHandle, ignore_lines};
use barograph_workload::Application;
use futures::stream::{FuturesUnordered, StreamExt};

use super::deployment::{Deployment, StartedPart};
use super::placement::PlacedPart;
use crate::HarnessError;
use crate::clock::RunClock;

/// Interval between requests to the front until the application answers.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Longest wait for the front after all parts are ready, unless the plan lets parts take longer. A front
/// without a working route by then does not get one.
const FRONT_WAIT: Duration = Duration::from_secs(30);

/// Starts parts in addition to those that are ready already. On failure, `deployed` keeps the started ones.
pub(super) async fn start(
    deployed: &mut Deployment,
    parts: Vec<PlacedPart>,
    clock: RunClock,
    say: &mut dyn FnMut(&str),
) -> Result<(), HarnessError> {
    let mut waiting = parts;
    let mut ready: BTreeSet<String> = deployed.parts().iter().map(|part| part.name.clone()).collect();
    let mut made: Vec<StartedPart> = Vec::new();
    let result = {
        let site = deployed.site();
        let mut starting = FuturesUnordered::new();
        loop {
            let (now, later): (Vec<PlacedPart>, Vec<PlacedPart>) = waiting
                .into_iter()
                .partition(|placed| placed.part.needs.iter().all(|name| ready.contains(name)));
            waiting = later;
            starting.extend(now.into_iter().map(|placed| one(site, placed, clock.clone())));
            match starting.next().await {
                Some(Ok(started)) => {
                    say(&format!("{} is ready after {:.1} s", started.name, started.took.as_secs_f64()));
                    ready.insert(started.name.clone());
                    made.push(started);
                }
                Some(Err(fault)) => break Err(fault.into()),
                None if waiting.is_empty() => break Ok(()),
                None => break Err(HarnessError::NeedsCircle { parts: names(&waiting) }),
            }
        }
    };
    made.into_iter().for_each(|started| deployed.add(started));
    result
}

fn names(parts: &[PlacedPart]) -> String {
    parts.iter().map(|placed| placed.part.name.as_str()).collect::<Vec<_>>().join(", ")
}

async fn one(site: &dyn Site, placed: PlacedPart, clock: RunClock) -> Result<StartedPart, Fault> {
    let begun = clock.now();
    let running: Box<dyn UnitHandle> = site.create(&placed.unit, ignore_lines()).await?;
    Ok(StartedPart::new(placed, running, (clock.now() - begun).into()))
}

/// Waits until the front answers, as a balancer needs a moment to find its nodes. Requests are sent from this
/// process, as users send them.
pub(super) async fn until_front_answers(
    application: &dyn Application,
    url: &str,
    (clock, start_timeout): (RunClock, Nanos),
) -> Result<(), HarnessError> {
    let give_up = clock.now() + start_timeout.max(Nanos::from(FRONT_WAIT));
    loop {
        match application.answers(url).await {
            Ok(()) => return Ok(()),
            Err(why) if clock.now() > give_up => {
                return Err(HarnessError::Unreachable { url: url.to_owned(), why: why.into() });
            }
            Err(_) => tokio::time::sleep(ASK_EVERY).await,
        }
    }
}
