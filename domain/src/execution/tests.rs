use std::time::Duration;

use super::*;
use crate::clock::{Clock, Timestamp};

struct FixedClock(Duration);

#[async_trait::async_trait]
impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(0)
    }

    fn monotonic(&self) -> Duration {
        self.0
    }

    async fn sleep(&self, _duration: Duration) {}
}

#[test]
fn nothing_starts_behind_the_end_of_the_lease() {
    let signal = StopSignal::default();
    signal.allow_starts_until(Duration::from_secs(8));
    assert!(signal.may_start(&FixedClock(Duration::from_millis(7_999))));
    assert!(!signal.may_start(&FixedClock(Duration::from_secs(8))));
}

#[test]
fn the_first_cause_of_a_stop_wins() {
    let signal = StopSignal::default();
    signal.allow_starts_until(Duration::MAX);
    signal.trip(StopCause::Deadline);
    signal.trip(StopCause::Cancelled);
    assert_eq!(signal.cause(), Some(StopCause::Deadline));
    assert!(signal.token().is_cancelled());
    assert!(!signal.may_start(&FixedClock(Duration::ZERO)));
}

#[test]
fn every_stop_code_leads_to_a_terminal_state() {
    for code in [StopCode::FinalAnswer, StopCode::Cancelled, StopCode::CostLimit, StopCode::ModelFailed] {
        assert!(code.status().is_terminal(), "{code:?}");
    }
}

/// What was stored before there were fallbacks and retries is still read, and means what it meant.
#[test]
fn rows_from_before_there_were_fallbacks_are_read() {
    use crate::event::EventRecord;
    use crate::resource::{AgentSpec, ModelSpec};
    let id = |number| crate::ids::VersionId::from_bits(number).to_string();
    let pins = serde_json::json!({
        "agent": id(1), "model": id(2), "modelCredential": id(3), "profile": null, "connection": null,
        "connectionCredential": null,
    });
    let pins: Pins = serde_json::from_value(pins).unwrap();
    assert_eq!(pins.models(), [ModelPin { model: pins.model, credential: pins.model_credential, price: None }]);
    let model = crate::ids::ResourceId::from_bits(1);
    let agent = serde_json::json!({
        "instructions": "", "modelId": model, "sandboxProfileId": null, "tools": [], "limits": crate::budget::Limits::default(),
        "loopPolicy": {"onLoop": "STOP", "maxIdenticalCalls": 3},
    });
    let spec: AgentSpec = serde_json::from_value(agent.clone()).unwrap();
    assert_eq!(spec.models().collect::<Vec<_>>(), [model]);
    assert_eq!(serde_json::to_value(&spec).unwrap().get("fallbackModelIds"), None, "its digest stays what it was");
    let spec: ModelSpec = serde_json::from_value(serde_json::json!({
        "protocol": "OPENAI_COMPATIBLE", "provider": "p", "deployment": "d", "alias": "a", "baseUrl": "http://h/v1",
        "credentialId": null, "parameters": {}, "contextWindow": 9, "maxOutputTokens": 1, "price": null,
    }))
    .unwrap();
    assert_eq!(spec.max_retries, ModelSpec::default_max_retries());
    let event: EventRecord = serde_json::from_value(serde_json::json!({
        "sequence": 3, "atMicros": 1, "kind": "ModelCallStarted", "iteration": 1,
        "modelCallId": crate::ids::ModelCallId::from_bits(1), "alias": "a", "deployment": "d", "reservedCost": 1,
        "reservedTokens": 2,
    }))
    .unwrap();
    let is_own = |event: &crate::event::Event| {
        matches!(event, crate::event::Event::ModelCallStarted { fallback_index: 0, fallback_because: None, .. })
    };
    assert!(is_own(&event.event));
}
