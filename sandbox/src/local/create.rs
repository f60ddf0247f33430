//! Checking a create request: what cannot be honoured is refused with a reason, never run with less.

use std::collections::BTreeMap;

use http::StatusCode;

use super::catalogue;
use super::egress::{self, Policy};
use super::error::{ApiError, Refusal};
use super::execd::Wire;
use super::ids;
use super::limits::Limits;
use super::registry::{Order, Registry, expiry};
use super::sandbox::Profile;
use super::wire::CreateRequest;
use super::{clock, labels};

/// The extension by which a caller names limits that must be enforced.
const REQUIRE: &str = "vitrine.require";
/// The extension by which the runtime says which ones are.
const ENFORCED: &str = "vitrine.enforced";
/// The extension by which the runtime says where the way out is, seen from inside.
const PROXY: &str = "vitrine.proxy";
/// The extension by which the runtime says that it keeps the bytes of output whose text lost something.
const RAW_OUTPUT: &str = "vitrine.raw_output";
/// The extension by which a caller asks for the wire of older servers, see [`Wire`].
const OUTPUT_WIRE: &str = "vitrine.output_wire";
const MIN_TIMEOUT_S: i64 = 60;
/// About a century, so that no later sum can overflow.
const MAX_TIMEOUT_S: i64 = 3_000_000_000;

/// Turns a request into an order, or says why not.
pub fn check(registry: &Registry, request: CreateRequest) -> Result<Order, Refusal> {
    refuse_unsupported(&request)?;
    let image = match (request.image, request.snapshot_id) {
        (Some(image), None) if !image.uri.trim().is_empty() => image,
        (None, Some(_)) => {
            return Err(ApiError::new(StatusCode::NOT_FOUND, "SNAPSHOT::NOT_FOUND", "snapshot not found").into());
        }
        _ => return Err(schema("image", "exactly one of image and snapshotId is required")),
    };
    let entrypoint = request.entrypoint.filter(|words| !words.is_empty());
    let entrypoint = entrypoint.ok_or_else(|| schema("entrypoint", "required together with image"))?;
    let given = request.resource_limits.ok_or_else(|| schema("resourceLimits", "required"))?;
    if request.timeout.is_some_and(|seconds| !(MIN_TIMEOUT_S..=MAX_TIMEOUT_S).contains(&seconds)) {
        return Err(schema("timeout", "at least 60 seconds, or absent for no limit"));
    }
    let metadata = request.metadata.unwrap_or_default();
    labels::check(&metadata)
        .map_err(|message| ApiError::new(StatusCode::BAD_REQUEST, "SANDBOX::INVALID_METADATA_LABEL", message))?;
    let limits = Limits::parse(&given).map_err(ApiError::bad_parameter)?;
    let policy = request.network_policy.as_ref().map(Policy::parse).transpose();
    let policy = policy.map_err(|error| ApiError::bad_parameter(format!("networkPolicy: {error}")))?;
    let mut extensions = extensions(registry, request.extensions.unwrap_or_default())?;
    extensions.insert(RAW_OUTPUT.to_owned(), "kept".to_owned());
    if policy.is_some() {
        extensions.insert(PROXY.to_owned(), egress::PROXY_URL.to_owned());
    }
    let wire = extensions.get(OUTPUT_WIRE).map_or(Some(Wire::default()), |name| Wire::parse(name));
    let wire = wire.ok_or_else(|| ApiError::bad_parameter("vitrine.output_wire is kept or stripped"))?;
    let mounts = catalogue::resolve(&image.uri)
        .map_err(|message| ApiError::new(StatusCode::BAD_REQUEST, "LOCAL::IMAGE_NOT_AVAILABLE", message))?;
    let id = ids::uuid().map_err(ApiError::from)?;
    let profile = Profile { id, image, entrypoint, limits, wire, extensions, created_at: clock::now() };
    Ok(Order {
        profile,
        mounts,
        environment: environment(request.env.unwrap_or_default(), policy.is_some())?,
        policy,
        metadata,
        expires_at: expiry(request.timeout),
    })
}

fn refuse_unsupported(request: &CreateRequest) -> Result<(), ApiError> {
    let unsupported = |what: &str| {
        let message = format!("the local runtime does not support {what}");
        Err(ApiError::new(StatusCode::BAD_REQUEST, "SANDBOX::API_NOT_SUPPORTED", message))
    };
    if request.template_id.is_some() {
        return unsupported("templateId");
    }
    if request.secure_access == Some(true) {
        return unsupported("secureAccess");
    }
    if request.volumes.as_ref().is_some_and(|volumes| !volumes.is_empty()) {
        return unsupported("volumes");
    }
    if request.lifecycle.is_some() {
        return unsupported("lifecycle hooks");
    }
    if request.credential_proxy.as_ref().is_some_and(|proxy| proxy.enabled == Some(true)) {
        return unsupported("credentialProxy");
    }
    match &request.platform {
        Some(platform) if platform.os != "linux" || platform.arch != architecture() => unsupported("that platform"),
        _ => Ok(()),
    }
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn extensions(registry: &Registry, mut given: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, ApiError> {
    if given.contains_key("poolRef") {
        let message = "the local runtime has no pools";
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "SANDBOX::UNSUPPORTED_POOL_REF", message));
    }
    if given.contains_key("bootstrap.execd.isolation") {
        return Err(ApiError::bad_parameter("bootstrap.execd.isolation is not supported"));
    }
    let enforced = registry.enforced();
    let wanted = given.get(REQUIRE).map(String::as_str).unwrap_or_default();
    // `memory` is met by every mechanism, `memory:cgroup` by that one only.
    let is_met = |wanted: &str| {
        let by_group = wanted.strip_suffix(":cgroup");
        enforced
            .iter()
            .any(|limit| *limit == wanted || by_group == Some(limit) || limit.split(':').next() == Some(wanted))
    };
    let missing: Vec<_> = wanted.split(',').map(str::trim).filter(|name| !name.is_empty() && !is_met(name)).collect();
    if !missing.is_empty() {
        let message = format!("this host cannot enforce: {}", missing.join(", "));
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "SANDBOX::LIMIT_NOT_ENFORCEABLE", message));
    }
    given.insert(ENFORCED.to_owned(), enforced.join(","));
    Ok(given)
}

/// The variables of the sandbox: how to find the proxy, where there is one, and what the caller has declared.
fn environment(given: BTreeMap<String, Option<String>>, has_proxy: bool) -> Result<BTreeMap<String, String>, ApiError> {
    let proxy = egress::PROXY_ENVIRONMENT.iter().filter(|_| has_proxy);
    let mut environment: BTreeMap<_, _> =
        proxy.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    for (name, value) in given {
        let Some(value) = value else { continue };
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(ApiError::bad_parameter("env: a name or value holds a character that it must not"));
        }
        environment.insert(name, value);
    }
    Ok(environment)
}

fn schema(member: &'static str, message: &'static str) -> Refusal {
    Refusal::schema(member, message)
}
