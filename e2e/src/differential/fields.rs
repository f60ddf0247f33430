//! Fields are the members of an answer by their paths, each as JSON text.
//!
//! What differs between any two runs is replaced by its kind, and only where it is of that kind: an id that the server
//! gave, a time in the notation of RFC 3339, a measured number, the server's address, the client's own name. Everything
//! else stays as it is, the bytes of outputs above all.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::plan::Server;
use crate::Result;

/// A longer text is shown by its length and hash.
const SHOWN_BYTES: usize = 512;
const MEASURED: [&str; 3] = ["cpu_used_percent", "mem_used_mib", "measured_at_ms"];
const CLIENT_KEY: &str = "differential.client";

/// An answer that can be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    /// `result` or `error`.
    pub outcome: &'static str,
    /// The members' values by their paths. A member that is null or an empty object is as good as absent.
    pub values: BTreeMap<String, String>,
}

impl Fields {
    /// The class of an error.
    pub fn class(&self) -> Option<&str> {
        let class = self.values.get("class")?;
        (self.outcome == "error").then_some(class)
    }

    /// The whole answer in one line.
    pub fn whole(&self) -> String {
        let members: Vec<String> = self.values.iter().map(|(path, value)| format!("{path}={value}")).collect();
        format!("{} {}", self.outcome, members.join(" ")).trim_end().to_owned()
    }
}

/// Replaces what differs by nature in the answers of one driver.
pub struct Normaliser<'a> {
    client: &'a str,
    authority: &'a str,
    ids: BTreeSet<&'a str>,
}

impl<'a> Normaliser<'a> {
    /// For a driver's answers, which tell the ids that the server has given.
    pub fn new(client: &'a str, server: &'a Server, lines: &'a [Value]) -> Self {
        let ids = lines.iter().filter_map(|line| line["result"]["id"].as_str());
        Self { client, authority: server.authority(), ids: ids.filter(|id| id.len() >= 8).collect() }
    }

    /// The fields of an answer.
    pub fn fields(&self, line: &Value) -> Result<Fields> {
        let (outcome, value) = match (line.get("result"), line.get("error")) {
            (Some(result), None) => ("result", result),
            (None, Some(error)) => ("error", error),
            _ => return Err(format!("an answer is neither a result nor an error: {line}").into()),
        };
        let mut values = BTreeMap::new();
        self.collect("", value, &mut values);
        Ok(Fields { outcome, values })
    }

    fn collect(&self, path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        match value {
            Value::Null => {}
            Value::Object(members) => members.iter().for_each(|(name, value)| self.collect(&below(name), value, into)),
            Value::Array(items) => {
                into.insert(below("length"), items.len().to_string());
                items.iter().enumerate().for_each(|(at, item)| self.collect(&below(&at.to_string()), item, into));
            }
            leaf => {
                into.insert(path.to_owned(), self.leaf(path, leaf).to_string());
            }
        }
    }

    fn leaf(&self, path: &str, value: &Value) -> Value {
        let name = path.rsplit('.').next().unwrap_or_default();
        match value {
            Value::String(text) if name.ends_with("_at") && is_time(text) => json!("<time>"),
            Value::String(text) if path.ends_with(CLIENT_KEY) && text == self.client => json!("<client>"),
            Value::String(text) => json!(shortened(&self.without_names(text))),
            Value::Number(number) if MEASURED.contains(&name) => {
                let is_measured = number.as_f64().is_some_and(|number| number.is_finite() && number >= 0.0);
                if is_measured { json!("<number>") } else { value.clone() }
            }
            // Not every client tells whole numbers from others.
            Value::Number(number) => match number.as_f64() {
                Some(whole) if whole.fract() == 0.0 && whole.abs() < 1e15 => json!(whole as i64),
                _ => value.clone(),
            },
            other => other.clone(),
        }
    }

    fn without_names(&self, text: &str) -> String {
        let text = text.replace(self.authority, "<server>");
        let text = self.without_published_port(&text).unwrap_or(text);
        self.ids.iter().fold(text, |text, id| text.replace(id, "<id>"))
    }

    /// The address of a sandbox that has a port of its own on the server's host, with the port's kind in its place.
    fn without_published_port(&self, text: &str) -> Option<String> {
        let (host, _) = self.authority.rsplit_once(':')?;
        let (port, path) = text.strip_prefix(host)?.strip_prefix(':')?.split_once('/')?;
        port.parse::<u16>().ok().map(|_| format!("<host>:<port>/{path}"))
    }
}

fn shortened(text: &str) -> String {
    if text.len() <= SHOWN_BYTES {
        return text.to_owned();
    }
    let hash: String = Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("<{} bytes, {hash}>", text.len())
}

/// `2026-01-31T12:00:00`, perhaps decimals, and `Z` or an offset.
fn is_time(text: &str) -> bool {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00";
    let bytes = text.as_bytes();
    let Some((head, rest)) = bytes.split_at_checked(SHAPE.len()) else { return false };
    let fits = |(byte, shape): (&u8, &u8)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == shape };
    let decimals = rest.strip_prefix(b".").map_or(0, |rest| 1 + rest.iter().take_while(|b| b.is_ascii_digit()).count());
    let zone = &rest[decimals..];
    let is_zone = zone == b"Z" || (zone.len() == 6 && matches!(zone[0], b'+' | b'-') && zone[3] == b':');
    head.iter().zip(SHAPE).all(fits) && decimals != 1 && is_zone
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &Value) -> Fields {
        let server = Server { url: "http://127.0.0.1:4711".into(), api_key: String::new(), image: String::new() };
        let created = [json!({ "result": { "id": "0123456789abcdef" } })];
        Normaliser::new("ours", &server, &created).fields(line).unwrap()
    }

    fn value(result: &Value, path: &str) -> Option<String> {
        fields(&json!({ "result": result })).values.get(path).cloned()
    }

    #[test]
    fn replaces_what_differs_by_nature() {
        assert_eq!(value(&json!({ "id": "0123456789abcdef" }), "id").as_deref(), Some(r#""<id>""#));
        let endpoint = json!({ "endpoint": "127.0.0.1:4711/execd/0123456789abcdef" });
        assert_eq!(value(&endpoint, "endpoint").as_deref(), Some(r#""<server>/execd/<id>""#));
        for time in ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123456+00:00", "2026-01-31T12:00:00-05:30"] {
            assert_eq!(value(&json!({ "created_at": time }), "created_at").as_deref(), Some(r#""<time>""#), "{time}");
        }
        let published = json!({ "endpoint": "127.0.0.1:40123/proxy/8080" });
        assert_eq!(value(&published, "endpoint").as_deref(), Some(r#""<host>:<port>/proxy/8080""#));
        let metadata = json!({ "metadata": { "differential.client": "ours" } });
        assert_eq!(value(&metadata, "metadata.differential.client").as_deref(), Some(r#""<client>""#));
        assert_eq!(value(&json!({ "mem_used_mib": 17.5 }), "mem_used_mib").as_deref(), Some(r#""<number>""#));
    }

    #[test]
    fn leaves_what_is_not_of_the_kind() {
        for (name, other) in [
            ("endpoint", "127.0.0.2:1/a"),
            ("id", "another"),
            ("created_at", "yesterday"),
            ("created_at", "2026-01-31T12:00:00.Z"),
        ] {
            assert_eq!(value(&json!({ name: other }), name), Some(json!(other).to_string()));
        }
        assert_eq!(value(&json!({ "mem_used_mib": -1 }), "mem_used_mib").as_deref(), Some("-1"));
        assert_eq!(
            value(&json!({ "stdout": "2026-01-31T12:00:00Z" }), "stdout").as_deref(),
            Some(r#""2026-01-31T12:00:00Z""#)
        );
    }

    #[test]
    fn compares_numbers_by_value_and_lists_by_length() {
        assert_eq!(value(&json!({ "exit_code": 7 }), "exit_code"), value(&json!({ "exit_code": 7.0 }), "exit_code"));
        assert_eq!(value(&json!({ "entries": [] }), "entries.length").as_deref(), Some("0"));
        assert_eq!(value(&json!({ "reason": null }), "reason"), None);
        let (one, other) = (json!({ "stdout": "x".repeat(600) }), json!({ "stdout": format!("{}y", "x".repeat(599)) }));
        assert_ne!(value(&one, "stdout"), value(&other, "stdout"));
    }
}
