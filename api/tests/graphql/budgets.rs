//! Budget accounts over the API: set, read, topped up, refused.

use domain::audit::AuditAction;
use domain::ctx::PageRequest;
use serde_json::{Value, json};

use crate::world::{World, faults};

const ACCOUNT: &str = "budgetAccount { id scope ownerId period resetsAt periodStartedAt warningLevels \
    cost { capPerPeriod { amount } cap { amount } spent { amount } reserved { amount } remaining { amount } } \
    tokens { cap spent remaining } }";

async fn set(world: &World, input: Value) -> Value {
    world.mutate("budgetAccountSet", &input, ACCOUNT).await
}

#[tokio::test]
async fn sets_an_account_and_alters_it_in_place() {
    let world = World::new().await;
    let things = world.things().await;
    let first =
        set(&world, json!({"agentId": things.agent, "period": "DAY", "maxCostUsd": "1.5", "reason": "try"})).await;
    assert_eq!(first["userErrors"], json!([]));
    let account = &first["budgetAccount"];
    assert_eq!((&account["scope"], &account["ownerId"]), (&json!("AGENT"), &json!(things.agent)));
    assert_eq!(account["cost"]["remaining"]["amount"], "1.5");
    assert_eq!((&account["tokens"]["cap"], &account["warningLevels"]), (&Value::Null, &json!([50, 80, 95])));
    assert!(account["resetsAt"].as_str() > account["periodStartedAt"].as_str());
    let levels = json!([90, 10]);
    let input =
        json!({"agentId": things.agent, "period": "DAY", "maxTokens": 7, "warningLevels": levels, "reason": "r"});
    let second = set(&world, input).await["budgetAccount"].clone();
    assert_eq!((&second["id"], &second["cost"]["cap"]), (&account["id"], &Value::Null));
    assert_eq!((&second["tokens"]["remaining"], &second["warningLevels"]), (&json!("7"), &json!([10, 90])));
    let whole = set(&world, json!({"tenant": true, "period": "NONE", "maxCostUsd": "9", "reason": "r"})).await;
    assert_eq!(
        (&whole["budgetAccount"]["scope"], &whole["budgetAccount"]["resetsAt"]),
        (&json!("TENANT"), &Value::Null)
    );
    let list = format!("{{ budgetAccounts(projectId: \"{}\") {{ scope }} }}", things.project);
    let scopes = json!([{"scope": "TENANT"}, {"scope": "PROJECT"}, {"scope": "AGENT"}]);
    assert_eq!(world.data(&list, json!({})).await["budgetAccounts"], scopes);
}

#[tokio::test]
async fn names_what_is_wrong_with_an_account() {
    let world = World::new().await;
    let things = world.things().await;
    for (input, path, code) in [
        (json!({"period": "DAY", "reason": "r"}), "input.projectId", "MISSING"),
        (
            json!({"tenant": true, "projectId": things.project, "period": "DAY", "reason": "r"}),
            "input.projectId",
            "CONFLICTING",
        ),
        (json!({"tenant": true, "period": "DAY", "reason": " "}), "input.reason", "MALFORMED"),
        (json!({"tenant": true, "period": "DAY", "reason": "r\0"}), "input.reason", "MALFORMED"),
        (json!({"tenant": true, "period": "DAY", "reason": "é".repeat(501)}), "input.reason", "TOO_LONG"),
        (
            json!({"tenant": true, "period": "DAY", "reason": "r", "maxCostUsd": "0"}),
            "input.maxCostUsd",
            "OUT_OF_RANGE",
        ),
        (json!({"tenant": true, "period": "DAY", "reason": "r", "maxTokens": "-1"}), "input.maxTokens", "OUT_OF_RANGE"),
        (
            json!({"tenant": true, "period": "DAY", "reason": "r", "warningLevels": [101]}),
            "input.warningLevels",
            "OUT_OF_RANGE",
        ),
    ] {
        let payload = set(&world, input.clone()).await;
        assert_eq!(faults(&payload), [(path.to_owned(), code.to_owned())], "{input}");
        assert_eq!(payload["budgetAccount"], Value::Null);
    }
}

#[tokio::test]
async fn tops_up_once_and_audits_it() {
    let world = World::new().await;
    let things = world.things().await;
    let input = json!({"accountId": things.account, "costUsd": "2.5", "reason": "busy week", "idempotencyKey": "k"});
    let fields = "replayed budgetAccount { cost { capPerPeriod { amount } cap { amount } } }";
    for replayed in [false, true] {
        let payload = world.mutate("budgetTopUp", &input, fields).await;
        assert_eq!((&payload["userErrors"], &payload["replayed"]), (&json!([]), &json!(replayed)));
        let cost = &payload["budgetAccount"]["cost"];
        assert_eq!((&cost["capPerPeriod"]["amount"], &cost["cap"]["amount"]), (&json!("100"), &json!("102.5")));
    }
    let other = json!({"accountId": things.account, "costUsd": "3", "reason": "busy week", "idempotencyKey": "k"});
    let payload = world.mutate("budgetTopUp", &other, fields).await;
    assert_eq!(faults(&payload), [("input.idempotencyKey".to_owned(), "IDEMPOTENCY_CONFLICT".to_owned())]);
    let unbounded = json!({"accountId": things.account, "tokens": 5, "reason": "r", "idempotencyKey": "l"});
    let payload = world.mutate("budgetTopUp", &unbounded, fields).await;
    assert_eq!(faults(&payload), [("input.tokens".to_owned(), "NOT_LIMITED".to_owned())]);
    let negative =
        json!({"accountId": things.account, "costUsd": "1", "tokens": "-900", "reason": "r", "idempotencyKey": "m"});
    let payload = world.mutate("budgetTopUp", &negative, fields).await;
    assert_eq!(faults(&payload), [("input.tokens".to_owned(), "OUT_OF_RANGE".to_owned())]);
    let log: &dyn domain::audit::AuditLog = world.store.as_ref();
    let records = log.records(world.owner.scope(), PageRequest { first: 10, after: None }).await.unwrap();
    let of_budgets = |action| matches!(action, AuditAction::BudgetAccountSet | AuditAction::BudgetTopUp);
    let told = records.rows.into_iter().map(|(_, row)| row.record).filter(|record| of_budgets(record.action));
    let told: Vec<_> = told.map(|record| (record.reason, record.by)).collect();
    assert_eq!(told, [("Acme month".to_owned(), world.owner.id), ("busy week".to_owned(), world.owner.id)]);
}

#[tokio::test]
async fn tops_up_an_execution_through_its_inbox() {
    let world = World::new().await;
    let things = world.things().await;
    let input = json!({"executionId": things.execution, "costUsd": "0.05", "reason": "go on", "idempotencyKey": "k"});
    let fields = "replayed execution { budget { cost { limit { amount } } } }";
    for replayed in [false, true] {
        let payload = world.mutate("budgetTopUp", &input, fields).await;
        assert_eq!((&payload["userErrors"], &payload["replayed"]), (&json!([]), &json!(replayed)));
    }
    let worker = world.claim(&things.execution).await;
    assert_eq!(worker.execution.limits.max_cost.unwrap().to_usd_text(), "0.05");
    let log: &dyn domain::audit::AuditLog = world.store.as_ref();
    assert_eq!(log.records_about(world.owner.scope(), &things.execution).await.unwrap().len(), 1);
}

#[tokio::test]
async fn shows_each_limit_with_its_source() {
    let world = World::new().await;
    let things = world.things().await;
    let document = format!(
        "{{ execution(id: \"{}\") {{ effectiveLimits {{ name value source accountId }} }} }}",
        things.execution
    );
    let limits = world.data(&document, json!({})).await["execution"]["effectiveLimits"].clone();
    let own = |name: &str, value: &str, source: &str| json!({"name": name, "value": value, "source": source, "accountId": null});
    let account = json!({"name": "maxCost", "value": "100000000000", "source": "PROJECT", "accountId": things.account});
    assert_eq!(
        limits,
        json!([
            own("maxIterations", "100", "DEFAULT"),
            own("maxModelCalls", "1000", "DEFAULT"),
            own("maxToolCalls", "1000", "DEFAULT"),
            own("maxTokens", "9007199254740993", "AGENT"),
            own("maxCost", "50000000", "AGENT"),
            own("maxActiveTimeMs", "3600000", "DEFAULT"),
            account,
        ])
    );
}
