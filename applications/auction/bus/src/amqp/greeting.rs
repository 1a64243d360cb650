//! The exchange before messages flow: login, declaration of the exchange, declaration of the queue.

use amq_protocol::protocol::{AMQPClass, basic, channel, connection, exchange, queue};
use amq_protocol::types::{AMQPValue, FieldTable};
use tokio::io::AsyncWriteExt;

use super::{ALL, CHANNEL, Handshake, Rabbit, inbox};
use crate::bounds::{FRAME_BYTES, HEARTBEAT_SECONDS, PREFETCH};
use crate::codec::LinkError;
use crate::url::Server;

/// The first bytes of every AMQP 0.9.1 connection.
const PROTOCOL: &[u8] = b"AMQP\0\0\x09\x01";

/// Default user of RabbitMQ, accepted on its own machine only.
const GUEST: &str = "guest";

/// The shortest maximum of frames that AMQP allows a server to request.
const LEAST_FRAME_BYTES: u32 = 4096;

/// Properties of the server.
pub(super) struct ServerGreeting {
    /// Product and version.
    pub(super) server: String,
    /// The longest frame that it takes.
    pub(super) frame_bytes: usize,
}

/// Opens the connection.
pub(super) async fn greet(talk: &mut Handshake, server: &Server) -> Result<ServerGreeting, LinkError> {
    talk.stream.write_all(PROTOCOL).await?;
    let AMQPClass::Connection(connection::AMQPMethod::Start(start)) = talk.hear().await? else {
        return Err(unexpected("start"));
    };
    let user = server.user.as_deref().unwrap_or(GUEST);
    let password = server.password.as_deref().unwrap_or(if server.user.is_none() { GUEST } else { "" });
    let start_ok = connection::StartOk {
        client_properties: ourselves(),
        mechanism: "PLAIN".into(),
        response: format!("\0{user}\0{password}").into(),
        locale: "en_US".into(),
    };
    talk.say(0, AMQPClass::Connection(connection::AMQPMethod::StartOk(start_ok))).await?;
    let AMQPClass::Connection(connection::AMQPMethod::Tune(tune)) = talk.hear().await? else {
        return Err(unexpected("tune"));
    };
    // 0 means "no limit".
    let offered = if tune.frame_max == 0 { FRAME_BYTES } else { tune.frame_max };
    let frame_bytes = offered.clamp(LEAST_FRAME_BYTES, FRAME_BYTES);
    let tune_ok = connection::TuneOk {
        channel_max: tune.channel_max,
        frame_max: frame_bytes,
        heartbeat: HEARTBEAT_SECONDS,
    };
    talk.say(0, AMQPClass::Connection(connection::AMQPMethod::TuneOk(tune_ok))).await?;
    let vhost = if server.vhost.is_empty() { "/" } else { &server.vhost };
    let open = connection::Open { virtual_host: vhost.into() };
    talk.say(0, AMQPClass::Connection(connection::AMQPMethod::Open(open))).await?;
    match talk.hear().await? {
        AMQPClass::Connection(connection::AMQPMethod::OpenOk(_)) => {
            Ok(ServerGreeting { server: name(&start.server_properties), frame_bytes: frame_bytes as usize })
        }
        _ => Err(unexpected("open-ok")),
    }
}

/// Declares exchange and queue, and subscribes.
pub(super) async fn subscribe(talk: &mut Handshake, rabbit: &Rabbit) -> Result<(), LinkError> {
    ask(talk, AMQPClass::Channel(channel::AMQPMethod::Open(channel::Open {}))).await?;
    let exchange = exchange::Declare {
        exchange: rabbit.exchange.as_str().into(),
        kind: "topic".into(),
        passive: false,
        durable: false,
        auto_delete: true,
        internal: false,
        nowait: false,
        arguments: FieldTable::default(),
    };
    ask(talk, AMQPClass::Exchange(exchange::AMQPMethod::Declare(exchange))).await?;
    let declare = queue::Declare {
        queue: "".into(),
        passive: false,
        durable: false,
        exclusive: true,
        auto_delete: true,
        nowait: false,
        arguments: rabbit.queue_arguments(),
    };
    let declared = ask(talk, AMQPClass::Queue(queue::AMQPMethod::Declare(declare))).await?;
    let AMQPClass::Queue(queue::AMQPMethod::DeclareOk(declared)) = declared else {
        return Err(unexpected("declare-ok"));
    };
    for key in [ALL, &inbox(&rabbit.node)] {
        let bind = queue::Bind {
            queue: declared.queue.clone(),
            exchange: rabbit.exchange.as_str().into(),
            routing_key: key.into(),
            nowait: false,
            arguments: FieldTable::default(),
        };
        ask(talk, AMQPClass::Queue(queue::AMQPMethod::Bind(bind))).await?;
    }
    let qos = basic::Qos { prefetch_count: PREFETCH, global: false };
    ask(talk, AMQPClass::Basic(basic::AMQPMethod::Qos(qos))).await?;
    let consume = basic::Consume {
        queue: declared.queue,
        consumer_tag: "".into(),
        no_local: false,
        no_ack: false,
        exclusive: true,
        nowait: false,
        arguments: FieldTable::default(),
    };
    ask(talk, AMQPClass::Basic(basic::AMQPMethod::Consume(consume))).await?;
    Ok(())
}

/// Sends a method on the channel and returns its answer: the method after it in the same class.
async fn ask(talk: &mut Handshake, method: AMQPClass) -> Result<AMQPClass, LinkError> {
    let expected = (method.get_amqp_class_id(), method.get_amqp_method_id() + 1);
    talk.say(CHANNEL, method).await?;
    let answer = talk.hear().await?;
    if (answer.get_amqp_class_id(), answer.get_amqp_method_id()) == expected {
        return Ok(answer);
    }
    Err(LinkError::protocol(format!("another answer than method {} of class {}", expected.1, expected.0)))
}

fn unexpected(wanted: &str) -> LinkError {
    LinkError::protocol(format!("another method than {wanted} while greeting"))
}

fn ourselves() -> FieldTable {
    let mut can = FieldTable::default();
    // Requests an error for a wrong password instead of a closed connection, and a notice when the queue is
    // gone.
    can.insert("authentication_failure_close".into(), AMQPValue::Boolean(true));
    can.insert("consumer_cancel_notify".into(), AMQPValue::Boolean(true));
    let mut properties = FieldTable::default();
    properties.insert("product".into(), AMQPValue::LongString("barograph".into()));
    properties.insert("version".into(), AMQPValue::LongString(env!("CARGO_PKG_VERSION").into()));
    properties.insert("capabilities".into(), AMQPValue::FieldTable(can));
    properties
}

/// Product and version of the server.
fn name(properties: &FieldTable) -> String {
    let text = |key: &str| match properties.inner().get(key) {
        Some(AMQPValue::LongString(text)) => Some(text.to_string()),
        _ => None,
    };
    let product = text("product").unwrap_or_else(|| "an AMQP server".to_owned());
    text("version").map_or(product.clone(), |version| format!("{product} {version}"))
}
