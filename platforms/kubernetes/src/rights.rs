//! The rights that a site needs, which `role.yaml` grants.

use barograph_platform::{MissingRequirement, SiteSpec};
use futures::future::join_all;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};

use crate::access::refused;
use crate::options::Options;

/// Actions on a kind of objects.
struct Right {
    /// Group of the API; empty for that of pods.
    group: &'static str,
    resource: &'static str,
    /// Part of an object, as `log`; empty for the whole.
    part: &'static str,
    verbs: &'static [&'static str],
    /// Whether it is of the whole cluster, and not of a namespace.
    of_cluster: bool,
    needed: Needed,
}

/// Sites that need a right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needed {
    /// All.
    Always,
    /// Those with namespaces of their own.
    OwnNamespace,
    /// Those with units on volumes.
    Claims,
    /// Those whose files reach pods in secrets.
    SentFiles,
    /// Those with a tier that follows the cluster's autoscaler.
    Autoscaler,
}

const fn of_namespace(resource: &'static str, verbs: &'static [&'static str]) -> Right {
    Right { group: "", resource, part: "", verbs, of_cluster: false, needed: Needed::Always }
}

const fn of_autoscaler(group: &'static str, resource: &'static str, verbs: &'static [&'static str]) -> Right {
    Right { group, needed: Needed::Autoscaler, ..of_namespace(resource, verbs) }
}

/// All rights.
const RIGHTS: [Right; 11] = [
    Right {
        of_cluster: true,
        needed: Needed::OwnNamespace,
        ..of_namespace("namespaces", &["create", "delete", "get", "patch"])
    },
    Right { of_cluster: true, ..of_namespace("nodes", &["list"]) },
    of_namespace("pods", &["create", "delete", "list", "patch", "watch"]),
    Right { part: "log", ..of_namespace("pods", &["get"]) },
    of_namespace("services", &["create", "delete", "get", "list", "patch"]),
    of_namespace("events", &["list"]),
    of_namespace("serviceaccounts", &["get"]),
    Right {
        needed: Needed::Claims,
        ..of_namespace("persistentvolumeclaims", &["create", "delete", "list", "patch"])
    },
    Right { needed: Needed::SentFiles, ..of_namespace("secrets", &["create", "deletecollection", "patch"]) },
    of_autoscaler("apps", "deployments", &["create", "delete", "list", "patch"]),
    of_autoscaler("autoscaling", "horizontalpodautoscalers", &["create", "delete", "get", "list", "patch"]),
];

impl Right {
    fn name(&self) -> String {
        if self.part.is_empty() {
            self.resource.to_owned()
        } else {
            format!("{}/{}", self.resource, self.part)
        }
    }
}

/// Asks for each right whether this user has it. Returns those that are missing, in one requirement.
pub(crate) async fn lacking(
    client: &Client,
    namespace: &str,
    (site, options): (&SiteSpec, &Options),
) -> Option<MissingRequirement> {
    let own_namespace = options.namespace.is_none();
    let reviews = Api::<SelfSubjectAccessReview>::all(client.clone());
    let needed = RIGHTS.iter().filter(|right| match right.needed {
        Needed::Always => true,
        Needed::OwnNamespace => own_namespace,
        Needed::Claims => !site.disks.is_empty(),
        Needed::SentFiles => options.sent_files,
        Needed::Autoscaler => options.autoscaler,
    });
    let each = needed.flat_map(|right| right.verbs.iter().map(move |verb| (right, *verb)));
    let asked = join_all(each.map(|(right, verb)| ask(&reviews, right, verb, namespace))).await;
    let (mut missing, mut unknown) = (Vec::new(), None);
    for answer in asked {
        match answer {
            Ok(None) => {}
            Ok(Some(right)) => missing.push(right),
            Err(error) => unknown = Some(refused(&error)),
        }
    }
    let place = if own_namespace { "the cluster" } else { namespace };
    let hint = "let an administrator grant what platforms/kubernetes/role.yaml lists, or name another user's \
                context (deploy.kubernetes_context)";
    let what = match (missing.is_empty(), unknown) {
        (true, None) => return None,
        (true, Some(why)) => format!("the cluster does not say what this user may do ({why})"),
        (false, _) => format!("this user may not {} in {place}", missing.join(", ")),
    };
    Some(MissingRequirement { what, hint: hint.to_owned() })
}

/// Returns the right in words if this user does not have it.
async fn ask(
    reviews: &Api<SelfSubjectAccessReview>,
    right: &Right,
    verb: &str,
    namespace: &str,
) -> Result<Option<String>, kube::Error> {
    let attributes = ResourceAttributes {
        group: Some(right.group.to_owned()).filter(|group| !group.is_empty()),
        resource: Some(right.resource.to_owned()),
        subresource: Some(right.part.to_owned()).filter(|part| !part.is_empty()),
        verb: Some(verb.to_owned()),
        namespace: (!right.of_cluster).then(|| namespace.to_owned()),
        ..ResourceAttributes::default()
    };
    let spec = SelfSubjectAccessReviewSpec {
        resource_attributes: Some(attributes),
        ..SelfSubjectAccessReviewSpec::default()
    };
    let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
    let answer = reviews.create(&PostParams::default(), &review).await?;
    let allowed = answer.status.is_some_and(|status| status.allowed);
    Ok((!allowed).then(|| format!("{verb} {}", right.name())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_grants_exactly_what_is_needed() {
        let rule = |right: &Right| {
            format!(
                "- apiGroups: [\"{}\"]\n  resources: [{}]\n  verbs: [{}]\n",
                right.group,
                right.name(),
                right.verbs.join(", ")
            )
        };
        let rules: String = RIGHTS.iter().map(rule).collect();
        let file = include_str!("../role.yaml");
        let granted = file.split_once("rules:\n").unwrap().1;
        assert_eq!(granted, rules);
    }
}
