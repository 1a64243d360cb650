//! Figures for Prometheus.

use axum::http::Method;

use super::*;

async fn figures(site: &Site) -> String {
    let reply = site.ask(Method::GET, "/auction/metrics", None).await;
    assert_eq!(reply.kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    String::from_utf8(reply.bytes.to_vec()).unwrap()
}

fn value(figures: &str, name: &str) -> f64 {
    let line = figures.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in\n{figures}")).parse().unwrap()
}

#[tokio::test]
async fn requests_are_counted_by_route_verb_and_class() {
    let site = Site::start().await;
    let guest = site.guest(2).await;
    for id in [1, 2, 99] {
        guest.get(&format!("/auction/item/{id}")).await;
    }
    site.ask(Method::PATCH, "/auction/item/1", None).await;
    site.ask(Method::GET, "/auction/item/1", None).await;
    site.ask(Method::GET, "/nowhere", None).await;
    let text = figures(&site).await;
    let item = |verb: &str, class: &str| {
        format!("auction_requests_total{{route=\"/auction/item/{{id}}\",verb=\"{verb}\",status=\"{class}\"}}")
    };
    assert_eq!(value(&text, &item("GET", "2xx")), 2.0);
    assert_eq!(value(&text, &item("GET", "4xx")), 2.0);
    assert_eq!(value(&text, &item("other", "4xx")), 1.0);
    let nowhere = "auction_requests_total{route=\"other\",verb=\"GET\",status=\"4xx\"}";
    assert_eq!(value(&text, nowhere), 1.0);
    let login = "auction_request_seconds_count{route=\"/auction/login\"}";
    assert_eq!(value(&text, login), 1.0);
    let all = "auction_request_seconds_bucket{le=\"+Inf\",route=\"/auction/login\"}";
    assert_eq!(value(&text, all), 1.0);
    assert_eq!(value(&text, "auction_cache_hits_total{cache=\"sessions\"}"), 3.0);
    assert_eq!(value(&text, "auction_owned"), 2.0);
    assert_eq!(value(&text, "auction_ready"), 1.0);
}

#[tokio::test]
async fn the_text_is_whole_and_names_each_figure_once() {
    let site = Site::start().await;
    site.guest(2).await.bid(1, 1, 20_100).await;
    let text = figures(&site).await;
    assert!(text.ends_with("# EOF\n"), "{text}");
    let mut names: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("# TYPE ")).collect();
    let before = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), before, "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("auction_")), "{names:?}");
    let decided = "auction_bids_decided_total{result=\"accepted\"}";
    assert!(value(&text, decided) <= 1.0);
}
