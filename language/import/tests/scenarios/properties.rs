//! Every valid document or recording gives a scenario that passes its check.

use barograph_scenario_import::{Assets, from_har};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{checked, from_openapi};

const METHODS: [&str; 6] = ["get", "post", "put", "patch", "delete", "head"];

const MEDIA: [&str; 8] = [
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "application/xml",
    "text/plain; x=\"y\"",
    "image/*",
    "*/*",
    "application/vnd.a+json",
];

/// Names as in documents: including reserved and invalid ones.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z][a-zA-Z0-9_.-]{0,8}",
        prop::sample::select(vec!["id", "user", "status", "true", "userId", "token", "*", "$ref", "X-A"])
            .prop_map(str::to_owned),
        "[^{}/\\p{Cc}]{1,5}",
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let plain = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        "[\\x00-\\x7f]{0,6}".prop_map(Value::from),
    ];
    plain.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..3).prop_map(object),
        ]
    })
}

fn object(members: Vec<(String, Value)>) -> Value {
    Value::Object(members.into_iter().collect::<Map<_, _>>())
}

fn schema() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec!["string", "integer", "number", "boolean", "null"]);
    let bound =
        prop::option::of(prop_oneof![(-1e3..1e3).prop_map(Value::from), any::<i32>().prop_map(Value::from)]);
    let plain = (kind, bound.clone(), bound, prop::option::of(value()), any::<bool>()).prop_map(
        |(kind, min, max, example, exclusive)| {
            let mut schema =
                json!({"type": kind, "minimum": min, "maximum": max, "exclusiveMinimum": exclusive});
            schema.as_object_mut().unwrap().retain(|_, value| !value.is_null());
            if let Some(example) = example {
                schema["example"] = example;
            }
            schema
        },
    );
    let reference = "S[0-3]".prop_map(|name| json!({"$ref": format!("#/components/schemas/{name}")}));
    let leaf = prop_oneof![3 => plain, 1 => reference, 1 => Just(json!({})), 1 => Just(json!(true))];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let list = || prop::collection::vec(inner.clone(), 1..3);
        let members = prop::collection::vec((name(), inner.clone()), 0..4);
        prop_oneof![
            (members, any::<bool>()).prop_map(|(members, all)| {
                let required: Vec<&String> = members.iter().map(|(name, _)| name).filter(|_| all).collect();
                json!({"type": "object", "required": required, "properties": object(members.clone())})
            }),
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            list().prop_map(|all| json!({"allOf": all})),
            list().prop_map(|one| json!({"oneOf": one})),
        ]
    })
}

fn parameter() -> impl Strategy<Value = Value> {
    let place = prop::sample::select(vec!["path", "query", "header", "cookie"]);
    let style =
        prop::sample::select(vec!["form", "simple", "label", "matrix", "deepObject", "pipeDelimited"]);
    (name(), place, style, any::<bool>(), schema(), prop::option::of(value())).prop_map(
        |(name, place, style, explode, schema, example)| {
            let mut parameter =
                json!({"name": name, "in": place, "required": true, "style": style, "explode": explode, "schema": schema});
            if let Some(example) = example {
                parameter["example"] = example;
            }
            parameter
        },
    )
}

fn call() -> impl Strategy<Value = (String, &'static str, Value)> {
    let part = prop_oneof!["[a-z]{1,6}", name().prop_map(|name| format!("{{{name}}}")), "[^\\p{Cc}]{0,4}"];
    let path = prop::collection::vec(part, 0..4).prop_map(|parts| format!("/{}", parts.join("/")));
    let body = prop::option::of((prop::sample::select(MEDIA.to_vec()), schema(), prop::option::of(value())));
    let parameters = prop::collection::vec(parameter(), 0..4);
    let status = prop::sample::select(vec!["200", "201", "204", "302", "2XX", "default", "404"]);
    let call =
        (path, prop::sample::select(METHODS.to_vec()), parameters, body, (status, schema()), "\\PC{0,20}");
    call.prop_map(|(path, method, parameters, body, (status, answer), about)| {
        let mut operation = json!({
            "summary": about, "parameters": parameters, "security": [{"s": []}],
            "responses": {status: {"content": {"application/json": {"schema": answer}}}},
        });
        if let Some((media, schema, example)) = body {
            let mut content = json!({"schema": schema});
            if let Some(example) = example {
                content["example"] = example;
            }
            operation["requestBody"] = json!({"content": {media: content}});
        }
        (path, method, operation)
    })
}

fn document() -> impl Strategy<Value = Value> {
    let schemas = prop::collection::vec(schema(), 4);
    let server =
        prop_oneof!["/[a-z/]{0,6}", "https?://[a-z]{1,5}(:[1-9][0-9]{1,3})?(/[a-z {}]{0,4})?", "\\PC{0,6}"];
    let scheme = prop::sample::select(vec![
        json!({"type": "apiKey", "in": "header", "name": "X-Key"}),
        json!({"type": "apiKey", "in": "query", "name": "key"}),
        json!({"type": "http", "scheme": "bearer"}),
        json!({"type": "http", "scheme": "digest"}),
        json!({"type": "mutualTLS"}),
    ]);
    let calls = prop::collection::vec(call(), 1..6);
    (calls, schemas, server, scheme).prop_map(|(calls, schemas, server, scheme)| {
        let mut paths = json!({});
        for (path, method, operation) in calls {
            if paths.get(&path).is_none() {
                paths[&path] = json!({});
            }
            paths[&path][method] = operation;
        }
        let schemas = schemas.into_iter().enumerate().map(|(i, schema)| (format!("S{i}"), schema)).collect();
        json!({
            "openapi": "3.1.0", "info": {"title": "T"}, "servers": [{"url": server}], "paths": paths,
            "components": {"schemas": object(schemas), "securitySchemes": {"s": scheme}},
        })
    })
}

fn entry() -> impl Strategy<Value = Value> {
    let target = "(/[a-zA-Z0-9/%._~ü-]{0,12})?(\\?([a-z{}\"]{1,4}=?[a-z0-9{}%+\"]{0,6}&?){0,3})?(#x)?";
    let media = prop::sample::select(MEDIA.to_vec());
    let text = prop_oneof![
        "\\PC{0,30}".prop_map(Value::from),
        value().prop_map(|value| value.to_string().into()),
        Just(Value::Null)
    ];
    let params = prop::option::of(prop::collection::vec((name(), "\\PC{0,9}", any::<bool>()), 0..3));
    let header = ("[ -~]{0,12}", "[\\x00-\\x7f]{0,20}");
    let status =
        prop::sample::select(vec![json!(200), json!(304), json!(101), json!(0), json!(null), json!(999)]);
    (target, media, (text.clone(), params), header, status, text, 0..2_000_u32).prop_map(
        |(target, media, (text, params), (name, value), status, answer, ms)| {
            let params = params.map(|params| {
                let param = |(name, value, is_file): (String, String, bool)| {
                    json!({"name": name, "value": value, "fileName": if is_file { json!("f") } else { json!(null) }})
                };
                params.into_iter().map(param).collect::<Vec<_>>()
            });
            json!({
                "startedDateTime": format!("2026-11-20T10:00:0{}.{:03}Z", ms / 1_000, ms % 1_000), "time": 40,
                "request": {
                    "method": "POST", "url": format!("http://h{target}"), "headers": [{"name": name, "value": value}],
                    "postData": {"mimeType": media, "text": text, "params": params},
                },
                "response": {"status": status, "content": {"mimeType": "application/json", "text": answer}},
            })
        },
    )
}

proptest! {
    #[test]
    fn any_document_gives_a_scenario_with_each_of_its_calls(document in document()) {
        let calls: usize = document["paths"].as_object().unwrap().values().map(|item| item.as_object().unwrap().len()).sum();
        let scenario = checked(&from_openapi(&document.to_string(), None).unwrap());
        prop_assert_eq!(scenario.operations.len(), calls);
    }

    #[test]
    fn any_recording_gives_a_scenario(entries in prop::collection::vec(entry(), 0..6)) {
        let good = json!({"request": {"url": "http://h/"}, "response": {"status": 200}});
        let entries = [&entries[..], &[good]].concat();
        let har = json!({"log": {"entries": entries}});
        checked(&from_har(&har.to_string(), Assets::Keep, None).unwrap());
    }
}
