//! The web side described for programs: OpenAPI 3.1, in [`document`]. `docs/master-openapi.json` is
//! this text; `cargo xtask drift` compares them.

use serde_json::{Map, Value, json};

/// The document as text, as `/openapi.json` and `nearside master openapi` give it.
pub fn text() -> String {
    let text = serde_json::to_string_pretty(&document()).expect("the document is plain data");
    text + "\n"
}

pub(super) fn document() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "nearside master",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Lists of game servers, registration of them, and the operator's side. The public side has /servers, /servers.bin, /status.json and the page /; the admin side, on loopback, has the rest and asks for a token. docs/wire/master-http.md has the bytes, docs/master.md the rest.",
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
    let all = lists().into_iter().chain(operator()).chain(machine());
    let all: Map<String, Value> = all
        .map(|(path, operations)| (path.to_owned(), operations))
        .collect();
    Value::Object(all)
}

fn lists() -> [(&'static str, Value); 4] {
    let register = json!({
        "summary": "Register a game server; the answer says how to prove its UDP port",
        "requestBody": body("Registration"),
        "responses": responses(&[
            ("200", "On the list.", "Registered"),
            ("202", "A challenge is on its way to the address.", "Registered"),
            ("400", "The body makes no sense; the error says where.", "Error"),
            ("403", "Refused; the error says why.", "Registered"),
            ("408", "The body did not arrive in time.", "Error"),
            ("413", "The body is too large.", "Error"),
            ("429", "This network has had its share of challenges.", "Registered")
        ])
    });
    let list = json!({
        "summary": "The list, all of it or what the parameters select; on the admin side each server has `seconds` too",
        "description": "Written anew at most once a second; ETag and If-None-Match work, and gzip.",
        "parameters": filters(),
        "responses": responses(&[
            ("200", "The list.", "List"),
            ("400", "A parameter makes no sense.", "Error"),
            ("429", "This network has had its share of filtered lists.", "Error"),
            ("503", "Too many wait for filtered lists, or hold them, or the master has only begun.", "Error")
        ])
    });
    let compact = json!({
        "summary": "The list in the compact form of docs/wire/master-http.md",
        "parameters": filters(),
        "responses": { "200": content("The list.", "application/octet-stream", &json!({ "type": "string", "format": "binary" })) }
    });
    let page = json!({
        "summary": "A page for people",
        "responses": { "200": content("The page.", "text/html", &json!({ "type": "string" })) }
    });
    let status = json!({
        "summary": "How the master stands: what the page shows",
        "responses": responses(&[("200", "The figures.", "Status")])
    });
    [
        ("/", json!({ "get": page })),
        ("/status.json", json!({ "get": status })),
        ("/servers", json!({ "get": list, "post": register })),
        ("/servers.bin", json!({ "get": compact })),
    ]
}

fn operator() -> [(&'static str, Value); 4] {
    let guarded = |mut operation: Value| {
        operation["security"] = json!([{ "token": [] }]);
        operation["responses"]["401"] = content(
            "Without the token.",
            "application/json",
            &reference("Error"),
        );
        operation
    };
    let bans = guarded(json!({
        "summary": "All bans",
        "responses": { "200": content("The bans.", "application/json", &json!({ "type": "array", "items": reference("Ban") })) }
    }));
    let ban = guarded(json!({
        "summary": "Ban an address, a network or an AS; registered servers it concerns go at once",
        "requestBody": body("Ban"),
        "responses": responses(&[
            ("201", "Banned.", "Ban"),
            ("400", "Nobody that could be banned.", "Error"),
            ("409", "The configuration bans it already.", "Error")
        ])
    }));
    let unban = guarded(json!({
        "summary": "Lift a ban",
        "parameters": [{ "name": "target", "in": "query", "required": true, "schema": { "type": "string" } }],
        "responses": {
            "204": { "description": "Lifted." },
            "404": content("There is no such ban.", "application/json", &reference("Error")),
            "409": content("It stands in the configuration.", "application/json", &reference("Error"))
        }
    }));
    let sources = guarded(json!({
        "summary": "The masters that are followed",
        "responses": { "200": content("How each fares.", "application/json", &json!({ "type": "array", "items": reference("Source") })) }
    }));
    let origins = guarded(json!({
        "summary": "Where origins come from, and the live feed",
        "responses": responses(&[("200", "The sources.", "Origins")])
    }));
    let reload = guarded(json!({
        "summary": "Read configuration and bans again, as SIGHUP does",
        "responses": responses(&[
            ("200", "What changed.", "Changes"),
            ("500", "A file is wrong; all stays as it was.", "Error")
        ])
    }));
    [
        (
            "/bans",
            json!({ "get": bans, "post": ban, "delete": unban }),
        ),
        ("/sources", json!({ "get": sources })),
        ("/origins", json!({ "get": origins })),
        ("/reload", json!({ "post": reload })),
    ]
}

fn machine() -> [(&'static str, Value); 3] {
    let text = |summary: &str, media: &str| {
        json!({ "get": {
            "summary": summary,
            "responses": { "200": content(summary, media, &json!({ "type": "string" })) }
        } })
    };
    let mut health = text(
        "`ok` as long as the engine turns; `degraded: …` while its store fails and changes wait",
        "text/plain",
    );
    health["get"]["responses"]["503"] =
        content("It does not.", "application/json", &reference("Error"));
    [
        ("/health", health),
        (
            "/metrics",
            text("Figures for Prometheus; admin side", "text/plain"),
        ),
        ("/openapi.json", text("This document", "application/json")),
    ]
}

fn filters() -> Vec<Value> {
    [
        ("family", "string", "quake3, steam or other."),
        ("game", "string", "The game; * for anything, whatever the case, as in all texts."),
        ("name", "string", "The server's name."),
        ("map", "string", "The map."),
        ("mode", "string", "The mode, or Steam's tags."),
        ("version", "string", "The game's version."),
        ("protocol", "integer", "The protocol number."),
        ("app_id", "integer", "Steam's number of the game."),
        ("as", "integer", "The origin AS."),
        ("country", "string", "The country, two letters."),
        ("region", "integer", "Steam's number of a region: 0 to 7, or 255 for the world."),
        ("empty", "integer", "0: no empty servers; 1: only those."),
        ("full", "integer", "0: no full servers; 1: only those."),
        ("password", "integer", "0: none with a password; 1: only those."),
        ("ipv6", "integer", "0: IPv4 only; 1: IPv6 only."),
        ("own", "integer", "1: none that only other masters list; 0: only those."),
    ]
    .into_iter()
    .map(|(name, kind, description)| {
        json!({ "name": name, "in": "query", "description": description, "schema": { "type": kind } })
    })
    .collect()
}

fn schemas() -> Value {
    let count = object(&[
        ("name", "string"),
        ("servers", "integer"),
        ("players", "integer"),
    ]);
    let counts = json!({ "type": "array", "items": count });
    let mut status = object(&[
        ("program", "string"),
        ("uptime_s", "integer"),
        ("servers", "integer"),
        ("players", "integer"),
        ("verified", "integer"),
        ("remembered", "integer"),
        ("followed", "integer"),
        ("per_second", "object"),
    ]);
    for table in ["games", "countries", "systems"] {
        status["properties"][table] = counts.clone();
    }
    status["properties"]["sources"] = json!({ "type": "array", "items": reference("Source") });
    status["properties"]["feed"] = json!({ "type": ["object", "null"] });
    status["properties"]["store"] = object(&[("waiting", "integer"), ("error", "string")]);
    let facts = [
        ("family", "string"),
        ("game", "string"),
        ("name", "string"),
        ("map", "string"),
        ("mode", "string"),
        ("version", "string"),
        ("data", "string"),
        ("protocol", "integer"),
        ("app_id", "integer"),
        ("players", "integer"),
        ("bots", "integer"),
        ("places", "integer"),
        ("password", "boolean"),
        ("dedicated", "boolean"),
        ("secure", "boolean"),
        ("linux", "boolean"),
        ("proxy", "boolean"),
    ];
    let with = |more: &[(&str, &str)]| object(&[more, &facts].concat());
    let server = with(&[
        ("addr", "string"),
        ("standing", "string"),
        ("from", "string"),
        ("as", "integer"),
        ("country", "string"),
        ("seconds", "integer"),
    ]);
    let registration = with(&[
        ("address", "string"),
        ("port", "integer"),
        ("challenge", "string"),
    ]);
    json!({
        "Server": server,
        "List": { "type": "object", "properties": {
            "at": { "type": "integer" },
            "servers": { "type": "array", "items": reference("Server") }
        } },
        "Registration": registration,
        "Registered": object(&[
            ("state", "string"), ("address", "string"), ("seconds", "integer"), ("error", "string"), ("earlier", "string")
        ]),
        "Status": status,
        "Ban": object(&[("target", "string"), ("reason", "string"), ("place", "string")]),
        "Source": object(&[
            ("name", "string"), ("kind", "string"), ("servers", "integer"), ("taken", "integer"), ("age_s", "integer"), ("error", "string")
        ]),
        "Origins": { "type": "object", "properties": {
            "layers": { "type": "array", "items": object(&[("label", "string"), ("source", "string"), ("age_days", "integer")]) },
            "notes": { "type": "array", "items": { "type": "string" } },
            "feed": { "type": ["object", "null"] }
        } },
        "Changes": { "type": "object", "properties": { "changes": { "type": "array", "items": { "type": "string" } } } },
        "Error": object(&[("error", "string")])
    })
}

fn object(properties: &[(&str, &str)]) -> Value {
    let properties: Map<String, Value> = properties
        .iter()
        .map(|(name, kind)| ((*name).to_owned(), json!({ "type": kind })))
        .collect();
    json!({ "type": "object", "properties": properties })
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

fn responses(all: &[(&str, &str, &str)]) -> Value {
    let all: Map<String, Value> = all
        .iter()
        .map(|(status, description, schema)| {
            let answer = content(description, "application/json", &reference(schema));
            ((*status).to_owned(), answer)
        })
        .collect();
    Value::Object(all)
}
