//! The browser application: static files built into the program.

use axum::Router;
use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{Redirect, Response};
use axum::routing::get;
use barograph_auction_api::routes;
use sha2::{Digest, Sha256};

/// Content policy: pages load only from this server, run no inline scripts, and are not shown in frames.
const POLICY: &str =
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";
/// Names carry no version, so a browser sends a request each time and gets a 304 as long as nothing changed.
const CACHING: &str = "no-cache";

/// Content type of pages.
const HTML: &str = "text/html; charset=utf-8";
/// Content type of styles.
const CSS: &str = "text/css; charset=utf-8";
/// Content type of scripts.
const SCRIPT: &str = "text/javascript; charset=utf-8";
/// Content type of drawings.
const SVG: &str = "image/svg+xml";

/// One file of the application.
#[derive(Clone, Copy)]
struct File {
    /// Its path below `/ui/`; empty for the start page.
    name: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

/// All files of the application, each with its path.
const FILES: [File; 12] = [
    File { name: "", kind: HTML, bytes: include_bytes!("../../ui/index.html") },
    File { name: "account.js", kind: SCRIPT, bytes: include_bytes!("../../ui/account.js") },
    File { name: "api.js", kind: SCRIPT, bytes: include_bytes!("../../ui/api.js") },
    File { name: "app.css", kind: CSS, bytes: include_bytes!("../../ui/app.css") },
    File { name: "app.js", kind: SCRIPT, bytes: include_bytes!("../../ui/app.js") },
    File { name: "bidding.js", kind: SCRIPT, bytes: include_bytes!("../../ui/bidding.js") },
    File { name: "dom.js", kind: SCRIPT, bytes: include_bytes!("../../ui/dom.js") },
    File { name: "follow.js", kind: SCRIPT, bytes: include_bytes!("../../ui/follow.js") },
    File { name: "icon.svg", kind: SVG, bytes: include_bytes!("../../ui/icon.svg") },
    File { name: "items.js", kind: SCRIPT, bytes: include_bytes!("../../ui/items.js") },
    File { name: "lists.js", kind: SCRIPT, bytes: include_bytes!("../../ui/lists.js") },
    File { name: "sell.js", kind: SCRIPT, bytes: include_bytes!("../../ui/sell.js") },
];

/// Routes of the files below the application's base, without authentication.
pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    // Without its last slash the address would put relative names in the wrong place.
    let home = routes::ui();
    let router =
        Router::new().route(routes::UI.trim_end_matches('/'), get(async move || Redirect::permanent(&home)));
    FILES.iter().fold(router, |router, &file| {
        let tag = tag(file.bytes);
        let path = format!("{}{}", routes::UI, file.name);
        router.route(&path, get(async move |headers: HeaderMap| answer(file, &tag, &headers)))
    })
}

/// The entity tag of these bytes.
fn tag(bytes: &[u8]) -> HeaderValue {
    let sum = Sha256::digest(bytes);
    let number = sum.iter().take(8).fold(0_u64, |number, &byte| (number << 8) | u64::from(byte));
    HeaderValue::from_str(&format!("\"{number:016x}\"")).expect("quotes and hexadecimal digits are visible")
}

/// Whether the client has these bytes. A proxy that compresses makes the tag a weak one, which is as good
/// here.
fn knows(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let known =
        headers.get_all(IF_NONE_MATCH).iter().flat_map(|value| value.as_bytes().split(|&b| b == b','));
    known.map(<[u8]>::trim_ascii).any(|one| one.strip_prefix(b"W/").unwrap_or(one) == tag.as_bytes())
}

fn answer(file: File, tag: &HeaderValue, asked: &HeaderMap) -> Response {
    let known = knows(asked, tag);
    let mut response = Response::new(if known { Body::empty() } else { Body::from(file.bytes) });
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(file.kind));
    headers.insert(ETAG, tag.clone());
    for (name, value) in [
        (CACHE_CONTROL, CACHING),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use axum::http::Request;
    use tower::ServiceExt;

    use super::*;

    /// Limit of the whole application in bytes: it must load at once, even over a slow line.
    const MOST: usize = 60 * 1024;

    async fn ask(path: &str, known: Option<&HeaderValue>) -> Response {
        let mut request = Request::get(path);
        if let Some(tag) = known {
            request = request.header(IF_NONE_MATCH, tag);
        }
        router::<()>().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    #[tokio::test]
    async fn a_file_comes_with_its_type_and_policy_and_is_sent_once() {
        let first = ask("/ui/app.js", None).await;
        assert_eq!(first.status(), StatusCode::OK);
        assert_eq!(first.headers()[CONTENT_TYPE], SCRIPT);
        assert_eq!(first.headers()[CONTENT_SECURITY_POLICY], POLICY);
        let tag = first.headers()[ETAG].clone();
        assert!(!to_bytes(first.into_body(), MOST).await.unwrap().is_empty());

        let weak = HeaderValue::from_str(&format!("\"other\", W/{}", tag.to_str().unwrap())).unwrap();
        for known in [&tag, &weak] {
            let again = ask("/ui/app.js", Some(known)).await;
            assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
            assert_eq!(again.headers()[ETAG], tag);
            assert!(to_bytes(again.into_body(), MOST).await.unwrap().is_empty());
        }
        let other = HeaderValue::from_static("\"other\"");
        assert_eq!(ask("/ui/app.js", Some(&other)).await.status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn the_start_page_has_an_address_with_and_without_its_slash() {
        assert_eq!(ask("/ui/", None).await.headers()[CONTENT_TYPE], HTML);
        let moved = ask("/ui", None).await;
        assert_eq!(moved.status(), StatusCode::PERMANENT_REDIRECT);
        assert_eq!(moved.headers()["location"], "/auction/ui/");
        for nothing in ["/ui/index.html", "/ui/..", "/ui/%2e%2e/Cargo.toml", "/ui/app.js/"] {
            assert_eq!(ask(nothing, None).await.status(), StatusCode::NOT_FOUND, "{nothing}");
        }
    }

    #[test]
    fn every_file_of_the_folder_is_served_and_the_whole_is_small() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/ui");
        let mut there: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .map(|name| if name == "index.html" { String::new() } else { name })
            .collect();
        there.sort();
        assert_eq!(FILES.map(|file| file.name.to_owned()).to_vec(), there);
        let bytes: usize = FILES.iter().map(|file| file.bytes.len()).sum();
        assert!(bytes <= MOST, "{bytes} bytes");
    }

    #[test]
    fn nothing_comes_from_elsewhere_and_no_script_stands_in_the_page() {
        for file in FILES {
            let text = std::str::from_utf8(file.bytes).unwrap().replace("http://www.w3.org/2000/svg", "");
            assert!(!text.contains("://"), "{} names another server", file.name);
            if file.kind == HTML {
                let scripts = text.matches("<script").count();
                assert_eq!(text.matches("<script type=\"module\" src=\"app.js\"></script>").count(), scripts);
                assert!(!text.contains("<style") && !text.contains("style="));
            }
        }
    }
}
