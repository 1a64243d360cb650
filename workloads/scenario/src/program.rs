//! A scenario prepared for a target: constant requests rendered, tables looked up once. Shared by all
//! workers.

use std::sync::Arc;

use barograph_http::{Fault, Method, PreparedRequest, Request as Parts, ResolvedTarget};
use barograph_model::Nanos;
use barograph_scenario::{
    Action, Body, Draw, DrawId, DrawSource, Exchange, Generator, Group, Operation, Request, Scenario, Source,
};
use barograph_scenario_script::ScriptError;
use rand_distr::Zipf;

use crate::{draw, script};

/// A scenario prepared for a target.
pub(crate) struct Program {
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) resolved: ResolvedTarget,
    /// Further origins, by [`Request::origin`] less one.
    pub(crate) further: Vec<ResolvedTarget>,
    /// Prefix of every path.
    pub(crate) base: String,
    /// The time of day, for requests and for the expiry of cookies; never for measurements.
    pub(crate) clock: fn() -> Nanos,
    /// By operation, group and exchange, as in the scenario.
    pub(crate) ready: Vec<Vec<Vec<PreparedExchange>>>,
    tables: Vec<Table>,
    /// Number of draws with counters.
    pub(crate) counting: usize,
}

/// Precomputed parts of an exchange.
pub(crate) struct PreparedExchange {
    pub(crate) method: Method<'static>,
    /// The whole request, if it is constant.
    pub(crate) prepared: Option<PreparedRequest>,
    /// Whether the bytes of the answer's body are counted only.
    pub(crate) counts_body: bool,
}

/// Precomputed data of a draw.
enum Table {
    Nothing,
    Counter(usize),
    Zipf(Zipf<f64>),
}

/// Reason why a scenario cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A request of it cannot be sent.
    #[error("render a request of operation `{operation}`")]
    Request {
        /// The operation.
        operation: &'static str,
        /// The fault.
        #[source]
        why: Fault,
    },
    /// A text that is not a method, or CONNECT.
    #[error(
        "use `{method}` as a method in operation `{operation}`: give a token such as GET, and not CONNECT"
    )]
    Method {
        /// The operation.
        operation: &'static str,
        /// The method.
        method: &'static str,
    },
    /// A script cannot be compiled.
    #[error("compile a script")]
    Script(#[source] ScriptError),
    /// A script lacks a function that the scenario calls.
    #[error("find the function `{function}` in `{script}`; it has: {known}")]
    Function {
        /// The script.
        script: String,
        /// The function.
        function: String,
        /// The existing functions.
        known: String,
    },
}

impl Program {
    pub(crate) fn new(
        scenario: Arc<Scenario>,
        (resolved, further): (ResolvedTarget, Vec<ResolvedTarget>),
        clock: fn() -> Nanos,
    ) -> Result<Self, ScenarioError> {
        script::check(&scenario)?;
        let path = resolved.target().path();
        let base = path.split('?').next().unwrap_or_default().trim_end_matches('/').to_owned();
        let mut counting = 0;
        let tables = scenario.draws.iter().map(|draw| Table::new(draw, &mut counting)).collect();
        let mut program =
            Program { scenario, resolved, further, base, clock, ready: Vec::new(), tables, counting };
        program.ready =
            program.scenario.operations.iter().map(|o| program.operation(o)).collect::<Result<_, _>>()?;
        Ok(program)
    }

    fn operation(&self, operation: &Operation) -> Result<Vec<Vec<PreparedExchange>>, ScenarioError> {
        let group =
            |group: &Group| group.iter().map(|exchange| self.ready(operation.name, exchange)).collect();
        operation.groups.iter().map(group).collect()
    }

    fn ready(&self, operation: &'static str, exchange: &Exchange) -> Result<PreparedExchange, ScenarioError> {
        let (request, plain) = match &exchange.action {
            Action::Request(request) => (request, true),
            Action::SseOpen(_, request) | Action::SocketOpen(_, request, _) => (request, false),
            _ => return Ok(PreparedExchange { method: Method::GET, prepared: None, counts_body: false }),
        };
        let method =
            Method::new(request.method).ok_or(ScenarioError::Method { operation, method: request.method })?;
        let prepared = if plain { self.prepare(method, request) } else { None };
        let counts_body = !exchange.reads_body();
        let prepared = prepared.map(|made| made.map(|request| request.counting_body(counts_body)));
        let prepared = prepared.transpose().map_err(|why| ScenarioError::Request { operation, why })?;
        Ok(PreparedExchange { method, prepared, counts_body })
    }

    /// Renders a constant request.
    fn prepare(&self, method: Method<'static>, request: &Request) -> Option<Result<PreparedRequest, Fault>> {
        let text = |bytes| std::str::from_utf8(bytes).ok();
        let path = text(request.target.fixed()?)?;
        let mut headers = Vec::new();
        for header in &request.headers {
            headers.push((&*header.name, text(header.value.fixed()?)?));
        }
        let body = match &request.body {
            None => None,
            Some(Body::File(bytes)) => Some(&**bytes),
            Some(Body::Template(template)) => Some(template.fixed()?),
        };
        let base = &self.base;
        let target = match request.origin {
            0 => &self.resolved,
            further => &self.further[usize::from(further) - 1],
        };
        let parts = Parts { method, path: format_args!("{base}{path}"), headers: &headers, body };
        Some(PreparedRequest::new(target.target(), &parts))
    }

    /// The index of a draw's counter in a user's memory.
    pub(crate) fn counter(&self, id: DrawId) -> usize {
        match self.tables[usize::from(id.0)] {
            Table::Counter(at) => at,
            _ => unreachable!("asked for draws that count only"),
        }
    }

    /// The distribution of a draw by Zipf's law.
    pub(crate) fn zipf(&self, id: DrawId) -> Zipf<f64> {
        match &self.tables[usize::from(id.0)] {
            Table::Zipf(zipf) => *zipf,
            _ => unreachable!("asked for draws by Zipf's law only"),
        }
    }

    /// The message for a missing value of a template.
    pub(crate) fn is_absent(&self, source: Source) -> String {
        let name = self.scenario.names.iter().find(|(_, at)| **at == source).map(|(name, _)| *name);
        format!("`{{{}}}` has no value, or is a list", name.unwrap_or("a column"))
    }
}

impl Table {
    fn new(draw: &Draw, counting: &mut usize) -> Self {
        if draw::counts(draw) {
            *counting += 1;
            return Table::Counter(*counting - 1);
        }
        match draw.what {
            DrawSource::Generated(Generator::Zipf { keys, exponent, .. }) => {
                let zipf = Zipf::new(keys as f64, exponent);
                Table::Zipf(zipf.expect("keys and exponent were checked when the scenario was read"))
            }
            _ => Table::Nothing,
        }
    }
}
