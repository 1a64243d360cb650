//! The state of all pods of a site, by one watch.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use tokio::sync::{oneshot, watch};
use tokio::time::sleep;

use crate::names;
use crate::pod_state::{self, PodState};

/// Length of a watch in seconds, after which the pods are listed again: no lost message stays lost for longer.
const WATCH_S: u32 = 60;

/// Interval between attempts to reach a cluster that does not answer.
const AGAIN: Duration = Duration::from_millis(300);

type States = BTreeMap<String, PodState>;

/// A watch of a site's pods. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct PodWatch {
    states: watch::Receiver<States>,
    _held: oneshot::Sender<()>,
}

/// The state of one pod.
#[derive(Clone, Debug)]
pub(crate) struct PodView {
    name: String,
    states: watch::Receiver<States>,
}

impl PodWatch {
    /// Begins to watch the pods of a site.
    pub(crate) fn begin(pods: Api<Pod>, site: &str) -> Self {
        let (tell, states) = watch::channel(States::new());
        let (held, let_go) = oneshot::channel();
        let site = site.to_owned();
        tokio::spawn(async move {
            tokio::select! {
                () = follow(pods, &site, tell) => {}
                _ = let_go => {}
            }
        });
        PodWatch { states, _held: held }
    }

    /// Returns a view of a pod, which may not exist yet.
    pub(crate) fn of(&self, pod: &str) -> PodView {
        PodView { name: pod.to_owned(), states: self.states.clone() }
    }
}

/// Follows the pods for ever: what a watch does not tell, because it was broken, a new list does.
async fn follow(pods: Api<Pod>, site: &str, tell: watch::Sender<States>) {
    loop {
        // Any end leads to a new list; a cluster that does not answer is asked again and again.
        if list_and_watch(&pods, site, &tell).await.is_err() {
            sleep(AGAIN).await;
        }
    }
}

async fn list_and_watch(
    pods: &Api<Pod>,
    site: &str,
    tell: &watch::Sender<States>,
) -> Result<(), kube::Error> {
    let selector = names::selector(site);
    let list = pods.list(&ListParams::default().labels(&selector)).await?;
    list.items.iter().for_each(|pod| keep(tell, pod));
    let listed: BTreeSet<String> = list.items.iter().map(ResourceExt::name_any).collect();
    tell.send_modify(|states| {
        // What is not listed was removed while nothing was heard.
        for (_, state) in states.iter_mut().filter(|(name, _)| !listed.contains(*name)) {
            *state = state.clone().gone();
        }
    });
    let version = list.metadata.resource_version.unwrap_or_default();
    let params = WatchParams::default().labels(&selector).timeout(WATCH_S);
    let mut events = pods.watch(&params, &version).await?.boxed();
    while let Some(event) = events.try_next().await? {
        match event {
            WatchEvent::Added(pod) | WatchEvent::Modified(pod) => keep(tell, &pod),
            WatchEvent::Deleted(pod) => {
                keep(tell, &pod);
                tell.send_modify(|states| {
                    if let Some(state) = states.get_mut(&pod.name_any()) {
                        *state = state.clone().gone();
                    }
                });
            }
            WatchEvent::Bookmark(_) => {}
            // The list is too old to go on from it.
            WatchEvent::Error(_) => return Ok(()),
        }
    }
    Ok(())
}

fn keep(tell: &watch::Sender<States>, pod: &Pod) {
    let (name, state) = (pod.name_any(), pod_state::of(pod));
    tell.send_if_modified(|states| {
        let known = states.get(&name);
        // An end stays: a pod that is being removed may forget it.
        let changes = known.is_none_or(|known| *known != state && !known.is_last());
        if changes {
            states.insert(name, state);
        }
        changes
    });
}

impl PodView {
    /// Returns the state now; `None` before the pod is seen for the first time.
    pub(crate) fn now(&self) -> Option<PodState> {
        self.states.borrow().get(&self.name).cloned()
    }

    /// Waits until the state is a wanted one, and returns it.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&PodState) -> bool) -> PodState {
        let name = self.name.clone();
        let is_there = |states: &States| states.get(&name).is_some_and(&wanted);
        match self.states.wait_for(is_there).await.map(|states| states.get(&name).cloned()) {
            Ok(Some(state)) => state,
            _ => PodState::Waits(Some("the watch of pods was stopped".to_owned())).gone(),
        }
    }
}
