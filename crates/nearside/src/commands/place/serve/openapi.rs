//! The service described for programs: OpenAPI 3.1, in [`document`]. `docs/place-openapi.json` is this
//! text; `cargo xtask drift` compares them.

mod schemas;

use serde_json::{Map, Value, json};

/// The document as text, as `/openapi.json` and `--openapi` give it.
pub(super) fn text() -> String {
    let text = serde_json::to_string_pretty(&document()).expect("the document is plain data");
    text + "\n"
}

pub(super) fn document() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "nearside place",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The fewest servers for a group of players within a delay bound, and sessions in which players come and go. Delays are milliseconds; docs/place.md explains the model.",
            "license": { "name": "MIT OR Apache-2.0" }
        },
        "servers": [{ "url": "http://127.0.0.1:8787" }],
        "paths": paths(),
        "components": { "schemas": schemas::all() }
    })
}

fn paths() -> Value {
    let mut paths = Map::new();
    let all = solving()
        .into_iter()
        .chain(sessions())
        .chain(happenings())
        .chain(machine());
    for (path, operations) in all {
        paths.insert(path.to_owned(), operations);
    }
    Value::Object(paths)
}

fn solving() -> [(&'static str, Value); 3] {
    let question = |summary: &str, parameters: Vec<Value>, answer: &str| {
        let parameters: Vec<Value> = parameters.into_iter().chain(effort()).collect();
        json!({ "post": {
            "summary": summary,
            "parameters": parameters,
            "requestBody": body("Instance"),
            "responses": responses("200", "An answer; its status says what it is worth.", answer,
                &["400", "408", "413", "503"])
        } })
    };
    let bound = query(
        "bound_ms",
        "number",
        "Instead of delay_bound_ms of the instance.",
    );
    let solver = query(
        "solver",
        "string",
        "Who solves: auto (default), exact, tight-span, anchors, greedy, zizo-sr-c, zizo-sr-s, zizo-tr-c, zizo-tr-s or nearest.",
    );
    let mut servers = query("servers", "integer", "Servers that may be used.");
    servers["required"] = json!(true);
    [
        (
            "/v1/solve",
            question(
                "Choose the fewest servers that keep a bound",
                vec![bound, solver],
                "Answer",
            ),
        ),
        (
            "/v1/curve",
            question(
                "Servers against the bound: every corner of the curve",
                vec![],
                "Curve",
            ),
        ),
        (
            "/v1/min-delay",
            question(
                "The smallest bound that a number of servers can keep",
                vec![servers],
                "MinDelay",
            ),
        ),
    ]
}

fn effort() -> [Value; 3] {
    [
        query(
            "time_s",
            "number",
            "Seconds to spend, 10 unless said (with steps: what the service allows), at most what the service allows; what was found until then is the answer.",
        ),
        query(
            "steps",
            "integer",
            "Steps to spend; unlike time they give the same answer everywhere, as long as the time suffices for them.",
        ),
        query("seed", "integer", "Seed of random choices, 1 unless said."),
    ]
}

fn sessions() -> [(&'static str, Value); 4] {
    let setup = json!({
        "summary": "Start a session without players yet",
        "requestBody": body("Setup"),
        "responses": responses("201", "The new session's id.", "Created", &["400", "408", "409", "413", "503"])
    });
    let list = json!({
        "summary": "All sessions",
        "responses": responses("200", "Their ids.", "SessionList", &[])
    });
    let remove = json!({
        "summary": "End a session and forget it",
        "responses": { "204": { "description": "Gone." }, "404": failure("404") }
    });
    [
        ("/v1/sessions", json!({ "get": list, "post": setup })),
        (
            "/v1/sessions/{id}",
            with_id(json!({
                "get": reading("How a session is", "View"),
                "delete": remove
            })),
        ),
        (
            "/v1/sessions/{id}/allocation",
            with_id(json!({ "get": reading("Who is where", "Allocation") })),
        ),
        (
            "/v1/sessions/{id}/log",
            with_id(json!({ "get": {
            "summary": "Everything that happened, as `nearside place online` reads it",
            "responses": {
                "200": content("The set-up and the events, one JSON object a line.", "application/x-ndjson", &json!({ "type": "string" })),
                "404": failure("404")
            }
        } })),
        ),
    ]
}

fn happenings() -> [(&'static str, Value); 5] {
    let happening = |summary: &str, request: &str| {
        let mut answers = responses(
            "200",
            "What became of it; result `unmet` when the bound does not hold for everybody.",
            "Report",
            &["400", "404", "408", "413", "503"],
        );
        answers["409"] = content(
            "Refused; nothing has changed.",
            "application/json",
            &reference("Report"),
        );
        json!({ "summary": summary, "requestBody": body(request), "responses": answers })
    };
    let mut consolidate = happening(
        "Move players to save servers, or say who would move",
        "Consolidation",
    );
    consolidate["responses"]["200"] = content(
        "With dry_run the plan, which moves nobody; without it the report.",
        "application/json",
        &json!({ "oneOf": [reference("Report"), reference("Plan")] }),
    );
    let stream = json!({
        "summary": "Follow a session: server-sent events",
        "description": "The first event is `view` (a View), then one `report` (a Report) for each event of the session, its number as id; a refused event has none. With Last-Event-ID the stream begins after that number if all reports since are kept, up to 256 (after a restart, or when the session has slept, those since its last snapshot), and with a new `view` if not. A reader who is too slow gets a new `view` too.",
        "parameters": [{ "name": "Last-Event-ID", "in": "header", "schema": { "type": "integer" } }],
        "responses": {
            "200": content("A stream without end.", "text/event-stream", &json!({ "type": "string" })),
            "404": failure("404"),
            "503": failure("503")
        }
    });
    let post = |operation: Value| with_id(json!({ "post": operation }));
    [
        (
            "/v1/sessions/{id}/join",
            post(happening("A player wants to play", "Ways")),
        ),
        (
            "/v1/sessions/{id}/leave",
            post(happening("A player stops playing", "Leaver")),
        ),
        (
            "/v1/sessions/{id}/latencies",
            post(happening("Ways of a player have changed", "Ways")),
        ),
        ("/v1/sessions/{id}/consolidate", post(consolidate)),
        (
            "/v1/sessions/{id}/events",
            with_id(json!({
                "get": stream,
                "post": happening("Any event: also servers down and up, ways between servers, a new bound", "Event")
            })),
        ),
    ]
}

fn machine() -> [(&'static str, Value); 3] {
    let text = |summary: &str, media: &str| {
        json!({ "get": {
            "summary": summary,
            "responses": { "200": content(summary, media, &json!({ "type": "string" })) }
        } })
    };
    [
        (
            "/health",
            text("`ok` as long as the service answers", "text/plain"),
        ),
        ("/metrics", text("Figures for Prometheus", "text/plain")),
        (
            "/openapi.json",
            json!({ "get": {
            "summary": "This document",
            "responses": { "200": content("This document", "application/json", &json!({ "type": "object" })) }
        } }),
        ),
    ]
}

fn reading(summary: &str, answer: &str) -> Value {
    json!({ "summary": summary, "responses": responses("200", summary, answer, &["404", "503"]) })
}

fn with_id(mut operations: Value) -> Value {
    operations["parameters"] = json!([
        { "name": "id", "in": "path", "required": true, "schema": { "type": "string" } }
    ]);
    operations
}

fn query(name: &str, kind: &str, description: &str) -> Value {
    json!({ "name": name, "in": "query", "description": description, "schema": { "type": kind } })
}

fn body(schema: &str) -> Value {
    json!({ "required": true, "content": { "application/json": { "schema": reference(schema) } } })
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

fn content(description: &str, media: &str, schema: &Value) -> Value {
    json!({ "description": description, "content": { media: { "schema": schema } } })
}

/// One good answer, and the failures that may come instead.
fn responses(status: &str, description: &str, schema: &str, failures: &[&str]) -> Value {
    let mut all = Map::new();
    let good = content(description, "application/json", &reference(schema));
    all.insert(status.to_owned(), good);
    for status in failures {
        all.insert((*status).to_owned(), failure(status));
    }
    Value::Object(all)
}

fn failure(status: &str) -> Value {
    let description = match status {
        "400" => "The request makes no sense; the error says where.",
        "404" => "There is no such session.",
        "408" => "The body did not arrive in time.",
        "409" => "A limit that waiting does not lift.",
        "413" => "The body is too large.",
        _ => "Too busy, or no time to decide; nothing has changed, try again.",
    };
    content(description, "application/json", &reference("Error"))
}
