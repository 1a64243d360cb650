//! A node of the application as a process, which ends with this one.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::auction::ground::BenchSetup;
use crate::auction::load::{ended_within, watch};

/// Time limit until a node is ready: an embedded one copies its stores and warms its caches first.
const READY_WITHIN: Duration = Duration::from_secs(120);

/// Interval of checks of a starting node.
const LOOK: Duration = Duration::from_millis(20);

/// Time limit of an orderly end, in which a node hands its auctions over and drains its connections.
const END_WITHIN: Duration = Duration::from_secs(15);

/// A node.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) address: SocketAddr,
    child: Child,
    ends: OwnedFd,
    state: PathBuf,
}

impl Node {
    /// Starts a node on a free port and waits until it serves.
    pub(crate) fn start(ground: &BenchSetup, name: &str, more: &[String]) -> anyhow::Result<Node> {
        let state = ground.raw.join(format!("state-{name}"));
        let (said, log) = (ground.raw.join(format!("{name}.ready")), ground.raw.join(format!("{name}.log")));
        let mut command = ground.command(&["serve", "auction", "--supervised", "--listen", "127.0.0.1:0"]);
        command.args(["--node", name, "--data"]).arg(&ground.data).arg("--state").arg(&state).args(more);
        command.stdin(Stdio::piped()).stdout(File::create(&said)?).stderr(File::create(&log)?);
        let child = command.spawn().context("start a node")?;
        let ends = watch(&child)?;
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut node = Node { name: name.to_owned(), address, child, ends, state };
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            if let Some(line) = fs::read_to_string(&said)?.lines().find(|line| line.contains("\"ready\"")) {
                let ready: serde_json::Value = serde_json::from_str(line)?;
                node.address = ready["address"].as_str().context("read where a node is")?.parse()?;
                return Ok(node);
            }
            if ended_within(&node.ends, LOOK)? || Instant::now() > deadline {
                bail!("node {name} did not become ready: {}", fs::read_to_string(&log).unwrap_or_default());
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its address as a target.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Kills it at once; returns when it has ended.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // The end of its input makes it stop.
        drop(self.child.stdin.take());
        if !ended_within(&self.ends, END_WITHIN).unwrap_or(false) {
            // It fails only if the node has ended already.
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
        // Copies of stores are large, and no longer needed.
        let _ = fs::remove_dir_all(&self.state);
    }
}

/// The processes of nodes, for a meter.
pub(crate) fn pids(nodes: &[Node]) -> Vec<u32> {
    nodes.iter().map(Node::pid).collect()
}
