//! A workload that sends HTTP requests to a server, and processes that drive it.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use barograph_engine::{OpContext, Runnable, User, UserFactory, runnable};
use barograph_harness::fleet::driver::Driver;
use barograph_harness::fleet::{Clock, DriverAddress, FleetJob, Token};
use barograph_http::{Client, Connections, Method, Options, Request, Target};
use barograph_model::{
    Arrivals, Behaviour, Behaviours, ChooserId, NextOp, OpId, OpSpec, OpenLoop, Outcome, Pace, Profile,
    QosRule, Share, StartOf, UserId,
};
use barograph_spec::{Plan, Refusals, WorkloadKeys};
use barograph_workload::{LoadError, LoadJob, SentFile, Workload, WorkloadFactory, Workloads};

const TOOL: &str = "barograph under test";
const OPS: [OpSpec; 1] = [OpSpec { name: "Get", about: "Gets a page." }];

/// A workload with one operation: a GET.
pub(crate) struct Web {
    open: OpenLoop,
}

impl Web {
    pub(crate) fn new() -> Self {
        let (arrivals, start_of) = (Arrivals::Constant, StartOf::Operation);
        Web { open: OpenLoop { arrivals, start_of, most_users: 400, most_waiting: 0 } }
    }
}

impl Workload for Web {
    fn name(&self) -> &'static str {
        "web"
    }
    fn version(&self) -> u32 {
        1
    }
    fn ops(&self) -> &[OpSpec] {
        &OPS
    }
    fn profiles(&self) -> Vec<&str> {
        vec!["plain"]
    }
    fn profile(&self, name: &str) -> Option<Profile> {
        let rule = QosRule {
            op: OpId(0),
            quantile: Share::percent(99.0),
            limit: None,
            judged: true,
            mix: Share::ONE,
            mix_tolerance: Share::percent(5.0),
            failures: Share::percent(1.0),
        };
        (name == "plain").then(|| Profile::usual("plain", &[rule], None))
    }
    fn behaviours(&self, _: &str) -> Option<Behaviours> {
        let next = vec![Some(NextOp::Op(OpId(0)))];
        Behaviours::new(vec![Behaviour { name: "main", first: OpId(0), next, pace: Pace::AtOnce }]).ok()
    }
    fn connections(&self, users: u32, _: barograph_spec::Connections) -> u64 {
        users.into()
    }
    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let unreachable =
            |why: Box<dyn Error + Send + Sync>| LoadError::Unreachable { url: job.url.to_owned(), why };
        let target = Target::parse(job.url, &Options::default()).map_err(|why| unreachable(why.into()))?;
        let resolved = target.resolve().map_err(|why| unreachable(why.into()))?;
        Ok(runnable(move || WebUsers { client: Client::new(&resolved) }))
    }
}

/// Factory of the workload.
struct Webs;

const WORKLOADS: Workloads = Workloads { all: &[&Webs], platforms: &[] };

impl WorkloadKeys for Webs {
    fn name(&self) -> &'static str {
        "web"
    }
}

impl WorkloadFactory for Webs {
    fn about(&self) -> &'static str {
        "a test"
    }
    fn of_plan(&self, _: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        Ok(Arc::new(Web::new()))
    }
    fn of_files(&self, plan: &Plan, _: &[SentFile]) -> Result<Arc<dyn Workload>, Refusals> {
        self.of_plan(plan)
    }
}

struct WebUsers {
    client: Rc<Client>,
}

struct WebUser(Connections);

impl UserFactory for WebUsers {
    type User = WebUser;
    fn user(&self, id: UserId) -> WebUser {
        WebUser(self.client.user(id.0))
    }
}

impl User for WebUser {
    async fn act(&self, _: OpId, turn: &mut OpContext) -> Outcome {
        turn.sent();
        let request = Request { method: Method::GET, path: format_args!("/"), headers: &[], body: None };
        match self.0.send(&request).await {
            Ok(answer) if answer.status == 200 => Outcome::Good,
            Ok(_) => Outcome::Refused,
            Err(_) => Outcome::Broken,
        }
    }
    fn choose(&self, _: ChooserId, _: &mut OpContext) -> usize {
        0
    }
    fn end_session(&self) {}
}

pub(crate) fn plan(workers: usize) -> Plan {
    let sets = [&format!("driver.workers={workers}"), "driver.interval_ms=250", "load.strategy=fixed"];
    let mut plan = WORKLOADS.read("test", "", &sets.map(str::to_owned)).unwrap();
    plan.profile = "plain".to_owned();
    plan.driver.connections = barograph_spec::Connections::Keep;
    plan
}

pub(crate) fn job<'j>(workload: &'j Web, plan: &'j Plan, url: &'j str) -> FleetJob<'j> {
    FleetJob { workload, plan, url, data: None, open: Some(&workload.open), files: Vec::new(), tool: TOOL }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Main function of a driver's process.
pub(crate) fn drive(token: &Path) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ready = format!("\nready {}\n", listener.local_addr().unwrap());
    std::io::stdout().write_all(ready.as_bytes()).unwrap();
    let driver = Driver {
        listener,
        token: Token::read(token).unwrap(),
        tool: TOOL.to_owned(),
        cores: 2,
        open_files: 1_000,
        clock: Clock::start(),
        workloads: WORKLOADS,
    };
    let (told, tell) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        drop(told);
    });
    runtime().block_on(async {
        tokio::select! {
            served = driver.serve() => served.unwrap(),
            _ = tell => panic!("whoever started this driver is gone"),
        }
    });
}

/// A driver as a process. It ends with the test.
pub(crate) struct Process {
    pub(crate) at: DriverAddress,
    child: Child,
    stdin: Option<ChildStdin>,
    _folder: tempfile::TempDir,
}

impl Process {
    pub(crate) fn start(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (path, token) = (folder.path().join("token"), Token::fresh().unwrap());
        token.write(&path).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "as_a_driver", "--nocapture", &format!("token={}", path.display())])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.find_map(|line| line.unwrap().strip_prefix("ready ").map(str::to_owned));
        // Later output is ignored, but must not block the process.
        std::thread::spawn(move || lines.for_each(drop));
        let at = DriverAddress { name: name.to_owned(), address: ready.unwrap().parse().unwrap(), token };
        let stdin = child.stdin.take();
        Process { at, child, stdin, _folder: folder }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// Stops the process without ending it.
    pub(crate) fn freeze(&mut self) {
        let stopped = Command::new("kill").args(["-STOP", &self.child.id().to_string()]).status().unwrap();
        assert!(stopped.success());
    }

    /// Closes its standard input.
    pub(crate) fn leave(&mut self) {
        self.stdin = None;
    }

    fn ended(&mut self) -> std::process::ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "{} does not end", self.at.name);
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }

    pub(crate) fn ended_well(mut self) {
        assert!(self.ended().success(), "{}", self.at.name);
    }

    /// Checks that it ended by itself with an error.
    pub(crate) fn ended_alone(mut self) {
        assert!(!self.ended().success(), "{}", self.at.name);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
