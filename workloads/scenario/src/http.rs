//! `barograph http`: one URL under load, for people who come from wrk, oha or hey. The arguments become a scenario of one
//! operation.

mod arguments;

use std::sync::Arc;

use barograph_http::certificates;
use barograph_model::{Behaviour, BehaviourId, Behaviours, Distribution, Pace};
use barograph_scenario::{Minimal, Protocol, Scenario, Url};
use barograph_workload::{CommandError, LoadCommand, LoadOptions, Noun, TypedLoad, UsualUsers};
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::{ScenarioFile, ScenarioFiles};
use arguments::HttpArgs;

/// What wrk, hey and oha people expect, roughly; and as many as one machine reaches without more ado.
const USERS: UsualUsers = UsualUsers { fixed: 50, searched: 5_000, in_flight: 1_000 };

impl LoadCommand for ScenarioFiles {
    fn arguments(&self) -> Command {
        HttpArgs::augment_args(Command::new("http"))
    }

    fn request(&self) -> Noun {
        Noun { one: "request", several: "requests" }
    }

    fn load(&self, typed: &ArgMatches, options: &LoadOptions) -> Result<TypedLoad, CommandError> {
        let args = HttpArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        let asked = asked(&args, options)?;
        Ok(TypedLoad {
            title: asked.title,
            url: asked.base,
            users: options.users_or(USERS),
            keys: Vec::new(),
            workload: Some(Arc::new(ScenarioFile::new(asked.scenario, self.time_of_day))),
        })
    }
}

/// What is asked for, again and again.
struct Asked {
    /// Scheme, host and port.
    base: String,
    /// Method and URL, as a title.
    title: String,
    scenario: Scenario,
}

/// Makes a scenario of the arguments.
fn asked(args: &HttpArgs, options: &LoadOptions) -> Result<Asked, CommandError> {
    let url = if args.url.contains("://") { args.url.clone() } else { format!("http://{}", args.url) };
    let base = base(&url).map_err(|why| {
        let given = &args.url;
        CommandError::refused(format!(
            "read the URL `{given}`: {why}; it is written as in http://127.0.0.1:8080/path"
        ))
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
        .map_err(|why| CommandError::refused(format!("make a request of the arguments\n{why}")))?;
    target(args, options, &mut scenario)?;
    rule(options, &mut scenario);
    pace(options, &mut scenario);
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
fn body(args: &HttpArgs) -> Result<(Option<String>, bool), CommandError> {
    let (given, json) = match (&args.data, &args.json_body) {
        (Some(text), _) => (text, false),
        (_, Some(text)) => (text, true),
        _ => return Ok((None, false)),
    };
    let text = match given.strip_prefix('@') {
        None => given.clone(),
        Some(file) => std::fs::read_to_string(file).map_err(|why| {
            CommandError::refused(why).while_doing(format!(
                "read the body from `{file}` as text; a scenario sends bytes (`file = ...` in an exchange)"
            ))
        })?,
    };
    if json && let Err(why) = serde_json::from_str::<serde_json::Value>(&text) {
        return Err(CommandError::refused(format!("read the body as JSON ({why}); --data sends any text")));
    }
    Ok((Some(text), json))
}

fn target(args: &HttpArgs, options: &LoadOptions, scenario: &mut Scenario) -> Result<(), CommandError> {
    let target = &mut scenario.target;
    target.connections = args.connections;
    target.protocol = if args.http2 { Protocol::Http2 } else { Protocol::Http1 };
    target.tls.trust_anyone = args.insecure;
    if let Some(file) = &args.ca {
        target.tls.authorities = Some(certificates(file).map_err(CommandError::refused)?);
    }
    target.unix_socket.clone_from(&args.unix_socket);
    target.source_addresses.clone_from(&args.source);
    target.timeout = options.timeout;
    target.connect_timeout = options.timeout;
    target.cookies = false;
    Ok(())
}

/// Failures are always judged, response time where there is a limit.
fn rule(options: &LoadOptions, scenario: &mut Scenario) {
    for rule in &mut scenario.rules {
        rule.judged = true;
        rule.failures = options.errors;
        if let Some(limit) = options.limit {
            rule.quantile = limit.quantile;
            rule.limit = Some(limit.limit);
        }
    }
}

fn pace(options: &LoadOptions, scenario: &mut Scenario) {
    let Some(think) = options.think else { return };
    let main = scenario.behaviours.get(BehaviourId(0)).clone();
    let thinking = Behaviour { pace: Pace::Think(Distribution::Constant(think)), ..main };
    scenario.behaviours = Behaviours::new(vec![thinking]).expect("only the pace is another");
}

#[cfg(test)]
mod tests {
    use barograph_model::words::in_one_line;
    use barograph_model::{Nanos, Share};
    use barograph_scenario::Connections;

    use super::*;

    const OPTIONS: LoadOptions = LoadOptions {
        users: None,
        rate: None,
        search: false,
        limit: None,
        errors: Share::ZERO,
        think: None,
        timeout: Nanos::from_secs(10),
    };

    fn of(words: &[&str], options: &LoadOptions) -> Result<Asked, CommandError> {
        let command = ScenarioFiles { time_of_day: || Nanos::ZERO }.arguments();
        let typed = command.try_get_matches_from(["http"].iter().chain(words)).unwrap();
        asked(&HttpArgs::from_arg_matches(&typed).unwrap(), options)
    }

    #[test]
    fn a_url_alone_is_a_get_whose_failures_are_judged() {
        let asked = of(&["127.0.0.1:8080/x?y=1"], &OPTIONS).unwrap();
        assert_eq!(
            (asked.title.as_str(), asked.base.as_str()),
            ("GET http://127.0.0.1:8080/x?y=1", "http://127.0.0.1:8080")
        );
        let rule = asked.scenario.rules[0];
        assert_eq!((rule.judged, rule.limit, rule.failures), (true, None, Share::ZERO));
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
            "--source",
            "127.0.0.2",
        ];
        let options = LoadOptions {
            limit: "p95<1s".parse().ok(),
            think: Some(Nanos::from_secs(2)),
            timeout: Nanos::from_millis(500),
            errors: Share::percent(1.0),
            ..OPTIONS
        };
        let asked = of(&words, &options).unwrap();
        let Scenario { target, rules, behaviours, operations, .. } = &asked.scenario;
        assert_eq!(asked.title, "POST https://h/");
        assert_eq!((target.connections, target.protocol), (Connections::Pool(4), Protocol::Http2));
        assert!(
            target.tls.trust_anyone
                && target.timeout == Nanos::from_millis(500)
                && target.source_addresses.len() == 1
        );
        assert_eq!((rules[0].limit, rules[0].failures), (Some(Nanos::from_secs(1)), Share::percent(1.0)));
        assert!(matches!(behaviours.get(BehaviourId(0)).pace, Pace::Think(_)));
        let barograph_scenario::Action::Request(request) = &operations[0].groups[0][0].action else {
            panic!("a request")
        };
        let names: Vec<&str> = request.headers.iter().map(|h| &*h.name).collect();
        assert!(names.contains(&"x-a") && names.contains(&"content-type"), "{names:?}");
    }

    #[test]
    fn what_cannot_be_asked_for_says_why() {
        let why = |words: &[&str]| in_one_line(&*of(words, &OPTIONS).err().unwrap().why);
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
