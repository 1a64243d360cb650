//! The deployment: running units, their addresses, and their end.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use barograph_platform::{Fault, Site, Unit, UnitExit, UnitHandle, ignore_lines};
use barograph_workload::topology::{Endpoint, PartWork};
use futures::FutureExt as _;
use futures::future::join_all;
use futures::stream::{FuturesUnordered, StreamExt};

use super::placement::Urls;
use super::planned::PlannedApplication;
use crate::fleet::Token;

/// Action on a part that can be held.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PauseAction {
    /// Stops the part.
    Pause,
    /// Lets the part continue.
    Resume,
}

/// A started part.
pub(crate) struct StartedPart {
    pub(crate) name: String,
    /// Index of the load that deployed it; `None` for drivers.
    pub(crate) load: Option<usize>,
    pub(crate) tier: &'static str,
    pub(crate) node: bool,
    pub(crate) work: PartWork,
    pub(crate) uses: Vec<String>,
    pub(super) needs: Vec<String>,
    pub(crate) unit: Unit,
    pub(crate) endpoint: Endpoint,
    /// Time from the request until it was ready.
    pub(crate) took: Duration,
    running: Mutex<Arc<dyn UnitHandle>>,
    /// Whether the plan ended or holds it.
    meant: AtomicBool,
    /// Held by the task that pauses or resumes the part, until that is done.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl StartedPart {
    pub(super) fn new(
        placed: super::placement::PlacedPart,
        running: Box<dyn UnitHandle>,
        took: Duration,
    ) -> Self {
        let super::placement::PlacedPart { load, part, unit, endpoint } = placed;
        StartedPart {
            name: part.name,
            load,
            tier: part.tier,
            node: part.node,
            work: part.work,
            uses: part.uses,
            needs: part.needs,
            unit,
            endpoint,
            took,
            running: Mutex::new(Arc::from(running)),
            meant: AtomicBool::new(false),
            turn: Arc::default(),
        }
    }

    /// Returns the running unit.
    pub(crate) fn running(&self) -> Arc<dyn UnitHandle> {
        Arc::clone(&self.running.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets whether the part's end is expected. An expected end does not end the run.
    pub(crate) fn expect_end(&self, expected: bool) {
        self.meant.store(expected, Ordering::Relaxed);
    }

    /// Whether an action killed or stopped the part, or filled its disk, and it was not started again.
    pub(crate) fn is_meant_to_be_down(&self) -> bool {
        self.meant.load(Ordering::Relaxed)
    }

    /// Whether the part has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.running().wait_exit().now_or_never().is_some()
    }

    /// Pauses or resumes the part; `None` if its platform cannot. Runs on another thread, because the kernel
    /// or a container engine may take seconds. A started call completes even if this future is dropped, and
    /// calls take effect in order, so the last one wins.
    pub(crate) async fn hold(&self, hold: PauseAction) -> Option<Result<(), Fault>> {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let running = self.running();
        let held = tokio::task::spawn_blocking(move || {
            let held = running.pausing().map(|unit| match hold {
                PauseAction::Pause => unit.pause(),
                PauseAction::Resume => unit.resume(),
            });
            drop(running);
            drop(turn);
            held
        });
        held.await.unwrap_or_default()
    }

    /// Kills the part on purpose.
    pub(crate) async fn kill(&self) -> Result<(), Fault> {
        let running = self.running();
        self.end(async { running.kill().await }).await.map(drop)
    }

    /// Stops the part on purpose. It is killed if it takes longer than its service allows.
    pub(crate) async fn stop(&self) -> Result<UnitExit, Fault> {
        let running = self.running();
        self.end(async { running.stop(self.grace()).await }).await
    }

    async fn end(&self, end: impl Future<Output = Result<UnitExit, Fault>>) -> Result<UnitExit, Fault> {
        let was_down = self.is_meant_to_be_down();
        // Set before the part ends, so that its observers see it in time.
        self.expect_end(true);
        let ended = end.await;
        if ended.is_err() {
            self.expect_end(was_down);
        }
        ended
    }

    /// Time that its service needs to end.
    fn grace(&self) -> Duration {
        match self.work {
            PartWork::Service(service) => service.grace(),
            PartWork::Job => Duration::ZERO,
        }
    }

    /// Starts the part again in the same place, with the files it left.
    pub(crate) async fn start_again(&self, site: &dyn Site) -> Result<(), Fault> {
        let mut unit = self.unit.clone();
        unit.prepare.clear();
        let running = site.create(&unit, ignore_lines()).await?;
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Arc::from(running);
        self.expect_end(false);
        Ok(())
    }

    /// Waits until the service ends by itself.
    async fn ended(&self) -> UnitExit {
        loop {
            let ended = self.running().wait_exit().await;
            if !self.meant.load(Ordering::Relaxed) {
                return ended;
            }
            // Polls until the part is started again, often enough that the delay is not noticed.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Everything deployed for a run.
pub(crate) struct Deployment {
    site: Box<dyn Site>,
    parts: Vec<StartedPart>,
    urls: Urls,
    token: Option<Token>,
}

impl Deployment {
    pub(super) fn new(site: Box<dyn Site>, urls: Urls, token: Option<Token>) -> Self {
        Deployment { site, parts: Vec::new(), urls, token }
    }

    /// Token of drivers that are units.
    pub(super) fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    pub(super) fn add(&mut self, started: StartedPart) {
        self.parts.push(started);
    }

    /// Sorts the parts as planned; they are stored in the order in which they became ready.
    pub(super) fn put_in_order(&mut self, planned: &[PlannedApplication<'_>]) {
        let at = |name: &str| super::planned::parts(planned).position(|part| part.name == name);
        self.parts.sort_by_key(|started| at(&started.name));
    }

    pub(crate) fn site(&self) -> &dyn Site {
        self.site.as_ref()
    }

    pub(crate) fn parts(&self) -> &[StartedPart] {
        &self.parts
    }

    /// Services in the order of their end: users first, stores last.
    pub(crate) fn services(&self) -> impl DoubleEndedIterator<Item = &StartedPart> {
        self.parts.iter().filter(|part| matches!(part.work, PartWork::Service(_)))
    }

    /// URL of a load's application; empty if the load deployed none.
    pub(crate) fn url(&self, load: usize) -> String {
        self.urls.get(&load).cloned().unwrap_or_default()
    }

    /// Ends everything, drivers first and stores last, and removes the hosts. Every step is tried; the first
    /// fault is returned. A service has at least `grace`, or as long as it asks for.
    pub(crate) async fn stop(self, grace: Duration) -> Result<(), Fault> {
        let mut first = Ok(());
        let (drivers, others): (Vec<&StartedPart>, Vec<&StartedPart>) =
            self.services().partition(|part| part.tier == super::drivers::TIER);
        let end = async |part: &StartedPart| {
            // Held units do not react to signals.
            let _ = part.hold(PauseAction::Resume).await;
            part.running().stop(grace.max(part.grace())).await.map(drop)
        };
        // There may be many drivers, and none needs another one.
        for ended in join_all(drivers.into_iter().map(&end)).await {
            first = first.and(ended);
        }
        for part in others {
            first = first.and(end(part).await);
        }
        let Deployment { site, parts, .. } = self;
        drop(parts);
        first.and(site.close().await)
    }

    /// Name of a part for users; the application's name if it is a single service.
    pub(crate) fn called(&self, part: &StartedPart) -> String {
        let application = |part: &&StartedPart| part.tier != super::drivers::TIER;
        match application(&part) && self.services().filter(application).count() == 1 {
            true => "the application".to_owned(),
            false => part.name.clone(),
        }
    }

    /// Waits for the first service of the application that ends by itself. Drivers are excluded, as they end
    /// with the load.
    pub(crate) async fn application_ends(&self) -> (&StartedPart, UnitExit) {
        let parts = self.services().filter(|part| part.tier != super::drivers::TIER);
        let mut ends: FuturesUnordered<_> =
            parts.map(|part| async move { (part, part.ended().await) }).collect();
        match ends.next().await {
            Some(first) => first,
            None => std::future::pending().await,
        }
    }
}

/// URL of several addresses in the syntax of libpq.
pub(super) fn url(scheme: &str, at: &[SocketAddr]) -> String {
    let at: Vec<String> = at.iter().map(SocketAddr::to_string).collect();
    format!("{scheme}://{}", at.join(","))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::net::{IpAddr, Ipv4Addr};
    use std::path::PathBuf;
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    use barograph_platform::{Limits, Pause, Readiness};

    use super::super::placement::PlacedPart;
    use super::*;
    use crate::testing::FakeUnit;
    use barograph_workload::topology::Part;

    /// Longer than anything that does not hang.
    const LONG: Duration = Duration::from_secs(180);

    /// A unit that is held on request and records the calls.
    struct SlowUnit {
        stands: Mutex<Receiver<()>>,
        done: Arc<Mutex<Vec<&'static str>>>,
    }

    impl SlowUnit {
        fn keep(&self, what: &'static str) {
            self.done.lock().unwrap().push(what);
        }
    }

    impl Pause for SlowUnit {
        fn pause(&self) -> Result<(), Fault> {
            let stands = self.stands.lock().unwrap().recv_timeout(LONG);
            self.keep(if stands.is_ok() { "pause" } else { "pause, too late" });
            Ok(())
        }
        fn resume(&self) -> Result<(), Fault> {
            self.keep("resume");
            Ok(())
        }
    }

    /// Returns a part that is slow to be held, the sender that lets it continue, and the list of calls.
    fn slow() -> (StartedPart, SyncSender<()>, Arc<Mutex<Vec<&'static str>>>) {
        let (say, stands) = sync_channel(1);
        let done = Arc::<Mutex<Vec<_>>>::default();
        let pausing = Box::new(SlowUnit { stands: Mutex::new(stands), done: done.clone() });
        let running = FakeUnit { pausing: Some(pausing), ..FakeUnit::default() };
        let part = Part {
            name: "slow-1".to_owned(),
            tier: "application",
            node: true,
            host: "slow-1".to_owned(),
            work: PartWork::Job,
            needs: vec![],
            uses: vec![],
            values: vec![],
            limits: Limits::default(),
        };
        let ready = Readiness::Exit { timeout: LONG };
        let unit = Unit::new("slow-1", PathBuf::from("/nonexistent"), ready);
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let endpoint = Endpoint { address, ports: BTreeMap::new(), url: String::new(), port: 0 };
        let placed = PlacedPart { load: Some(0), part, unit, endpoint };
        (StartedPart::new(placed, Box::new(running), Duration::ZERO), say, done)
    }

    #[test]
    fn a_url_has_every_front_in_order() {
        let at = ["10.0.0.2:6379", "[::1]:6380"].map(|at| at.parse().unwrap());
        assert_eq!(url("redis", &at), "redis://10.0.0.2:6379,[::1]:6380");
        assert_eq!(url("http", &at[..1]), "http://10.0.0.2:6379");
    }

    #[tokio::test]
    async fn others_go_on_while_a_part_is_being_held() {
        let (part, say, done) = slow();
        // The runtime's only thread is free for the second future while the first waits for it.
        let (held, ()) = tokio::join!(part.hold(PauseAction::Pause), async { say.send(()).unwrap() });
        assert!(matches!(held, Some(Ok(()))));
        assert_eq!(*done.lock().unwrap(), ["pause"]);
    }

    #[tokio::test]
    async fn a_pause_that_nobody_waits_for_any_more_is_undone_behind_it() {
        let (part, say, done) = slow();
        // Started and dropped.
        assert!(part.hold(PauseAction::Pause).now_or_never().is_none());
        let (resumed, ()) = tokio::join!(part.hold(PauseAction::Resume), async {
            // Long enough for a resumption that does not wait to show.
            for _ in 0..1_000 {
                tokio::task::yield_now().await;
            }
            assert_eq!(*done.lock().unwrap(), [""; 0]);
            say.send(()).unwrap();
        });
        assert!(matches!(resumed, Some(Ok(()))));
        assert_eq!(*done.lock().unwrap(), ["pause", "resume"]);
    }
}
