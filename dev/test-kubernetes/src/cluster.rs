//! A running cluster, from its start to its end.

use std::io::Write;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use barograph_platform::{
    Fault, HERE, HostSpec, Ledger, Platform, Site, SiteSpec, Unit, UnitHandle, ignore_lines,
};
use barograph_platform_namespace::{NamespacePlatform, RelayProgram};
use futures::future::try_join_all;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use crate::abandoned;
use crate::files::{ControlFiles, User};
use crate::image;
use crate::leftovers::Outside;
use crate::network::{MOST_NODES, Network};
use crate::nodes::{CONTROL, Common, LONG, Node, node_name};
use crate::programs::Programs;
use crate::simulated::{SIMULATED, SimulatedNodes};

/// Counter for names.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Interval between questions.
const ASK_EVERY: Duration = Duration::from_millis(200);

/// Port of the first service.
const SERVICE_PORT: u16 = 443;

/// Longest wait for an answer of a service; until a proxy knows it, nothing answers.
const ANSWER: Duration = Duration::from_secs(1);

/// Where the API has the metrics of nodes.
const METRICS_OF_NODES: &str = "/apis/metrics.k8s.io/v1beta1/nodes";

/// Context of a user with all rights, which is the current one.
const ADMIN: &str = "admin";

/// Context of a user without rights.
const VISITOR: &str = "visitor";

/// A cluster. Dropping it ends everything and removes its files.
pub struct Cluster {
    common: Common,
    outside: Outside,
    nodes: Vec<Node>,
    site: Option<Box<dyn Site>>,
    /// Units by name, those of nodes last.
    units: Vec<Box<dyn UnitHandle>>,
    ledger: Ledger,
    runtime: Option<Runtime>,
    _folder: TempDir,
}

impl Cluster {
    /// Starts a cluster with this number of nodes, and waits until they take pods. `None` after a line that begins
    /// with `skipped` if this machine cannot have one.
    ///
    /// # Panics
    /// If it can have one and it does not start.
    #[must_use]
    pub fn start(nodes: usize) -> Option<Cluster> {
        let programs = match Programs::find() {
            Ok(programs) => programs,
            Err(missing) => {
                say(&format!("skipped: {missing}"));
                return None;
            }
        };
        assert!((1..=MOST_NODES).contains(&nodes), "a cluster has 1 to {MOST_NODES} nodes");
        match Cluster::try_start(programs, nodes) {
            Ok(cluster) => Some(cluster),
            Err(why) => panic!("the cluster does not start: {why}"),
        }
    }

    fn try_start(programs: Programs, count: usize) -> Result<Cluster, String> {
        let id = format!("k8s{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(text)?;
        wait_on(&runtime, abandoned::remove());
        let folder = tempfile::Builder::new().prefix(abandoned::PREFIX).tempdir().map_err(text)?;
        let ledger = Ledger::open(folder.path().join(abandoned::LEDGER)).map_err(text)?;
        abandoned::mark(folder.path(), &id, count).map_err(text)?;
        let host = |name: String| HostSpec { name, ..HostSpec::default() };
        let hosts = [CONTROL.to_owned()].into_iter().chain((0..count).map(node_name)).map(host).collect();
        let spec =
            SiteSpec { id: id.clone(), folder: folder.path().join("site"), hosts, ..SiteSpec::default() };
        let platform = NamespacePlatform::new(no_relay());
        let site = wait_on(&runtime, platform.open(&spec, &ledger)).map_err(|fault| words(&fault))?;
        let address = |host: &str| site.address(host).ok_or_else(|| format!("{host} has no address"));
        let outside = Outside::of(folder.path(), &id, count);
        let node = |(number, group): (usize, &String)| {
            let address = address(&node_name(number))?;
            Ok::<_, String>(Node { number, address, group: group.clone() })
        };
        let nodes: Vec<Node> = outside.groups.iter().enumerate().map(node).collect::<Result<_, _>>()?;
        let network = Network::beside(address(HERE)?)?;
        let common = write_files(programs, &outside, network, address(CONTROL)?).map_err(text)?;
        let mut cluster = Cluster {
            common,
            outside,
            nodes,
            site: Some(site),
            units: Vec::new(),
            ledger,
            runtime: Some(runtime),
            _folder: folder,
        };
        // From here on a drop removes everything.
        cluster.outside.make().map_err(text)?;
        cluster.start_control()?;
        cluster.start_nodes()?;
        Ok(cluster)
    }

    fn start_control(&mut self) -> Result<(), String> {
        let units = [self.common.store(), self.common.api_server()];
        units.into_iter().try_for_each(|unit| self.create(unit))?;
        self.until("the API server is ready", &["get", "--raw", "/readyz"], |said| said == "ok")?;
        let units = [self.common.controllers(), self.common.scheduler()];
        units.into_iter().try_for_each(|unit| self.create(unit))
    }

    /// Imports the image of a shell on all nodes.
    ///
    /// # Errors
    /// What went wrong.
    pub fn import_shell(&mut self) -> Result<(), String> {
        let archive = self.outside.folder.join("shell.tar");
        image::write_shell(&archive).map_err(text)?;
        let units: Vec<Unit> = self.nodes.iter().map(|node| self.common.import(node, &archive)).collect();
        self.create_all(&units)
    }

    fn start_nodes(&mut self) -> Result<(), String> {
        let archive = self.outside.folder.join("image.tar");
        image::write(&self.common.programs.built("pause"), &archive).map_err(text)?;
        let (common, nodes) = (self.common.clone(), self.nodes.clone());
        for node in &nodes {
            common.write_node(node).map_err(text)?;
        }
        self.create(common.shell("routes", HERE, &common.outside_routes(&nodes)))?;
        self.create(common.shell("routes-control", CONTROL, &common.control_routes(&nodes)))?;
        for step in [
            |common: &Common, node: &Node, all: &[Node], _: &Path| common.routes(node, all),
            |common: &Common, node: &Node, _: &[Node], _: &Path| common.runtime(node),
            |common: &Common, node: &Node, _: &[Node], archive: &Path| common.import(node, archive),
        ] {
            let units: Vec<Unit> = nodes.iter().map(|node| step(&common, node, &nodes, &archive)).collect();
            self.create_all(&units)?;
        }
        for (others, node) in nodes.iter().enumerate() {
            // One by one: all kubelets of a machine bind the same socket for plugins, and two at once end with it in use.
            self.create(common.kubelet(node))?;
            self.until_ready(others + 1)?;
        }
        let proxies: Vec<Unit> = nodes.iter().map(|node| common.proxy(node)).collect();
        self.create_all(&proxies)?;
        self.reach_services()
    }

    fn until_ready(&self, count: usize) -> Result<(), String> {
        let ready = r#"jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}"#;
        self.until(&format!("{count} nodes are ready"), &["get", "nodes", "-o", ready], |said| {
            said.split(' ').filter(|status| *status == "True").count() == count
        })
    }

    /// Waits until this process reaches the API server as a service: nodes are ready before their proxies are.
    fn reach_services(&self) -> Result<(), String> {
        let address = SocketAddr::new(self.common.network.first_service().into(), SERVICE_PORT);
        let begun = Instant::now();
        while let Err(why) = TcpStream::connect_timeout(&address, ANSWER) {
            if begun.elapsed() > LONG {
                return Err(format!("{address} was not reached within {LONG:?}: {why}\n{}", self.logs()));
            }
            self.wait(async { tokio::time::sleep(ASK_EVERY).await });
        }
        Ok(())
    }

    fn create(&mut self, unit: Unit) -> Result<(), String> {
        self.create_all(&[unit])
    }

    /// Creates units side by side.
    fn create_all(&mut self, units: &[Unit]) -> Result<(), String> {
        let site = self.site.as_ref().expect("only a drop takes it away");
        let made = self.wait(try_join_all(units.iter().map(|unit| site.create(unit, ignore_lines()))));
        self.units.extend(made.map_err(|fault| words(&fault))?);
        Ok(())
    }

    /// Asks until the answer is right.
    fn until(&self, what: &str, ask: &[&str], right: impl Fn(&str) -> bool) -> Result<(), String> {
        let begun = Instant::now();
        let mut said = self.kubectl(ask);
        while !said.as_ref().is_ok_and(|said| right(said.trim())) {
            if begun.elapsed() > LONG {
                return Err(format!("waited for {LONG:?} until {what}; last: {said:?}\n{}", self.logs()));
            }
            self.wait(async { tokio::time::sleep(ASK_EVERY).await });
            said = self.kubectl(ask);
        }
        Ok(())
    }

    /// The last lines of all logs.
    fn logs(&self) -> String {
        let names = self.units.iter().map(|unit| unit.name());
        let tail =
            |name: &str| format!("{name}{}\n", barograph_platform::LogTail::of(&self.common.log(name), 8));
        names.map(tail).collect()
    }

    /// Returns the file by which clients reach the cluster. Its contexts are `admin`, with all rights, which
    /// is the current one, and `visitor`, without any.
    #[must_use]
    pub fn access(&self) -> PathBuf {
        self.common.access()
    }

    /// Returns the address of this machine at which pods reach servers of this process.
    ///
    /// # Panics
    /// If it has none.
    #[must_use]
    pub fn outside(&self) -> IpAddr {
        let site = self.site.as_ref().expect("only a drop takes it away");
        site.address(HERE).expect("the cluster's networks are beside it")
    }

    /// Returns the names of the nodes.
    #[must_use]
    pub fn node_names(&self) -> Vec<String> {
        self.nodes.iter().map(|node| node_name(node.number)).collect()
    }

    /// Runs `kubectl` with these words; an error is what it says.
    pub fn kubectl(&self, words: &[&str]) -> Result<String, String> {
        self.kubectl_with(words, "")
    }

    /// Runs `kubectl` with these words and this text as its input; an error is what it says.
    pub fn kubectl_with(&self, words: &[&str], input: &str) -> Result<String, String> {
        let mut command = Command::new(self.common.programs.built("kubectl"));
        command.arg(format!("--kubeconfig={}", self.access().display())).args(words);
        command.env("HOME", &self.outside.folder);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(text)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A command that ends without reading says why.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().map_err(text)?;
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(said(&output.stdout)) } else { Err(said(&output.stderr)) }
    }

    /// Starts a server of metrics, which the cluster's autoscaler needs, and waits until it knows all nodes. Returns
    /// false after a line that begins with `skipped` if it is not built.
    ///
    /// # Panics
    /// If it is built and does not start.
    pub fn start_metrics(&mut self) -> bool {
        let program = match self.common.programs.metrics() {
            Ok(program) => program,
            Err(missing) => {
                say(&format!("skipped: {missing}"));
                return false;
            }
        };
        self.create(self.common.metrics(program)).expect("it starts");
        self.kubectl_with(&["apply", "-f", "-"], &self.common.metrics_api()).expect("the API takes it");
        let (ask, nodes) = (["get", "--raw", METRICS_OF_NODES], self.node_names());
        let knows = |said: &str| nodes.iter().all(|node| said.contains(&format!("\"name\":\"{node}\"")));
        self.until("the metrics of all nodes are known", &ask, knows).expect("it asks the nodes");
        true
    }

    /// Ends the API server and starts it again, which breaks all connections to it.
    pub fn restart_api_server(&mut self) {
        let unit = self.common.api_server();
        let at = self.units.iter().position(|running| running.name() == unit.name);
        let running = self.units.remove(at.expect("it was started"));
        self.wait(running.kill()).expect("it can be killed");
        self.create(unit).expect("it starts again");
    }

    /// Ends a node as a machine that breaks down does: its kubelet and all processes of its pods are killed.
    ///
    /// # Panics
    /// If there is no such node, or it cannot be ended.
    pub fn lose_node(&mut self, name: &str) {
        let node = self.nodes.iter().find(|node| node_name(node.number) == name).expect("it is a node");
        let (kubelet, group) = (self.common.kubelet(node).name, node.group.clone());
        let at = self.units.iter().position(|running| running.name() == kubelet);
        let running = self.units.remove(at.expect("it was not lost before"));
        // First, since it would start its pods again.
        self.wait(running.kill()).expect("it can be killed");
        self.outside.kill(&group).expect("its pods can be killed");
    }

    /// Adds nodes that are objects only ([`SimulatedNodes`]), labelled [`SIMULATED`](crate::SIMULATED).
    ///
    /// # Panics
    /// If the cluster does not take them.
    #[must_use]
    pub fn simulate_nodes(&self, count: usize) -> SimulatedNodes {
        let nodes = self.wait(SimulatedNodes::start(&self.access(), count)).expect("the cluster takes nodes");
        // A new node has a taint until the cluster has seen that it is ready.
        let taints = ["get", "nodes", "-l", SIMULATED, "-o", "jsonpath={.items[*].spec.taints[*].key}"];
        self.until("simulated nodes take pods", &taints, str::is_empty).expect("they are ready");
        nodes
    }

    fn wait<T: Send>(&self, work: impl Future<Output = T> + Send) -> T {
        wait_on(self.runtime.as_ref().expect("only a drop takes it away"), work)
    }

    fn end(&mut self) -> Result<(), String> {
        let units = std::mem::take(&mut self.units);
        let killed = self.wait(async {
            let mut first = Ok(());
            // Nodes first: they would start containers again.
            for unit in units.iter().rev() {
                first = first.and(unit.kill().await.map(drop));
            }
            first
        });
        let removed = self.outside.remove();
        let site = self.site.take().expect("only this takes it away");
        let closed = self.wait(site.close());
        killed.and(closed).map_err(|fault| words(&fault)).and(removed.map_err(text))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let ended = self.end();
        if let Some(runtime) = self.runtime.take() {
            // The test may drop it inside another runtime, in which blocking is not allowed.
            runtime.shutdown_background();
        }
        let left = self.ledger.left();
        if !std::thread::panicking() {
            assert!(ended.is_ok(), "the cluster did not end well: {ended:?}");
            assert!(left.is_empty(), "the cluster left {left:?}");
        }
    }
}

/// Writes the files of the control plane.
fn write_files(
    programs: Programs,
    outside: &Outside,
    network: Network,
    control: IpAddr,
) -> std::io::Result<Common> {
    let users = [User::new(ADMIN, "system:masters")?, User::new(VISITOR, "visitors")?];
    let names =
        [control.to_string(), network.first_service().to_string(), "kubernetes.default.svc".to_owned()];
    let files = ControlFiles::write(&outside.folder, &names, &users)?;
    let common = Common {
        programs,
        folder: outside.folder.clone(),
        sockets: outside.sockets.clone(),
        network,
        network_name: outside.network.clone(),
        control,
        files,
    };
    common.files.write_access(&common.access(), &common.server(), &users)?;
    Ok(common)
}

/// Runs it to its end on a runtime, from inside or outside of any other.
fn wait_on<T: Send>(runtime: &Runtime, work: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|scope| {
        let done = scope.spawn(|| runtime.block_on(work));
        done.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Plain links need no relay.
pub(crate) fn no_relay() -> RelayProgram {
    RelayProgram { program: "/bin/false".into(), args: Vec::new() }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A fault with its causes.
fn words(fault: &Fault) -> String {
    let mut says = fault.to_string();
    let mut cause = std::error::Error::source(fault);
    while let Some(source) = cause {
        says.push_str(&format!(": {source}"));
        cause = source.source();
    }
    says
}

#[expect(clippy::print_stdout, reason = "a skipped test says why")]
fn say(text: &str) {
    println!("{text}");
}
