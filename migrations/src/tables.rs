//! Every table, parents first.
//!
//! Each row carries its tenant, and each foreign key leads inside it. `open_since` is the time of creation while an
//! execution is not terminal and NULL afterwards: it keeps finished executions out of the index that claims read.

use crate::step::{Kind, Step};

const ACCESS: [(&str, &str); 9] = [
    ("tenant", "id {id} NOT NULL, name {text} NOT NULL, PRIMARY KEY (id)"),
    (
        "project",
        "tenant_id {id} NOT NULL, id {id} NOT NULL, slug {id} NOT NULL, name {text} NOT NULL, created_at {int} NOT NULL,
         PRIMARY KEY (tenant_id, id), UNIQUE (tenant_id, slug), FOREIGN KEY (tenant_id) REFERENCES tenant (id)",
    ),
    (
        "principal",
        "tenant_id {id} NOT NULL, id {id} NOT NULL, kind {id} NOT NULL, name {text} NOT NULL,
         PRIMARY KEY (tenant_id, id), FOREIGN KEY (tenant_id) REFERENCES tenant (id)",
    ),
    (
        "project_role",
        "tenant_id {id} NOT NULL, principal_id {id} NOT NULL, project_id {id} NOT NULL, role {id} NOT NULL,
         PRIMARY KEY (tenant_id, principal_id, project_id),
         FOREIGN KEY (tenant_id, principal_id) REFERENCES principal (tenant_id, id),
         FOREIGN KEY (tenant_id, project_id) REFERENCES project (tenant_id, id)",
    ),
    (
        "api_key",
        "tenant_id {id} NOT NULL, id {id} NOT NULL, project_id {id} NOT NULL, principal_id {id} NOT NULL,
         name {text} NOT NULL, prefix {text} NOT NULL, secret_hash {id} NOT NULL, created_at {int} NOT NULL,
         expires_at {int}, revoked_at {int},
         PRIMARY KEY (tenant_id, id), UNIQUE (secret_hash),
         FOREIGN KEY (tenant_id, principal_id) REFERENCES principal (tenant_id, id),
         FOREIGN KEY (tenant_id, project_id) REFERENCES project (tenant_id, id)",
    ),
    (
        "sign_in_code",
        "code_hash {id} NOT NULL, tenant_id {id} NOT NULL, principal_id {id} NOT NULL, expires_at {int} NOT NULL,
         used_at {int}, PRIMARY KEY (code_hash),
         FOREIGN KEY (tenant_id, principal_id) REFERENCES principal (tenant_id, id)",
    ),
    (
        "browser_session",
        "token_hash {id} NOT NULL, tenant_id {id} NOT NULL, principal_id {id} NOT NULL, expires_at {int} NOT NULL,
         PRIMARY KEY (token_hash), FOREIGN KEY (tenant_id, principal_id) REFERENCES principal (tenant_id, id)",
    ),
    (
        "service_identity",
        "tenant_id {id} NOT NULL, agent_id {id} NOT NULL, principal_id {id} NOT NULL,
         PRIMARY KEY (tenant_id, agent_id), UNIQUE (tenant_id, principal_id),
         FOREIGN KEY (tenant_id, principal_id) REFERENCES principal (tenant_id, id)",
    ),
    (
        "grant_row",
        "tenant_id {id} NOT NULL, principal_id {id} NOT NULL, action {id} NOT NULL, resource_id {id} NOT NULL,
         PRIMARY KEY (tenant_id, principal_id, action, resource_id),
         FOREIGN KEY (tenant_id, principal_id) REFERENCES principal (tenant_id, id)",
    ),
];

const RESOURCES: [(&str, &str); 2] = [
    (
        "resource",
        "tenant_id {id} NOT NULL, id {id} NOT NULL, project_id {id} NOT NULL, kind {id} NOT NULL, slug {id} NOT NULL,
         name {text} NOT NULL, head_version {int} NOT NULL, archived_at {int}, created_at {int} NOT NULL,
         PRIMARY KEY (tenant_id, id), UNIQUE (tenant_id, project_id, kind, slug),
         FOREIGN KEY (tenant_id, project_id) REFERENCES project (tenant_id, id)",
    ),
    (
        "resource_version",
        "tenant_id {id} NOT NULL, resource_id {id} NOT NULL, number {int} NOT NULL, id {id} NOT NULL,
         state {id} NOT NULL, digest {id} NOT NULL, body {bytes} NOT NULL, created_at {int} NOT NULL,
         published_at {int},
         PRIMARY KEY (tenant_id, resource_id, number), UNIQUE (tenant_id, id),
         FOREIGN KEY (tenant_id, resource_id) REFERENCES resource (tenant_id, id)",
    ),
];

const EXECUTIONS: [(&str, &str); 10] = [
    (
        "execution",
        "tenant_id {id} NOT NULL, id {id} NOT NULL, project_id {id} NOT NULL, agent_id {id} NOT NULL,
         service_identity {id} NOT NULL, started_by {id} NOT NULL, pins {bytes} NOT NULL, task {bytes} NOT NULL,
         limits {bytes} NOT NULL, deadline_at {int}, is_scripted {int} NOT NULL, created_at {int} NOT NULL,
         status {id} NOT NULL, open_since {int}, iteration {int} NOT NULL, attempt {int} NOT NULL,
         stop_reason {bytes}, answer {bytes}, started_at {int}, ended_at {int},
         used_iterations {int} NOT NULL, used_model_calls {int} NOT NULL, used_tool_calls {int} NOT NULL,
         used_tokens {int} NOT NULL, reserved_tokens {int} NOT NULL, spent_nano_usd {int} NOT NULL,
         reserved_nano_usd {int} NOT NULL, active_time_us {int} NOT NULL,
         lease_owner {text}, lease_epoch {int} NOT NULL, lease_until {int}, next_sequence {int} NOT NULL,
         PRIMARY KEY (tenant_id, id), UNIQUE (tenant_id, project_id, created_at, id),
         UNIQUE (tenant_id, created_at, id), UNIQUE (open_since, id),
         FOREIGN KEY (tenant_id, project_id) REFERENCES project (tenant_id, id)",
    ),
    (
        "idempotency",
        "tenant_id {id} NOT NULL, operation {id} NOT NULL, key_hash {id} NOT NULL, request_hash {id} NOT NULL,
         execution_id {id} NOT NULL, expires_at {int} NOT NULL, PRIMARY KEY (tenant_id, operation, key_hash)",
    ),
    (
        "execution_command",
        "tenant_id {id} NOT NULL, execution_id {id} NOT NULL, id {id} NOT NULL, kind {id} NOT NULL,
         requested_by {id} NOT NULL, created_at {int} NOT NULL, applied_at {int},
         PRIMARY KEY (tenant_id, execution_id, id),
         FOREIGN KEY (tenant_id, execution_id) REFERENCES execution (tenant_id, id)",
    ),
    (
        "node_attempt",
        "tenant_id {id} NOT NULL, execution_id {id} NOT NULL, number {int} NOT NULL, epoch {int} NOT NULL,
         started_at {int} NOT NULL, ended_at {int}, outcome {id}, PRIMARY KEY (tenant_id, execution_id, number),
         FOREIGN KEY (tenant_id, execution_id) REFERENCES execution (tenant_id, id)",
    ),
    (
        "agent_iteration",
        "tenant_id {id} NOT NULL, execution_id {id} NOT NULL, number {int} NOT NULL, agent_state_ref {id},
         started_at {int} NOT NULL, ended_at {int}, PRIMARY KEY (tenant_id, execution_id, number),
         FOREIGN KEY (tenant_id, execution_id) REFERENCES execution (tenant_id, id)",
    ),
    (
        "model_call",
        "tenant_id {id} NOT NULL, execution_id {id} NOT NULL, id {id} NOT NULL, iteration {int} NOT NULL,
         epoch {int} NOT NULL, state {id} NOT NULL, provider {text} NOT NULL, deployment {text} NOT NULL,
         alias {text} NOT NULL, parameters {bytes} NOT NULL, price_version {id}, price {bytes},
         reserved_tokens {int} NOT NULL, reserved_nano_usd {int} NOT NULL, input_tokens {int} NOT NULL,
         cached_input_tokens {int} NOT NULL, output_tokens {int} NOT NULL, reasoning_tokens {int} NOT NULL,
         cost_nano_usd {int} NOT NULL, estimated {int} NOT NULL, finish_reason {id}, error {bytes},
         request {bytes} NOT NULL, reply_text {bytes} NOT NULL, reply_tool_calls {bytes} NOT NULL,
         reply_partial {int} NOT NULL, started_sequence {int} NOT NULL, started_at {int} NOT NULL, ended_at {int},
         first_delta_ms {int}, PRIMARY KEY (tenant_id, execution_id, id), UNIQUE (id),
         FOREIGN KEY (tenant_id, execution_id) REFERENCES execution (tenant_id, id)",
    ),
    (
        "tool_call",
        "tenant_id {id} NOT NULL, execution_id {id} NOT NULL, id {id} NOT NULL, iteration {int} NOT NULL,
         ordinal {int} NOT NULL, epoch {int} NOT NULL, tool {text} NOT NULL, tool_version {text} NOT NULL,
         state {id} NOT NULL, side_effect {id} NOT NULL, idempotency_key {text} NOT NULL, fingerprint {id} NOT NULL,
         arguments {bytes} NOT NULL, result {bytes} NOT NULL, exit_code {int}, error {bytes}, truncated {int} NOT NULL,
         lossy {int} NOT NULL, sandbox_id {id}, started_at {int} NOT NULL, ended_at {int},
         PRIMARY KEY (tenant_id, execution_id, id), UNIQUE (id),
         FOREIGN KEY (tenant_id, execution_id) REFERENCES execution (tenant_id, id)",
    ),
    (
        "sandbox",
        "tenant_id {id} NOT NULL, execution_id {id} NOT NULL, id {id} NOT NULL, epoch {int} NOT NULL,
         profile_version {id} NOT NULL, connection_version {id} NOT NULL, tier {id} NOT NULL, image {text} NOT NULL,
         network {id} NOT NULL, memory_bytes {int} NOT NULL, disk_bytes {int} NOT NULL, pids {int} NOT NULL,
         state {id} NOT NULL, remote_id {text}, enforced {bytes} NOT NULL, created_at {int} NOT NULL, expires_at {int},
         PRIMARY KEY (tenant_id, execution_id, id), UNIQUE (state, id),
         FOREIGN KEY (tenant_id, execution_id) REFERENCES execution (tenant_id, id)",
    ),
    (
        "artifact",
        "tenant_id {id} NOT NULL, execution_id {id} NOT NULL, id {id} NOT NULL, kind {id} NOT NULL, name {text} NOT NULL,
         media_type {text} NOT NULL, byte_size {int} NOT NULL, sha256 {id} NOT NULL, tool_call_id {id},
         created_at {int} NOT NULL, PRIMARY KEY (tenant_id, execution_id, id), UNIQUE (id),
         FOREIGN KEY (tenant_id, execution_id) REFERENCES execution (tenant_id, id)",
    ),
    (
        "event_segment",
        "tenant_id {id} NOT NULL, execution_id {id} NOT NULL, first_sequence {int} NOT NULL,
         last_sequence {int} NOT NULL, byte_size {int} NOT NULL, bytes {bytes} NOT NULL,
         PRIMARY KEY (tenant_id, execution_id, first_sequence),
         FOREIGN KEY (tenant_id, execution_id) REFERENCES execution (tenant_id, id)",
    ),
];

const DECISIONS: [(&str, &str); 3] = [
    (
        "execution_command_body",
        "tenant_id {id} NOT NULL, execution_id {id} NOT NULL, command_id {id} NOT NULL, body {bytes} NOT NULL,
         PRIMARY KEY (tenant_id, execution_id, command_id),
         FOREIGN KEY (tenant_id, execution_id, command_id) REFERENCES execution_command (tenant_id, execution_id, id)",
    ),
    (
        "loop_override",
        "tenant_id {id} NOT NULL, execution_id {id} NOT NULL, command_id {id} NOT NULL, after_calls {int} NOT NULL,
         pardons {int} NOT NULL, PRIMARY KEY (tenant_id, execution_id, command_id),
         FOREIGN KEY (tenant_id, execution_id, command_id) REFERENCES execution_command (tenant_id, execution_id, id)",
    ),
    (
        "audit",
        "tenant_id {id} NOT NULL, sequence {int} NOT NULL, previous_hash {id} NOT NULL, at {int} NOT NULL,
         requested_by {id} NOT NULL, action {id} NOT NULL, target {id} NOT NULL, reason {bytes} NOT NULL,
         detail {bytes} NOT NULL,
         PRIMARY KEY (tenant_id, sequence), UNIQUE (tenant_id, target, sequence),
         FOREIGN KEY (tenant_id) REFERENCES tenant (id)",
    ),
];

const RECOVERY: [(&str, &str); 2] = [
    (
        "workspace_checkpoint",
        "tenant_id {id} NOT NULL, execution_id {id} NOT NULL, iteration {int} NOT NULL, manifest {id},
     left_out {int} NOT NULL, is_stale {int} NOT NULL, PRIMARY KEY (tenant_id, execution_id, iteration),
     FOREIGN KEY (tenant_id, execution_id) REFERENCES execution (tenant_id, id)",
    ),
    (
        "execution_tombstone",
        "tenant_id {id} NOT NULL, id {id} NOT NULL, project_id {id} NOT NULL, created_at {int} NOT NULL,
     ended_at {int} NOT NULL, removed_at {int} NOT NULL, PRIMARY KEY (tenant_id, id),
     FOREIGN KEY (tenant_id, project_id) REFERENCES project (tenant_id, id)",
    ),
];

/// An account's row says what may be used; each period has a row of its own, made by the first hold or top-up in it. A
/// hold's row goes with its settlement: what is left over at the end of everything is a fault.
const BUDGETS: [(&str, &str); 5] = [
    (
        "budget_account",
        "tenant_id {id} NOT NULL, id {id} NOT NULL, scope {id} NOT NULL, subject_id {id} NOT NULL, period {id} NOT NULL,
         max_nano_usd {int}, max_tokens {int}, warning_levels {bytes} NOT NULL, created_at {int} NOT NULL,
         PRIMARY KEY (tenant_id, id), UNIQUE (tenant_id, subject_id, period),
         FOREIGN KEY (tenant_id) REFERENCES tenant (id)",
    ),
    (
        "budget_period",
        "tenant_id {id} NOT NULL, account_id {id} NOT NULL, starts_at {int} NOT NULL,
         spent_nano_usd {int} NOT NULL, spent_tokens {int} NOT NULL,
         reserved_nano_usd {int} NOT NULL, reserved_tokens {int} NOT NULL,
         added_nano_usd {int} NOT NULL, added_tokens {int} NOT NULL,
         PRIMARY KEY (tenant_id, account_id, starts_at)",
    ),
    (
        "budget_reservation",
        "tenant_id {id} NOT NULL, execution_id {id} NOT NULL, model_call_id {id} NOT NULL, ordinal {int} NOT NULL,
         account_id {id} NOT NULL, starts_at {int} NOT NULL, nano_usd {int} NOT NULL, tokens {int} NOT NULL,
         PRIMARY KEY (tenant_id, execution_id, model_call_id, ordinal)",
    ),
    (
        "budget_warned",
        "tenant_id {id} NOT NULL, execution_id {id} NOT NULL, account_id {id} NOT NULL, starts_at {int} NOT NULL,
         cost_level {int} NOT NULL, token_level {int} NOT NULL,
         PRIMARY KEY (tenant_id, execution_id, account_id, starts_at)",
    ),
    (
        "budget_top_up",
        "tenant_id {id} NOT NULL, id {id} NOT NULL, account_id {id}, execution_id {id}, starts_at {int},
         nano_usd {int} NOT NULL, tokens {int} NOT NULL, reason {bytes} NOT NULL, requested_by {id} NOT NULL,
         created_at {int} NOT NULL, key_hash {id} NOT NULL, request_hash {id} NOT NULL,
         PRIMARY KEY (tenant_id, id), UNIQUE (tenant_id, key_hash)",
    ),
];

/// Columns that came to a table after it was made.
const FALLBACKS: (&str, &str) = ("model_call", "fallback_index {int}, fallback_because {bytes}, tries {int}");

/// What a sandbox may reach and use beyond the name of its network.
const SANDBOX_REACH: (&str, &str) = ("sandbox", "network_hosts {bytes}, credentials {bytes}");

/// That a credential was in a sandbox. It holds no secret.
const CREDENTIALS: (&str, &str) = (
    "sandbox_credential",
    "tenant_id {id} NOT NULL, execution_id {id} NOT NULL, tool_call_id {id} NOT NULL, name {id} NOT NULL,
     sandbox_id {id} NOT NULL, credential_id {id} NOT NULL, credential_version {id} NOT NULL, issued_at {int} NOT NULL,
     expires_at {int} NOT NULL, revoked_at {int}, revoked_because {id},
     PRIMARY KEY (tenant_id, execution_id, tool_call_id, name),
     FOREIGN KEY (tenant_id, execution_id) REFERENCES execution (tenant_id, id)",
);

/// A version is only ever added. `model_key` is a hash of both names, short enough for an index.
const PRICES: [(&str, &str); 1] = [(
    "price_version",
    "tenant_id {id} NOT NULL, id {id} NOT NULL, project_id {id} NOT NULL, model_key {id} NOT NULL,
     provider {text} NOT NULL, deployment {text} NOT NULL, valid_from {int} NOT NULL, price {bytes} NOT NULL,
     imported_at {int} NOT NULL, imported_by {id} NOT NULL,
     PRIMARY KEY (tenant_id, id), UNIQUE (tenant_id, project_id, model_key, valid_from),
     FOREIGN KEY (tenant_id, project_id) REFERENCES project (tenant_id, id)",
)];

/// The program that a tool call runs in the background. The cursor counts the bytes of its output that events tell.
const COMMANDS: (&str, &str) = ("tool_call", "command_id {text}, command_cursor {int}, command_limit_ms {int}");

/// All steps, in the order in which they are applied.
pub fn steps() -> Vec<Step> {
    let table = |(table, body)| (Kind::Table, table, body);
    let columns = |(table, body)| (Kind::Columns, table, body);
    let tables = ACCESS.into_iter().chain(RESOURCES).chain(EXECUTIONS).chain(DECISIONS).chain(RECOVERY);
    // Steps stay where they are: what is new comes last.
    let steps = tables.map(table).chain([columns(FALLBACKS)]).chain(BUDGETS.map(table)).chain(PRICES.map(table));
    let steps = steps.chain([columns(SANDBOX_REACH), table(CREDENTIALS), columns(COMMANDS)]);
    steps
        .enumerate()
        .map(|(index, (kind, table, body))| {
            let name = match kind {
                Kind::Table => format!("m{:04}_{table}", index + 1),
                Kind::Columns => format!("m{:04}_{table}_columns", index + 1),
            };
            Step { name, kind, table, body }
        })
        .collect()
}
