//! Reading, refusing and explaining `[net]`.

use super::*;
use crate::tests::{plan, refusals};

#[test]
fn an_empty_plan_is_a_stream_to_a_deployed_responder() {
    let plan = plan("");
    let NetPlan { run, think, rules } = NetPlan::of(&plan).clone();
    assert_eq!((run.pattern, run.message, run.read), (Pattern::To, 131_072, 131_072));
    assert_eq!((run.send_buffer, run.receive_buffer, run.delays), (0, 0, true));
    assert!(!NetPlan::of(&crate::tests::plan("net.pattern = \"request\"\n")).run.delays);
    assert_eq!((think, rules.limit, rules.least_gbit), (Nanos::ZERO, None, 0.0));
}

#[test]
fn a_resolved_plan_reads_back_to_the_same() {
    let text = "load.users = 4\n[net]\npattern = \"both\"\nmessage_bytes = 256\nread_bytes = 4096\nsend_buffer_bytes = 8192\n\
                receive_buffer_bytes = 65536\nnodelay = true\nverify = true\nthink_ms = 0.5\nlimit_ms = 2.0\n\
                quantile = 0.95\nleast_gbit_per_s = 1.5\n";
    let first = plan(text);
    let again = barograph_spec::read(barograph_spec::Catalogue::of(&[&Net]), "again", &first.resolved, &[]);
    assert_eq!(NetPlan::of(&again.unwrap()), NetPlan::of(&first));
    let own = NetPlan::of(&first);
    assert_eq!((own.run.message, own.run.read, own.run.send_buffer), (256, 4_096, 8_192));
    assert_eq!((own.rules.least_gbit, own.rules.limit), (1.5, Some(Nanos::from_millis(2))));
}

#[test]
fn what_does_not_go_together_is_refused_with_the_way_out() {
    let refused = |text: &str, key: &str, part: &str| {
        let why = refusals(text);
        assert!(why.contains(&format!("`{key}`")) && why.contains(part), "{text}: {why}");
    };
    refused("[net]\nrequest_bytes = 5\n", "net.request_bytes", "only with net.pattern");
    refused("[net]\npattern = \"request\"\nmessage_bytes = 5\n", "net.message_bytes", "\"both\"");
    refused("[net]\nverify = true\nreceive = \"discard\"\n", "net.receive", "cannot be compared");
    refused("[net]\nquantile = 0.5\n", "net.quantile", "left out with net.limit_ms = 0");
    refused("[net]\nmessage_bytes = 0\n", "net.message_bytes", "1");
    refused(
        "load.strategy = \"fixed\"\nload.unit = \"rate\"\nload.rate = 5\nnet.pattern = \"from\"\n",
        "net.pattern",
        "at a rate",
    );
    refused(
        "load.strategy = \"fixed\"\nload.users = 3\nnet.pattern = \"both\"\n",
        "load.users",
        "even number",
    );
    refused("[net]\nprotocol = \"udp\"\npattern = \"from\"\n", "net.pattern", "\"to\" or \"request\"");
    refused("[net]\nprotocol = \"udp\"\nverify = true\n", "net.verify", "only with net.protocol");
    refused("[net]\nprotocol = \"udp\"\nmessage_bytes = 23\n", "net.message_bytes", "24");
    refused("[net]\nprotocol = \"udp\"\nmessage_bytes = 65508\n", "net.message_bytes", "65507");
    refused("driver.count = 2\n", "driver.count", "each driver would count");
    refused("target.url = \"http://h:1\"\n", "target.url", "scheme is not net");
    refused("target.url = \"net://h\"\n", "target.url", "no port");
}

#[test]
fn a_plan_is_told_in_words() {
    let told = |text: &str| NetPlan::of(&plan(text)).explain(&plan(text)).join("\n");
    assert_eq!(
        told("target.url = \"net://192.0.2.1:5380\"\nnet.verify = true\n"),
        "traffic   streams to the target in messages of 131,072 bytes\n\
         sockets   send buffers left to the system, receive buffers left to the system, small writes wait for acknowledgements; reads of 131,072 bytes\n\
         \x20         both ends compare the bytes that arrive with those that were sent\n\
         target    net://192.0.2.1:5380, which is there already: nothing is deployed"
    );
    let of =
        told("[net]\npattern = \"request\"\nanswer_bytes = 100\nsend_buffer_bytes = 8192\nthink_ms = 2\n");
    assert!(of.contains("requests of 1 byte and answers of 100 bytes; 2 ms after the one before"), "{of}");
    assert!(of.contains("send buffers of 8,192 bytes"), "{of}");
    let of = told("[net]\nprotocol = \"udp\"\n");
    assert!(
        of.starts_with("traffic   datagrams to the target, of 1,448 bytes\nsockets   send buffers left"),
        "{of}"
    );
    let of = told("[net]\nprotocol = \"udp\"\npattern = \"request\"\n");
    assert!(
        of.starts_with("traffic   requests of 24 bytes and answers of 24 bytes in a datagram each\n"),
        "{of}"
    );
}
