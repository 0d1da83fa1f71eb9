//! `/control/…`: what a test in the same process does with the handle, for others.

use crate::fault::Fault;
use crate::scenario::Usage;
use crate::server::Shared;
use serde_json::{Value, json};

pub(crate) fn answer(shared: &Shared, method: &str, what: &str, body: &[u8]) -> (u16, Value) {
    let result = match (method, what) {
        ("GET", "requests") => Ok(json!(shared.lock().log.asked())),
        ("GET", "others") => Ok(json!(shared.lock().log.others())),
        ("POST", "fault") => fault(body).map(|fault| {
            shared.add_fault(fault);
            json!({})
        }),
        ("POST", "clear") => {
            shared.clear_faults();
            Ok(json!({}))
        }
        ("POST", "usage") => serde_json::from_slice::<Option<Usage>>(body)
            .map(|usage| {
                shared.lock().director.set_usage(usage);
                json!({})
            })
            .map_err(|e| e.to_string()),
        ("POST", _) if what.starts_with("release/") => {
            shared.release(&what["release/".len()..]);
            Ok(json!({}))
        }
        _ => return (404, json!({ "error": format!("no such control: {method} {what}") })),
    };
    match result {
        Ok(value) => (200, value),
        Err(why) => (400, json!({ "error": why })),
    }
}

fn fault(body: &[u8]) -> Result<Fault, String> {
    let fault: Fault = serde_json::from_slice(body).map_err(|e| e.to_string())?;
    fault.check().map(|()| fault)
}
