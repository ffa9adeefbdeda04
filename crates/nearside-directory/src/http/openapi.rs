//! The HTTP side described for programs: OpenAPI 3.1, in [`document`].

use serde_json::{Value, json};

/// The document as text, as `/openapi.json` and `nearside detour serve --openapi` give it.
pub fn text() -> String {
    let text = serde_json::to_string_pretty(&document()).expect("the document is plain data");
    text + "\n"
}

pub(super) fn document() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "nearside detour directory",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "For the operator of a directory, and for lobbies: on loopback, with a token. A lobby's token is good for POST below /v1/sessions alone. docs/detour-serve.md has the rest.",
            "license": { "name": "MIT OR Apache-2.0" }
        },
        "paths": paths(),
        "components": {
            "schemas": schemas(),
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } }
        }
    })
}

fn paths() -> Value {
    json!({
        "/v1/sessions": {
            "get": guarded("All sessions", &list("Session")),
            "post": registering()
        },
        "/v1/sessions/{session}/relays": { "post": offering() },
        "/v1/clients": { "get": guarded("Everybody who is joined", &list("Client")) },
        "/v1/relays": { "get": guarded("Those who carry sessions of others", &list("Client")) },
        "/v1/status": { "get": guarded("How the directory stands", &json_of(&reference("Status"))) },
        "/health": { "get": open("Whether it works: ok, or degraded and why", "text/plain") },
        "/metrics": { "get": open("Figures for Prometheus", "text/plain") },
        "/openapi.json": { "get": open("This document", "application/json") }
    })
}

fn registering() -> Value {
    let mut operation = guarded("Introduce two players to each other", &json!({}));
    operation["requestBody"] = body("Registration");
    operation["responses"] = json!({
        "201": answer("Both are told.", "Registered"),
        "400": answer("The body makes no sense; the error says where.", "Error"),
        "401": answer("Without a token.", "Error"),
        "404": answer("One of them is not joined.", "Error")
    });
    operation
}

fn offering() -> Value {
    let mut operation = guarded("Send relays to the player who leads a session", &json!({}));
    operation["description"] = json!("The lobby learns how many, not which.");
    operation["parameters"] = json!([{
        "name": "session", "in": "path", "required": true, "schema": { "type": "string" }
    }]);
    operation["requestBody"] = json!({
        "required": false,
        "content": { "application/json": { "schema": reference("Wanted") } }
    });
    operation["responses"] = json!({
        "200": answer("They are on their way.", "Offered"),
        "400": answer("The body makes no sense; the error says where.", "Error"),
        "401": answer("Without a token.", "Error"),
        "404": answer("There is no such session, or its leader is gone.", "Error")
    });
    operation
}

fn schemas() -> Value {
    let (text, number, yes) = (
        json!({ "type": "string" }),
        json!({ "type": "integer" }),
        json!({ "type": "boolean" }),
    );
    let maybe = json!({ "type": ["string", "null"] });
    let player = json!({ "type": "string", "description": "Its number, or its key of 64 hexadecimal digits." });
    json!({
        "Registration": object(&[("source", &player), ("target", &player)]),
        "Registered": object(&[("session", &text)]),
        "Wanted": { "type": "object", "properties": { "most": { "type": "integer", "minimum": 0, "maximum": 255, "default": 8 } } },
        "Offered": object(&[("offered", &number)]),
        "Error": object(&[("error", &text)]),
        "Session": object(&[
            ("session", &text), ("source", &text), ("target", &text), ("age_s", &number), ("relay", &maybe)
        ]),
        "Client": object(&[
            ("id", &text), ("key", &maybe), ("address", &text),
            ("nat", &json!({ "enum": ["unknown", "steady", "symmetric"] })),
            ("relays", &yes), ("carries", &number), ("paused", &yes), ("legs", &number), ("silent_s", &number)
        ]),
        "Status": object(&[
            ("uptime_s", &number), ("clients", &number), ("relays", &number), ("connections", &number),
            ("sessions", &number), ("relayed_sessions", &number), ("changes_waiting", &number),
            ("clock_step_ms", &number),
            ("counts", &json!({ "type": "object", "additionalProperties": { "type": "integer" } }))
        ])
    })
}

fn object(fields: &[(&str, &Value)]) -> Value {
    let properties = fields
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), (*schema).clone()));
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    json!({
        "type": "object",
        "properties": Value::Object(properties.collect()),
        "required": required
    })
}

fn guarded(summary: &str, success: &Value) -> Value {
    json!({
        "summary": summary,
        "security": [{ "token": [] }],
        "responses": { "200": success, "401": answer("Without a token.", "Error") }
    })
}

fn open(summary: &str, kind: &str) -> Value {
    let content = json!({ kind: { "schema": {} } });
    json!({
        "summary": summary,
        "responses": { "200": { "description": "It.", "content": content } }
    })
}

fn list(schema: &str) -> Value {
    json_of(&json!({ "type": "array", "items": reference(schema) }))
}

fn json_of(schema: &Value) -> Value {
    json!({ "description": "It.", "content": { "application/json": { "schema": schema } } })
}

fn answer(description: &str, schema: &str) -> Value {
    json!({
        "description": description,
        "content": { "application/json": { "schema": reference(schema) } }
    })
}

fn body(schema: &str) -> Value {
    json!({
        "required": true,
        "content": { "application/json": { "schema": reference(schema) } }
    })
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}
