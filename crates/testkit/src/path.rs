//! Places in an answer: JSON pointers, in which `*` is every element of an array.

use serde_json::{Map, Value};

/// Puts `new` wherever `path` leads. The last step, and what is missing before it, is made.
pub(crate) fn set(value: &mut Value, path: &str, new: &Value) {
    match split(path) {
        None => *value = new.clone(),
        Some((step, rest)) => {
            if let (Value::Object(_) | Value::Null, false) = (&*value, step == "*") {
                let fields = match value {
                    Value::Object(fields) => fields,
                    other => {
                        *other = Value::Object(Map::new());
                        other.as_object_mut().expect("it was made one on the line above")
                    }
                };
                return set(fields.entry(step).or_insert(Value::Null), rest, new);
            }
            elements(value, step).for_each(|element| set(element, rest, new));
        }
    }
}

/// Takes away the field that `path` leads to, wherever it does.
pub(crate) fn remove(value: &mut Value, path: &str) {
    let Some((step, rest)) = split(path) else { return };
    if rest.is_empty() {
        match value {
            Value::Object(fields) => drop(fields.remove(step)),
            Value::Array(list) if step == "*" => list.clear(),
            Value::Array(list) => {
                if let Some(index) = step.parse().ok().filter(|index| *index < list.len()) {
                    list.remove(index);
                }
            }
            _ => {}
        }
        return;
    }
    if let Value::Object(fields) = value {
        fields.get_mut(step).into_iter().for_each(|field| remove(field, rest));
    } else {
        elements(value, step).for_each(|element| remove(element, rest));
    }
}

/// `/a/b` → `a` and `/b`; the empty path has no step.
fn split(path: &str) -> Option<(&str, &str)> {
    let path = path.strip_prefix('/')?;
    Some(path.find('/').map_or((path, ""), |at| path.split_at(at)))
}

fn elements<'a>(value: &'a mut Value, step: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = value.as_array_mut().map(Vec::as_mut_slice).unwrap_or_default();
    let chosen = match step {
        "*" => list,
        index => match index.parse::<usize>() {
            Ok(index) if index < list.len() => &mut list[index..=index],
            _ => &mut [],
        },
    };
    chosen.iter_mut()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_star_is_every_element_and_a_number_one() {
        let mut value = json!({ "result": [{ "a": 1 }, { "a": 2 }] });
        set(&mut value, "/result/*/removed", &json!(true));
        remove(&mut value, "/result/1/a");
        set(&mut value, "/result/2/a", &json!("there is no third"));
        assert_eq!(value, json!({ "result": [{ "a": 1, "removed": true }, { "removed": true }] }));
        remove(&mut value, "/result/0");
        assert_eq!(value, json!({ "result": [{ "removed": true }] }));
    }

    #[test]
    fn what_is_missing_on_the_way_is_made_when_setting_and_not_when_removing() {
        let mut value = json!({});
        remove(&mut value, "/a/b");
        assert_eq!(value, json!({}));
        set(&mut value, "/a/b", &json!(1));
        assert_eq!(value, json!({ "a": { "b": 1 } }));
        set(&mut value, "", &json!(null));
        assert_eq!(value, Value::Null);
    }
}
