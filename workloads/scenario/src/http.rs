//! `barograph http`: URLs under load, for users of wrk, oha or hey. The arguments become a scenario.

mod arguments;
mod several;
mod urls;

use std::path::Path;
use std::sync::Arc;

use barograph_http::certificates;
use barograph_model::secret::{MASK, SecretFile, is_secret_header};
use barograph_model::{Behaviour, BehaviourId, Behaviours, Distribution, MOST_FURTHER_LIMITS, OpId, Pace};
use barograph_scenario::{Action, Body, MOST_BODY, Minimal, Protocol, Scenario, Url, without_mark};
use barograph_workload::typed::TypedRule;
use barograph_workload::{CommandError, LoadCommand, LoadOptions, Noun, TypedLoad, UsualUsers};
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::reach::{self, RouteOptions};
use crate::{ScenarioFile, ScenarioFiles};
use arguments::HttpArgs;
use several::CombinedScenario;
use urls::{UrlEntry, listed};

/// Default number of users: about that of wrk, hey and oha; and the most that one machine usually reaches.
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
        let workload = ScenarioFile::new(asked.scenario, self.time_of_day).by(asked.ways);
        Ok(TypedLoad {
            title: asked.title,
            url: asked.base,
            users: options.users_or(USERS),
            keys: Vec::new(),
            workload: Some(Arc::new(workload)),
        })
    }
}

/// The requested load.
struct UrlScenario {
    /// Scheme, host and port.
    base: String,
    /// Method and URL, as a title.
    title: String,
    scenario: Scenario,
    ways: RouteOptions,
}

/// Converts the arguments to a scenario.
fn asked(args: &HttpArgs, options: &LoadOptions) -> Result<UrlScenario, CommandError> {
    let listed = listed(args)?;
    let content = content(args)?;
    let mut headers = args.headers.clone();
    if let Some(Content { kind, .. }) = &content
        && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
    {
        headers.push(("content-type".to_owned(), (*kind).to_owned()));
    }
    let usual = args.method.as_deref().unwrap_or(if content.is_some() { "POST" } else { "GET" });
    let text = content.as_ref().filter(|content| content.file.is_none());
    let text = text.map(|text| String::from_utf8_lossy(&text.bytes));
    let mut scenarios = Vec::new();
    let mut titles = Vec::new();
    for UrlEntry { method, url, .. } in &listed {
        let method = method.as_deref().unwrap_or(usual);
        let what = Minimal {
            url,
            method: Some(method),
            headers: &headers,
            body: text.as_deref(),
            ..Minimal::default()
        };
        let scenario = barograph_scenario::minimal(&what)
            .map_err(|why| CommandError::refused(format!("make a request of the arguments\n{why}")))?;
        scenarios.push(scenario);
        titles.push(format!("{method} {url}"));
    }
    let bases: Vec<&str> = listed.iter().map(|listed| listed.base.as_str()).collect();
    let CombinedScenario { mut scenario, title, origins } =
        several::join(scenarios, &titles, &bases, args.order)?;
    exchange(args, content.as_ref(), &mut scenario);
    target(args, options, &mut scenario)?;
    rules(options, &mut scenario)?;
    pace(options, &mut scenario);
    for (_, value) in headers.iter().filter(|(name, _)| is_secret_header(name)) {
        scenario.resolved = scenario.resolved.replace(value.as_str(), MASK);
    }
    // The scenario's text has the request, the command in the record its options and rules.
    scenario.resolved.push_str("# sent and judged as the options of the command say\n");
    let detours = args.resolve.iter().chain(&args.connect_to).cloned().collect();
    let ways = RouteOptions { proxy: args.proxy.clone(), detours, origins };
    Ok(UrlScenario { title, base: listed[0].base.clone(), scenario, ways })
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

/// A body with its content type.
struct Content {
    kind: &'static str,
    bytes: Arc<[u8]>,
    /// Its file, if any.
    file: Option<String>,
}

fn content(args: &HttpArgs) -> Result<Option<Content>, CommandError> {
    let (given, json) = match (&args.data, &args.json_body) {
        (Some(text), _) => (text, false),
        (_, Some(text)) => (text, true),
        _ => return Ok(None),
    };
    let (bytes, file) = match given.strip_prefix('@') {
        None => (given.as_bytes().to_vec(), None),
        Some(file) => (file_of(file)?, Some(file.to_owned())),
    };
    if json && let Err(why) = serde_json::from_slice::<serde_json::Value>(without_mark(&bytes)) {
        return Err(CommandError::refused(format!("read the body as JSON ({why}); --data sends any bytes")));
    }
    let kind = match std::str::from_utf8(&bytes) {
        _ if json => "application/json",
        Ok(_) => "text/plain; charset=utf-8",
        Err(_) => "application/octet-stream",
    };
    Ok(Some(Content { kind, bytes: bytes.into(), file }))
}

/// The bytes of a file for a body.
fn file_of(file: &str) -> Result<Vec<u8>, CommandError> {
    let bytes = std::fs::read(file)
        .map_err(|why| CommandError::refused(why).while_doing(format!("read the body from `{file}`")))?;
    if bytes.len() > MOST_BODY {
        return Err(CommandError::refused(format!(
            "send `{file}` as a body: it has {} bytes, at most {MOST_BODY} are allowed",
            bytes.len()
        )));
    }
    Ok(bytes)
}

/// Adds to the only exchange the settings that a scenario's text lacks.
fn exchange(args: &HttpArgs, content: Option<&Content>, scenario: &mut Scenario) {
    for exchange in scenario.operations.iter_mut().flat_map(|op| op.groups.iter_mut().flatten()) {
        if !args.status.is_empty() {
            exchange.check.status.clone_from(&args.status);
        }
        if let (Action::Request(request), Some(Content { bytes, file: Some(file), .. })) =
            (&mut exchange.action, content)
        {
            request.body = Some(Body::File(Arc::clone(bytes)));
            scenario.resolved.push_str(&format!("# the body has the {} bytes of {file}\n", bytes.len()));
        }
    }
}

fn target(args: &HttpArgs, options: &LoadOptions, scenario: &mut Scenario) -> Result<(), CommandError> {
    let target = &mut scenario.target;
    target.connections = args.connections;
    target.protocol = if args.http2 { Protocol::Http2 } else { Protocol::Http1 };
    target.tls.trust_anyone = args.insecure;
    if let Some(file) = &args.ca {
        target.tls.authorities = Some(certificates(file).map_err(CommandError::refused)?);
    }
    if let Some(file) = &args.cert {
        let key = args.key.as_ref().unwrap_or(file);
        target.tls.identity = Some((pem(file)?, pem(key)?));
        reach::identity(target).map_or(Ok(()), |own| own.check()).map_err(CommandError::refused)?;
    }
    target.unix_socket.clone_from(&args.unix_socket);
    target.source_addresses.clone_from(&args.source);
    target.timeout = Some(options.timeout);
    target.connect_timeout = options.timeout;
    target.cookies = false;
    target.redirects = args.redirects();
    Ok(())
}

fn pem(file: &Path) -> Result<SecretFile, CommandError> {
    let bytes = certificates(file).map_err(CommandError::refused)?;
    Ok(SecretFile { path: file.to_owned(), bytes })
}

/// Rules of the load: failures are always judged, times and rates if there are rules.
fn rules(options: &LoadOptions, scenario: &mut Scenario) -> Result<(), CommandError> {
    let of_time = |rule: &&TypedRule| matches!(rule, TypedRule::Response(_) | TypedRule::Service(_));
    if options.rules.iter().filter(of_time).count() > MOST_FURTHER_LIMITS + 1 {
        let most = MOST_FURTHER_LIMITS + 1;
        return Err(CommandError::refused(format!("judge by more than {most} limits of times at quantiles")));
    }
    for rule in &mut scenario.rules {
        rule.judged = true;
        rule.failures = options.errors;
        let mut further = options.rules.as_slice();
        if let [TypedRule::Response(first), rest @ ..] = further {
            rule.quantile = first.quantile;
            rule.limit = Some(first.limit);
            further = rest;
        }
        // A rate is that of the whole load.
        let once = |further: &&TypedRule| rule.op == OpId(0) || !matches!(further, TypedRule::Rate(_));
        scenario.further.extend(further.iter().filter(once).map(|further| further.of(rule.op)));
    }
    Ok(())
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
    use barograph_model::{Nanos, NextOp, Rule, Share};
    use barograph_scenario::Connections;
    use barograph_testkit::Authority;

    use super::*;

    fn of(words: &[&str], options: &LoadOptions) -> Result<UrlScenario, CommandError> {
        let command = ScenarioFiles { time_of_day: || Nanos::ZERO }.arguments();
        let typed = command.try_get_matches_from(["http"].iter().chain(words)).unwrap();
        asked(&HttpArgs::from_arg_matches(&typed).unwrap(), options)
    }

    #[test]
    fn a_url_alone_is_a_get_whose_failures_are_judged() {
        let asked = of(&["127.0.0.1:8080/x?y=1"], &LoadOptions::default()).unwrap();
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
            "--source",
            "127.0.0.2",
        ];
        let options = LoadOptions {
            rules: ["p95<1s", "rate>=5", "mean<2s"].map(|rule| rule.parse().unwrap()).to_vec(),
            think: Some(Nanos::from_secs(2)),
            timeout: Nanos::from_millis(500),
            errors: Share::percent(1.0),
            ..LoadOptions::default()
        };
        let asked = of(&words, &options).unwrap();
        let Scenario { target, rules, behaviours, operations, .. } = &asked.scenario;
        assert_eq!(asked.title, "POST https://h/");
        assert_eq!((target.connections, target.protocol), (Connections::Pool(4), Protocol::Http2));
        assert!(
            target.tls.trust_anyone
                && target.timeout == Some(Nanos::from_millis(500))
                && target.source_addresses.len() == 1
        );
        assert_eq!((rules[0].limit, rules[0].failures), (Some(Nanos::from_secs(1)), Share::percent(1.0)));
        let further: Vec<Rule> = options.rules[1..].iter().map(|rule| rule.of(OpId(0))).collect();
        assert_eq!(asked.scenario.further, further);
        assert!(matches!(behaviours.get(BehaviourId(0)).pace, Pace::Think(_)));
        let Action::Request(request) = &operations[0].groups[0][0].action else { panic!("a request") };
        let names: Vec<&str> = request.headers.iter().map(|h| &*h.name).collect();
        assert!(names.contains(&"x-a") && names.contains(&"content-type"), "{names:?}");
    }

    #[test]
    fn few_urls_are_an_operation_each_and_many_are_one() {
        let options = LoadOptions { rules: vec!["rate>=5".parse().unwrap()], ..LoadOptions::default() };
        let asked = of(&["h/a", "https://i/b", "http://h/c", "-m", "PUT"], &options).unwrap();
        let Scenario { operations, behaviours, rules, further, .. } = &asked.scenario;
        assert_eq!(asked.title, "Put1: PUT http://h/a, Put2: PUT https://i/b, Put3: PUT http://h/c");
        assert_eq!(
            (asked.base.as_str(), asked.ways.origins.as_slice()),
            ("http://h", &["https://i".to_owned()][..])
        );
        let origins = operations.iter().map(|operation| match &operation.groups[0][0].action {
            Action::Request(request) => request.origin,
            _ => panic!("a request"),
        });
        assert_eq!(origins.collect::<Vec<_>>(), [0, 1, 0]);
        let next = &behaviours.get(BehaviourId(0)).next;
        assert_eq!(next[..], [1, 2, 0].map(|op| Some(NextOp::Op(OpId(op)))));
        assert_eq!((rules.len(), further.len()), (3, 1), "a rule for each, one rate");
        let urls: Vec<String> = (0..21).map(|n| format!("h/{n}")).collect();
        let words: Vec<&str> = urls.iter().map(String::as_str).chain(["--order", "random"]).collect();
        let asked = of(&words, &options).unwrap();
        let [only] = asked.scenario.operations.as_slice() else { panic!("one operation") };
        assert_eq!((only.groups.len(), only.order), (21, Some(barograph_scenario::Order::Random)));
        assert_eq!(asked.title, "21 URLs, GET http://h/0 first");
    }

    #[test]
    fn a_line_that_is_no_url_is_told_with_its_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().display().to_string();
        let why = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            of(&["--urls", &path], &LoadOptions::default()).err().map(|why| why.why.to_string())
        };
        assert_eq!(why("# two\n\nGET http://h/\nh/x\n"), None);
        let told = why("http://h/\nGET ftp://h/\n").unwrap();
        assert_eq!(told, format!("read the URLs in `{path}`, line 2: unknown scheme `ftp`"));
        assert_eq!(why("# none\n").unwrap(), format!("read the URLs in `{path}`: it has none"));
    }

    #[test]
    fn a_body_is_the_bytes_of_any_file_up_to_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("body");
        let at = format!("@{}", file.display());
        let sent = |option: &str| {
            let scenario = of(&["http://h/", option, &at], &LoadOptions::default()).ok()?.scenario;
            let Action::Request(request) = &scenario.operations[0].groups[0][0].action else { return None };
            let kind = request.headers.iter().find(|h| *h.name == *"content-type")?.value.fixed()?.to_vec();
            let Some(Body::File(bytes)) = &request.body else { return None };
            Some((request.method, String::from_utf8(kind).ok()?, bytes.len()))
        };
        for (bytes, option, kind) in [
            (&b"{not a template}"[..], "--data", "text/plain; charset=utf-8"),
            (b"\x00\xff\r\n", "--data", "application/octet-stream"),
            (b"", "--data", "text/plain; charset=utf-8"),
            (b"\xef\xbb\xbf{\"a\": 1}", "--json-body", "application/json"),
        ] {
            std::fs::write(&file, bytes).unwrap();
            assert_eq!(sent(option), Some(("POST", kind.to_owned(), bytes.len())), "{bytes:?}");
        }
        let set = |length: usize| std::fs::File::create(&file).unwrap().set_len(length as u64).unwrap();
        set(MOST_BODY);
        assert_eq!(sent("--data").unwrap().2, MOST_BODY);
        set(MOST_BODY + 1);
        let why = of(&["http://h/", "--data", &at], &LoadOptions::default()).err().unwrap().why.to_string();
        assert!(why.ends_with("67108865 bytes, at most 67108864 are allowed"), "{why}");
    }

    #[test]
    fn expected_statuses_are_those_that_are_named() {
        let allowed = |words: &[&str]| {
            let all: Vec<&str> = ["http://h/"].iter().chain(words).copied().collect();
            let check =
                of(&all, &LoadOptions::default()).unwrap().scenario.operations[0].groups[0][0].check.clone();
            [200, 204, 302, 304, 404, 500].into_iter().filter(|s| check.allows(*s)).collect::<Vec<u16>>()
        };
        assert_eq!(allowed(&[]), [200, 204]);
        assert_eq!(allowed(&["--status", "2xx,302"]), [200, 204, 302]);
        assert_eq!(allowed(&["--status", "404", "--status", "5xx"]), [404, 500]);
    }

    #[test]
    fn every_option_changes_something() {
        let folder = tempfile::tempdir().unwrap();
        let pem = folder.path().join("ca.pem");
        std::fs::write(&pem, "a certificate").unwrap();
        let [certificate, key] =
            ["c.pem", "k.pem"].map(|name| folder.path().join(name).display().to_string());
        let urls = folder.path().join("urls").display().to_string();
        std::fs::write(&urls, "http://h/a\n").unwrap();
        let identity = Authority::new().unwrap().server().unwrap();
        std::fs::write(&certificate, identity.pem().concat()).unwrap();
        std::fs::write(&key, &identity.pem()[1]).unwrap();
        let rows: [(&str, &[&str]); 22] = [
            ("url", &["/path"]),
            ("urls", &["--urls", &urls]),
            ("order", &["http://h/b", "--order", "random"]),
            ("method", &["-m", "PUT"]),
            ("headers", &["-H", "a: b"]),
            ("data", &["--data", "x"]),
            ("json_body", &["--json-body", "1"]),
            ("status", &["--status", "404"]),
            ("connections", &["--connections", "new"]),
            ("http2", &["--http2"]),
            ("insecure", &["--insecure"]),
            ("ca", &["--ca", pem.to_str().unwrap()]),
            ("cert", &["--cert", &certificate]),
            ("key", &["--cert", &certificate, "--key", &key]),
            ("resolve", &["--resolve", "h:80:127.0.0.1"]),
            ("connect_to", &["--connect-to", "::127.0.0.1:"]),
            ("proxy", &["--proxy", "http://127.0.0.1:1"]),
            ("unix_socket", &["--unix-socket", "/run/x"]),
            ("source", &["--source", "127.0.0.2"]),
            ("redirects", &["--redirects", "3"]),
            ("follow", &["--follow"]),
            ("help", &[]),
        ];
        for argument in (ScenarioFiles { time_of_day: || Nanos::ZERO }).arguments().get_arguments() {
            let id = argument.get_id().as_str();
            assert!(rows.iter().any(|(known, _)| *known == id), "{id} has no row in this test");
        }
        let made = |path: &str, words: &[&str]| {
            let url = format!("http://h{path}");
            let words: Vec<&str> = [url.as_str()].iter().chain(words).copied().collect();
            let asked = of(&words, &LoadOptions::default()).unwrap();
            format!("{:?} {:?}", asked.scenario, asked.ways)
        };
        let usual = made("/", &[]);
        for (id, words) in rows.into_iter().filter(|(_, words)| !words.is_empty()) {
            let changed = if id == "url" { made(words[0], &[]) } else { made("/", words) };
            assert_ne!(changed, usual, "{id}");
        }
    }

    #[test]
    fn what_cannot_be_asked_for_says_why() {
        let why = |words: &[&str]| in_one_line(&*of(words, &LoadOptions::default()).err().unwrap().why);
        assert_eq!(
            why(&["ftp://h/"]),
            "read the URL `ftp://h/`: unknown scheme `ftp`; it is written as in http://127.0.0.1:8080/path"
        );
        assert!(why(&["http://a:b@h/"]).contains("-H 'Authorization: Basic ...'"));
        assert!(why(&["h", "--json-body", "{"]).starts_with("read the body as JSON (EOF while parsing"));
        assert!(
            why(&["h", "--data", "@/no/such"]).starts_with("read the body from `/no/such`: No such file")
        );
        let key = why(&["h", "--cert", "/dev/null"]);
        assert_eq!(key, "use the client certificate: `/dev/null`: there is no `BEGIN CERTIFICATE` in it");
        assert!(
            why(&["h", "--ca", "/no/such"]).starts_with("read the certificates in `/no/such`: No such file")
        );
    }
}
