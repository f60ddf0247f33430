//! Statuses, broken connections and endpoints that are not there.

use domain::model_call::{ModelCallEnd, ModelFailure, ModelFailureKind, ModelOutcome, ModelRuntime, ReplyMode};
use infra::model::CallLimits;
use tokio::net::TcpListener;

use super::provider::{KEY, Pieces, Provider, Step, adapter, answer, ask, chunked, context, request};

#[track_caller]
fn failure(outcome: &ModelOutcome) -> &ModelFailure {
    match &outcome.end {
        ModelCallEnd::Failed(failure) => failure,
        other => panic!("{other:?} is no failure"),
    }
}

async fn call_url(url: &str) -> ModelOutcome {
    let request = request(url, ReplyMode::Stream);
    adapter(CallLimits::default()).call(&context(), &request, &Pieces::default()).await
}

#[tokio::test]
async fn a_status_has_its_class_and_no_secret_gets_out() {
    use ModelFailureKind::{Credentials, Protocol, ProviderError, RateLimited, Rejected};
    let provider = Provider::start().await;
    for (status, kind) in [
        ("400 Bad Request", Rejected),
        ("401 Unauthorized", Credentials),
        ("402 Payment Required", RateLimited),
        ("403 Forbidden", Credentials),
        ("404 Not Found", Rejected),
        ("422 Unprocessable Entity", Rejected),
        ("429 Too Many Requests", RateLimited),
        ("500 Internal Server Error", ProviderError),
        ("503 Service Unavailable", ProviderError),
        ("529 Overloaded", ProviderError),
        ("302 Found", Protocol),
    ] {
        let bodies = [
            format!(r#"{{"error":{{"message":"no: {KEY}, Bearer other-token-of-someone"}}}}"#),
            format!("<pre>{}no: {KEY} and sk-another-one-9999</pre>", "x ".repeat(9)),
        ];
        for body in bodies {
            provider.play(answer(status, "application/json", &body));
            let before = provider.requests().len();
            let (outcome, _) = ask(&provider, ReplyMode::Stream).await;
            let failure = failure(&outcome);
            assert_eq!(failure.kind, kind, "{failure}");
            assert!(failure.message.contains(status.split(' ').next().unwrap()), "{failure}");
            assert!(failure.message.chars().count() <= 500);
            for secret in [KEY, "other-token-of-someone", "sk-another"] {
                assert!(!failure.to_string().contains(secret), "{failure}");
            }
            assert!(kind == Protocol || failure.message.contains("no: [redacted]"), "{failure}");
            assert!(outcome.was_sent);
            assert_eq!(provider.requests().len(), before + 1, "a failed call is not repeated");
        }
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (provider, other) = (Provider::start().await, Provider::start().await);
    let head = format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", other.url());
    provider.play(vec![Step::Send(head.into_bytes())]);
    let (outcome, _) = ask(&provider, ReplyMode::Stream).await;
    assert_eq!(failure(&outcome).kind, ModelFailureKind::Protocol);
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn an_endless_error_body_is_bounded() {
    let mut steps = answer("500 Internal Server Error", "text/plain", "");
    steps = vec![Step::Send(match steps.remove(0) {
        Step::Send(head) => String::from_utf8(head).unwrap().replace("length: 0", "length: 99999999").into_bytes(),
        other => panic!("{other:?}"),
    })];
    steps.extend(std::iter::repeat_n(Step::Send(vec![b'x'; 4096]), 64));
    steps.push(Step::Stall);
    let (outcome, _) = ask(&Provider::playing(steps).await, ReplyMode::Stream).await;
    assert_eq!(failure(&outcome).message.chars().count(), 500);
}

#[tokio::test]
async fn nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let outcome = call_url(&url).await;
    assert_eq!(failure(&outcome).kind, ModelFailureKind::Unreachable);
    assert!(failure(&outcome).message.contains("refused"), "{}", failure(&outcome));
    assert!(!outcome.was_sent);
}

#[tokio::test]
async fn a_name_that_does_not_resolve_and_an_unusable_url_send_nothing() {
    for (url, kind) in [
        ("http://LABEL/v1", ModelFailureKind::Unreachable),
        ("ftp://127.0.0.1/v1", ModelFailureKind::Rejected),
        ("not a url", ModelFailureKind::Rejected),
    ] {
        // A label of more than 63 characters fails before anybody is asked.
        let outcome = call_url(&url.replace("LABEL", &"a".repeat(70))).await;
        assert_eq!(failure(&outcome).kind, kind, "{url}");
        assert!(!outcome.was_sent, "{url}");
    }
}

#[tokio::test]
async fn a_key_that_no_header_can_carry_sends_nothing_and_is_not_shown() {
    let provider = Provider::start().await;
    let mut request = request(&provider.url(), ReplyMode::Stream);
    request.endpoint.api_key = Some("broken\nsecret".to_owned());
    let outcome = adapter(CallLimits::default()).call(&context(), &request, &Pieces::default()).await;
    assert_eq!(failure(&outcome).kind, ModelFailureKind::Credentials);
    assert!(!failure(&outcome).message.contains("secret"));
    assert!(!outcome.was_sent);
}

#[tokio::test]
async fn a_server_without_tls_is_unreachable_by_https() {
    let provider = Provider::playing(answer("200 OK", "application/json", "{}")).await;
    let outcome = call_url(&provider.url().replace("http://", "https://")).await;
    assert_eq!(failure(&outcome).kind, ModelFailureKind::Unreachable, "{}", failure(&outcome));
    assert!(!outcome.was_sent);
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn a_connection_cut_before_the_answer_was_sent_once() {
    let provider = Provider::playing(vec![Step::Close]).await;
    let (outcome, _) = ask(&provider, ReplyMode::Stream).await;
    assert_eq!(failure(&outcome).kind, ModelFailureKind::StreamTruncated);
    assert!(outcome.was_sent);
    assert_eq!(provider.requests().len(), 1);
}

#[tokio::test]
async fn a_connection_cut_in_the_middle_leaves_the_part() {
    let piece = b"data: {\"choices\":[{\"delta\":{\"content\":\"par\"}}]}\n\n";
    let mut steps = chunked("text/event-stream", [&piece[..]]);
    steps.push(Step::Close);
    let (outcome, _) = ask(&Provider::playing(steps).await, ReplyMode::Stream).await;
    assert_eq!(failure(&outcome).kind, ModelFailureKind::StreamTruncated);
    assert_eq!(outcome.reply.text, "par");
    let mut steps = answer("200 OK", "application/json", r#"{"choices":[{"message":{"content":"ok"}}]}"#);
    if let Some(Step::Send(bytes)) = steps.first_mut() {
        bytes.truncate(bytes.len() - 4);
    }
    steps.push(Step::Close);
    let (outcome, _) = ask(&Provider::playing(steps).await, ReplyMode::Complete).await;
    assert_eq!(failure(&outcome).kind, ModelFailureKind::StreamTruncated);
}
