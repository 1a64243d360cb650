//! OpenAPI documents: order and links, servers, compositions, bodies, parameters, credentials, files beside them.

use crate::{about, checked, from_openapi, has, names};

/// A document with these paths and components.
fn document(rest: &str) -> String {
    format!(
        "openapi: 3.0.3\ninfo: {{title: T, version: '1'}}\nservers: [{{url: 'http://127.0.0.1:18081'}}]\n{rest}"
    )
}

fn imported(rest: &str) -> String {
    let text = from_openapi(&document(rest), None).unwrap();
    checked(&text);
    text
}

#[test]
fn a_thing_is_made_before_it_is_read_and_removed() {
    let text = imported(
        r#"
paths:
  /notes/{noteId}:
    parameters: [{name: noteId, in: path, required: true, schema: {type: integer}}]
    get: {operationId: readNote, responses: {200: {description: x}}}
    put:
      operationId: changeNote
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Note'}}}}
      responses: {200: {description: x}}
    delete: {operationId: removeNote, responses: {204: {description: x}}}
  /notes:
    post:
      operationId: addNote
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Note'}}}}
      responses: {201: {description: x, content: {application/json: {schema: {$ref: '#/components/schemas/Note'}}}}}
components: {schemas: {Note: {type: object, properties: {id: {type: integer}, title: {type: string}, made: {type: string, readOnly: true}}}}}
"#,
    );
    assert_eq!(names(&checked(&text)), ["AddNote", "ReadNote", "ChangeNote", "RemoveNote"]);
    has(
        about(&text, "AddNote"),
        &["json = { title = \"title\" }", "extract = { note_id = { json = \"/id\" } }"],
    );
    has(about(&text, "ReadNote"), &["path = \"/notes/{note_id}\""]);
    has(about(&text, "ChangeNote"), &["json = { id = \"{note_id:raw}\", title = \"title\" }"]);
}

#[test]
fn links_of_the_document_are_followed() {
    let text = imported(
        r#"
paths:
  /rooms/{room}/doors: {get: {operationId: doors, parameters: [{name: room, in: path, required: true, schema: {type: string}}], responses: {200: {description: x}}}}
  /houses:
    post:
      operationId: build
      responses:
        201:
          description: x
          links:
            a: {operationId: doors, parameters: {room: $response.body#/parts/0/key}}
            b: {operationId: visit, parameters: {path.when: '$response.header.X-When'}}
  /visits/{when}: {get: {operationId: visit, parameters: [{name: when, in: path, required: true, schema: {type: string}}], responses: {200: {description: x}}}}
"#,
    );
    let build = "extract = { room = { json = \"/parts/0/key\" }, when = { header = \"x-when\" } }";
    has(about(&text, "Build"), &[build]);
    has(&text, &["path = \"/rooms/{room}/doors\"", "path = \"/visits/{when}\""]);
}

#[test]
fn names_that_a_scenario_has_itself_are_not_taken() {
    let path = |name: &str| {
        format!(
            "  /x/{name}/{{{name}}}: {{get: {{parameters: [{{name: {name}, in: path, schema: {{type: integer}}}}], responses: {{}}}}}}\n"
        )
    };
    let paths: String = ["user", "status", "not", "len", "argument", "outcome"].map(path).concat();
    has(
        &imported(&format!("paths:\n{paths}")),
        &["path = \"/x/user/{user_value}\"", "[values.status_value]"],
    );
}

#[test]
fn the_path_of_the_server_goes_along() {
    let with = |servers: &str, target: Option<&str>| {
        let text = format!("openapi: 3.0.0\n{servers}\npaths: {{/items: {{get: {{responses: {{}}}}}}}}");
        let text = from_openapi(&text, target).unwrap();
        checked(&text);
        text
    };
    let relative = "servers: [{url: /api/v3}]";
    has(
        &with(relative, None),
        &["url = \"http://127.0.0.1:8080/api/v3\"", "# Target: the document names no host."],
    );
    has(
        &with(relative, Some("http://h:1")),
        &["url = \"http://h:1/api/v3\"", "# Target: http://h:1/api/v3, the host"],
    );
    has(
        &with(relative, Some("http://h:1/own")),
        &["url = \"http://h:1/own\"", "the document's own path is /api/v3."],
    );
    let variables = "servers: [{url: 'https://{where}.example/{v}', variables: {where: {default: eu}, v: {default: v2}}}]";
    has(&with(variables, None), &["url = \"https://eu.example/v2\"", "is \"eu\" here."]);
    has(&with("", None), &["url = \"http://127.0.0.1:8080\""]);
    // The nearest servers count; if they differ, paths have them.
    let text = imported(
        "paths:\n  /a: {get: {responses: {}}}\n  /b: {servers: [{url: /v2}], get: {responses: {}}}\n  \
         /c: {get: {servers: [{url: 'https://files.example/up'}], responses: {}}}\n",
    );
    has(
        &text,
        &["path = \"/a\"", "path = \"/v2/b\"", "path = \"/up/c\"", "this call at https://files.example;"],
    );
}

#[test]
fn all_parts_of_a_schema_count() {
    // A general part's view of a list does not override a special one's.
    let text = imported(
        r#"
paths:
  /trips: {get: {responses: {200: {description: x, content: {application/json: {schema: {allOf: [{$ref: '#/components/schemas/Page'},
    {properties: {data: {items: {$ref: '#/components/schemas/Trip'}}}}]}}}}}}}
  /trips/{tripId}: {get: {parameters: [{name: tripId, in: path, required: true, example: seven, schema: {type: string}}], responses: {}}}
components:
  schemas:
    Page: {type: object, properties: {data: {type: array, items: {type: object}}, next: {type: string}}}
    Trip: {type: object, properties: {id: {type: string}}}
"#,
    );
    has(&text, &["extract = { trip_id = { json = \"/data/0/id\" } }", "path = \"/trips/{trip_id}\""]);
    let text = imported(
        r#"
paths:
  /orders:
    post:
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/New'}}}}
      responses: {201: {description: x, content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}}
  /orders/{orderId}: {get: {parameters: [{name: orderId, in: path, required: true, schema: {type: integer}}], responses: {}}}
components:
  schemas:
    Base: {type: object, required: [customer], properties: {customer: {type: string, example: ann}}}
    New:
      allOf:
        - $ref: '#/components/schemas/Base'
        - {type: object, required: [quantity], properties: {quantity: {type: integer, minimum: 3}, note: {type: string}}}
        - oneOf: [{type: 'null'}, {required: [paid], properties: {paid: {type: boolean}}}]
    Order: {allOf: [{$ref: '#/components/schemas/New'}, {properties: {orderId: {type: integer}}}]}
"#,
    );
    has(
        &text,
        &["json = { customer = \"ann\", quantity = 3, paid = true }", "order_id = { json = \"/orderId\" }"],
    );
}

#[test]
fn bodies_have_the_media_type_and_the_examples_of_the_document() {
    let body = |content: &str| {
        let text = format!(
            "paths: {{/x: {{post: {{requestBody: {{content: {{{content}}}}}, responses: {{}}}}}}}}\n"
        );
        imported(&text)
    };
    let object = "{type: object, properties: {name: {type: string, example: new}, tags: {type: array, items: {type: string}}}}";
    for (content, lines) in [
        (
            format!("application/vnd.platform.v1+json: {{schema: {object}}}"),
            vec![
                "headers = { content-type = \"application/vnd.platform.v1+json\" }",
                "json = { name = \"new\", tags = [\"tags\"] }",
            ],
        ),
        (
            format!(
                "multipart/form-data: {{schema: {{properties: {{title: {{type: string}}, file: {{type: string, format: binary}}, more: {object}}}}}}}"
            ),
            vec![
                "multipart = { title = \"title\", file = { text = \"file\", filename = \"file\", type = \"application/octet-stream\" }, more = { text = \"{{\\\"name\\\":\\\"new\\\",\\\"tags\\\":[\\\"tags\\\"]}}\", type = \"application/json\" } }",
                "# Edit: files are stand-ins",
            ],
        ),
        (
            format!("application/x-www-form-urlencoded: {{schema: {object}}}"),
            vec!["form = { name = \"new\", tags = \"tags\" }"],
        ),
        (
            "application/json: {schema: {type: object}, example: {a: 12.5, b: null}}".to_owned(),
            vec!["body = \"{{\\\"a\\\":12.5,\\\"b\\\":null}}\""],
        ),
        (
            "application/json: {examples: {one: {$ref: '#/components/examples/E'}}}}, parameters: [], x: {"
                .to_owned(),
            vec!["json = {}"],
        ),
        (
            format!("application/xml: {{schema: {object}}}"),
            vec![
                "content-type = \"application/xml\"",
                "body = \"<root><name>new</name><tags>tags</tags></root>\"",
            ],
        ),
        (
            "text/csv: {example: \"a,b\\n1,2\\n\"}".to_owned(),
            vec!["content-type = \"text/csv\"", "body = \"a,b\\n1,2\\n\""],
        ),
        (
            "image/*: {schema: {type: string, format: binary}}".to_owned(),
            vec!["content-type = \"image/png\"", "# Edit: a stand-in for image/png: write file = \"FILE\""],
        ),
        (
            "application/x-ndjson: {example: [{a: 1}, {a: 2}]}".to_owned(),
            vec!["body = \"{{\\\"a\\\":1}}\\n{{\\\"a\\\":2}}\\n\""],
        ),
        (
            "application/merge-patch+json: {schema: {}, example: '{\"a\": 1}'}".to_owned(),
            vec!["content-type = \"application/merge-patch+json\"", "json = { a = 1 }"],
        ),
        ("text/plain: {}, application/json: {example: {a: 1}}".to_owned(), vec!["json = { a = 1 }"]),
    ] {
        has(&body(&content), &lines);
    }
}

#[test]
fn parameters_have_their_styles_and_examples() {
    let parameter = |place: &str, rest: &str| {
        let path = if place == "path" { "/x/{p}" } else { "/x" };
        imported(&format!(
            "paths: {{{path:?}: {{get: {{parameters: [{{name: p, in: {place}, required: true, {rest}}}], responses: {{}}}}}}}}\n"
        ))
    };
    let list = "schema: {type: array, items: {type: integer}, example: [1, 2]}";
    let object = "schema: {type: object, properties: {a: {type: string, example: 'b c'}, n: {type: integer, example: 4}}}";
    for (place, rest, line) in [
        ("query", "schema: {type: string}, example: sea".to_owned(), "query = { p = \"sea\" }"),
        (
            "query",
            "schema: {type: string}, examples: {one: {value: sea}}".to_owned(),
            "query = { p = \"sea\" }",
        ),
        ("query", list.to_owned(), "query = { p = [\"1\", \"2\"] }"),
        ("query", format!("explode: false, {list}"), "path = \"/x?p=1,2\""),
        ("query", format!("style: pipeDelimited, {list}"), "query = { p = \"1|2\" }"),
        ("query", format!("style: spaceDelimited, {list}"), "query = { p = \"1 2\" }"),
        ("query", format!("style: deepObject, {object}"), "query = { \"p[a]\" = \"b c\", \"p[n]\" = \"4\" }"),
        ("query", object.to_owned(), "query = { a = \"b c\", n = \"4\" }"),
        ("query", format!("explode: false, {object}"), "path = \"/x?p=a,b%20c,n,4\""),
        (
            "query",
            "content: {application/json: {example: {lat: 1.5}}}".to_owned(),
            "query = { p = \"{{\\\"lat\\\":1.5}}\" }",
        ),
        ("query", "schema: {type: boolean}".to_owned(), "query = { p = \"true\" }"),
        ("query", "schema: {type: string, format: date}".to_owned(), "query = { p = \"2026-01-31\" }"),
        (
            "query",
            "schema: {type: string, minLength: 5, maxLength: 6}".to_owned(),
            "query = { p = \"pxxxx\" }",
        ),
        ("query", "schema: {type: integer, maximum: 0}".to_owned(), "min = -99\nmax = 0\n"),
        (
            "query",
            "schema: {type: number, minimum: 0.1, maximum: 0.5}".to_owned(),
            "kind = \"random_float\"\nmin = 0.1\nmax = 0.5\n",
        ),
        ("query", "schema: {type: integer, enum: [10, 20]}".to_owned(), "of = [\"10\", \"20\"]"),
        ("path", list.to_owned(), "path = \"/x/1,2\""),
        ("path", format!("style: label, explode: true, {list}"), "path = \"/x/.1.2\""),
        ("path", format!("style: matrix, {list}"), "path = \"/x/;p=1,2\""),
        ("path", format!("style: matrix, explode: true, {list}"), "path = \"/x/;p=1;p=2\""),
        ("path", format!("explode: true, {object}"), "path = \"/x/a=b%20c,n=4\""),
        ("path", "schema: {type: string, example: 'a/b?ü'}".to_owned(), "path = \"/x/a%2Fb%3F%C3%BC\""),
        ("header", list.to_owned(), "headers = { p = \"1,2\" }"),
        ("cookie", "schema: {type: string, example: abc}".to_owned(), "headers = { cookie = \"p=abc\" }"),
    ] {
        has(&parameter(place, &rest), &[line]);
    }
    let text = imported(
        "paths: {/x: {get: {parameters: [{name: Accept, in: header, required: true}, {name: Connection, in: header, \
         required: true}, {name: X-A, in: header, required: true, schema: {type: integer, minimum: 5, maximum: 5}}], \
         responses: {}}}}\n",
    );
    has(&text, &["headers = { x-a = \"5\" }", "or the driver's own: Accept, Connection."]);
}

#[test]
fn paths_are_encoded_and_no_call_is_lost() {
    let text = imported(
        "paths:\n  /ü/{año}: {get: {parameters: [{name: año, in: path, required: true, schema: {type: integer}}], responses: {}}}\n  \
         '/a b/{id}.json': {get: {responses: {}}}\n  /frag#section: {get: {responses: {}}}\n  '/q?fixed=1': {get: {responses: {}}}\n  \
         /日本語: {get: {operationId: 取得, responses: {}}}\n",
    );
    assert_eq!(names(&checked(&text)).len(), 5);
    has(
        &text,
        &[
            "path = \"/%C3%BC/{a_o}\"",
            "path = \"/a%20b/1.json\"",
            "path = \"/frag\"",
            "path = \"/q?fixed=1\"",
        ],
    );
    has(
        &text,
        &["`{id}` of the path `/a b/{id}.json` is no parameter", "`#section` of the path `/frag#section`"],
    );
}

#[test]
fn credentials_that_no_answer_gives_are_values_to_fill_in() {
    let text = imported(
        r#"
security: [{key: [], site: []}]
paths:
  /a: {get: {responses: {}}}
  /b: {get: {security: [{basic: []}], responses: {}}}
  /c: {get: {security: [{}, {basic: []}], responses: {}}}
  /d: {get: {security: [{tls: []}, {key: []}], responses: {}}}
components:
  securitySchemes:
    key: {type: apiKey, in: query, name: api_key}
    site: {type: apiKey, in: cookie, name: SID}
    basic: {type: http, scheme: basic}
    tls: {type: mutualTLS}
"#,
    );
    has(about(&text, "GetA"), &["query = { api_key = \"{key}\" }", "headers = { cookie = \"SID={site}\" }"]);
    has(about(&text, "GetB"), &["headers = { authorization = \"Basic {basic}\" }"]);
    assert!(!about(&text, "GetC").contains("headers"), "{text}");
    has(about(&text, "GetD"), &["the security scheme `tls` (mutualTLS) is not carried over."]);
    has(
        &text,
        &[
            "NAME:PASSWORD in base64 of the security scheme `basic`",
            "[values.key]\nkind = \"random_choice\"\nof = [\"put-it-here\"]",
        ],
    );
}

#[test]
fn swagger_2_is_read() {
    let text = r##"{"swagger":"2.0","host":"api.example","basePath":"/v2","schemes":["https","http"],"consumes":["application/json"],
        "securityDefinitions":{"b":{"type":"basic"}},"parameters":{"q":{"name":"ids","in":"query","required":true,"type":"array","items":{"type":"integer"},"collectionFormat":"multi","default":[1,2]}},
        "definitions":{"Pet":{"type":"object","required":["name"],"properties":{"id":{"type":"integer"},"name":{"type":"string"}}}},
        "paths":{"/pets":{"post":{"security":[{"b":[]}],"parameters":[{"in":"body","name":"body","schema":{"$ref":"#/definitions/Pet"}}],"responses":{"200":{"description":"x","schema":{"$ref":"#/definitions/Pet"}}}},
            "get":{"parameters":[{"$ref":"#/parameters/q"}],"responses":{"200":{"description":"x"}}}},
          "/pets/{petId}":{"parameters":[{"name":"petId","in":"path","required":true,"type":"integer"}],"delete":{"responses":{"204":{"description":"x"}}}},
          "/pets/{petId}/photo":{"post":{"consumes":["multipart/form-data"],"parameters":[{"name":"petId","in":"path","required":true,"type":"integer"},{"name":"note","in":"formData","type":"string"},{"name":"photo","in":"formData","type":"file","required":true}],"responses":{"200":{"description":"x"}}}}}}"##;
    let text = from_openapi(text, None).unwrap();
    checked(&text);
    has(
        &text,
        &["url = \"https://api.example/v2\"", "json = { name = \"name\" }", "pet_id = { json = \"/id\" }"],
    );
    has(
        &text,
        &["query = { ids = [\"1\", \"2\"] }", "path = \"/pets/{pet_id}\"", "authorization = \"Basic {b}\""],
    );
    has(
        &text,
        &[
            "path = \"/pets/{pet_id}/photo\"",
            "multipart = { photo = { text = \"photo\", filename = \"photo\"",
        ],
    );
}

#[test]
fn files_beside_the_document_are_taken_in() {
    let files = |name: &str| {
        match name {
        "paths/pets.yaml" => Ok("get:\n  responses: {200: {description: x, content: {application/json: {schema: {$ref: '../models.json#/Pet'}}}}}\n".to_owned()),
        "models.json" => Ok(r##"{"Pet":{"properties":{"id":{"$ref":"#/Key"}}},"Key":{"type":"string"}}"##.to_owned()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    }
    };
    let text = document(
        "paths:\n  /pets: {$ref: './paths/pets.yaml'}\n  /pets/{petId}: {get: {parameters: [{name: petId, in: path, required: true, \
         schema: {$ref: 'models.json#/Key'}}, {$ref: 'gone.yaml#/a'}], responses: {}}}\n",
    );
    let text = barograph_scenario_import::from_openapi(&text, None, &files).unwrap();
    checked(&text);
    has(&text, &["extract = { pet_id = { json = \"/id\" } }", "path = \"/pets/{pet_id}\""]);
    has(&text, &["the file `gone.yaml` (entity not found), `gone.yaml#/a` at"]);
}

#[test]
fn what_users_do_not_do_is_left_out_unless_there_is_nothing_else() {
    let text = imported("paths: {/a: {get: {responses: {}}, options: {responses: {}}}}\n");
    has(&text, &["# Left out, no calls of users: OPTIONS /a."]);
    assert!(!text.contains("method = \"OPTIONS\""), "{text}");
    has(&imported("paths: {/a: {options: {responses: {}}}}\n"), &["method = \"OPTIONS\""]);
    has(
        &imported("webhooks: {sold: {post: {responses: {}}}}\n"),
        &["path = \"/sold\"", "# The document has no paths:"],
    );
}

/// A document of a thousand calls, whose answers refer to each other, is read without a full search from
/// each.
#[test]
fn a_document_of_a_thousand_calls_is_read_and_what_is_too_much_is_named() {
    let paths: String = (0..1_000)
        .map(|i| {
            format!(
                "  /things{i}/{{thing{i}Id}}: {{get: {{parameters: [{{name: thing{i}Id, in: path, required: true, schema: {{type: string}}}}], \
                 responses: {{200: {{description: x, content: {{application/json: {{schema: {{$ref: '#/components/schemas/S{}'}}}}}}}}}}}}}}\n",
                i % 20
            )
        })
        .collect();
    let members: String = (0..20).map(|i| format!("m{i}: {{$ref: '#/components/schemas/S{i}'}}, ")).collect();
    let schemas: String = (0..20)
        .map(|i| format!("    S{i}: {{type: object, properties: {{{members} id: {{type: string}}}}}}\n"))
        .collect();
    let text = imported(&format!("paths:\n{paths}components:\n  schemas:\n{schemas}"));
    assert_eq!(names(&checked(&text)).len(), 256);
    has(&text, &["# The document has 1000 calls; a scenario holds 256, the rest is left out from GET"]);
}
