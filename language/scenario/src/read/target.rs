//! Reads `[target]`.

use std::net::IpAddr;
use std::sync::Arc;

use barograph_model::Nanos;
use barograph_model::secret::SecretFile;

use crate::draw::DrawScope;
use crate::read::ScenarioReader;
use crate::read::names::Scope;
use crate::section::Section;
use crate::settings_reader::ReadValue;
use crate::target::{Connections, Protocol, Target, Tls, Url};

/// Most connections of one user: beyond it, users should be added instead.
const MOST_PER_USER: i64 = 256;

/// Most connections of a pool: the number of local ports.
const MOST_POOLED: i64 = 65_535;

/// Redirects of a chain at the most; browsers follow 20.
pub const MOST_REDIRECTS: i64 = 50;

/// Largest file of certificates or a key: a system's whole list is a tenth of it.
const MOST_CERTIFICATES: usize = 4 << 20;

#[derive(Clone, Copy, PartialEq)]
enum Sharing {
    User,
    Pool,
    New,
}

impl ScenarioReader<'_> {
    pub(crate) fn target(&mut self, root: &mut Section<'_>) -> Target {
        let mut section = root.section_or_empty("target");
        let url = section.text("url").and_then(|got| match Url::parse(&got.value) {
            Ok(url) => Some(url),
            Err(why) => {
                let allowed = format!("http://HOST[:PORT][/PATH] or https://...; {why}");
                let remedy = "write the address as in \"http://127.0.0.1:8080\"";
                self.given.refuse(&got.at, format!("\"{}\"", got.value), &allowed, remedy);
                None
            }
        });
        let protocols = [("auto", Protocol::Auto), ("http1", Protocol::Http1), ("http2", Protocol::Http2)];
        let protocol = section.word("protocol", &protocols, Protocol::Auto);
        let connections = connections(&mut section);
        let unix_socket = section.text("unix_socket").map(|got| got.value.into());
        let source_addresses = self.source_addresses(&mut section);
        let connect_timeout = section.span_or("connect_timeout", "10 s");
        let timeout = section.span("timeout").and_then(|got| self.longer_than_nothing(&got));
        let cookies = section.flag("cookies", true);
        let redirects = section.integer_or("redirects", 0..=MOST_REDIRECTS, 0) as u8;
        // Headers of every request may name what lives at least as long as an exchange, which is everything; each
        // request that uses them makes the draws.
        self.headers = self.request_headers(section.section("headers"), &mut Scope::new(DrawScope::Exchange));
        let headers = self.headers.clone();
        let tls = section.section("tls").map(|tls| self.tls(tls)).unwrap_or_default();
        section.finish();
        Target {
            url,
            headers,
            protocol,
            connections,
            tls,
            unix_socket,
            source_addresses,
            connect_timeout,
            timeout,
            cookies,
            redirects,
        }
    }

    fn longer_than_nothing(&self, got: &ReadValue<Nanos>) -> Option<Nanos> {
        if got.value == Nanos::ZERO {
            self.given.refuse(&got.at, "\"0 s\"", "more than nothing", "leave it out for `driver.timeout_s`");
            return None;
        }
        Some(got.value)
    }

    fn source_addresses(&self, section: &mut Section<'_>) -> Vec<IpAddr> {
        let mut found = Vec::new();
        for got in section.texts("source_addresses") {
            match got.value.parse() {
                Ok(address) => found.push(address),
                Err(_) => {
                    let value = format!("\"{}\"", got.value);
                    self.given.refuse(
                        &got.at,
                        value,
                        "an IP address of this machine",
                        "write it as in \"127.0.0.2\"",
                    );
                }
            }
        }
        found
    }

    fn tls(&mut self, mut section: Section<'_>) -> Tls {
        let verify = section.flag("verify", true);
        let file = section.text("authorities");
        let authorities = file.and_then(|got| self.file(&got, MOST_CERTIFICATES)).map(Arc::from);
        let server_name = section.text("server_name").map(|got| got.value);
        let identity = self.identity(&mut section);
        section.finish();
        Tls { trust_anyone: !verify, authorities, server_name, identity }
    }

    /// The client certificate with its key, which may be in the same file.
    fn identity(&mut self, section: &mut Section<'_>) -> Option<(SecretFile, SecretFile)> {
        let mut read = |key: &'static str, section: &mut Section<'_>| {
            let got = section.text(key)?;
            let bytes = self.file(&got, MOST_CERTIFICATES)?;
            Some(SecretFile { path: got.value.into(), bytes: bytes.into() })
        };
        let (certificate, key) = (read("certificate", section), read("key", section));
        if certificate.is_none() && key.is_some() {
            let remedy = "name the file of the certificate, too";
            self.given.refuse(&section.at_key("key"), "a key alone", "a key beside `certificate`", remedy);
        }
        let certificate = certificate?;
        Some((certificate.clone(), key.unwrap_or(certificate)))
    }
}

fn connections(section: &mut Section<'_>) -> Connections {
    let words = [("user", Sharing::User), ("pool", Sharing::Pool), ("new", Sharing::New)];
    match section.word("connections", &words, Sharing::User) {
        Sharing::User => Connections::PerUser(section.integer_or("per_user", 1..=MOST_PER_USER, 6) as u32),
        Sharing::Pool => Connections::Pool(section.integer_or("pool", 1..=MOST_POOLED, 64) as u32),
        Sharing::New => Connections::New,
    }
}
