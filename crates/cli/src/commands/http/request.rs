//! What a `barograph http` asks for: its arguments as a scenario of one operation.

use anyhow::{Context, anyhow};
use barograph_http::certificates;
use barograph_model::{Behaviour, BehaviourId, Behaviours, Nanos, Pace, Share};
use barograph_scenario::{Connections, Minimal, Protocol, Scenario, Url};

use crate::args::http::HttpArgs;
use crate::args::{ConnectionsArg, Limit};

/// A search needs a limit; this one holds where nobody names another.
pub(crate) const SEARCH_LIMIT: Limit =
    Limit { quantile: Share::percent(99.0), percent: 99.0, limit: Nanos::from_millis(100) };

/// What is asked for, again and again.
pub(crate) struct Asked {
    /// Scheme, host and port.
    pub(crate) base: String,
    /// Method and URL, as a title.
    pub(crate) title: String,
    pub(crate) scenario: Scenario,
}

/// Makes a scenario of the arguments.
pub(crate) fn asked(args: &HttpArgs) -> anyhow::Result<Asked> {
    let url = if args.url.contains("://") { args.url.clone() } else { format!("http://{}", args.url) };
    let base = base(&url).map_err(|why| {
        anyhow!("read the URL `{}`: {why}; it is written as in http://127.0.0.1:8080/path", args.url)
    })?;
    let (body, json) = body(args)?;
    let mut headers = args.headers.clone();
    if json && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    let what = Minimal {
        url: &url,
        method: args.method.as_deref(),
        headers: &headers,
        body: body.as_deref(),
        ..Minimal::default()
    };
    let mut scenario = barograph_scenario::minimal(&what)
        .map_err(|why| anyhow!("make a request of the arguments\n{why}"))?;
    target(args, &mut scenario)?;
    rule(args, &mut scenario);
    pace(args, &mut scenario);
    // The text says the request, the command in the record says how it is sent and judged.
    scenario.resolved.push_str("# sent and judged as the options of the command say\n");
    let method = args.method.as_deref().unwrap_or(if body.is_some() { "POST" } else { "GET" });
    Ok(Asked { title: format!("{method} {url}"), base, scenario })
}

/// Scheme, host and port of a URL.
fn base(url: &str) -> Result<String, String> {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find(['/', '?', '#']).map_or(url.len(), |at| host + at);
    let base = &url[..end];
    if base.contains('@') {
        return Err("a name and a password go into a header, as in -H 'Authorization: Basic ...'".to_owned());
    }
    Url::parse(base).map(|_| base.to_owned())
}

/// The body, and whether it is JSON.
fn body(args: &HttpArgs) -> anyhow::Result<(Option<String>, bool)> {
    let (given, json) = match (&args.data, &args.json_body) {
        (Some(text), _) => (text, false),
        (_, Some(text)) => (text, true),
        _ => return Ok((None, false)),
    };
    let text = match given.strip_prefix('@') {
        None => given.clone(),
        Some(file) => std::fs::read_to_string(file).with_context(|| {
            format!(
                "read the body from `{file}` as text; a scenario sends bytes (`file = ...` in an exchange)"
            )
        })?,
    };
    if json && let Err(why) = serde_json::from_str::<serde_json::Value>(&text) {
        return Err(anyhow!("read the body as JSON ({why}); --data sends any text"));
    }
    Ok((Some(text), json))
}

fn target(args: &HttpArgs, scenario: &mut Scenario) -> anyhow::Result<()> {
    let target = &mut scenario.target;
    target.connections = match args.connections {
        ConnectionsArg::PerUser => Connections::PerUser(1),
        ConnectionsArg::Pool(n) => Connections::Pool(n),
        ConnectionsArg::New => Connections::New,
    };
    target.protocol = if args.http2 { Protocol::Http2 } else { Protocol::Http1 };
    target.tls.trust_anyone = args.insecure;
    if let Some(file) = &args.ca {
        target.tls.authorities = Some(certificates(file)?);
    }
    target.unix_socket.clone_from(&args.unix_socket);
    target.source_addresses.clone_from(&args.source);
    target.timeout = args.timeout;
    target.connect_timeout = args.timeout;
    target.cookies = false;
    Ok(())
}

/// Failures are always judged, response time where there is a limit.
fn rule(args: &HttpArgs, scenario: &mut Scenario) {
    let limit = args.qos.or(args.search.then_some(SEARCH_LIMIT));
    for rule in &mut scenario.rules {
        rule.judged = true;
        rule.failures = args.errors;
        if let Some(limit) = limit {
            rule.quantile = limit.quantile;
            rule.limit = Some(limit.limit);
        }
    }
}

fn pace(args: &HttpArgs, scenario: &mut Scenario) {
    let Some(think) = args.think else { return };
    let main = scenario.behaviours.get(BehaviourId(0)).clone();
    let thinking = Behaviour { pace: Pace::Think(barograph_model::Distribution::Constant(think)), ..main };
    scenario.behaviours = Behaviours::new(vec![thinking]).expect("only the pace is another");
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        args: HttpArgs,
    }

    fn of(words: &[&str]) -> anyhow::Result<Asked> {
        let words = ["http"].iter().chain(words);
        asked(&Typed::try_parse_from(words).map_err(|why| anyhow!(why.to_string()))?.args)
    }

    #[test]
    fn a_url_alone_is_a_get_whose_failures_are_judged() {
        let asked = of(&["127.0.0.1:8080/x?y=1"]).unwrap();
        assert_eq!(
            (asked.title.as_str(), asked.base.as_str()),
            ("GET http://127.0.0.1:8080/x?y=1", "http://127.0.0.1:8080")
        );
        let rule = asked.scenario.rules[0];
        assert_eq!((rule.judged, rule.limit, rule.failures), (true, None, Share::percent(1.0)));
        assert_eq!(asked.scenario.target.protocol, Protocol::Http1);
        assert_eq!(asked.scenario.behaviours.get(BehaviourId(0)).pace, Pace::AtOnce);
    }

    #[test]
    fn options_reach_the_scenario() {
        let words = [
            "https://h/",
            "--json-body",
            "{\"a\":1}",
            "-H",
            "X-A: b",
            "--connections",
            "pool:4",
            "--http2",
            "--insecure",
            "--think",
            "2s",
            "--qos",
            "p95<1s",
            "--errors",
            "0%",
            "--source",
            "127.0.0.2",
            "--timeout",
            "500ms",
        ];
        let asked = of(&words).unwrap();
        let Scenario { target, rules, behaviours, operations, .. } = &asked.scenario;
        assert_eq!(asked.title, "POST https://h/");
        assert_eq!((target.connections, target.protocol), (Connections::Pool(4), Protocol::Http2));
        assert!(
            target.tls.trust_anyone
                && target.timeout == Nanos::from_millis(500)
                && target.source_addresses.len() == 1
        );
        assert_eq!((rules[0].limit, rules[0].failures), (Some(Nanos::from_secs(1)), Share::ZERO));
        assert!(matches!(behaviours.get(BehaviourId(0)).pace, Pace::Think(_)));
        let barograph_scenario::Action::Request(request) = &operations[0].groups[0][0].action else {
            panic!("a request")
        };
        let names: Vec<&str> = request.headers.iter().map(|h| &*h.name).collect();
        assert!(names.contains(&"x-a") && names.contains(&"content-type"), "{names:?}");
    }

    #[test]
    fn a_search_without_a_limit_has_the_usual_one() {
        let limit = |words: &[&str]| of(words).unwrap().scenario.rules[0].limit;
        assert_eq!(limit(&["h", "--search"]), Some(Nanos::from_millis(100)));
        assert_eq!(limit(&["h", "--search", "--qos", "p50<1s"]), Some(Nanos::from_secs(1)));
    }

    #[test]
    fn what_cannot_be_asked_for_says_why() {
        let why = |words: &[&str]| format!("{:#}", of(words).err().unwrap());
        assert_eq!(
            why(&["ftp://h/"]),
            "read the URL `ftp://h/`: unknown scheme `ftp`; it is written as in http://127.0.0.1:8080/path"
        );
        assert!(why(&["http://a:b@h/"]).contains("-H 'Authorization: Basic ...'"));
        assert!(why(&["h", "--json-body", "{"]).starts_with("read the body as JSON (EOF while parsing"));
        assert!(why(&["h", "--data", "@/no/such"]).starts_with("read the body from `/no/such` as text"));
        assert!(
            why(&["h", "--ca", "/no/such"]).starts_with("read the certificates in `/no/such`: No such file")
        );
    }
}
