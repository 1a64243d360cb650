//! Texts of the kernel, of both versions.

use std::time::Duration;

use super::*;

fn usage(files: &[(&str, &str)]) -> Usage {
    let mut usage = Usage::default();
    for (file, text) in files {
        usage.take_in(file, text);
    }
    usage
}

fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

#[test]
fn the_files_of_version_2_are_read() {
    let seen = usage(&[
        (
            "cpu.stat",
            "usage_usec 5250000\nuser_usec 4000000\nsystem_usec 1250000\nnice_usec 0\ncore_sched.force_idle_usec 0\n\
             nr_periods 52\nnr_throttled 17\nthrottled_usec 930512\nnr_bursts 0\nburst_usec 0\n",
        ),
        ("memory.current", "104857600\n"),
        ("memory.peak", "209715200\n"),
        ("memory.stat", "anon 73400320\nfile 29360128\nkernel 1048576\nfile_mapped 4096\n"),
        ("memory.events", "low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\noom_group_kill 0\n"),
        (
            "io.stat",
            "254:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n\
             259:1 rbytes=1000 wbytes=24 rios=1 wios=1 dbytes=5 dios=1\n7:0 \n",
        ),
        ("pids.current", "23\n"),
        ("cpu.pressure", "some avg10=1.50 avg60=0.70 avg300=0.10 total=123456\n"),
        (
            "memory.pressure",
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
        ),
    ]);
    let expected = Usage {
        cpu: Some(Cpu { total: us(5_250_000), user: Some(us(4_000_000)), system: Some(us(1_250_000)) }),
        throttling: Some(Throttling { periods: 52, throttled: 17, time: us(930_512) }),
        memory: Some(Memory {
            current: Some(104_857_600),
            peak: Some(209_715_200),
            cache: Some(29_360_128),
            out_of_memory_kills: Some(1),
        }),
        io: Some(Io { read_bytes: 5_096, written_bytes: 8_216 }),
        pids: Some(23),
        pressure: Pressures {
            cpu: Some(Pressure { some: us(123_456), full: None }),
            memory: Some(Pressure { some: us(7), full: Some(us(5)) }),
            io: None,
        },
    };
    assert_eq!(seen, expected);
}

#[test]
fn the_files_of_version_1_are_read() {
    let seen = usage(&[
        ("cpuacct.usage", "713810000\n"),
        ("cpuacct.usage_user", "613810000\n"),
        ("cpuacct.usage_sys", "100000000\n"),
        ("cpu.stat", "nr_periods 30\nnr_throttled 29\nthrottled_time 2100000000\nnr_bursts 0\n"),
        ("memory.usage_in_bytes", "65536\n"),
        ("memory.max_usage_in_bytes", "131072\n"),
        ("memory.stat", "cache 4096\nrss 8192\ntotal_cache 12288\ntotal_rss 8192\n"),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"),
        (
            "blkio.throttle.io_service_bytes_recursive",
            "254:0 Read 100\n254:0 Write 200\n254:0 Sync 300\n254:0 Total 300\n7:0 Read 1\nTotal 301\n",
        ),
    ]);
    let cpu = seen.cpu.unwrap();
    assert_eq!((cpu.total, cpu.user, cpu.system), (us(713_810), Some(us(613_810)), Some(us(100_000))));
    let throttling = seen.throttling.unwrap();
    assert_eq!((throttling.periods, throttling.throttled, throttling.time), (30, 29, us(2_100_000)));
    let memory = seen.memory.unwrap();
    assert_eq!((memory.current, memory.peak, memory.cache), (Some(65_536), Some(131_072), Some(12_288)));
    assert_eq!(memory.out_of_memory_kills, Some(3));
    assert_eq!(seen.io, Some(Io { read_bytes: 101, written_bytes: 200 }));
}

#[test]
fn on_a_hybrid_machine_each_figure_comes_from_one_place() {
    // Version 2 without its controller has times and no waits; version 1 has the waits.
    let seen = usage(&[
        ("cpu.stat", "usage_usec 100\nuser_usec 60\nsystem_usec 40\nnice_usec 0\n"),
        ("cpu.stat", "nr_periods 5\nnr_throttled 2\nthrottled_time 3000\n"),
        ("cpuacct.usage", "999000\n"),
        ("cpuacct.usage_user", "999000\n"),
    ]);
    assert_eq!(seen.cpu, Some(Cpu { total: us(100), user: Some(us(60)), system: Some(us(40)) }));
    assert_eq!(seen.throttling, Some(Throttling { periods: 5, throttled: 2, time: us(3) }));
}

#[test]
fn strange_texts_say_nothing() {
    let seen = usage(&[
        ("cpu.stat", "usage_usec\nuser_usec x\n\n"),
        ("memory.current", "max\n"),
        ("memory.stat", ""),
        ("cpu.pressure", "none\n"),
        ("pids.current", "-1\n"),
        ("no.such.file", "1\n"),
    ]);
    assert_eq!(seen, Usage::default());
}
