//! Conversion of Swagger 2.0 to OpenAPI 3: servers, bodies, forms, answers, styles of lists and security
//! schemes. References stay unchanged, since their targets stay in place.

use serde_json::{Map, Value, json};

use super::document::object;
use super::schema::Schemas;

const METHODS: [&str; 7] = ["get", "head", "post", "put", "patch", "delete", "options"];

/// The document as OpenAPI 3.
pub(super) fn upgraded(document: &Value) -> Value {
    let schemas = Schemas { document };
    let mut upgraded = document.as_object().cloned().unwrap_or_default();
    let paths = document.get("paths").and_then(Value::as_object).into_iter().flatten();
    let paths: Map<String, Value> =
        paths.map(|(path, at)| (path.clone(), item(schemas, schemas.resolve(at)))).collect();
    upgraded.insert("paths".to_owned(), Value::Object(paths));
    upgraded.insert("servers".to_owned(), json!([{ "url": server(document) }]));
    let schemes = document.get("securityDefinitions").and_then(Value::as_object).into_iter().flatten();
    let schemes: Map<String, Value> = schemes.map(|(name, at)| (name.clone(), scheme(at))).collect();
    upgraded.insert("components".to_owned(), json!({ "securitySchemes": schemes }));
    Value::Object(upgraded)
}

fn server(document: &Value) -> String {
    let text = |key: &str| document.get(key).and_then(Value::as_str);
    let schemes = document.get("schemes").and_then(Value::as_array).into_iter().flatten();
    let mut schemes = schemes.filter_map(Value::as_str);
    let scheme = schemes.find(|scheme| scheme.starts_with("http")).unwrap_or("http");
    let base = text("basePath").unwrap_or("/");
    let slash = if base.starts_with('/') { "" } else { "/" };
    match text("host") {
        Some(host) if !host.is_empty() => format!("{scheme}://{host}{slash}{base}"),
        _ => format!("{slash}{base}"),
    }
}

fn scheme(at: &Value) -> Value {
    match at.get("type").and_then(Value::as_str) {
        Some("basic") => json!({ "type": "http", "scheme": "basic" }),
        _ => at.clone(),
    }
}

fn item(schemas: Schemas<'_>, item: &Value) -> Value {
    let methods = METHODS.iter().filter_map(|method| Some((*method, item.get(*method)?)));
    Value::Object(methods.map(|(method, at)| (method.to_owned(), operation(schemas, (item, at)))).collect())
}

fn operation(schemas: Schemas<'_>, (item, operation): (&Value, &Value)) -> Value {
    let mut upgraded = operation.as_object().cloned().unwrap_or_default();
    let types = |key: &str| {
        let listed = operation.get(key).or_else(|| schemas.document.get(key)).and_then(Value::as_array);
        let listed: Vec<&str> = listed.into_iter().flatten().filter_map(Value::as_str).collect();
        if listed.is_empty() { vec!["application/json"] } else { listed }
    };
    let mut found: Vec<(&Value, &Value)> = Vec::new();
    for list in [operation, item].into_iter().filter_map(|at| at.get("parameters")?.as_array()) {
        for parameter in list.iter().map(|parameter| schemas.resolve(parameter)) {
            let key = (parameter.get("name"), parameter.get("in"));
            if !found.iter().any(|(known, _)| (known.get("name"), known.get("in")) == key) {
                found.push((parameter, parameter.get("in").unwrap_or(&Value::Null)));
            }
        }
    }
    let (mut plain, mut fields) = (Vec::new(), Vec::new());
    for (parameter, place) in found {
        match place.as_str() {
            Some("body") => {
                let content = object([
                    ("schema", parameter.get("schema").cloned().unwrap_or(Value::Null)),
                    ("example", proposed(parameter)),
                ]);
                upgraded.insert("requestBody".to_owned(), contents(&types("consumes"), &content));
            }
            Some("formData") => fields.push(parameter),
            _ => plain.push(styled(parameter)),
        }
    }
    if !fields.is_empty() {
        upgraded.insert("requestBody".to_owned(), form(&fields, &types("consumes")));
    }
    upgraded.insert("parameters".to_owned(), Value::Array(plain));
    let answers = operation.get("responses").and_then(Value::as_object).into_iter().flatten();
    let answers = answers.map(|(status, at)| {
        let schema = schemas.resolve(at).get("schema");
        let content = schema.map(|schema| contents(&types("produces"), &json!({ "schema": schema })));
        (status.clone(), content.unwrap_or_else(|| json!({})))
    });
    let answers: Map<String, Value> = answers.collect();
    upgraded.insert("responses".to_owned(), Value::Object(answers));
    Value::Object(upgraded)
}

/// The same content in each of the media types.
fn contents(types: &[&str], content: &Value) -> Value {
    let all: Map<String, Value> = types.iter().map(|it| ((*it).to_owned(), content.clone())).collect();
    json!({ "content": all })
}

/// The example beside a parameter, as written by many tools.
fn proposed(parameter: &Value) -> Value {
    let direct = parameter.get("x-example").or_else(|| parameter.get("example"));
    let mut named = parameter.get("x-examples").and_then(Value::as_object).into_iter().flatten();
    direct.or_else(|| named.next().map(|(_, example)| example)).cloned().unwrap_or(Value::Null)
}

fn form(fields: &[&Value], types: &[&str]) -> Value {
    let text = |field: &Value, key: &str| field.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    let has_file = fields.iter().any(|field| text(field, "type") == "file");
    let is_multipart = has_file || types.iter().all(|it| it.starts_with("multipart/"));
    let media_type = if is_multipart { "multipart/form-data" } else { "application/x-www-form-urlencoded" };
    let schema = |field: &Value| match text(field, "type").as_str() {
        "file" => json!({ "type": "string", "format": "binary" }),
        // Inside a schema, a field is not marked as required.
        _ => {
            let mut schema = field.as_object().cloned().unwrap_or_default();
            schema.remove("required");
            Value::Object(schema)
        }
    };
    let properties: Map<String, Value> =
        fields.iter().map(|field| (text(field, "name"), schema(field))).collect();
    let required = fields.iter().filter(|field| field.get("required") == Some(&Value::Bool(true)));
    let required: Vec<String> = required.map(|field| text(field, "name")).collect();
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    contents(&[media_type], &json!({ "schema": schema }))
}

/// A parameter with the style of its lists.
fn styled(parameter: &Value) -> Value {
    let mut styled = parameter.as_object().cloned().unwrap_or_default();
    let is_query = parameter.get("in").and_then(Value::as_str) == Some("query");
    if is_query {
        let (style, explode) = match parameter.get("collectionFormat").and_then(Value::as_str) {
            Some("multi") => ("form", true),
            Some("ssv") => ("spaceDelimited", false),
            Some("pipes") => ("pipeDelimited", false),
            _ => ("form", false),
        };
        styled.insert("style".to_owned(), style.into());
        styled.insert("explode".to_owned(), explode.into());
    }
    if let example @ (Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Array(_)) =
        proposed(parameter)
    {
        styled.insert("example".to_owned(), example);
    }
    Value::Object(styled)
}
