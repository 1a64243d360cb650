//! The way to a cluster.

use std::path::PathBuf;
use std::time::Duration;

use barograph_platform::{MissingRequirement, Resource};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::time::timeout;

use crate::options::Options;

/// Longest wait for a connection and for the first answer.
const HELLO: Duration = Duration::from_secs(5);

/// A file and a context in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) file: Option<PathBuf>,
    pub(crate) context: Option<String>,
}

impl Access {
    pub(crate) fn of(options: &Options) -> Self {
        Access { file: options.access.clone(), context: options.context.clone() }
    }

    /// Returns the entry of a site in the ledger.
    pub(crate) fn thing(&self, namespace: &str, site: &str, own: bool) -> Resource {
        Resource::Cluster {
            access: self.file.clone(),
            context: self.context.clone(),
            namespace: namespace.to_owned(),
            site: site.to_owned(),
            own,
        }
    }

    /// Connects, and returns the version of the cluster.
    pub(crate) async fn connect(&self) -> Result<(Client, String), MissingRequirement> {
        let mut config = self.config().await?;
        config.connect_timeout = Some(HELLO);
        let server = config.cluster_url.to_string();
        let missing = |why: String| MissingRequirement {
            what: format!("no cluster answers at {server} ({why})"),
            hint: "start it, or name another file or context (deploy.kubernetes_access, \
                   deploy.kubernetes_context)"
                .to_owned(),
        };
        let client = Client::try_from(config).map_err(|error| missing(words(&error)))?;
        let asked = timeout(HELLO, client.apiserver_version()).await;
        let version = asked
            .map_err(|_| missing(format!("no answer within {HELLO:?}")))?
            .map_err(|error| missing(words(&error)))?;
        Ok((client, version.git_version))
    }

    async fn config(&self) -> Result<Config, MissingRequirement> {
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let named = self.file.as_ref().map(|path| format!("`{}`", path.display()));
        let missing = |why: String| MissingRequirement {
            what: match &named {
                Some(file) => format!("file {file} does not say how to reach a cluster ({why})"),
                None => format!("nothing says how to reach a cluster ({why})"),
            },
            hint: "name the file of access and a context in it (deploy.kubernetes_access, \
                   deploy.kubernetes_context), or put it to ~/.kube/config"
                .to_owned(),
        };
        let read = match &self.file {
            Some(path) => Kubeconfig::read_from(path).map(Some),
            None if self.context.is_some() => Kubeconfig::read().map(Some),
            // The usual file, or the account of the pod in which this process runs.
            None => Ok(None),
        };
        match read.map_err(|error| missing(words(&error)))? {
            Some(file) => {
                let config = Config::from_custom_kubeconfig(file, &options).await;
                config.map_err(|error| missing(words(&error)))
            }
            None => Config::infer().await.map_err(|error| missing(words(&error))),
        }
    }
}

/// An error with its causes in one line.
pub(crate) fn words(error: &dyn std::error::Error) -> String {
    let mut says = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        let text = source.to_string();
        if !says.contains(&text) {
            says.push_str(&format!(": {text}"));
        }
        cause = source.source();
    }
    says
}

/// What the cluster says of a refused request.
pub(crate) fn refused(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => words(other),
    }
}

/// Whether this user may not do it.
pub(crate) fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}

/// Whether an object is not there.
pub(crate) fn is_gone(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}
