//! Output of real runs, shortened to the relevant lines and a few around them, with some failures added. That
//! of fortio and wrk2 follows their documentation.

use super::*;

const WRK: &str = "Running 1s test @ http://127.0.0.1:18471/nothing
  1 threads and 4 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.37ms    5.18ms  36.42ms   93.89%
    Req/Sec    73.32k    13.37k   84.65k    81.82%
  Latency Distribution
     50%   45.00us
     75%   54.00us
     90%  686.00us
     99%   29.85ms
  79983 requests in 1.10s, 23.49MB read
  Non-2xx or 3xx responses: 79983
Requests/sec:  72736.88
Transfer/sec:     21.37MB
";

const H2LOAD: &str = "Stopped all clients for thread #0

finished in 1.00s, 74522.00 req/s, 89.83MB/s
requests: 74522 total, 74526 started, 74520 done, 74520 succeeded, 2 failed, 0 errored, 0 timeout
status codes: 74522 2xx, 0 3xx, 0 4xx, 0 5xx
                     min         max         mean         sd        +/- sd
time for request:       19us      4.53ms        53us        63us    98.99%
";

const K6: &str = r#"{"requests":17911,"requests_per_s":17895.393016156573,"failed_share":0,"p50_ms":0.129492,"p99_ms":0.8990236000000038}"#;

const FORTIO: &str = r#"{"RequestedQPS":"5000","ActualQPS":4999.1,"DurationHistogram":{"Count":25000,"Min":0.00005,
"Percentiles":[{"Percentile":50,"Value":0.0008},{"Percentile":99,"Value":0.0039}]},"RetCodes":{"200":24990,"503":10}}"#;

const OHA: &str = r#"{"summary":{"successRate":1.0,"total":1.002495754,"requestsPerSec":31167.214300241318},
"latencyPercentiles":{"p50":0.000062273,"p99":0.001816448},"statusCodeDistribution":{"200":31191,"404":50},
"errorDistribution":{"aborted due to deadline":4,"connection closed":3}}"#;

#[test]
fn wrk_with_refusals() {
    let reading = wrk(WRK).unwrap();
    let expected = ToolReport {
        requests: 79_983,
        requests_per_s: 72_736.88,
        failed: 79_983,
        p50_ms: Some(0.045),
        p99_ms: Some(29.85),
        ..ToolReport::default()
    };
    assert_eq!(reading, expected);
}

#[test]
fn wrk_with_broken_sockets_and_the_longer_names_of_wrk2() {
    let text = WRK
        .replace(
            "  Non-2xx or 3xx responses: 79983\n",
            "  Socket errors: connect 0, read 7, write 0, timeout 2\n",
        )
        .replace("     50%   45.00us", " 50.000%    1.24ms")
        .replace("     99%   29.85ms", " 99.000%    2.00s ");
    let reading = wrk(&text).unwrap();
    assert_eq!(reading.failed, 9);
    assert_eq!((reading.p50_ms, reading.p99_ms), (Some(1.24), Some(2_000.0)));
}

#[test]
fn h2load_has_no_quantiles() {
    let reading = h2load(H2LOAD).unwrap();
    let expected =
        ToolReport { requests: 74_520, requests_per_s: 74_522.0, failed: 2, ..ToolReport::default() };
    assert_eq!(reading, expected);
}

#[test]
fn json_of_k6_fortio_and_oha() {
    let reading = k6(K6).unwrap();
    assert_eq!((reading.requests, reading.failed, reading.p50_ms), (17_911, 0, Some(0.129492)));
    let reading = fortio(FORTIO).unwrap();
    assert_eq!((reading.requests, reading.failed, reading.p99_ms), (25_000, 10, Some(3.9)));
    let reading = oha(OHA).unwrap();
    assert_eq!((reading.requests, reading.failed, reading.p50_ms), (31_241, 53, Some(0.062273)));
}

#[test]
fn our_own_keys() {
    let text = r#"{"request":"GET /","requests":50000,"requests_per_s":10000.0,"errors":2,"p50_ms":0.1,"p99_ms":0.9,
        "lag_p99_ms":0.05,"cpu_us_per_request":9.5}"#;
    let expected = ToolReport {
        requests: 50_000,
        requests_per_s: 10_000.0,
        failed: 2,
        p50_ms: Some(0.1),
        p99_ms: Some(0.9),
        lag_p99_ms: Some(0.05),
        own_cpu_us: Some(9.5),
    };
    assert_eq!(barograph(text).unwrap(), expected);
    let unknown = text.replace("9.5", "null");
    assert_eq!(barograph(&unknown).unwrap().own_cpu_us, None);
}

#[test]
fn the_last_trial_of_a_record() {
    let text = r#"{"kind":"header","version":2}
{"kind":"trial","n":1,"window":{"from_s":0.0,"to_s":1.0,"requests_s":1.0}}
{"kind":"trial","n":2,"window":{"from_s":1.5,"to_s":6.5,"requests_s":20000.2,"lag_p99_ms":0.02,
"ops":[{"failed":3,"p50_ms":0.7,"p99_ms":1.5}]},"resources":{"driver_cpu_us_per_request":11.5}}
{"kind":"finished"}"#;
    // An entry is one line.
    let text = text.replace("0.02,\n", "0.02,");
    let expected = ToolReport {
        requests: 100_001,
        requests_per_s: 20_000.2,
        failed: 3,
        p50_ms: Some(0.7),
        p99_ms: Some(1.5),
        lag_p99_ms: Some(0.02),
        own_cpu_us: Some(11.5),
    };
    assert_eq!(record(&text).unwrap(), expected);
    assert!(record("{\"kind\":\"header\"}").unwrap_err().to_string().contains("no trial"));
}

#[test]
fn what_is_not_there_is_an_error_that_names_it() {
    for (said, words) in [
        (wrk("").unwrap_err(), "no line `N requests in`"),
        (h2load("finished in 1.00s").unwrap_err(), "no `req/s`"),
        (fortio("{}").unwrap_err(), "no number at /DurationHistogram/Count"),
        (oha(r#"{"errorDistribution":{"refused":3}}"#).unwrap_err(), "\"refused\":3"),
        (k6("level=error").unwrap_err(), "not JSON"),
        (barograph("{}").unwrap_err(), "no number at /requests"),
    ] {
        assert!(said.to_string().contains(words), "{said}");
    }
}
