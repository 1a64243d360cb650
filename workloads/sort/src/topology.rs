//! The cluster that a run deploys: a manager and its workers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use barograph_model::words::in_one_line;
use barograph_platform::BoxFuture;
use barograph_services::{Flavour, Service, find};
use barograph_spec::Plan;
use barograph_workload::topology::{Part, PartWork, Topology, Value, limits_of};
use barograph_workload::{Application, DataSet};

use crate::engine::Engine;
use crate::plan::SortPlan;

/// Tiers, from the jobs to the workers.
pub(crate) const TIERS: [&str; 2] = ["manager", "worker"];

/// Host of all parts.
const TOGETHER: &str = "all-1";

/// Longest wait for an answer of the manager.
const PATIENCE: Duration = Duration::from_secs(5);

/// A cluster.
pub(crate) struct Cluster {
    pub(crate) plan: SortPlan,
}

impl Cluster {
    fn service(&self, tier: usize) -> &'static Service {
        find(self.plan.engine.services()[tier]).expect("every engine has services, as a test holds")
    }

    /// Settings of a worker.
    fn values(&self, manager: &str) -> Vec<(&'static str, Value)> {
        let cores = self.plan.cores_of_worker();
        let heap = self.plan.task_mib() * cores;
        let text = |number: u64| Value::Text(number.to_string());
        let of = vec![manager.to_owned()];
        match self.plan.engine {
            Engine::Hadoop => vec![
                ("manager", Value::Each { of, pattern: "{address}:{port:nodes}", between: "" }),
                // The master of a job has a container, too.
                ("cores", text(cores + 1)),
                ("heap_mib", text(heap + crate::job::MASTER_MIB)),
            ],
            _ => vec![
                ("master", Value::Each { of, pattern: "{address}:{port}", between: "" }),
                ("cores", text(cores)),
                ("heap_mib", text(heap)),
            ],
        }
    }

    /// Asks the manager for the number of its workers.
    fn workers(&self, url: &str) -> Result<u32, String> {
        let address = addresses(url).get(1).copied().ok_or("the manager has no address for questions")?;
        let (path, field) = match self.plan.engine {
            Engine::Hadoop => ("/ws/v1/cluster/metrics", "\"activeNodes\""),
            _ => ("/json/", "\"aliveworkers\""),
        };
        let answer = ask(address, path).map_err(|why| in_one_line(&why))?;
        let after = answer.split_once(field).map(|(_, after)| after.trim_start_matches([' ', ':']));
        let digits = after.map(|after| after.chars().take_while(char::is_ascii_digit).collect::<String>());
        digits
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| format!("its answer to {path} has no {field}"))
    }
}

/// Addresses of a URL of several.
pub(crate) fn addresses(url: &str) -> Vec<SocketAddr> {
    let list = url.split_once("://").map_or(url, |(_, list)| list);
    list.split(',').filter_map(|address| address.parse().ok()).collect()
}

/// Asks a question over HTTP; returns the whole answer.
fn ask(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(
        format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nAccept: application/json\r\n\r\n").as_bytes(),
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

impl Application for Cluster {
    fn topology(&self, plan: &Plan, _: Option<&DataSet>) -> Topology {
        let part = |tier: usize, number: u32, needs: &[String], values| Part {
            name: format!("{}-{number}", TIERS[tier]),
            tier: TIERS[tier],
            host: TOGETHER.to_owned(),
            // Their figures are those of the application in studies.
            node: tier == 1,
            work: PartWork::Service(self.service(tier)),
            needs: needs.to_vec(),
            uses: needs.to_vec(),
            values,
            limits: limits_of(plan.deploy.limits_of(TIERS[tier])),
        };
        let manager = part(0, 1, &[], Vec::new());
        let name = manager.name.clone();
        let needs = [name.clone()];
        let workers = (1..=self.plan.workers).map(|number| part(1, number, &needs, self.values(&name)));
        let mut fronts = vec![name.clone(), format!("{name}:web")];
        if self.plan.engine == Engine::Hadoop {
            fronts.push(format!("{name}:scheduler"));
        }
        Topology {
            parts: [manager.clone()].into_iter().chain(workers).collect(),
            fronts,
            scheme: self.plan.engine.services()[0],
            shared: self.service(0).own_programs(),
            flavour: if plan.deploy.flavour == "vanilla" { Flavour::Vanilla } else { Flavour::Tuned },
            ..Topology::empty()
        }
    }

    fn answers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let (plan, url) = (self.plan.clone(), url.to_owned());
            let asked = tokio::task::spawn_blocking(move || Cluster { plan }.workers(&url));
            match asked.await.map_err(|why| why.to_string())?? {
                workers if workers == self.plan.workers => Ok(()),
                workers => Err(format!("{workers} of {} workers have come", self.plan.workers)),
            }
        })
    }
}
