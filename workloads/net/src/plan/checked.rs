//! Refusals of conflicting keys, and of keys without effect, which would be taken for measured.

use barograph_spec::{Plan, SettingsReader};

use super::{NetPlan, host_and_port};
use crate::pattern::Pattern;

/// Refuses conflicts, and keys without effect in this plan.
pub(super) fn check(own: &NetPlan, plan: &Plan, g: &mut SettingsReader) {
    let pattern = own.run.pattern;
    sizes(pattern, g);
    if own.run.datagrams {
        datagrams(own, g);
    }
    if own.rules.limit.is_none() {
        g.refuse_asked("net.quantile", "left out with net.limit_ms = 0", "leave it out, or set net.limit_ms");
    }
    if own.run.verifies && own.run.discards {
        let allowed = "\"copy\" with net.verify = true: what is discarded cannot be compared";
        g.refuse("net.receive", "\"discard\"", allowed, "leave one of the two out");
    }
    if plan.open.is_some() && pattern.target_streams() {
        let allowed = "\"to\", \"request\" or \"connect\" at a rate: the target streams as fast as it can";
        g.refuse("net.pattern", format!("{:?}", pattern.name()), allowed, "set load.unit = \"users\"");
    }
    if pattern == Pattern::Both && plan.most_users() % 2 == 1 {
        let allowed =
            "an even number with net.pattern = \"both\": a connection has a user for each direction";
        g.refuse("load.users", plan.most_users(), allowed, "round it");
    }
    if plan.driver.count > 1 {
        let allowed = "1: each driver would count the processor time and packets of the target";
        g.refuse("driver.count", plan.driver.count, allowed, "set driver.workers for more threads");
    }
    let url = plan.target.url.as_deref().filter(|url| !url.starts_with("load:"));
    if let Some((url, why)) = url.and_then(|url| Some((url, host_and_port(url).err()?))) {
        let allowed = format!("the address of a responder, as in net://192.0.2.1:5380 ({why})");
        g.refuse("target.url", format!("{url:?}"), &allowed, "correct it");
    }
}

fn sizes(pattern: Pattern, g: &mut SettingsReader) {
    let needs = [
        ("net.message_bytes", pattern.is_stream(), "\"to\", \"from\" or \"both\""),
        ("net.request_bytes", !pattern.is_stream(), "\"request\" or \"connect\""),
        ("net.answer_bytes", !pattern.is_stream(), "\"request\" or \"connect\""),
    ];
    for (key, is_used, patterns) in needs {
        if !is_used {
            let allowed = format!("only with net.pattern = {patterns}");
            g.refuse_asked(key, &allowed, "leave it out, or set net.pattern");
        }
    }
}

/// Refuses what datagrams do not have.
fn datagrams(own: &NetPlan, g: &mut SettingsReader) {
    let pattern = own.run.pattern;
    if !matches!(pattern, Pattern::To | Pattern::Request) {
        let allowed = "\"to\" or \"request\" with net.protocol = \"udp\"";
        g.refuse(
            "net.pattern",
            format!("{:?}", pattern.name()),
            allowed,
            "choose one, or leave net.protocol out",
        );
    }
    for key in ["net.nodelay", "net.read_bytes", "net.receive", "net.verify"] {
        g.refuse_asked(key, "only with net.protocol = \"tcp\"", "leave one of the two out");
    }
}
