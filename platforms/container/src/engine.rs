//! Speaks to an engine: the few calls that we need, with what counts as done.

use std::time::Duration;

use barograph_platform::Thing;
use bollard::body_full;
use bollard::container::AttachContainerResults;
use bollard::errors::Error;
use bollard::models::{
    ContainerCreateBody, ContainerInspectResponse, ContainerUpdateBody, NetworkCreateRequest, NetworkInspect,
    SystemInfo,
};
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, CreateContainerOptionsBuilder, CreateImageOptionsBuilder,
    KillContainerOptionsBuilder, RemoveContainerOptionsBuilder, RemoveImageOptionsBuilder,
    UploadToContainerOptionsBuilder, WaitContainerOptionsBuilder,
};
use bollard::{API_DEFAULT_VERSION, Docker};
use futures::{StreamExt, TryStreamExt};
use tokio::time::{sleep, timeout};

use crate::deadline::Deadline;

/// An engine answers every call within this, on a machine that is busy; waiting for the end of a container is no such
/// call.
const ANSWER_SECONDS: u64 = 60;

/// An engine that is there says so within this, on a machine that is busy.
const HELLO: Duration = Duration::from_secs(20);

/// Something that another call removes at this moment is gone within this.
const GONE_WAIT: Duration = Duration::from_secs(20);

/// How often is looked.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// An engine that answers.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    docker: Docker,
    address: String,
}

impl Engine {
    /// Finds the engine at `unix:///PATH` or `tcp://HOST:PORT` and agrees with it on a version of the interface.
    pub(crate) async fn connect(address: &str) -> Result<Self, Error> {
        let docker = if address.starts_with("unix://") {
            Docker::connect_with_unix(address, ANSWER_SECONDS, API_DEFAULT_VERSION)?
        } else {
            Docker::connect_with_http(address, ANSWER_SECONDS, API_DEFAULT_VERSION)?
        };
        match timeout(HELLO, docker.negotiate_version()).await {
            Ok(docker) => Ok(Engine { docker: docker?, address: address.to_owned() }),
            Err(_) => Err(Error::RequestTimeoutError),
        }
    }

    /// Where it answers.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) async fn info(&self) -> Result<SystemInfo, Error> {
        self.docker.info().await
    }

    pub(crate) async fn create(&self, name: &str, body: ContainerCreateBody) -> Result<(), Error> {
        let options = CreateContainerOptionsBuilder::new().name(name).build();
        self.docker.create_container(Some(options), body).await.map(drop)
    }

    /// Puts an archive into a container, at the root of its files.
    pub(crate) async fn upload(&self, name: &str, archive: Vec<u8>) -> Result<(), Error> {
        let options = UploadToContainerOptionsBuilder::new().path("/").build();
        self.docker.upload_to_container(name, Some(options), body_full(archive.into())).await
    }

    /// Joins stdin, stdout and stderr of a container, also of one that has not been started.
    pub(crate) async fn attach(&self, name: &str) -> Result<AttachContainerResults, Error> {
        let options =
            AttachContainerOptionsBuilder::new().stream(true).stdin(true).stdout(true).stderr(true).build();
        self.docker.attach_container(name, Some(options)).await
    }

    pub(crate) async fn start(&self, name: &str) -> Result<(), Error> {
        self.docker.start_container(name, None::<bollard::query_parameters::StartContainerOptions>).await
    }

    /// Waits until a container that was started does not run any more; returns its exit code.
    pub(crate) async fn wait(&self, name: &str) -> Result<i64, Error> {
        let options = WaitContainerOptionsBuilder::new().condition("not-running").build();
        match self.docker.wait_container(name, Some(options)).next().await {
            Some(Ok(ended)) => Ok(ended.status_code),
            // This client takes every code but 0 for an error.
            Some(Err(Error::DockerContainerWaitError { code, .. })) => Ok(code),
            Some(Err(error)) => Err(error),
            None => Err(Error::RequestTimeoutError),
        }
    }

    /// Sends a signal, as `SIGTERM`. A container that does not run or is gone is fine.
    pub(crate) async fn kill(&self, name: &str, signal: &str) -> Result<(), Error> {
        let options = KillContainerOptionsBuilder::new().signal(signal).build();
        forgive(self.docker.kill_container(name, Some(options)).await, &[404, 409])
    }

    pub(crate) async fn pause(&self, name: &str) -> Result<(), Error> {
        self.docker.pause_container(name).await
    }

    /// Lets a container go on; one that is not paused is fine.
    pub(crate) async fn resume(&self, name: &str) -> Result<(), Error> {
        match self.docker.unpause_container(name).await {
            // One that runs is refused with 409 or 500, depending on the engine: the state tells.
            Err(error) if status(&error).is_some() && !self.is_paused(name).await => {
                drop(error);
                Ok(())
            }
            other => other,
        }
    }

    async fn is_paused(&self, name: &str) -> bool {
        let state = self.inspect(name).await.ok().and_then(|found| found.state);
        state.and_then(|state| state.paused).unwrap_or(false)
    }

    pub(crate) async fn update(&self, name: &str, body: ContainerUpdateBody) -> Result<(), Error> {
        self.docker.update_container(name, body).await
    }

    pub(crate) async fn inspect(&self, name: &str) -> Result<ContainerInspectResponse, Error> {
        self.docker.inspect_container(name, None::<bollard::query_parameters::InspectContainerOptions>).await
    }

    /// Removes a container, whatever it does. Says whether there was one.
    pub(crate) async fn remove(&self, name: &str) -> Result<bool, Error> {
        let deadline = Deadline::after(GONE_WAIT);
        let mut seen = false;
        loop {
            let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
            match self.docker.remove_container(name, Some(options)).await {
                Ok(()) => return Ok(true),
                Err(error) if status(&error) == Some(404) => return Ok(seen),
                // Somebody else removes it already, or its last process is just ending.
                Err(error) if status(&error) == Some(409) && !deadline.has_passed() => drop(error),
                Err(error) => return Err(error),
            }
            seen = true;
            sleep(LOOK_EVERY).await;
        }
    }

    pub(crate) async fn create_network(&self, request: NetworkCreateRequest) -> Result<(), Error> {
        self.docker.create_network(request).await.map(drop)
    }

    /// Removes a container, network or image, as a ledger names them. Says whether there was one.
    pub(crate) async fn remove_thing(&self, thing: &Thing, name: &str) -> Result<bool, Error> {
        match thing {
            Thing::Container { .. } => self.remove(name).await,
            Thing::ContainerNetwork { .. } => self.remove_network(name).await,
            _ => self.remove_image(name).await,
        }
    }

    pub(crate) async fn inspect_network(&self, name: &str) -> Result<NetworkInspect, Error> {
        self.docker.inspect_network(name, None::<bollard::query_parameters::InspectNetworkOptions>).await
    }

    /// Removes a network. Says whether there was one.
    pub(crate) async fn remove_network(&self, name: &str) -> Result<bool, Error> {
        let deadline = Deadline::after(GONE_WAIT);
        loop {
            match self.docker.remove_network(name).await {
                Ok(()) => return Ok(true),
                Err(error) if status(&error) == Some(404) => return Ok(false),
                // A container that was just removed may still be named as its member.
                Err(error) if matches!(status(&error), Some(403 | 409)) && !deadline.has_passed() => {
                    sleep(LOOK_EVERY).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes an image of an archive of files.
    pub(crate) async fn import(&self, repository: &str, tag: &str, archive: Vec<u8>) -> Result<(), Error> {
        let options = CreateImageOptionsBuilder::new().from_src("-").repo(repository).tag(tag).build();
        let steps = self.docker.create_image(Some(options), Some(body_full(archive.into())), None);
        steps.try_for_each(|_| async { Ok(()) }).await
    }

    pub(crate) async fn has_image(&self, name: &str) -> Result<bool, Error> {
        match self.docker.inspect_image(name).await {
            Ok(_) => Ok(true),
            Err(error) if status(&error) == Some(404) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes an image. Says whether there was one.
    pub(crate) async fn remove_image(&self, name: &str) -> Result<bool, Error> {
        let options = RemoveImageOptionsBuilder::new().force(true).build();
        match self.docker.remove_image(name, Some(options), None).await {
            Ok(_) => Ok(true),
            Err(error) if status(&error) == Some(404) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// What the engine answered, when it answered at all.
pub(crate) fn status(error: &Error) -> Option<u16> {
    match error {
        Error::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

fn forgive(result: Result<(), Error>, codes: &[u16]) -> Result<(), Error> {
    match result {
        Err(error) if status(&error).is_some_and(|code| codes.contains(&code)) => Ok(()),
        other => other,
    }
}
