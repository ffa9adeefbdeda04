//! Judges answers by the OpenAPI document: the part of JSON Schema that it uses.

use serde_json::Value;

/// Panics with the place where `value` is not what the document says under this name.
#[track_caller]
pub fn check(document: &Value, name: &str, value: &Value) {
    let reference = serde_json::json!({ "$ref": format!("#/components/schemas/{name}") });
    if let Err(why) = judge(document, &reference, value, name) {
        panic!("{why} in {value}");
    }
}

fn judge(document: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.trim_start_matches('#');
        let target = document
            .pointer(pointer)
            .ok_or(format!("{reference} is nowhere"))?;
        return judge(document, target, value, place);
    }
    if let Some(allowed) = schema["enum"].as_array() {
        return allowed
            .contains(value)
            .then_some(())
            .ok_or(format!("{place}: {value}"));
    }
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.clone(),
        kind => vec![kind.clone()],
    };
    if !kinds.iter().any(|kind| is_a(kind, value)) {
        return Err(format!("{place} is not {kinds:?}"));
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        judge(
            document,
            &schema["items"],
            item,
            &format!("{place}[{index}]"),
        )?;
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap();
        value.get(name).ok_or(format!("{place} has no {name}"))?;
    }
    for (name, field) in value.as_object().into_iter().flatten() {
        let inner = format!("{place}.{name}");
        match (&schema["properties"][name], &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => return Err(format!("{inner} is not documented")),
            (Value::Null, Value::Object(_)) => {
                judge(document, &schema["additionalProperties"], field, &inner)?;
            }
            (Value::Null, _) => {}
            (known, _) => judge(document, known, field, &inner)?,
        }
    }
    Ok(())
}

fn is_a(kind: &Value, value: &Value) -> bool {
    match kind.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        _ => true,
    }
}
