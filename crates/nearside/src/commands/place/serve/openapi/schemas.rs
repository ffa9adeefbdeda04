//! Bodies and answers by name, in JSON Schema.

use serde_json::{Value, json};

pub(super) fn all() -> Value {
    let mut all = questions();
    for (name, schema) in sessions().as_object().into_iter().flatten() {
        all[name] = schema.clone();
    }
    all
}

fn questions() -> Value {
    json!({
        "Error": object(&["error"], json!({ "error": { "type": "string" } })),
        "Instance": object(&["clients", "servers", "client_server_ms", "server_server_ms"], json!({
            "delay_bound_ms": delay(),
            "latency": latency(),
            "processing_ms": delay(),
            "clients": { "type": "array", "items": { "type": "string" } },
            "servers": { "type": "array", "items": of("Server") },
            "client_server_ms": matrix("A row for each client, a cell for each server."),
            "server_server_ms": matrix("A row and a cell for each server."),
            "server_links": { "type": "array", "items": { "type": "array", "items": { "type": "string" } } }
        })),
        "Server": object(&["name"], json!({
            "name": { "type": "string" },
            "capacity": { "type": "integer", "minimum": 0 },
            "cost": { "type": "number", "minimum": 0 }
        })),
        "Answer": object(
            &["status", "servers_used", "delay_ms", "bound_ms", "lower_bound", "gap", "assignment", "solver", "seconds", "seed"],
            json!({
                "status": status(),
                "servers_used": nullable("integer"),
                "delay_ms": nullable("number"),
                "bound_ms": delay(),
                "lower_bound": nullable("number"),
                "gap": nullable("number"),
                "assignment": nullable_map(),
                "solver": { "type": "string" },
                "seconds": { "type": "number" },
                "seed": { "type": "integer" },
                "cost": { "type": "number" },
                "impossible": of("Impossible")
            })
        ),
        "Impossible": object(&["reason", "clients", "clients_is_minimal", "possible_from_ms", "move", "move_is_minimal"], json!({
            "reason": { "enum": ["delay", "processing", "places"] },
            "players": { "type": "integer", "description": "How many want places, where those are the reason." },
            "places": { "type": "integer", "description": "How many places there are for them." },
            "clients": names("Players who cannot be together within the bound; nobody, where there are not enough places for all."),
            "clients_is_minimal": {
                "type": "boolean",
                "description": "Whether none of them could be left out; false when the time ended before that was known."
            },
            "possible_from_ms": {
                "type": ["number", "null"],
                "description": "From which bound on they could be together; null where there is none, for groups of more than 8, or when the time ended first."
            },
            "move": names("The fewest players to move to another session."),
            "move_is_minimal": { "type": "boolean" }
        })),
        "Curve": object(&["complete", "rows", "seconds", "seed"], json!({
            "complete": { "type": ["boolean", "null"] },
            "rows": { "type": "array", "items": of("CurveRow") },
            "seconds": { "type": "number" },
            "seed": { "type": "integer" }
        })),
        "CurveRow": object(
            &["bound_ms", "solver", "status", "servers_used", "cost", "delay_ms", "lower_bound", "at_least_ms", "proven"],
            json!({
                "bound_ms": delay(),
                "solver": { "type": "string" },
                "status": status(),
                "servers_used": nullable("integer"),
                "cost": nullable("number"),
                "delay_ms": nullable("number"),
                "lower_bound": nullable("number"),
                "at_least_ms": nullable("number"),
                "proven": {
                    "type": "boolean",
                    "description": "Whether nothing cheaper exists within the bound, and nothing faster at the cost."
                }
            })
        ),
        "MinDelay": object(
            &["status", "servers", "servers_used", "delay_ms", "at_least_ms", "proven", "assignment", "seconds", "seed"],
            json!({
                "status": { "enum": ["optimal", "feasible", "infeasible", "out_of_budget"] },
                "servers": { "type": "integer" },
                "servers_used": nullable("integer"),
                "delay_ms": nullable("number"),
                "at_least_ms": nullable("number"),
                "proven": { "type": "boolean" },
                "assignment": nullable_map(),
                "seconds": { "type": "number" },
                "seed": { "type": "integer" }
            })
        )
    })
}

fn sessions() -> Value {
    json!({
        "Setup": object(&["delay_bound_ms", "servers", "server_server_ms"], json!({
            "delay_bound_ms": delay(),
            "latency": latency(),
            "processing_ms": delay(),
            "servers": { "type": "array", "items": of("Server") },
            "server_server_ms": matrix("A row and a cell for each server."),
            "seed": { "type": "integer" },
            "steps": { "type": "integer", "maximum": 1_000_000 }
        })),
        "Created": object(&["id"], json!({ "id": { "type": "string" } })),
        "SessionList": object(&["sessions"], json!({ "sessions": names("Ids.") })),
        "Ways": object(&["client", "latencies_ms"], json!({
            "client": { "type": "string" },
            "latencies_ms": {
                "type": "object",
                "additionalProperties": nullable("number"),
                "description": "Milliseconds by server; null where it cannot be used."
            }
        })),
        "Leaver": object(&["client"], json!({ "client": { "type": "string" } })),
        "Consolidation": object(&["max_moves"], json!({
            "max_moves": { "type": "integer", "minimum": 0 },
            "dry_run": { "type": "boolean", "default": false }
        })),
        "Event": {
            "type": "object",
            "required": ["event"],
            "properties": { "event": { "enum": [
                "join", "leave", "latency", "latencies", "server_latency", "server_down", "server_up", "bound", "consolidate"
            ] } },
            "description": "A line of a session's log: docs/place.md lists the fields of each. server_latency sets both directions between two servers, also where the set-up has different ones."
        },
        "Allocation": {
            "type": "object",
            "additionalProperties": nullable("string"),
            "description": "Server by player; null for who waits for a seat."
        },
        "Move": object(&["client", "from", "to"], json!({
            "client": { "type": "string" },
            "from": nullable("string"),
            "to": nullable("string")
        })),
        "Report": object(
            &["number", "result", "moves", "clients", "servers_used", "delay_ms", "bound_ms", "waiting"],
            json!({
                "number": { "type": "integer" },
                "result": { "enum": ["kept", "refused", "unmet"] },
                "reason": { "type": "object", "required": ["reason"] },
                "moves": { "type": "array", "items": of("Move") },
                "clients": { "type": "integer" },
                "servers_used": { "type": "integer" },
                "delay_ms": nullable("number"),
                "bound_ms": delay(),
                "waiting": names("Players without a seat.")
            })
        ),
        "Plan": object(&["moves", "servers_before", "servers_after", "saved"], json!({
            "moves": { "type": "array", "items": of("Move") },
            "servers_before": { "type": "integer" },
            "servers_after": { "type": "integer" },
            "saved": { "type": "number" }
        })),
        "View": object(&["bound_ms", "delay_ms", "kept", "events", "servers", "clients"], json!({
            "bound_ms": delay(),
            "delay_ms": nullable("number"),
            "kept": { "type": "boolean" },
            "events": { "type": "integer" },
            "servers": { "type": "array", "items": object(&["name", "up", "load", "capacity"], json!({
                "name": { "type": "string" },
                "up": { "type": "boolean" },
                "load": { "type": "integer" },
                "capacity": nullable("integer")
            })) },
            "clients": { "type": "array", "items": object(&["name", "server", "delay_ms"], json!({
                "name": { "type": "string" },
                "server": nullable("string"),
                "delay_ms": nullable("number")
            })) }
        }))
    })
}

/// Nothing but these properties.
fn object(required: &[&str], properties: Value) -> Value {
    let mut schema = json!({
        "type": "object",
        "required": required,
        "additionalProperties": false
    });
    schema["properties"] = properties;
    schema
}

fn of(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn nullable(kind: &str) -> Value {
    json!({ "type": [kind, "null"] })
}

fn nullable_map() -> Value {
    json!({ "type": ["object", "null"], "additionalProperties": { "type": "string" } })
}

fn names(description: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "description": description })
}

fn delay() -> Value {
    json!({ "type": "number", "minimum": 0, "maximum": 1e9 })
}

fn latency() -> Value {
    json!({ "enum": ["one_way", "round_trip"], "default": "one_way" })
}

fn status() -> Value {
    json!({ "enum": ["optimal", "feasible", "infeasible", "bound_unmet", "out_of_budget"] })
}

fn matrix(description: &str) -> Value {
    json!({
        "type": "array",
        "items": { "type": "array", "items": nullable("number") },
        "description": description
    })
}
