//! Everything of a site in a cluster, and its removal.

use std::fmt::Debug;
use std::time::Duration;

use barograph_platform::{Entry, Fault, Ledger, Resource};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim, Pod, Secret, Service};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use crate::access::{Access, is_forbidden, is_gone, refused};
use crate::names;
use crate::objects;

/// Longest wait for the end of pods that are being removed; a node that does not answer takes longer.
const PODS_WAIT: Duration = Duration::from_secs(40);

/// Longest wait for the end of a namespace, which a controller empties first.
const NAMESPACE_WAIT: Duration = Duration::from_secs(180);

/// Interval between questions.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Objects of a site. If it is dropped without [`SiteObjects::remove`], a task removes them; without a runtime
/// for that, the ledger still names them.
pub(crate) struct SiteObjects {
    client: Client,
    thing: Resource,
    ledger: Ledger,
    entry: Option<Entry>,
}

impl SiteObjects {
    /// Records the site's objects, and makes its namespace if that is its own.
    pub(crate) async fn make(
        client: &Client,
        access: &Access,
        (site, namespace): (&str, &str),
        own: Option<Namespace>,
        ledger: &Ledger,
    ) -> Result<Self, Fault> {
        let act = format!("make namespace `{namespace}`");
        let thing = access.thing(namespace, site, own.is_some());
        let entry = ledger.will(thing.clone()).map_err(failed(&act))?;
        let (client, ledger) = (client.clone(), ledger.clone());
        let made = SiteObjects { client, thing: thing.clone(), ledger, entry: Some(entry) };
        if let Some(wanted) = own {
            let all = Api::<Namespace>::all(made.client.clone());
            let patched = all.patch(namespace, &apply(), &Patch::Apply(&wanted)).await;
            patched.map_err(|error| failed(&act)(refused(&error)))?;
        }
        made.ledger.done(entry, thing).map_err(failed(&act))?;
        Ok(made)
    }

    /// Removes everything and records that.
    pub(crate) async fn remove(mut self) -> Result<(), Fault> {
        let Some(entry) = self.entry.take() else { return Ok(()) };
        let act = format!("remove {}", self.thing);
        remove(&self.client, &self.thing).await.map_err(failed(&act))?;
        self.ledger.removed(entry).map_err(failed(&act))
    }
}

impl Drop for SiteObjects {
    fn drop(&mut self) {
        let (Some(entry), Ok(runtime)) = (self.entry.take(), Handle::try_current()) else { return };
        let (client, thing, ledger) = (self.client.clone(), self.thing.clone(), self.ledger.clone());
        runtime.spawn(async move {
            // A failure leaves it in the ledger, for the next sweep.
            if remove(&client, &thing).await.is_ok() {
                let _ = ledger.removed(entry);
            }
        });
    }
}

/// How objects are applied: fields that others have set are taken over.
pub(crate) fn apply() -> PatchParams {
    PatchParams::apply(names::MANAGER).force()
}

/// Converts a cause to a fault of the site.
pub(crate) fn failed<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    act: &str,
) -> impl Fn(E) -> Fault + use<E> {
    let act = act.to_owned();
    move |source| Fault::Site { act: act.clone(), source: source.into() }
}

/// Removes the objects of a site. Returns whether there was anything.
pub(crate) async fn remove(client: &Client, thing: &Resource) -> Result<bool, String> {
    let Resource::Cluster { namespace, site, own, .. } = thing else { return Ok(false) };
    let spaces = Api::<Namespace>::all(client.clone());
    if *own {
        match spaces.get(namespace).await {
            Err(error) if is_gone(&error) => return Ok(false),
            Err(error) => return Err(refused(&error)),
            Ok(found) if found.labels().get(names::SITE) != Some(site) => {
                return Err(format!("namespace {namespace} is not of site {site}, by its labels"));
            }
            Ok(_) => {}
        }
    }
    let services = Api::<Service>::namespaced(client.clone(), namespace);
    let there = remove_pods(client, namespace, site).await? | remove_all(services, site).await?;
    if !own {
        remove_secrets(&Api::namespaced(client.clone(), namespace), site).await?;
        let claims = Api::<PersistentVolumeClaim>::namespaced(client.clone(), namespace);
        let scalers = Api::<HorizontalPodAutoscaler>::namespaced(client.clone(), namespace);
        let targets = Api::<Deployment>::namespaced(client.clone(), namespace);
        return Ok(there
            | remove_all(claims, site).await?
            | remove_all(scalers, site).await?
            | remove_all(targets, site).await?);
    }
    match spaces.delete(namespace, &DeleteParams::background()).await {
        Err(error) if !is_gone(&error) => return Err(refused(&error)),
        _ => {}
    }
    let gone = async {
        while !spaces.get_metadata(namespace).await.is_err_and(|error| is_gone(&error)) {
            sleep(ASK_EVERY).await;
        }
    };
    let late = |_| format!("namespace {namespace} is still there {NAMESPACE_WAIT:?} after it was removed");
    timeout(NAMESPACE_WAIT, gone).await.map_err(late)?;
    Ok(true)
}

/// Ends and removes the pods of a site, those of dead nodes without asking these.
async fn remove_pods(client: &Client, namespace: &str, site: &str) -> Result<bool, String> {
    let pods = Api::<Pod>::namespaced(client.clone(), namespace);
    let there = delete_pods(&pods, site, 1).await?;
    let gone = async {
        loop {
            match pods.list(&of_site(site)).await {
                Ok(left) if left.items.is_empty() => return,
                _ => sleep(ASK_EVERY).await,
            }
        }
    };
    if there && timeout(PODS_WAIT, gone).await.is_err() {
        delete_pods(&pods, site, 0).await?;
    }
    Ok(there)
}

async fn delete_pods(pods: &Api<Pod>, site: &str, grace_s: u32) -> Result<bool, String> {
    let left = pods.list(&of_site(site)).await.map_err(|error| refused(&error))?;
    for pod in &left.items {
        delete_pod(pods, &pod.name_any(), grace_s).await?;
    }
    Ok(!left.items.is_empty())
}

/// Asks for the end of a pod within this number of seconds; 0 removes it without waiting for its node.
pub(crate) async fn delete_pod(pods: &Api<Pod>, name: &str, grace_s: u32) -> Result<(), String> {
    match pods.delete(name, &DeleteParams::default().grace_period(grace_s)).await {
        Err(error) if !is_gone(&error) => Err(refused(&error)),
        _ => Ok(()),
    }
}

/// Removes objects of one kind. Without the right to list them, none was made.
async fn remove_all<K>(objects: Api<K>, site: &str) -> Result<bool, String>
where
    K: kube::Resource + Clone + Debug + DeserializeOwned,
{
    let left = match objects.list(&of_site(site)).await {
        Ok(left) => left.items,
        Err(error) if is_forbidden(&error) => return Ok(false),
        Err(error) => return Err(refused(&error)),
    };
    for object in &left {
        match objects.delete(&object.name_any(), &DeleteParams::default()).await {
            Err(error) if !is_gone(&error) => return Err(refused(&error)),
            _ => {}
        }
    }
    Ok(!left.is_empty())
}

/// Removes the secrets of a site, without reading them. Without the right to it, none was made.
async fn remove_secrets(secrets: &Api<Secret>, site: &str) -> Result<(), String> {
    match secrets.delete_collection(&DeleteParams::default(), &of_site(site)).await {
        Err(error) if !is_forbidden(&error) => Err(refused(&error)),
        _ => Ok(()),
    }
}

fn of_site(site: &str) -> ListParams {
    ListParams::default().labels(&names::selector(site))
}

/// Applies the service of a host.
pub(crate) async fn apply_service(
    client: &Client,
    (namespace, site): (&str, &str),
    host: &str,
    ports: &std::collections::BTreeSet<u16>,
) -> Result<Service, kube::Error> {
    let services = Api::<Service>::namespaced(client.clone(), namespace);
    let wanted = objects::service(site, host, ports);
    services.patch(&names::object(site, host), &apply(), &Patch::Apply(&wanted)).await
}
