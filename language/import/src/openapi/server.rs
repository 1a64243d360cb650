//! Addresses of calls: servers of the document, of paths and operations, and `--target`.

use serde_json::Value;

use super::calls::Call;

/// Default address of a service.
const UNKNOWN: &str = "http://127.0.0.1:8080";

/// The target, and the addresses of all calls.
pub(super) struct Servers {
    /// The URL of the target.
    pub(super) url: String,
    pub(super) remarks: Vec<String>,
    /// By call: the prefix of its path, and its origin in the document if it differs.
    pub(super) calls: Vec<(String, Option<String>)>,
}

/// Origin and path of a server.
#[derive(Clone, Debug, Default, PartialEq)]
struct Server {
    origin: Option<String>,
    base: String,
}

/// Chooses one target for all calls. `url` takes precedence over hosts in the document.
pub(super) fn servers(document: &Value, calls: &[Call<'_>], url: Option<&str>) -> Servers {
    let mut remarks = Vec::new();
    let own: Vec<Option<Server>> =
        calls.iter().map(|call| call.servers.and_then(|list| chosen(list, &mut Vec::new()))).collect();
    let listed = document.get("servers").filter(|list| list.as_array().is_some_and(|list| !list.is_empty()));
    let all = listed.and_then(|list| chosen(list, &mut remarks));
    let all = all.or_else(|| own.iter().flatten().next().cloned()).unwrap_or_default();
    let places: Vec<&Server> = own.iter().map(|server| server.as_ref().unwrap_or(&all)).collect();
    let is_one_base = places.iter().all(|place| place.base == all.base);
    let base = if is_one_base { all.base.as_str() } else { "" };
    let (url, said) = target(&all, (url, base));
    remarks.push(said);
    let of = |place: &&Server| {
        let before = if is_one_base { String::new() } else { place.base.clone() };
        (before, place.origin.clone().filter(|origin| Some(origin) != all.origin.as_ref()))
    };
    Servers { url, remarks, calls: places.iter().map(of).collect() }
}

/// The URL of the target, and a remark on its origin.
fn target(all: &Server, (url, base): (Option<&str>, &str)) -> (String, String) {
    let Some(url) = url else {
        let origin = all.origin.as_deref();
        let said = match origin {
            Some(origin) => format!("Target: {origin}{base}, as the document says."),
            None => format!(
                "Target: the document names no host. Edit: put the service's own in place of {UNKNOWN}."
            ),
        };
        return (format!("{}{base}", origin.unwrap_or(UNKNOWN)), said);
    };
    let has_path = crate::address::address(url).is_some_and(|address| address.path != "/");
    match base {
        "" => (url.to_owned(), format!("Target: {url}, as `--target` says.")),
        _ if has_path => {
            let said = format!("Target: {url}, as `--target` says; the document's own path is {base}.");
            (url.to_owned(), said)
        }
        base => {
            let url = format!("{}{base}", url.trim_end_matches('/'));
            let said = format!("Target: {url}, the host as `--target` says, the path as the document says.");
            (url, said)
        }
    }
}

/// The first of several servers with a host, or else the first.
fn chosen(list: &Value, remarks: &mut Vec<String>) -> Option<Server> {
    let listed: Vec<&Value> = list.as_array()?.iter().collect();
    let mut read: Vec<(Server, Vec<String>)> = listed.iter().filter_map(|server| server_of(server)).collect();
    if read.is_empty() {
        return None;
    }
    let at = read.iter().position(|(server, _)| server.origin.is_some()).unwrap_or(0);
    let (server, said) = read.swap_remove(at);
    remarks.extend(said);
    if listed.len() > 1 {
        remarks.push(format!("The document names {} servers; one is the target.", listed.len()));
    }
    Some(server)
}

/// A server with the defaults of its variables, and remarks on these.
fn server_of(server: &Value) -> Option<(Server, Vec<String>)> {
    let (text, mut said) = (server.get("url")?.as_str()?, Vec::new());
    let mut url = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        let variable = server.get("variables").and_then(|all| all.get(name));
        let proposed = variable.and_then(|v| v.get("default").or_else(|| v.get("enum")?.get(0)));
        let value = match proposed {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => "1".to_owned(),
        };
        said.push(format!("`{{{name}}}` of the server `{text}` is \"{value}\" here."));
        url.push_str(before);
        url.push_str(&value);
        rest = after;
    }
    url.push_str(rest);
    parsed(&url).map(|server| (server, said))
}

/// Parses an address. One without a host is a path on the host of the document.
fn parsed(text: &str) -> Option<Server> {
    let text = text.trim();
    let first = text.split('/').next().unwrap_or("");
    let whole = match text {
        _ if text.starts_with("//") => format!("https:{text}"),
        _ if text.contains("://") => text.to_owned(),
        // A host without its scheme.
        _ if first.starts_with("localhost") || first.contains(['.', ':']) && !first.starts_with('.') => {
            format!("http://{text}")
        }
        _ => format!("http://x/{}", text.trim_start_matches(['.', '/'])),
    };
    let has_host = !whole.starts_with("http://x/");
    let address = crate::address::address(&whole)?;
    Some(Server {
        base: address.path.trim_end_matches('/').to_owned(),
        origin: has_host.then_some(address.origin),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read_with_the_defaults_of_their_variables() {
        for (server, origin, base) in [
            (r#"{"url":"/api/v3"}"#, None, "/api/v3"),
            (r#"{"url":"https://a.example:8443/v1/"}"#, Some("https://a.example:8443"), "/v1"),
            (r#"{"url":"//a.example/v 1"}"#, Some("https://a.example"), "/v%201"),
            (r#"{"url":"localhost:3000"}"#, Some("http://localhost:3000"), ""),
            (r#"{"url":"api.example.com/x"}"#, Some("http://api.example.com"), "/x"),
            (r#"{"url":"./v1"}"#, None, "/v1"),
            (r#"{"url":"/"}"#, None, ""),
            (
                r#"{"url":"{s}://h:{port}/{v}","variables":{"s":{"default":"https"},"port":{"default":1,"enum":[1]},"v":{"enum":["v2"]}}}"#,
                Some("https://h:1"),
                "/v2",
            ),
        ] {
            let read = server_of(&serde_json::from_str(server).unwrap()).unwrap().0;
            assert_eq!((read.origin.as_deref(), read.base.as_str()), (origin, base), "{server}");
        }
        for none in [r#"{"url":"ws://a/"}"#, r#"{"url":"http://"}"#, r#"{}"#] {
            assert!(server_of(&serde_json::from_str(none).unwrap()).is_none(), "{none}");
        }
    }
}
