//! Namespace and services of a site in the form of the cluster's API.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Namespace, Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::names;

/// Port of a service before its host has any: a service needs one. It is the highest, which no service uses.
const NONE: u16 = u16::MAX;

/// Returns the namespace of a site. Pods with paths of nodes need the most lenient rules.
pub(crate) fn namespace(site: &str, lenient: bool) -> Namespace {
    let mut labels = names::labels(site);
    if lenient {
        labels.insert("pod-security.kubernetes.io/enforce".to_owned(), "privileged".to_owned());
    }
    let metadata =
        ObjectMeta { name: Some(names::namespace(site)), labels: Some(labels), ..ObjectMeta::default() };
    Namespace { metadata, ..Namespace::default() }
}

/// Returns the service of a host with these ports, each of which leads to the same port of the host's pods.
pub(crate) fn service(site: &str, host: &str, ports: &BTreeSet<u16>) -> Service {
    let port = |port: u16| ServicePort {
        name: Some(format!("p{port}")),
        port: i32::from(port),
        protocol: Some("TCP".to_owned()),
        ..ServicePort::default()
    };
    let ports = if ports.is_empty() { vec![port(NONE)] } else { ports.iter().copied().map(port).collect() };
    Service {
        metadata: ObjectMeta {
            name: Some(names::object(site, host)),
            labels: Some(names::labels(site)),
            ..ObjectMeta::default()
        },
        spec: Some(ServiceSpec {
            selector: Some(of_host(site, host)),
            ports: Some(ports),
            // Users connect before a program says that it is ready, and are refused until it listens.
            publish_not_ready_addresses: Some(true),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// Returns the labels by which a host's pods are found.
pub(crate) fn of_host(site: &str, host: &str) -> BTreeMap<String, String> {
    [(names::SITE, site), (names::HOST, host)]
        .map(|(name, value)| (name.to_owned(), names::value(value)))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_the_ports_of_its_host() {
        let numbers = |ports: &[u16]| {
            let spec = service("x1", "db-1", &ports.iter().copied().collect()).spec.unwrap();
            assert_eq!(spec.selector.unwrap()[names::HOST], "db-1");
            spec.ports.unwrap().iter().map(|port| port.port).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&[8404, 8080]), [8080, 8404]);
        assert_eq!(numbers(&[]), [65535]);
    }

    #[test]
    fn a_namespace_says_whose_it_is() {
        let labels = namespace("x1", true).metadata.labels.unwrap();
        assert_eq!(labels[names::SITE], "x1");
        assert_eq!(labels["pod-security.kubernetes.io/enforce"], "privileged");
        assert_eq!(namespace("x1", false).metadata.labels.unwrap().len(), 2);
    }
}
