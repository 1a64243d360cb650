//! Writes figures into the files of the workspace.

use std::fs;

use anyhow::Context;
use barograph_services::{Figures, Service, all};
use jiff::Zoned;

use super::figures::ServiceFigures;
use crate::root;

/// Beginning of the figures in a description.
const HEAD: &str = "\n# Written by `cargo xtask bench services --write`.\n[measured]\n";

/// Puts the figures at the end of the `service.toml`, in the place of older ones.
pub(crate) fn keep(service: &Service, measured: &ServiceFigures) -> anyhow::Result<()> {
    let path = root().join("services").join(service.name()).join("service.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let rest = text.split_once(HEAD).map_or(text.as_str(), |(rest, _)| rest);
    let ServiceFigures { machine, version, vanilla, tuned } = measured;
    let table = format!(
        "{rest}{HEAD}date = \"{}\"\nmachine = \"{machine}\"\nversion = \"{version}\"\nvanilla = {}\ntuned = {}\n",
        Zoned::now().date(),
        inline(vanilla),
        inline(tuned),
    );
    fs::write(&path, table).with_context(|| format!("write {}", path.display()))
}

fn inline(figures: &Figures) -> String {
    let Figures { ready_s, stop_s, rss_mib, pss_mib, idle_millicores, processes } = figures;
    format!(
        "{{ ready_s = {ready_s:.3}, stop_s = {stop_s:.3}, rss_mib = {rss_mib:.1}, pss_mib = {pss_mib:.1}, \
         idle_millicores = {idle_millicores:.1}, processes = {processes} }}"
    )
}

/// The page of all services, from the files as they are now.
pub(crate) fn write() -> anyhow::Result<()> {
    let mut page = String::from(
        "# Services\n\n\
         This page is written by `cargo xtask bench services --write`; do not edit it.\n\
         How a service is described and added is in [services.md](../services.md).\n\n\
         ## What they are\n\n\
         | service | what it is for | install | ports |\n|---|---|---|---|\n",
    );
    for service in all() {
        let ports: Vec<String> =
            service.ports().iter().map(|(name, port)| format!("{name} {port}")).collect();
        page += &format!(
            "| `{}` {} | {} | `{}` | {} |\n",
            service.name(),
            service.title(),
            service.purpose(),
            service.install(),
            ports.join(", ")
        );
    }
    page += "\n## What they cost when idle\n\n\
             Medians of several starts on the process platform, one after the other, each unit made for 2 GiB of memory.\n\
             *Ready* counts from the wish to readiness, steps of preparation such as `initdb` included; *stopped* from the wish to the end of its last process.\n\
             RSS counts shared pages in every process, PSS once.\n\
             Memory and CPU are those of all its processes at the first start: CPU over 5 s, beginning 2 s after it was ready.\n\n\
             | service | flavour | ready (s) | stopped (s) | RSS (MiB) | PSS (MiB) | idle CPU (millicores) | processes |\n\
             |---|---|---|---|---|---|---|---|\n";
    page += &rows()?;
    page += "\n## Words\n\nWhat a topology may say to them; a word in bold is needed.\n\n\
             | service | word | kind | default | meaning |\n|---|---|---|---|---|\n";
    for service in all() {
        for word in service.words() {
            let name = if word.needed { format!("**`{}`**", word.name) } else { format!("`{}`", word.name) };
            let kind = match word.choice.is_empty() {
                true => format!("{:?}", word.kind).to_lowercase(),
                false => word.choice.join(" or "),
            };
            let default = word.default.as_deref().map(|d| format!("`{d}`")).unwrap_or_default();
            page += &format!("| `{}` | {name} | {kind} | {default} | {} |\n", service.name(), word.what);
        }
    }
    let path = root().join("docs/reference/services.md");
    fs::write(&path, page).with_context(|| format!("write {}", path.display()))
}

/// Figures as in the files: those built into this program are older.
fn rows() -> anyhow::Result<String> {
    let (mut rows, mut from) = (String::new(), Vec::new());
    for service in all() {
        let path = root().join("services").join(service.name()).join("service.toml");
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        let table: toml::Table = text.parse().with_context(|| format!("read {}", path.display()))?;
        let Some(measured) = table.get("measured").cloned() else { continue };
        let measured: barograph_services::MeasuredFigures = measured.try_into()?;
        for (flavour, f) in [("vanilla", &measured.vanilla), ("tuned", &measured.tuned)] {
            rows += &format!(
                "| {} {} | {flavour} | {:.3} | {:.3} | {:.1} | {:.1} | {:.1} | {} |\n",
                service.title(),
                measured.version,
                f.ready_s,
                f.stop_s,
                f.rss_mib,
                f.pss_mib,
                f.idle_millicores,
                f.processes
            );
        }
        let conditions = format!("Measured {} on {}: ", measured.date, measured.machine);
        match from.iter_mut().find(|(known, _): &&mut (String, Vec<String>)| *known == conditions) {
            Some((_, services)) => services.push(service.title().to_owned()),
            None => from.push((conditions, vec![service.title().to_owned()])),
        }
    }
    let notes = from.iter().map(|(conditions, services)| format!("{conditions}{}.\n", services.join(", ")));
    Ok(format!("{rows}\n{}", notes.collect::<String>()))
}
