//! Statuses, broken connections and endpoints that are not there.

use std::time::Duration;

use domain::model_call::{
    ModelCallEnd, ModelFailure, ModelFailureKind, ModelOutcome, ModelRuntime, ReplyMode, RetryAdvice,
};
use infra::model::CallLimits;
use tokio::net::TcpListener;

use super::provider::{
    KEY, Pieces, Provider, Step, adapter, answer, answer_with, ask, chunked, context, request, stream,
};

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
    use ModelFailureKind::{ContextTooLong, Credentials, NotFound, Protocol, ProviderError, RateLimited, Rejected};
    let provider = Provider::start().await;
    for (status, kind) in [
        ("400 Bad Request", Rejected),
        ("401 Unauthorized", Credentials),
        ("402 Payment Required", RateLimited),
        ("403 Forbidden", Credentials),
        ("404 Not Found", NotFound),
        ("408 Request Timeout", ProviderError),
        ("410 Gone", NotFound),
        ("413 Content Too Large", ContextTooLong),
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
            assert!(outcome.was_sent && failure.is_refusal);
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

#[tokio::test]
async fn a_conversation_that_is_too_long_has_a_class_of_its_own() {
    let provider = Provider::start().await;
    for body in [
        r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#,
        r#"{"error":{"message":"This model's maximum context length is 8192 tokens."}}"#,
        r#"{"error":"prompt is too long: 9000 tokens"}"#,
        "the request exceeds the available context size",
    ] {
        provider.play(answer("400 Bad Request", "application/json", body));
        let (outcome, _) = ask(&provider, ReplyMode::Stream).await;
        assert_eq!(failure(&outcome).kind, ModelFailureKind::ContextTooLong, "{body}");
    }
    let event = r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#;
    provider.play(stream([format!("data: {event}\n\n").as_bytes()]));
    let (outcome, _) = ask(&provider, ReplyMode::Stream).await;
    assert_eq!(failure(&outcome).kind, ModelFailureKind::ContextTooLong);
    provider.play(answer("400 Bad Request", "application/json", r#"{"error":{"message":"temperature"}}"#));
    let (outcome, _) = ask(&provider, ReplyMode::Stream).await;
    assert_eq!(failure(&outcome).kind, ModelFailureKind::Rejected);
}

#[tokio::test]
async fn what_a_refusal_says_about_asking_again_is_reported_and_not_done() {
    let provider = Provider::start().await;
    let (then, now) = ("Sun, 06 Nov 2044 08:49:37 GMT", "Sun, 06 Nov 2044 08:49:34 GMT");
    for (headers, body, advice) in [
        ("retry-after: 2\r\n".to_owned(), "{}", RetryAdvice::After(Duration::from_secs(2))),
        ("Retry-After-Ms: 1500\r\n".to_owned(), "{}", RetryAdvice::After(Duration::from_millis(1500))),
        (format!("retry-after: {then}\r\ndate: {now}\r\n"), "{}", RetryAdvice::After(Duration::from_secs(3))),
        ("retry-after: tomorrow\r\n".to_owned(), "{}", RetryAdvice::Unsaid),
        (String::new(), "{}", RetryAdvice::Unsaid),
        ("retry-after: 1\r\n".to_owned(), r#"{"error":{"code":"insufficient_quota"}}"#, RetryAdvice::Pointless),
    ] {
        provider.play(answer_with("429 Too Many Requests", &headers, body));
        let (outcome, _) = ask(&provider, ReplyMode::Stream).await;
        assert_eq!(failure(&outcome).kind, ModelFailureKind::RateLimited);
        assert_eq!(failure(&outcome).advice, advice, "{headers} {body}");
    }
    provider.play(answer("402 Payment Required", "application/json", "{}"));
    let (outcome, _) = ask(&provider, ReplyMode::Stream).await;
    assert_eq!(failure(&outcome).advice, RetryAdvice::Pointless);
    assert_eq!(provider.requests().len(), 7, "the adapter itself never asks again");
}

/// The endpoint is asked without the option from then on, by every call of this adapter.
#[tokio::test]
async fn an_endpoint_that_refuses_stream_options_is_remembered() {
    const WHOLE: &[u8] =
        b"data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let (provider, other) = (Provider::start().await, Provider::playing(stream([WHOLE])).await);
    let refused =
        |text: &str| answer("400 Bad Request", "application/json", &format!(r#"{{"error":{{"message":"{text}"}}}}"#));
    provider.play_in_turn([refused("Unrecognized request argument: stream_options"), stream([WHOLE])]);
    let adapter = adapter(CallLimits::default());
    let call = async |provider: &Provider, mode| {
        adapter.call(&context(), &request(&provider.url(), mode), &Pieces::default()).await
    };
    let outcome = call(&provider, ReplyMode::Stream).await;
    assert_eq!(failure(&outcome).kind, ModelFailureKind::Rejected);
    assert_eq!((failure(&outcome).advice, failure(&outcome).is_refusal), (RetryAdvice::AtOnce, true));
    for _ in 0..2 {
        let outcome = call(&provider, ReplyMode::Stream).await;
        assert!(matches!(outcome.end, ModelCallEnd::Finished(_)), "{:?}", outcome.end);
        assert_eq!((outcome.reply.text.as_str(), outcome.reply.usage), ("ok", None));
    }
    let asked: Vec<_> = provider.requests().iter().map(|sent| sent.body.get("stream_options").is_some()).collect();
    assert_eq!(asked, [true, false, false]);
    assert!(provider.requests().iter().all(|sent| sent.body["stream"] == true));
    call(&other, ReplyMode::Stream).await;
    assert!(other.requests()[0].body.get("stream_options").is_some(), "another endpoint is asked as ever");
    // Once it is left out, the same complaint is nothing that we could mend.
    provider.play(refused("stream_options is bad"));
    assert_eq!(failure(&call(&provider, ReplyMode::Stream).await).advice, RetryAdvice::Unsaid);
    other.play(refused("stream_options is bad"));
    assert_eq!(failure(&call(&other, ReplyMode::Complete).await).advice, RetryAdvice::Unsaid);
    other.play(refused("temperature is bad"));
    assert_eq!(failure(&call(&other, ReplyMode::Stream).await).advice, RetryAdvice::Unsaid);
}

/// What a wrong base URL usually answers.
#[tokio::test]
async fn a_web_page_is_no_reply() {
    let provider = Provider::playing(answer("200 OK", "text/html; charset=utf-8", "<html>Welcome</html>")).await;
    for mode in [ReplyMode::Stream, ReplyMode::Complete] {
        let (outcome, _) = ask(&provider, mode).await;
        assert_eq!(failure(&outcome).kind, ModelFailureKind::Protocol, "{outcome:?}");
    }
}
