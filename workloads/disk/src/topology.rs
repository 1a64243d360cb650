//! The server of an export, where the plan deploys one.

use barograph_platform::BoxFuture;
use barograph_services::Flavour;
use barograph_spec::Plan;
use barograph_workload::topology::{Part, PartWork, Topology, Value, limits_of};
use barograph_workload::{Application, DataSet};

use crate::plan::{DiskPlan, Server};

/// The only tier, and the name of its only part.
pub(crate) const TIER: &str = "export";

/// An NBD server with a chain of filters before memory.
pub(crate) struct ExportServer {
    server: Server,
    bytes: u64,
    plan: DiskPlan,
}

impl ExportServer {
    /// The server of a plan; `None` where it deploys none.
    pub(crate) fn of(plan: &DiskPlan) -> Option<Self> {
        let server = plan.server.clone()?;
        Some(ExportServer { server, bytes: plan.size, plan: plan.clone() })
    }
}

impl Application for ExportServer {
    fn topology(&self, plan: &Plan, _: Option<&DataSet>) -> Topology {
        let service = barograph_services::find("nbdkit").expect("it is in the list of services");
        let filters = self.server.chain();
        let mut values = vec![("bytes", Value::Text(self.bytes.to_string()))];
        if !filters.is_empty() {
            values.push(("filters", Value::Text(filters.join(" "))));
        }
        let name = format!("{TIER}-1");
        let part = Part {
            name: name.clone(),
            tier: TIER,
            host: name.clone(),
            node: true,
            work: PartWork::Service(service),
            needs: Vec::new(),
            uses: Vec::new(),
            values,
            limits: limits_of(plan.deploy.limits_of(TIER)),
        };
        Topology {
            parts: vec![part],
            fronts: vec![name],
            floating: None,
            scheme: "nbd",
            shared: service.own_programs(),
            files: Vec::new(),
            flavour: if plan.deploy.flavour == "vanilla" { Flavour::Vanilla } else { Flavour::Tuned },
            stored: None,
        }
    }

    fn answers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), String>> {
        let (url, plan) = (url.to_owned(), self.plan.clone());
        let asked = tokio::task::spawn_blocking(move || crate::export::FitExport::ask(&url, &plan).map(drop));
        Box::pin(async move {
            match asked.await {
                Ok(answered) => answered.map_err(|why| barograph_model::words::in_one_line(&why)),
                Err(why) => Err(why.to_string()),
            }
        })
    }
}
