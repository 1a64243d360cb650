//! A scenario in words: its operations, behaviours, and the resulting mix.

use std::fmt::Write as _;

use barograph_model::words::{count, figure, listed, percent, quantile, span};
use barograph_model::{Behaviour, Distribution, NextOp, OpId, Pace, QosRule, Rule, Subject, TimeLimit};
use barograph_scenario::{
    Action, DrawSource, Exchange, Operation, Request, Scenario, Segment, Source, Template,
};

/// Longest path shown; longer ones are cut.
const LONGEST_PATH: usize = 60;

/// The description of a scenario, line by line.
pub(crate) fn scenario(scenario: &Scenario) -> String {
    let mut text = String::new();
    let mut line = |begin: &str, rest: &str| writeln!(text, "{begin:<9} {rest}").expect("memory takes it");
    if !scenario.about.is_empty() {
        line("about", &scenario.about);
    }
    for data in data(scenario) {
        line("data", &data);
    }
    for (operation, rule) in scenario.operations.iter().zip(&scenario.rules) {
        let limits = limits(operation, (rule, &scenario.further));
        line("operation", &format!("{:<16} {}{limits}", operation.name, operation.about));
        for exchange in operation.groups.iter().flatten() {
            line("", &format!("  {}", self::exchange(scenario, exchange)));
        }
    }
    for behaviour in scenario.behaviours.all() {
        let first = scenario.operations[behaviour.first.index()].name;
        line("behaviour", &format!("{:<16} begins with {first}, {}", behaviour.name, pace(&behaviour.pace)));
        for (from, to) in follows(scenario, behaviour) {
            line("", &format!("  {from} → {to}"));
        }
    }
    if let Some(mix) = &scenario.mix {
        let shares = scenario.operations.iter().zip(mix).filter(|(_, share)| share.get() > 0.0);
        let shares: Vec<String> =
            shares.map(|(op, share)| format!("{} {}", op.name, percent(share.get()))).collect();
        line("mix", &format!("{}, as the transitions of main say", shares.join(", ")));
    }
    text
}

fn data(scenario: &Scenario) -> Vec<String> {
    let picked = scenario.draws.iter().filter_map(|draw| match draw.what {
        DrawSource::Row(id, pick) => Some((&scenario.data[usize::from(id.0)], pick)),
        DrawSource::Generated(_) => None,
    });
    let word = |pick| barograph_scenario::Pick::WORDS.iter().find(|w| w.1 == pick).map_or("", |w| w.0);
    picked
        .map(|(data, pick)| {
            format!("{:<16} {} rows, picked: {}", data.name, count(data.rows().into()), word(pick))
        })
        .collect()
}

fn limits(operation: &Operation, (rule, further): (&QosRule, &[Rule])) -> String {
    if !rule.judged {
        return String::new();
    }
    let mut rules = Vec::new();
    if let Some(limit) = rule.limit {
        rules.push(format!("{} < {}", quantile(rule.quantile.get()), span(limit)));
    }
    for of_op in further.iter().filter(|further| further.subject.op() == Some(rule.op)) {
        if let (Subject::Response { quantile: share, .. }, Some(TimeLimit::Response(limit))) =
            (of_op.subject, of_op.time_limit())
        {
            rules.push(format!("{} < {}", quantile(share.get()), span(limit)));
        }
    }
    rules.push(format!("failures < {}", percent(rule.failures.get())));
    if rule.mix.get() > 0.0 {
        rules.push(format!("mix {} ± {} of it", percent(rule.mix.get()), percent(rule.mix_tolerance.get())));
    }
    let separator = if operation.about.is_empty() { "" } else { " " };
    format!("{separator}({})", rules.join(", "))
}

fn exchange(scenario: &Scenario, exchange: &Exchange) -> String {
    let stream = |id: barograph_scenario::StreamId| scenario.streams[usize::from(id.0)];
    let request = |request: &Request| format!("{} {}", request.method, path(scenario, &request.target));
    let mut text = match &exchange.action {
        Action::Request(asked) => request(asked),
        Action::SseOpen(id, asked) => {
            format!("{}, opens the stream of events `{}`", request(asked), stream(*id))
        }
        Action::SseNext(id, _) => format!("waits for an event of `{}`", stream(*id)),
        Action::SocketOpen(id, asked, _) => {
            format!("{}, opens the WebSocket `{}`", request(asked), stream(*id))
        }
        Action::SocketSend(id, _) => format!("sends a message to `{}`", stream(*id)),
        Action::SocketReceive(id) => format!("waits for a message of `{}`", stream(*id)),
        Action::SseClose(id) | Action::SocketClose(id) => format!("closes `{}`", stream(*id)),
    };
    if exchange.when.is_some() {
        text.push_str(", on a condition");
    }
    if let Some(each) = &exchange.for_each {
        let _ = write!(text, ", for each {} (at most {})", name(scenario, each.list), each.at_most);
    }
    if exchange.wait.is_some() {
        text.push_str(", which the target may hold: its response time is not judged");
    }
    if !exchange.extract.is_empty() {
        let kept: Vec<&str> = exchange.extract.iter().map(|kept| kept.name).collect();
        let _ = write!(text, "; keeps {}", listed(&kept));
    }
    text
}

/// A path with the names of its values in braces.
fn path(scenario: &Scenario, template: &Template) -> String {
    let segment = |segment: &Segment| match segment {
        Segment::Literal(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Segment::Value(source, _) => format!("{{{}}}", name(scenario, *source)),
    };
    let text: String = template.segments().iter().map(segment).collect();
    if text.chars().count() <= LONGEST_PATH {
        return text;
    }
    text.chars().take(LONGEST_PATH - 1).chain(['…']).collect()
}

/// The name of a value. A list's item has the shortest of its names.
fn name(scenario: &Scenario, source: Source) -> &'static str {
    let names = scenario.names.iter().filter(|(_, known)| **known == source).map(|(name, _)| *name);
    names.min_by_key(|name| name.len()).unwrap_or("value")
}

fn pace(pace: &Pace) -> String {
    match pace {
        Pace::AtOnce => "goes on at once; after a failure it pauses (`driver.failure_pause_s`)".to_owned(),
        Pace::Think(time) => format!("thinks {}", distribution(time)),
        Pace::ByOperation(_) => "waits before and after each operation".to_owned(),
        Pace::Cycle(time) => format!("starts every {}", distribution(time)),
        Pace::CycleByOperation(_) => "starts in cycles that depend on the operation".to_owned(),
        Pace::Beat { every, .. } => format!("starts on a beat of {}", span(*every)),
    }
}

fn distribution(time: &Distribution) -> String {
    match time {
        Distribution::Constant(time) => span(*time),
        Distribution::Uniform { min, max } => format!("{} to {}", span(*min), span(*max)),
        Distribution::Exponential { mean, max } => {
            format!("{} on the average (exponential, at most {})", span(*mean), span(*max))
        }
        Distribution::ShiftedExponential { min, mean, max } => format!(
            "{} on the average (exponential from {} on, at most {})",
            span(*mean),
            span(*min),
            span(*max)
        ),
        Distribution::TruncatedNormal { mean, sd, min, max } => format!(
            "{} on the average (normal with a deviation of {}, {} to {})",
            span(*mean),
            span(*sd),
            span(*min),
            span(*max)
        ),
        Distribution::LogNormal { median, sigma, max } => format!(
            "{} in the median (log-normal with sigma {}, at most {})",
            span(*median),
            figure(*sigma),
            span(*max)
        ),
        Distribution::Empirical(times) => format!("as in {} measured times", count(times.len() as u64)),
    }
}

/// Transitions of each reachable operation.
fn follows(scenario: &Scenario, behaviour: &Behaviour) -> Vec<(&'static str, String)> {
    let listed = behaviour.next.iter().enumerate().filter_map(|(i, next)| Some((i, next.as_ref()?)));
    listed.map(|(i, then)| (scenario.operations[i].name, next(scenario, then))).collect()
}

fn next(scenario: &Scenario, next: &NextOp) -> String {
    let op = |id: OpId| scenario.operations[id.index()].name;
    match next {
        NextOp::Op(id) => op(*id).to_owned(),
        NextOp::Vector(vector) => {
            let entries = vector.entries().iter();
            let entries: Vec<String> =
                entries.map(|(id, share)| format!("{} {}", op(*id), percent(share.get()))).collect();
            entries.join(", ")
        }
        NextOp::Choose { branches, .. } => {
            let branches: Vec<String> = branches.iter().map(|branch| self::next(scenario, branch)).collect();
            format!("by condition: {}", branches.join(" | "))
        }
        NextOp::EndSession { .. } => "the end of the session".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_scenario_is_told_with_its_requests_rules_and_transitions() {
        let text = r#"
about = "Reads and writes."
[values.number]
kind = "random_int"
max = 9
[operations.Read]
about = "Looks at one."
qos = { limit = "p99.9 < 250 ms", failures = "0.1 %" }
[[operations.Read.exchanges]]
path = "/things/{number}"
extract = { thing = { json = "/id" } }
[operations.Poll]
[[operations.Poll.exchanges]]
path = "/poll"
wait = true
[behaviours.main]
first = "Read"
pace = { think = { exponential = { mean = "5 s", max = "1 min" } } }
next = { Read = { Read = 0.75, Poll = 0.25 }, Poll = "end_session" }
"#;
        let scenario =
            barograph_scenario::read("x.toml", text, &|_| Err(std::io::ErrorKind::NotFound.into())).unwrap();
        let expected = "\
about     Reads and writes.
operation Read             Looks at one. (p99.9 < 250 ms, failures < 0.100 %)
            GET /things/{number}; keeps thing
operation Poll             \x20
            GET /poll, which the target may hold: its response time is not judged
behaviour main             begins with Read, thinks 5 s on the average (exponential, at most 1 min 00 s)
            Read → Read 75.0 %, Poll 25.0 %
            Poll → the end of the session
mix       Read 80.0 %, Poll 20.0 %, as the transitions of main say
";
        let told = super::scenario(&scenario);
        assert_eq!(told.replace("Poll             \n", "Poll             \x20\n"), expected);
    }
}
