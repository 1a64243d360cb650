//! The page in Chromium: numbers change during the run, a lost connection recovers, the end is shown.

use std::path::Path;

use barograph_live::StudyPosition;
use barograph_model::{LoadUnit, Nanos, Phase};
use barograph_stats::search::{EdgeProgress, SearchProgress};
use barograph_test_browser::Browser;
use barograph_test_services as services;

use crate::run::{begun, second, trial};

const PROXY: &str = "
defaults
  mode http
  timeout connect 10s
  timeout client 90s
  timeout server 90s
frontend people
  bind 127.0.0.1:{port}
  default_backend page
backend page
  server only SERVER
";

#[tokio::test]
async fn figures_change_and_the_end_is_said() {
    let Some(browsers) = services::or_skip(services::browsers()) else { return };
    let page = begun();
    second(&page, 0, 200, 20);
    let viewer = Browser::open(&browsers, &page.url()).await;
    // Text is shown as text.
    viewer.shows("h1", "plans/<b>bold</b> & more").await;
    viewer.shows("#phase", "hold").await;
    let throughput = "#tiles > div:nth-child(2) dd";
    viewer.shows(throughput, "200operations/s").await;
    viewer.shows("#ops tbody tr td:nth-child(6) span", "40\u{a0}%").await;
    viewer.until("at('#ops tbody tr td:nth-child(4)').textContent.startsWith('p99 ')").await;
    // As everywhere else, and never rounded up to 100 %.
    let names = viewer.run("return [0.5, 0.999, 0.9999, 0.99999].map(quantile).join(' ')").await;
    assert_eq!(names, "p50 p99.9 p99.99 p99.999");
    assert_eq!(viewer.run("return document.querySelector('#s-trials').hidden").await, true);
    for n in 1..60 {
        second(&page, n, 400 + (n * 37) % 90, 40 + n % 15);
    }
    for (n, level, passed) in [(1, 4_000, true), (2, 6_000, false), (3, 5_000, true), (4, 5_500, false)] {
        trial(&page, n, level, passed);
    }
    let edge = EdgeProgress::Interval { low: 4_936.0, capacity: 5_200.0, high: Some(5_561.0) };
    page.so_far(&SearchProgress { unit: LoadUnit::Users, trials: 4, most_trials: 9, edge });
    viewer.shows("#sofar", "so far: capacity 4,930 to 5,570 users (95 %), trial 4 of at most 9").await;
    viewer.until("at('#levels rect')").await;
    viewer.shows("#tiles > div:nth-child(1) dd", "500users, 500 active").await;
    viewer.shows("#bracket", "highest that passed 5,000, lowest that failed 5,500 users").await;
    viewer.until("document.querySelectorAll('#trials tbody tr').length === 4").await;
    viewer.until("document.querySelectorAll('#parts tbody tr').length === 2").await;
    viewer.until("document.querySelectorAll('#uses tbody tr').length === 3").await;
    viewer.shows("#lines li:last-child", "trial 4 (search): 5500 users").await;
    // A curve of sixty points, and a rule that no longer holds.
    viewer.until("at('#rate path').getAttribute('d').split('L').length === 60").await;
    viewer.until("at('#ops .over .bad')").await;
    viewer.screenshot(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("live.png")).await;
    page.end(&["report  /there/report.html".to_owned()]);
    viewer.shows("#ended", "report  /there/report.html").await;
    viewer.shows("#phase", "ended").await;
    assert_eq!(viewer.run("return document.querySelector('#link').hidden").await, true);
    viewer.assert_no_complaints(&[]).await;
}

#[tokio::test]
async fn one_run_after_the_other_is_shown_without_loading_again() {
    let Some(browsers) = services::or_skip(services::browsers()) else { return };
    let page = begun();
    second(&page, 0, 200, 20);
    page.say("the first one ended well");
    let viewer = Browser::open(&browsers, &page.url()).await;
    viewer.shows("#run", "· run 20300317-174640-04f2").await;
    viewer.shows("#ops tbody td:nth-child(2)", "200").await;
    page.next("block 1, two", StudyPosition { words: "run 2 of 3".to_owned(), after: Nanos::from_secs(60) });
    viewer.shows("#run", "· run 2 of 3").await;
    viewer.shows("h1", "block 1, two").await;
    viewer.shows("#ops tbody th", "none has ended yet").await;
    viewer.shows("#lines li:last-child", "the first one ended well").await;
    page.phase(Phase::Hold, "500 users, measured");
    second(&page, 0, 400, 20);
    viewer.shows("#ops tbody td:nth-child(2)", "400").await;
    viewer
        .shows(
            "#clock",
            "25 % of the phase · 0:01 under load · at most 1:30 left, 2:30 with the runs after it",
        )
        .await;
    assert_eq!(viewer.run("return document.querySelector('#link').hidden").await, true);
    page.end(&["report  /there/study.html".to_owned()]);
    viewer.shows("#ended", "report  /there/study.html").await;
    viewer.assert_no_complaints(&[]).await;
}

#[tokio::test]
async fn a_lost_connection_is_shown_and_heals() {
    let Some(browsers) = services::or_skip(services::browsers()) else { return };
    let page = begun();
    second(&page, 0, 200, 20);
    let server = page.url().trim_start_matches("http://").trim_end_matches('/').to_owned();
    let proxy = services::haproxy(&PROXY.replace("SERVER", &server), &[]);
    let Some(mut proxy) = services::or_skip(proxy) else { return };
    let viewer = Browser::open(&browsers, &format!("http://127.0.0.1:{}/", proxy.port())).await;
    viewer.shows("#ops tbody td:nth-child(2)", "200").await;
    proxy.kill();
    viewer.until("!at('#link').hidden").await;
    second(&page, 1, 600, 20);
    proxy.restart();
    viewer.until("at('#link').hidden").await;
    viewer.shows("#ops tbody td:nth-child(2)", "400").await;
    viewer.assert_no_complaints(&["net::ERR_"]).await;
}
