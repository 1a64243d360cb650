//! Client of an engine: the few calls in use, with their criteria of success.

use std::time::Duration;

use barograph_platform::Resource;
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

/// Longest wait for an answer, on a busy machine; waiting for the end of a container is not limited by it.
const ANSWER_SECONDS: u64 = 60;

/// Longest wait for the first answer of an engine, on a busy machine.
const HELLO: Duration = Duration::from_secs(20);

/// Longest wait for a removal by another call.
const GONE_WAIT: Duration = Duration::from_secs(20);

/// Interval between polls.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A connected engine.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    docker: Docker,
    address: String,
}

impl Engine {
    /// Connects to the engine at `unix:///PATH` or `tcp://HOST:PORT` and negotiates the version of the API.
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

    /// Returns its address.
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

    /// Unpacks an archive in a container, at the root of its files.
    pub(crate) async fn upload(&self, name: &str, archive: Vec<u8>) -> Result<(), Error> {
        let options = UploadToContainerOptionsBuilder::new().path("/").build();
        self.docker.upload_to_container(name, Some(options), body_full(archive.into())).await
    }

    /// Attaches to stdin, stdout and stderr of a container, also before its start.
    pub(crate) async fn attach(&self, name: &str) -> Result<AttachContainerResults, Error> {
        let options =
            AttachContainerOptionsBuilder::new().stream(true).stdin(true).stdout(true).stderr(true).build();
        self.docker.attach_container(name, Some(options)).await
    }

    pub(crate) async fn start(&self, name: &str) -> Result<(), Error> {
        self.docker.start_container(name, None::<bollard::query_parameters::StartContainerOptions>).await
    }

    /// Waits until a started container has ended; returns its exit code.
    pub(crate) async fn wait(&self, name: &str) -> Result<i64, Error> {
        let options = WaitContainerOptionsBuilder::new().condition("not-running").build();
        match self.docker.wait_container(name, Some(options)).next().await {
            Some(Ok(ended)) => Ok(ended.status_code),
            // This client treats every code but 0 as an error.
            Some(Err(Error::DockerContainerWaitError { code, .. })) => Ok(code),
            Some(Err(error)) => Err(error),
            None => Err(Error::RequestTimeoutError),
        }
    }

    /// Sends a signal, as `SIGTERM`. Succeeds if the container does not run or is gone.
    pub(crate) async fn kill(&self, name: &str, signal: &str) -> Result<(), Error> {
        let options = KillContainerOptionsBuilder::new().signal(signal).build();
        forgive(self.docker.kill_container(name, Some(options)).await, &[404, 409])
    }

    pub(crate) async fn pause(&self, name: &str) -> Result<(), Error> {
        self.docker.pause_container(name).await
    }

    /// Resumes a container; succeeds if it is not paused.
    pub(crate) async fn resume(&self, name: &str) -> Result<(), Error> {
        match self.docker.unpause_container(name).await {
            // A running container is refused with 409 or 500, depending on the engine, so the state decides.
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

    /// Removes a container in any state. Returns whether it existed.
    pub(crate) async fn remove(&self, name: &str) -> Result<bool, Error> {
        let deadline = Deadline::after(GONE_WAIT);
        let mut seen = false;
        loop {
            let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
            match self.docker.remove_container(name, Some(options)).await {
                Ok(()) => return Ok(true),
                Err(error) if status(&error) == Some(404) => return Ok(seen),
                // Another call removes it already, or its last process is just ending.
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

    /// Removes a container, network or image, as named in a ledger. Returns whether it existed.
    pub(crate) async fn remove_thing(&self, thing: &Resource, name: &str) -> Result<bool, Error> {
        match thing {
            Resource::Container { .. } => self.remove(name).await,
            Resource::ContainerNetwork { .. } => self.remove_network(name).await,
            _ => self.remove_image(name).await,
        }
    }

    pub(crate) async fn inspect_network(&self, name: &str) -> Result<NetworkInspect, Error> {
        self.docker.inspect_network(name, None::<bollard::query_parameters::InspectNetworkOptions>).await
    }

    /// Removes a network. Returns whether it existed.
    pub(crate) async fn remove_network(&self, name: &str) -> Result<bool, Error> {
        let deadline = Deadline::after(GONE_WAIT);
        loop {
            match self.docker.remove_network(name).await {
                Ok(()) => return Ok(true),
                Err(error) if status(&error) == Some(404) => return Ok(false),
                // A container that was just removed may still be listed as its member.
                Err(error) if matches!(status(&error), Some(403 | 409)) && !deadline.has_passed() => {
                    sleep(LOOK_EVERY).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes an image from an archive of files.
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

    /// Removes an image. Returns whether it existed.
    pub(crate) async fn remove_image(&self, name: &str) -> Result<bool, Error> {
        let options = RemoveImageOptionsBuilder::new().force(true).build();
        match self.docker.remove_image(name, Some(options), None).await {
            Ok(_) => Ok(true),
            Err(error) if status(&error) == Some(404) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Returns the status of the engine's answer, if there was one.
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
