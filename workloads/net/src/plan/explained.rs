//! The network part of a plan in words.

use barograph_model::words::{count, span};
use barograph_spec::{Plan, SettingsReader, WorkloadSettings, placed, there};

use super::{NetPlan, checked};
use crate::pattern::Pattern;

impl WorkloadSettings for NetPlan {
    fn check(&self, plan: &Plan, given: &mut SettingsReader) {
        checked::check(self, plan, given);
    }

    fn explain(&self, plan: &Plan) -> Vec<String> {
        let mut lines = vec![self.traffic(), self.sockets()];
        if self.run.verifies {
            lines.push(
                "          both ends compare the bytes that arrive with those that were sent".to_owned(),
            );
        }
        lines.push(match &plan.target.url {
            Some(url) => there(url, "nothing is deployed"),
            None => format!("target    a responder of this program {}", placed(&plan.deploy)),
        });
        lines
    }
}

impl NetPlan {
    /// What goes over the connections.
    pub(crate) fn traffic(&self) -> String {
        let run = &self.run;
        let bytes = |bytes: u32| match bytes {
            1 => "1 byte".to_owned(),
            bytes => format!("{} bytes", count(bytes.into())),
        };
        let what = match run.pattern {
            Pattern::To if run.datagrams => {
                format!("datagrams to the target, of {}", bytes(run.message))
            }
            Pattern::Request if run.datagrams => {
                format!(
                    "requests of {} and answers of {} in a datagram each",
                    bytes(run.request),
                    bytes(run.answer)
                )
            }
            Pattern::To => format!("streams to the target in messages of {}", bytes(run.message)),
            Pattern::From => format!("streams from the target in messages of {}", bytes(run.message)),
            Pattern::Both => format!(
                "streams in both directions of each connection, two users each, in messages of {}",
                bytes(run.message)
            ),
            Pattern::Request => {
                format!("requests of {} and answers of {}", bytes(run.request), bytes(run.answer))
            }
            Pattern::Connect => format!(
                "a connection for each request of {} and its answer of {}",
                bytes(run.request),
                bytes(run.answer)
            ),
        };
        let think = match self.think.0 {
            0 => String::new(),
            _ => format!("; {} after the one before", span(self.think)),
        };
        format!("traffic   {what}{think}")
    }

    /// Socket options and reads.
    fn sockets(&self) -> String {
        let run = &self.run;
        let buffer = |bytes: u32| match bytes {
            0 => "left to the system".to_owned(),
            bytes => format!("of {} bytes", count(bytes.into())),
        };
        let (send, receive) = (buffer(run.send_buffer), buffer(run.receive_buffer));
        if run.datagrams {
            return format!("sockets   send buffers {send}, receive buffers {receive}");
        }
        let delays = if run.delays { ", small writes wait for acknowledgements" } else { "" };
        let discards = if run.discards { ", which discard what arrives" } else { "" };
        let read = count(run.read.into());
        format!(
            "sockets   send buffers {send}, receive buffers {receive}{delays}; reads of {read} bytes{discards}"
        )
    }
}
