//! Known texts of `/proc`, and malformed ones.

use super::*;

const STAT: &str = "cpu  100 20 30 4000 50 6 7 8 9 10\ncpu0 50 10 15 2000 25 3 3 4 0 0\n\
    cpu1 50 10 15 2000 25 3 4 4 0 0\nintr 5 0\nctxt 99\n";

#[test]
fn cpu_times_add_nice_and_soft_interrupts_and_never_guests() {
    let ms = Nanos::from_millis;
    let times = cpu_times(STAT, 100).unwrap();
    let wanted = CpuTimes {
        user: ms(1200),
        system: ms(300),
        idle: ms(40_000),
        iowait: ms(500),
        irq: ms(130),
        steal: ms(80),
    };
    assert_eq!(times, wanted);
    assert_eq!(cores(STAT), 2);
}

#[test]
fn broken_cpu_lines_are_refused() {
    for text in
        ["", "cpu", "cpu  1 2 3", "cpu  1 2 x 4 5 6 7 8", "cpu0 1 2 3 4 5 6 7 8", "cpu  -1 2 3 4 5 6 7 8"]
    {
        assert_eq!(cpu_times(text, 100), None, "{text:?}");
    }
    assert_eq!(ticks(u64::MAX, 0), Nanos::MAX, "a clock of no ticks must not divide by zero");
}

#[test]
fn memory_needs_total_and_available() {
    let text = "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:   400 kB\nCached:  10 kB\nSwapCached: 7 kB\n\
        SwapTotal: 30 kB\nSwapFree: 20 kB\n";
    let wanted = Memory {
        total_bytes: 1_024_000,
        available_bytes: 409_600,
        cached_bytes: 10_240,
        swap_used_bytes: 10_240,
    };
    assert_eq!(memory(text), Some(wanted));
    for text in
        ["", "MemTotal: 1000 kB\n", "MemTotal: many kB\nMemAvailable: 1 kB", "MemTotal:\nMemAvailable:"]
    {
        assert_eq!(memory(text), None, "{text:?}");
    }
}

#[test]
fn loopback_is_kept_apart_and_the_others_are_added() {
    let head = "Inter-|   Receive  | Transmit\n face |bytes packets ...\n";
    let text = format!(
        "{head}    lo: 10 1 0 0 0 0 0 0 20 2 0 0 0 0 0 0\n  eth0: 100 5 0 3 0 0 0 0 200 6 0 4 0 0 0 0\n\
         eth1:7 1 0 0 0 0 0 0 8 1 0 0 0 0 0 0\n"
    );
    let (loopback, others) = network(&text).unwrap();
    assert_eq!((loopback.received_bytes, loopback.sent_bytes, loopback.dropped_packets), (10, 20, 0));
    assert_eq!((others.received_bytes, others.sent_bytes), (107, 208));
    assert_eq!((others.received_packets, others.sent_packets, others.dropped_packets), (6, 7, 7));
    assert_eq!(network(&format!("{head} lo: 1 2 3")), None);
    assert_eq!(network(&format!("{head} no colon here")), None);
}

#[test]
fn disks_count_whole_ones_once() {
    let text = "   8       0 sda 10 1 16 5 20 2 32 6 0 70 11 0 0 0 0 0 0\n   \
        8       1 sda1 10 1 16 5 20 2 32 6 0 70 11 0 0 0 0 0 0\n   7 0 loop0 9 9 9 9 9 9 9 9 9 9 9\n";
    let whole = ["sda".to_owned()];
    let wanted = DiskTotals {
        reads: 10,
        writes: 20,
        read_bytes: 16 * 512,
        written_bytes: 32 * 512,
        busy: Nanos::from_millis(70),
    };
    assert_eq!(disks(text, &whole), Some(wanted));
    assert_eq!(disks("", &whole), Some(DiskTotals::default()), "a machine without disks is fine");
    assert_eq!(disks("8 0 sda 1 2 3", &whole), None);
}

#[test]
fn retransmits_are_found_by_name() {
    let text = "Ip: Forwarding\nIp: 1\nTcp: ActiveOpens OutSegs RetransSegs InErrs\nTcp: 1 500 17 0\n";
    assert_eq!(tcp_retransmits(text), Some(17));
    for text in ["", "Tcp: RetransSegs\n", "Tcp: Other\nTcp: 1\n", "Tcp: A RetransSegs\nTcp: 1\n"] {
        assert_eq!(tcp_retransmits(text), None, "{text:?}");
    }
}

#[test]
fn pressure_is_a_share_and_a_time() {
    let text = "some avg10=12.50 avg60=0.73 avg300=1.85 total=2000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
    let got = pressure(text).unwrap();
    assert_eq!((got.avg10, got.stalled), (Share::percent(12.5), Nanos(2_000_000)));
    for text in
        ["", "full avg10=1.0 total=1", "some avg10=900 total=1", "some avg10=1.0", "some avg10= total=4"]
    {
        assert_eq!(pressure(text), None, "{text:?}");
    }
}

#[test]
fn a_process_name_may_look_like_fields() {
    let text = "42 (a) b) S 1 2) R 1 42 42 0 -1 4194304 101 0 0 0 250 50 7 7 20 0 13 0 119573 3133440 384\n";
    let got = process_stat(text, 100).unwrap();
    assert_eq!((got.state, got.threads), ('R', 13));
    assert_eq!((got.user, got.system), (Nanos::from_millis(2500), Nanos::from_millis(500)));
    for text in ["", "42 name S 1", "42 (a) S 1 2 3", "42 (a)"] {
        assert_eq!(process_stat(text, 100), None, "{text:?}");
    }
}

#[test]
fn pages_and_context_switches() {
    assert_eq!(resident_pages("1000 250 30 4 0 5 0\n"), Some(250));
    assert_eq!(resident_pages("1000"), None);
    let text = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
    assert_eq!(context_switches(text), Some((12, 3)));
    assert_eq!(context_switches("voluntary_ctxt_switches:\t12\n"), None);
}

#[test]
fn run_delay_is_the_second_figure() {
    assert_eq!(run_delay("123 456 7\n"), Some(456));
    assert_eq!(run_delay("123\n"), None);
    assert_eq!(run_delay("0 0 0\n"), Some(0));
}
