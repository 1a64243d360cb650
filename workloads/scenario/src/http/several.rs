//! Several URLs in one scenario: an operation each if they are few, else one operation for all.

use barograph_model::{Behaviour, BehaviourId, Behaviours, NextOp, OpId, Share, Vector};
use barograph_scenario::{Action, Order, Scenario, leak};
use barograph_workload::CommandError;

use super::arguments::UrlOrder;
use crate::origins;

/// Most URLs with an operation each; more would make an unreadable table.
const FEW: usize = 20;

/// A scenario of all URLs.
pub(super) struct CombinedScenario {
    pub(super) scenario: Scenario,
    /// Description of the load, in a line.
    pub(super) title: String,
    /// Origins beside that of the first URL, by their numbers in requests.
    pub(super) origins: Vec<String>,
}

/// Joins scenarios of one request each. `titles` and `bases` have the method and URL, and the origin of each.
pub(super) fn join(
    scenarios: Vec<Scenario>,
    titles: &[String],
    bases: &[&str],
    order: UrlOrder,
) -> Result<CombinedScenario, CommandError> {
    let mut origins: Vec<String> = Vec::new();
    let mut all = scenarios.into_iter();
    let mut scenario = all.next().expect("there is a URL at least");
    let is_few = titles.len() <= FEW;
    for (n, other) in all.enumerate() {
        let at = n + 1;
        scenario.resolved.push_str(&format!("# and {}\n", titles[at]));
        let number = if bases[at] == bases[0] { 0 } else { number(&mut origins, bases[at])? };
        for mut operation in other.operations {
            for exchange in operation.groups.iter_mut().flatten() {
                if let Action::Request(request) = &mut exchange.action {
                    request.origin = number;
                }
            }
            if is_few {
                let rule = barograph_model::QosRule { op: OpId(at as u8), ..scenario.rules[0] };
                scenario.rules.push(rule);
                scenario.operations.push(operation);
            } else {
                scenario.operations[0].groups.extend(operation.groups);
            }
        }
    }
    let title = match titles {
        [only] => only.clone(),
        titles if is_few => {
            name(&mut scenario, titles);
            follow(&mut scenario, order);
            let named = scenario.operations.iter().zip(titles);
            named
                .map(|(operation, title)| format!("{}: {title}", operation.name))
                .collect::<Vec<_>>()
                .join(", ")
        }
        titles => {
            scenario.operations[0].order = Some(match order {
                UrlOrder::InTurn => Order::InTurn,
                UrlOrder::Random => Order::Random,
            });
            scenario.operations[0].name = "Request";
            format!("{} URLs, {} first", titles.len(), titles[0])
        }
    };
    Ok(CombinedScenario { scenario, title, origins })
}

/// The number of an origin other than the first URL's.
fn number(origins: &mut Vec<String>, base: &str) -> Result<u16, CommandError> {
    let at = origins.iter().position(|origin| origin == base).unwrap_or(origins.len());
    if at == origins.len() {
        if at == origins::MOST {
            let most = origins::MOST + 1;
            return Err(CommandError::refused(format!("load URLs of more than {most} hosts and ports")));
        }
        origins.push(base.to_owned());
    }
    Ok(at as u16 + 1)
}

/// Names and describes the operations.
fn name(scenario: &mut Scenario, titles: &[String]) {
    for (n, (operation, title)) in scenario.operations.iter_mut().zip(titles).enumerate() {
        operation.name = leak(&format!("{}{}", operation.name, n + 1));
        operation.about = leak(title);
    }
}

/// Sets the transitions.
fn follow(scenario: &mut Scenario, order: UrlOrder) {
    let count = scenario.operations.len();
    let next = |at: usize| match order {
        UrlOrder::InTurn => NextOp::Op(OpId(((at + 1) % count) as u8)),
        UrlOrder::Random => {
            let share = Share::new(1.0 / count as f64).expect("a part of one");
            let entries = (0..count).map(|op| (OpId(op as u8), share)).collect();
            NextOp::Vector(Vector::new(entries).expect("equal shares of one"))
        }
    };
    let main = scenario.behaviours.get(BehaviourId(0)).clone();
    let all = Behaviour { next: (0..count).map(|at| Some(next(at))).collect(), ..main };
    scenario.behaviours = Behaviours::new(vec![all]).expect("each operation has a successor");
}
