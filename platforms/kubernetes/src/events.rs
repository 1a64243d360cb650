//! Warnings of a cluster about a pod.

use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::ListParams;

/// Beginning of the reasons of failures; other warnings are no reason to wait.
const FAILURE: &str = "Failed";

/// Returns the newest warning of a failure about a pod; `None` if there is none, or events may not be read.
pub(crate) async fn warning(events: &Api<Event>, pod: &str) -> Option<String> {
    let about = format!("involvedObject.kind=Pod,involvedObject.name={pod},type=Warning");
    let found = events.list(&ListParams::default().fields(&about)).await.ok()?;
    let failures = found
        .items
        .into_iter()
        .filter(|event| event.reason.as_ref().is_some_and(|reason| reason.starts_with(FAILURE)));
    let newest = failures.max_by_key(|event| {
        let at =
            |time: Option<_>| time.map(|time: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time| time.0);
        at(event.last_timestamp.clone()).or_else(|| event.event_time.clone().map(|time| time.0))
    })?;
    let reason = newest.reason.unwrap_or_default();
    Some(format!("{reason}: {}", newest.message.unwrap_or_default()))
}
